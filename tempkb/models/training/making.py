"""Trains language models that are told the time, and adds them to the home; one model a run.

A checkpoint has a file that says how it was trained and from what (`training.json`), and, if its model is told a date,
a line in `config.json` that says how (`tempkb.models.dating`).
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from tempkb.benchmarks.card import plot_lines
from tempkb.core.errors import ModelError
from tempkb.core.files import remove_tree
from tempkb.core.model_words import Family, ModelRequest
from tempkb.core.wording import counted, sized
from tempkb.engine.steps import Log
from tempkb.engine.tasks import Done, Order, Picture
from tempkb.models.adding import add_model
from tempkb.models.adding import models as add_models
from tempkb.models.dating import LINE, Dating, expert_file
from tempkb.models.files import find_folder
from tempkb.models.known import known_model, refuse_other, training_of, until_in_words
from tempkb.models.tables import MODELS, drafts_of
from tempkb.models.training.lessons import Course, DatedLesson, canonical, sha256_of
from tempkb.models.training.mixtures import Mixing
from tempkb.models.training.requests import TrainRequest, require_extra, train_request
from tempkb.models.training.tables import QUERY, TEXT
from tempkb.models.training.teaching import base_of, n_gpus_for, require_free, school, settle, teach
from tempkb.store.store import Store
from tempkb.store.versions import Version

_NOUNS = {TEXT: ("text", "texts"), QUERY: ("query", "queries")}
_NUMBER, _STATES = 4, {"adamw": 2, "adafactor": 0}  # bytes of a weight; numbers that an optimiser keeps of each


class Training:
    """The training of a model.

    Raises:
        SettingsError: a number is not allowed, a package is not installed, or there is nothing to read.
        DesignError: the release is not whole.
        ModelError: the base cannot be used.
    """

    def __init__(self, store: Store, request: TrainRequest) -> None:
        self.request, self.recipe, self._store = request, request.recipe(), store
        self._what = f"model {request.name!r}"
        require_extra(f"{self._what}: training", ("datasets", "accelerate"))
        self._base_row = known_model(store.lake, request.base) or {}
        self._place_of_base = self._base_row.get("checkpoint") or request.base, self._base_row.get("hub_revision")
        # Transformers takes seconds to import, which a model that is there does without.
        held = known_model(store.lake, request.name) or {}
        self.family: Family = held.get("family") or self.config[1]
        if self.family == "masked":
            raise ModelError(
                f"{self._what}: its base {request.base} is a masked model; expected a causal one, or one with an "
                "encoder and a decoder, such as T5"
            )
        self.mixing = Mixing(store, request, has_spans=self.family == "seq2seq" or self.recipe.asked == "spans")
        self.place = store.home.checkpoints / request.name

    @cached_property
    def config(self) -> tuple[Any, Family]:
        """The config of the base, and its family."""
        from tempkb.models.checkpoints import read_config

        # What is only planned fetches no weights.
        folder, _ = find_folder(*self._place_of_base, may_fetch=True, wanted=("config.json",))
        return read_config(self.request.base, folder)

    @cached_property
    def _base(self) -> tuple[str, str]:
        """The folder of the base, and the digest of its files."""
        return base_of(*self._place_of_base, has_weights=not self.recipe.random_weights)

    @property
    def until(self) -> tuple[date, date]:
        """Until when it knows, certainly and possibly: as its texts, and as what the home knows of its base."""
        read, held = self.mixing.until, {} if self.recipe.random_weights else self._base_row
        certainly, possibly = (held.get(f"knows_{how}_until") or read for how in ("certainly", "possibly"))
        return max(certainly, read), max(possibly, read)

    @property
    def numbers(self) -> dict[str, Any]:
        """All that decides what the model becomes."""
        request = self.request
        return self.recipe.numbers() | {
            "regime": request.regime,
            "period": f"{request.period}",
            "windows": [f"{day}" for day in request.windows],
            "corpus": request.corpus if self.recipe.texts_per_query else None,
            "release": request.release or None,
            "seed": request.seed,
            "base_sha256": self._base[1],
            "read": self.mixing.inputs,
        }

    def trained(self, log: Log) -> tuple[Version, Version]:
        """Train it and add it, going on from where an earlier run has ended; one that is there is only compared.

        Returns:
            its mixture, and its row.

        Raises:
            SettingsError: the name is bound to another model, or its folder is not tempkb's.
            ModelError: training has failed.
            LockTimeoutError: another run works on it.
        """
        name = self.request.name
        with self._store.lake.resumable(drafts_of("training", name)) as drafts:
            require_free(self._store.home.path, self._what, self.place)
            if known_model(self._store.lake, name) is not None:
                said, asked = training_of(self.place).get("numbers", {}), json.loads(canonical(self.numbers))
                refuse_other(self._what, said, asked, f"tempkb model rm {name}")
            mixture = self.mixing.made(drafts.folder)
            key = sha256_of([self.numbers, mixture.version])
            if training_of(self.place).get("key") == key:
                log(f"Model {name} is trained already, in the same way.")
            else:
                self._train(drafts.folder, key, mixture, log)
            place = str(self.place.resolve())
            model = add_model(self._store, ModelRequest(name, place, None, self.family, self.until), log)
            drafts.is_finished = True
        return mixture, model

    def _lessons(self, key: str, mixture: Version) -> dict[str, DatedLesson]:
        """What is learnt, by the label of the expert; of a model that is one, by its name."""
        mixing, files = self.mixing, tuple(map(str, mixture.paths()))
        whole = DatedLesson(self.request, key, self.recipe, self._base[0], files, mixing.n_examples, mixing.periods)
        if not self.request.how.has_experts:
            return {self.request.name: whole}
        return {one.label: replace(whole, key=sha256_of([key, one.label]), periods=(one,)) for one in mixing.periods}

    def _train(self, folder: Path, key: str, mixture: Version, log: Log) -> None:
        n_gpus, draft, taught = n_gpus_for(self._what, self.request.device), folder / "whole", dict[str, Course]()
        remove_tree(folder, draft)
        with school(DatedLesson.learning):
            lessons = self._lessons(key, mixture)
            for label, lesson in lessons.items():
                log(f"Training {lesson.what}: {lesson.n_steps():,} steps.")
                checkpoint, taught[label] = teach(lesson, folder / "lessons" / label, log, n_gpus)
                if label == [*lessons][-1]:
                    shutil.copytree(checkpoint, draft, dirs_exist_ok=True)
                else:
                    draft.mkdir(exist_ok=True)
                    shutil.copy(checkpoint / "model.safetensors", expert_file(draft, label))
        how = self.request.how
        if how.is_dated or how.has_experts:
            file = draft / "config.json"
            config = json.loads(file.read_text("utf-8")) | {LINE: asdict(Dating(self.mixing.periods, how.has_experts))}
            file.write_text(json.dumps(config, indent=2, sort_keys=True, default=str) + "\n", "utf-8")
        about = {
            "key": key,
            "asked": replace(self.request, device="").words,
            "numbers": self.numbers,
            "mixture": {one.name: one.sha256 for one in mixture.files},
            "courses": {label: asdict(course) for label, course in taught.items()},
        }
        settle(self._store.home.path, draft, self.place, about)


def plan(store: Store, request: TrainRequest) -> list[str]:
    """Return what a training would read and take, in sentences.

    Raises:
        SettingsError: it would be refused; see `Training` for other errors.
    """
    training = Training(store, request)
    recipe, mixing = training.recipe, training.mixing
    with store.lake.staging() as folder, mixing.seeing(folder) as connection:
        counts = mixing.counted(connection)
    n_models, of_each = 1, ""
    if request.how.has_experts:
        n_models, of_each = len(mixing.periods), f"{counted(len(mixing.periods), 'expert')}, each of "
    n = _n_parameters(training)
    whole, kept = n * _NUMBER, n * _NUMBER * (1 + _STATES[recipe.optimizer])
    examples = (counted(n_of, *_NOUNS[source]) for source, n_of in mixing.n_examples.items() if n_of)
    there = {
        source: ", ".join(f"{period.label} {n_of:,}" for period, n_of in rows.items() if n_of)
        for source, rows in counts.rows.items()
    }
    newest = ""
    if recipe.newest_share is not None:
        n_newest = recipe.shared_out(mixing.n_examples[TEXT])[1]
        newest = f"; {counted(n_newest, 'text')} of {mixing.periods[-1].label}"
    return [
        f"{request.name}: {of_each}{recipe.steps:,} steps of {counted(recipe.batch_size, 'example')} "
        f"({', '.join(examples)}{newest}); its training cutoff would be {until_in_words(*training.until)}",
        *(f"{_NOUNS[source][1]} that it may read: {found}" for source, found in there.items() if found),
        *(f"not read: {n_of:,}, {why}" for why, n_of in counts.left_out.items()),
        f"disk: {sized(n_models * whole)} for the checkpoint; while it trains {sized(n_models * (whole + 2 * kept))} "
        f"more at most for what it goes on from after a kill, and {sized(2 * counts.n_bytes)} for the texts",
        f"memory of each process or GPU: {sized(whole + kept)} for {n:,} weights, their gradients and what the "
        f"optimiser keeps, and the activations of {recipe.mini_batch_size} texts of {recipe.max_tokens} tokens",
    ]


def _n_parameters(training: Training) -> int:
    import torch
    import transformers

    from tempkb.models.checkpoints import quiet_transformers
    from tempkb.models.families import TRAITS

    with quiet_transformers(), torch.device("meta"):  # where weights take no memory
        module = getattr(transformers, TRAITS[training.family].loader).from_config(training.config[0])
    return sum(weights.numel() for weights in module.parameters())


def courses_of(checkpoint: Path) -> dict[str, Course]:
    """Return how the training of a model went, by the label of the expert or its name; nothing if it was not ours."""
    return msgspec.convert(training_of(checkpoint).get("courses", {}), dict[str, Course])


def models(order: Order) -> Done:
    """Train a model, or read the checkpoint of one; see `tempkb.models.adding`."""
    if not order.said.get("regime"):
        return add_models(order)
    training, done = Training(order.store, train_request(order.keys[0], order.said)), Done()
    done.add(*training.trained(order.log))
    drawn = courses_of(training.place).items()
    done.shows = lambda: {
        MODELS.name: {f"{what} of {label}": Picture(one) for label, own in drawn for what, one in curves(own).items()}
    }
    return done


def curves(course: Course) -> Mapping[str, str]:
    """Return Markdown images of a training: its loss by step, and how it was judged by epoch."""
    drawn = {"loss": course.losses, "validation accuracy": course.validation}
    return {
        title: plot_lines(
            f"{title} of the training", [f"{at:g}" for at, _ in points], {title: [y for _, y in points]}, bottom=None
        )
        for title, points in drawn.items()
        if points
    }
