"""Linkers of a home: trained on a snapshot of a release, or added as they are. A name keeps its files for good."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from tempkb.core.errors import ModelError, SettingsError
from tempkb.core.options import Words
from tempkb.models.known import TRAINING, training_of
from tempkb.models.linking.known import known_linker
from tempkb.models.linking.requests import AddRequest, TrainRequest
from tempkb.models.linking.tables import DIGESTS, FILES, LINKERS, drafts_of
from tempkb.models.linking.training.lessons import Example, Lesson, card_of, digest_of_examples
from tempkb.models.linking.vectors import version_of
from tempkb.models.training.lessons import Course, sha256_of
from tempkb.models.training.requests import require_extra
from tempkb.models.training.teaching import base_of, n_gpus_for, refuse_other, require_free, settle
from tempkb.store.drafts import Provenance
from tempkb.store.said import change_said
from tempkb.store.store import Store
from tempkb.store.versions import Version

if TYPE_CHECKING:
    from tempkb.models.linking.checkpoints import Layout
    from tempkb.models.linking.training.recipe import Recipe

Row = dict[str, Any]
Log = Callable[[str], None]

_CARD, _KEY = "README.md", "lesson_sha256"
_BOUND = ("kind", "release", "cut", "seed", "preset", "base", "recipe", "trained_from")
# What differs between the linkers of one recipe.
_DATA = ("examples_sha256", "base_sha256", "negatives_of", "negatives_sha256")
_JSON = ("recipe", "trained_from")


@dataclass(frozen=True)
class Trained:
    """A linker that was trained, and how its training went."""

    version: Version
    checkpoint: Path
    course: Course


def train_linker(store: Store, request: TrainRequest, log: Log) -> Trained:
    """Train a linker, keep its checkpoint in the home, and write its row; one that is there already is only compared.

    A run that was killed is continued by the next one with the same request.

    Raises:
        SettingsError: the name is bound to another linker; a setting is not allowed; the release or cut is not built
            or has too few mentions; or the extra `linking` is not installed.
        ModelError: the base cannot be used, training has failed, or files of the linker were changed.
        LockTimeoutError: another run works on it.
    """
    from tempkb.models.linking.training.recipe import recipe_of

    what = f"linker {request.linker!r}"
    recipe = recipe_of(what, request.preset, request.base, request.settings)
    require_extra(f"{what}: training")
    held = known_linker(store.lake, request.linker)
    if held is not None:
        with store.lake.staging() as folder:
            return _Run(store, request, recipe, folder, log).compared(held)
    with store.lake.resumable(drafts_of(request.linker)) as drafts:
        trained = _Run(store, request, recipe, drafts.folder, log).trained()
        drafts.is_finished = True
    return trained


def add_linker(store: Store, request: AddRequest, log: Log) -> Version:
    """Write the row of an encoder that is used as it is; one that is there already is only compared.

    Raises:
        SettingsError: the name is bound to other files.
        ModelError: the checkpoint cannot be used.
    """
    from tempkb.models.linking.checkpoints import read_layout

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


class _Run:
    """A linker that is trained, or compared with the one that has its name."""

    def __init__(self, store: Store, request: TrainRequest, recipe: "Recipe", folder: Path, log: Log) -> None:
        self._store, self._request, self._recipe, self._folder, self._log = store, request, recipe, folder, log
        self._place = store.home.linkers / request.linker

    def trained(self) -> Trained:
        """Train it, going on from where an earlier run has ended."""
        from tempkb.models.linking.checkpoints import read_layout

        require_free(self._store.home.path, f"linker {self._request.linker!r}", self._place)
        train, validation, base, numbers = self._asked()
        inputs = self._inputs()
        row = self._row(numbers, len(train))
        # The texts of the candidates decide what the tokenizer of random weights becomes, and which are ranked.
        key = sha256_of([numbers, self._request.seed, inputs])
        if training_of(self._place).get(_KEY) != key:
            self._teach(self._lesson(key, train, validation, base), row, numbers, inputs)
        course = self._course()
        row |= _facts_of(read_layout(str(self._place))) | {
            "checkpoint": str(self._place.relative_to(self._store.home.path))
        }
        row["validation_accuracy"] = course.validation[-1][1] if course.validation else None
        self._say()
        version = _write(self._store, row, {"recipe": numbers, "seed": self._request.seed}, inputs)
        return Trained(version, self._place, course)

    def compared(self, held: Row) -> Trained:
        """Compare what is asked for with the linker that has its name."""
        from tempkb.models.linking.checkpoints import layout_of

        train, _, _, numbers = self._asked()
        _refuse_other(held, self._row(numbers, len(train)), _BOUND)
        layout_of(held)
        self._say()
        self._log(f"Linker {held['linker']} is there already, trained in the same way; nothing to do.")
        return Trained(_current(self._store, held["linker"]), self._place, self._course())

    def _say(self) -> None:
        """Note what was asked for; where it is trained is nothing of the linker."""
        _say(self._store, self._request.linker, replace(self._request, device="").words)

    def _asked(self) -> tuple[list[Example], list[Example], str, dict[str, Any]]:
        """Examples for training and validation, the folder of the base, and all numbers."""
        from tempkb.models.linking.training.examples import read_examples

        request = self._request
        train, validation = read_examples(self._store, request.linker, request.release, request.cut, self._folder)
        base, base_sha256 = base_of(self._recipe.base)
        return train, validation, base, self._numbers(train, validation, base_sha256)

    def _inputs(self) -> dict[str, str]:
        """Versions of the tables from which it is made."""
        from tempkb.models.linking.training.examples import inputs_of_examples

        inputs = inputs_of_examples(self._store, self._request.release, self._request.cut)
        if self._request.hard_negatives:
            ranking = self._request.negatives_of
            inputs[f"{LINKERS.name} {ranking}"] = _current(self._store, ranking).version
        return inputs

    def _numbers(self, train: Sequence[Example], validation: Sequence[Example], base_sha256: str) -> dict[str, Any]:
        """All that decides what the linker becomes, beside its seed and the texts of the candidates."""
        ranking = self._ranking() if self._request.hard_negatives else None
        return self._recipe.numbers() | {
            "examples_sha256": digest_of_examples([*train, *validation]),
            "base_sha256": base_sha256 or None,
            "hard_negatives": self._request.hard_negatives,
            "negatives_of": self._request.negatives_of or None,
            "negatives_sha256": ranking["weights_sha256"] if ranking else None,
        }

    def _row(self, numbers: Mapping[str, Any], n_train: int) -> Row:
        request = self._request
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
            "n_train_mentions": n_train,
        }

    def _lesson(self, key: str, train: Sequence[Example], validation: Sequence[Example], base: str) -> Lesson:
        from tempkb.models.linking.training.examples import read_entities

        request = self._request
        corpus: list[str] = []
        if not base:
            candidates = read_entities(self._store, request.release, request.cut, self._folder)
            corpus = [f"{one.mention.left} {one.mention.mention} {one.mention.right}" for one in train]
            corpus += [f"{text.title} {text.description}" for text in candidates.values()]
        if request.hard_negatives:
            train = self._with_negatives(train)
        return Lesson(
            request.linker, key, self._recipe, request.seed, tuple(train), tuple(validation), base, tuple(corpus)
        )

    def _with_negatives(self, train: Sequence[Example]) -> list[Example]:
        from tempkb.models.linking.candidates import of_release
        from tempkb.models.linking.training.examples import with_hard_negatives

        request = self._request
        candidates = of_release(self._store, request.release, request.cut)
        device = "cuda" if n_gpus_for(f"linker {request.linker!r}", request.device) else "cpu"
        return with_hard_negatives(
            self._store, self._ranking(), candidates, train, request.hard_negatives, device, self._folder, self._log
        )

    def _ranking(self) -> Row:
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
                f"linker {request.linker!r}: expected in negatives_of a linker that was trained on {request.release} "
                f"at {request.cut}; found {request.negatives_of} ({trained_on})"
            )
        return found

    def _teach(self, lesson: Lesson, row: Row, numbers: Mapping[str, Any], inputs: Mapping[str, str]) -> None:
        from tempkb.models.training.teaching import teach

        self._log(f"Training linker {lesson.linker} on {len(lesson.train)} mentions, {lesson.n_steps()} steps.")
        n_gpus = n_gpus_for(lesson.what, self._request.device)
        draft, course = teach(lesson, self._folder / "training", self._log, n_gpus)
        known = {column: row[column] for column in ("linker", *_BOUND)} | {"cut": str(row["cut"])}
        about = {**asdict(course), "n_validation": len(lesson.validation), _KEY: lesson.key, "row": known}
        (draft / _CARD).write_text(card_of(row, lesson, course, numbers, inputs), "utf-8")
        settle(self._store.home.path, draft, self._place, about)

    def _course(self) -> Course:
        """How training went; nothing of it is known if the file with it was lost, to which no name is bound."""
        file = self._place / TRAINING
        try:
            return msgspec.json.decode(file.read_bytes(), type=Course)
        except (OSError, ValueError) as error:
            self._log(f"{file} cannot be read ({error}), so that there are no curves of the training of this linker.")
            return Course(0, (), ())


def _facts_of(layout: "Layout") -> Row:
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
