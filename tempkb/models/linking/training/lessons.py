"""What is handed to the process that trains: a recipe, examples, and where it begins; written as JSON."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tempkb.core.files import replace_whole
from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb.models.linking.training.recipe import Recipe

CHECKPOINT, COURSE = "checkpoint", "course.json"
"""What is in the folder of a lesson at the end: the encoder, and how its training went."""

_LESSON = "lesson.json"
# What reading raises of a file that is not there, was cut, or was written by another version.
_UNREADABLE = (FileNotFoundError, ValueError, KeyError, TypeError)


@dataclass(frozen=True)
class Example:
    """A mention and its entity.

    Attributes:
        negatives: other entities, which it is not.
    """

    mention: MentionText
    page_id: int
    entity: EntityText
    negatives: tuple[EntityText, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """What a linker is made from.

    Attributes:
        key: a digest of all that decides what the linker becomes.
        train: examples from which it learns, in an order that does not depend on the run.
        validation: examples by which it is judged after each epoch.
        base: folder of the checkpoint with which it begins; empty for random weights.
        corpus: texts on which a tokenizer is trained that goes with random weights.
    """

    linker: str
    key: str
    recipe: Recipe
    seed: int
    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    base: str = ""
    corpus: tuple[str, ...] = field(default=(), repr=False)

    def n_steps(self, n_processes: int = 1) -> int:
        """Return the number of steps of the optimiser; several processes leave out the rest of an epoch."""
        n, size = len(self.train), self.recipe.batch_size
        return self.recipe.epochs * (n // size if n_processes > 1 else math.ceil(n / size))

    def write(self, folder: Path) -> None:
        """Write it into a folder; it is there whole or not at all."""
        replace_whole(folder / _LESSON, canonical(asdict(self)).encode())

    @classmethod
    def with_key(cls, folder: Path, key: str) -> "Lesson | None":
        """Return the lesson in a folder if it can be read and has that key."""
        try:
            found = cls.read(folder)
        except _UNREADABLE:
            return None
        return found if found.key == key else None

    @classmethod
    def read(cls, folder: Path) -> "Lesson":
        """Read it from a folder."""
        found = json.loads((folder / _LESSON).read_text("utf-8"))
        return cls(
            **found
            | {
                "recipe": Recipe(**found["recipe"]),
                "train": _examples(found["train"]),
                "validation": _examples(found["validation"]),
                "corpus": tuple(found["corpus"]),
            }
        )


@dataclass(frozen=True)
class Course:
    """How training went.

    Attributes:
        steps: of the optimiser.
        losses: pairs of a step and the mean loss of the steps up to it since the one before.
        validation: pairs of an epoch, from 1, and the share of validation mentions whose entity is ranked first among
            the entities of all validation mentions; empty if there is no validation mention.
    """

    steps: int
    losses: tuple[tuple[int, float], ...]
    validation: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, found: dict[str, Any]) -> "Course":
        """Return what was written as JSON."""
        pairs = {
            name: tuple((int(one), float(other)) for one, other in found[name]) for name in ("losses", "validation")
        }
        return cls(int(found["steps"]), pairs["losses"], pairs["validation"])

    def write(self, folder: Path) -> None:
        """Write it into the folder of its lesson; it is there whole or not at all."""
        replace_whole(folder / COURSE, json.dumps(asdict(self), indent=1).encode() + b"\n")

    @classmethod
    def read(cls, folder: Path) -> "Course":
        """Read it from the folder of its lesson."""
        return cls.of(json.loads((folder / COURSE).read_text("utf-8")))

    @classmethod
    def is_readable(cls, folder: Path) -> bool:
        """Return whether a folder has a course that can be read."""
        try:
            cls.read(folder)
        except _UNREADABLE:
            return False
        return True


def _examples(found: Sequence[dict[str, Any]]) -> tuple[Example, ...]:
    return tuple(
        Example(
            MentionText(**one["mention"]),
            one["page_id"],
            EntityText(**one["entity"]),
            tuple(EntityText(**other) for other in one["negatives"]),
        )
        for one in found
    )


def digest_of_examples(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of examples, without hard negatives."""
    return sha256_of([asdict(replace(one, negatives=())) for one in examples])


def sha256_of(found: Any) -> str:
    """Return the SHA-256 of what JSON can hold."""
    return hashlib.sha256(canonical(found).encode()).hexdigest()


def canonical(found: Any) -> str:
    """Return the one way in which something is written as JSON."""
    return json.dumps(found, sort_keys=True, ensure_ascii=False)
