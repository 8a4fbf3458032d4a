"""Linkers of a home: trained on a snapshot of a release, or added as they are. A name keeps its files for good."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from tempkb.core.errors import ModelError, SettingsError
from tempkb.core.options import Words
from tempkb.models.known import TRAINING, refuse_other, training_of
from tempkb.models.linking.candidates import of_release
from tempkb.models.linking.checkpoints import Layout, layout_of, read_layout
from tempkb.models.linking.known import known_linker
from tempkb.models.linking.requests import AddRequest, TrainRequest
from tempkb.models.linking.tables import DIGESTS, FILES, LINKERS
from tempkb.models.linking.training.examples import (
    inputs_of_examples,
    read_entities,
    read_examples,
    with_hard_negatives,
)
from tempkb.models.linking.training.lessons import Lesson, card_of, digest_of_examples
from tempkb.models.linking.training.recipe import Recipe, recipe_of
from tempkb.models.linking.vectors import version_of
from tempkb.models.tables import drafts_of
from tempkb.models.training.lessons import Course, sha256_of
from tempkb.models.training.requests import require_extra
from tempkb.models.training.teaching import base_of, n_gpus_for, require_free, settle, teach
from tempkb.store.drafts import Provenance
from tempkb.store.said import change_said
from tempkb.store.store import Store
from tempkb.store.versions import Version

Row = dict[str, Any]
Log = Callable[[str], None]

_CARD, _KEY = "README.md", "lesson_sha256"
_BOUND = ("kind", "release", "cut", "seed", "preset", "base", "recipe", "trained_from")
# What differs between the linkers of one recipe.
_DATA = ("examples_sha256", "base_sha256", "negatives_of", "negatives_sha256")
_JSON = ("recipe", "trained_from")


def train_linker(store: Store, request: TrainRequest, log: Log) -> tuple[Version, Course]:
    """Train a linker, keep its checkpoint in the home, and write its row; one that is there already is only compared.

    A run that was killed is continued by the next one with the same request.

    Returns:
        its row, and how its training went.

    Raises:
        SettingsError: the name is bound to another linker; a setting is not allowed; the release or cut is not built
            or has too few mentions; or the extra `linking` is not installed.
        ModelError: the base cannot be used, training has failed, or files of the linker were changed.
        LockTimeoutError: another run works on it.
    """
    what = f"linker {request.linker!r}"
    recipe = recipe_of(what, request.preset, request.base, request.settings)
    require_extra(f"{what}: training")
    with store.lake.resumable(drafts_of("linker", request.linker)) as drafts:
        trained = _Training(store, request, recipe, drafts.folder, log).trained()
        drafts.is_finished = True
    return trained


def add_linker(store: Store, request: AddRequest, log: Log) -> Version:
    """Write the row of an encoder that is used as it is; one that is there already is only compared.

    Raises:
        SettingsError: the name is bound to other files.
        ModelError: the checkpoint cannot be used.
    """
    layout = read_layout(request.checkpoint, request.revision, may_fetch=True)
    row: Row = dict.fromkeys(LINKERS.column_names()) | {
        "linker": request.linker,
        "kind": "sentence-encoder",
        # A folder may be named relative to where the command runs.
        "checkpoint": str(layout.folder.resolve()) if layout.hub_revision is None else request.checkpoint,
        "hub_revision": layout.hub_revision,
        **_facts_of(layout),
    }
    words = {"checkpoint": row["checkpoint"]} | ({"revision": layout.hub_revision} if layout.hub_revision else {})
    with store.lake.partition_lock(LINKERS.name, request.linker):
        held = known_linker(store.lake, request.linker)
        if held is not None:
            _refuse_other(held, row, ("kind", *DIGESTS))
        _say(store, request.linker, words)
        if held == row:
            log(f"Linker {request.linker} is there already, with the same files; nothing to do.")
            return _current(store, request.linker)
        return _write(store, row, {"checkpoint": row["checkpoint"]}, {})


class _Training:
    """The training of a linker."""

    def __init__(self, store: Store, request: TrainRequest, recipe: Recipe, folder: Path, log: Log) -> None:
        self._store, self._request, self._recipe, self._folder, self._log = store, request, recipe, folder, log
        self._what, self._place = f"linker {request.linker!r}", store.home.linkers / request.linker
        self._held = known_linker(store.lake, request.linker)
        if self._held is None:
            require_free(store.home.path, self._what, self._place)
        examples = read_examples(store, request.linker, request.release, request.cut, folder)
        self._train, self._validation = examples
        self._base, base_sha256 = base_of(recipe.base)
        self._ranking = self._ranking_linker() if request.hard_negatives else None
        # All that decides what the linker becomes, beside its seed and the texts of the candidates.
        self._numbers = recipe.numbers() | {
            "examples_sha256": digest_of_examples([one for some in examples for one in some]),
            "base_sha256": base_sha256 or None,
            "hard_negatives": request.hard_negatives,
            "negatives_of": request.negatives_of or None,
            "negatives_sha256": self._ranking["weights_sha256"] if self._ranking else None,
        }

    def trained(self) -> tuple[Version, Course]:
        """Train it, going on from where an earlier run has ended, or compare it with the one that has its name."""
        name, row = self._request.linker, self._row()
        # Where it is trained is nothing of the linker.
        words = replace(self._request, device="").words
        if self._held is not None:
            _refuse_other(self._held, row, _BOUND)
            layout_of(self._held)
            _say(self._store, name, words)
            self._log(f"Linker {name} is there already, trained in the same way; nothing to do.")
            return _current(self._store, name), self._course()
        inputs = inputs_of_examples(self._store, self._request.release, self._request.cut)
        if self._ranking:
            ranking = self._ranking["linker"]
            inputs[f"{LINKERS.name} {ranking}"] = _current(self._store, ranking).version
        # The texts of the candidates decide what the tokenizer of random weights becomes, and which are ranked.
        key = sha256_of([self._numbers, self._request.seed, inputs])
        if training_of(self._place).get(_KEY) != key:
            self._teach(self._lesson(key), row, inputs)
        course = self._course()
        row |= _facts_of(read_layout(str(self._place)))
        row["checkpoint"] = str(self._place.relative_to(self._store.home.path))
        row["validation_accuracy"] = course.validation[-1][1] if course.validation else None
        _say(self._store, name, words)
        return _write(self._store, row, {"recipe": self._numbers, "seed": self._request.seed}, inputs), course

    def _row(self) -> Row:
        request, numbers = self._request, self._numbers
        return dict.fromkeys(LINKERS.column_names()) | {
            "linker": request.linker,
            "kind": "bi-encoder",
            "release": request.release,
            "cut": request.cut,
            "seed": request.seed,
            "preset": request.preset,
            "recipe": json.dumps({name: numbers[name] for name in numbers if name not in _DATA}, sort_keys=True),
            "trained_from": json.dumps({name: numbers[name] for name in _DATA}, sort_keys=True),
            "base": self._recipe.base or None,
            "n_train_mentions": len(self._train),
        }

    def _lesson(self, key: str) -> Lesson:
        store, request, train, corpus = self._store, self._request, self._train, list[str]()
        if not self._base:
            texts = read_entities(store, request.release, request.cut, self._folder).values()
            corpus = [f"{one.mention.left} {one.mention.mention} {one.mention.right}" for one in train]
            corpus += [f"{text.title} {text.description}" for text in texts]
        if self._ranking:
            candidates = of_release(store, request.release, request.cut)
            device = "cuda" if n_gpus_for(self._what, request.device) else "cpu"
            train = with_hard_negatives(
                store, self._ranking, candidates, train, request.hard_negatives, device, self._folder, self._log
            )
        validation = tuple(self._validation)
        return Lesson(
            request.linker, key, self._recipe, request.seed, tuple(train), validation, self._base, tuple(corpus)
        )

    def _ranking_linker(self) -> Row:
        """The linker that ranks wrong entities."""
        request = self._request
        found = known_linker(self._store.lake, request.negatives_of)
        if found is None or (found["release"], found["cut"]) != (request.release, request.cut):
            trained_on = "no such linker"
            if found is not None:
                trained_on = (
                    f"trained on {found['release']} at {found['cut']}" if found["release"] else "not trained here"
                )
            raise SettingsError(
                f"{self._what}: expected in negatives_of a linker that was trained on {request.release} "
                f"at {request.cut}; found {request.negatives_of} ({trained_on})"
            )
        return found

    def _teach(self, lesson: Lesson, row: Row, inputs: Mapping[str, str]) -> None:
        self._log(f"Training linker {lesson.linker} on {len(lesson.train)} mentions, {lesson.n_steps()} steps.")
        draft, course = teach(
            lesson, self._folder / "training", self._log, n_gpus_for(self._what, self._request.device)
        )
        known = {column: row[column] for column in ("linker", *_BOUND)} | {"cut": str(row["cut"])}
        about = {**asdict(course), "n_validation": len(lesson.validation), _KEY: lesson.key, "row": known}
        (draft / _CARD).write_text(card_of(row, lesson, course, self._numbers, inputs), "utf-8")
        settle(self._store.home.path, draft, self._place, about)

    def _course(self) -> Course:
        """How training went; nothing of it is known if the file with it was lost, to which no name is bound."""
        file = self._place / TRAINING
        try:
            return msgspec.json.decode(file.read_bytes(), type=Course)
        except (OSError, ValueError) as error:
            self._log(f"{file} cannot be read ({error}), so that there are no curves of the training of this linker.")
            return Course(0, (), ())


def _facts_of(layout: Layout) -> Row:
    """What a row says of the files of a linker."""
    from tempkb.models.linking.encoders import load_layout

    # Before anything is loaded: weights that could hold code are refused.
    digests = layout.digests()
    encoder = load_layout(layout, "cpu")
    return {
        **digests,
        "n_towers": encoder.n_towers,
        "n_parameters": encoder.n_parameters,
        "dim": encoder.dim,
        "max_tokens": encoder.inputs.max_tokens,
    }


def _refuse_other(held: Row, row: Row, columns: tuple[str, ...]) -> None:
    """Refuse a name that is bound to a linker which differs in one of the columns."""
    name = row["linker"]
    refuse_other(f"linker {name!r}", _spread(held, columns), _spread(row, columns), f"tempkb linker rm {name}")


def _say(store: Store, linker: str, words: Words) -> None:
    change_said(store.home.linkers, linker, lambda said: replace(said, words=words))


def _spread(row: Row, columns: tuple[str, ...]) -> Row:
    """Columns of a row, and in place of those that hold JSON, what is in them."""
    found = {column: row[column] for column in columns if column not in _JSON}
    held = [json.loads(row[column] or "{}") for column in _JSON if column in columns]
    return {**found, **{name: value for one in held for name, value in one.items()}}


def _current(store: Store, linker: str) -> Version:
    version = store.lake.current(LINKERS.name, linker)
    if version is None:
        raise ModelError(f"linker {linker!r} was removed while it was read. Ask for it again.")
    return version


def _write(store: Store, row: Row, made_with: Mapping[str, Any], inputs: Mapping[str, str]) -> Version:
    digests = {one: row[column] for one, column in zip(FILES, DIGESTS, strict=True)}
    rows = [pa.Table.from_pylist([row], LINKERS.schema)]
    libraries = {name: version_of(name) for name in ("torch", "transformers")}
    return store.write(LINKERS, row["linker"], rows, Provenance({**digests, **inputs}, {**made_with, **libraries}))
