"""What is handed to the process that trains, written as JSON, and what it tells of how training went."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Self

from tempkb.core.files import replace_whole
from tempkb.core.windows import Granularity, Window
from tempkb.models.training.requests import REGIMES, Recipe, RegimeName
from tempkb.models.training.tables import QUERY, TEXT

CHECKPOINT, COURSE = "checkpoint", "course.json"
"""What is in the folder of a lesson at the end: what was trained, and how its training went."""

_LESSON = "lesson.json"
# What reading raises of a file that is not there, was cut, or was written by another version.
_UNREADABLE = (FileNotFoundError, ValueError, KeyError, TypeError)


class Lesson(ABC):
    """What something is trained from; a frozen dataclass of what JSON can hold.

    Attributes:
        learning: dotted name of the module that learns it, which is run as a process.
        key: a digest of all that decides what it becomes.
        recipe: has at least `batch_size`, examples of a step on all GPUs together, `mini_batch_size`, of which
            activations are in memory at once, `learning_rate`, the highest one, `weight_decay` and `max_grad_norm`.
        seed: of all chance.
        base: folder of the checkpoint with which it begins; empty for random weights.
    """

    learning: ClassVar[str]
    key: str
    recipe: Any
    seed: int
    base: str

    @property
    @abstractmethod
    def what(self) -> str:
        """What is trained, as messages name it."""

    @abstractmethod
    def n_steps(self, n_processes: int = 1) -> int:
        """Return the number of steps of the optimiser."""

    @classmethod
    @abstractmethod
    def of(cls, found: dict[str, Any]) -> Self:
        """Return what was written as JSON."""

    def write(self, folder: Path) -> None:
        """Write it into a folder; it is there whole or not at all."""
        replace_whole(folder / _LESSON, canonical(asdict(self)).encode())  # type: ignore[call-overload]

    @classmethod
    def with_key(cls, folder: Path, key: str) -> Self | None:
        """Return the lesson in a folder if it can be read and has that key."""
        try:
            found = cls.read(folder)
        except _UNREADABLE:
            return None
        return found if found.key == key else None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read it from a folder."""
        return cls.of(json.loads((folder / _LESSON).read_text("utf-8")))


@dataclass(frozen=True)
class DatedLesson(Lesson):
    """What a language model is trained from, or an expert of one.

    Attributes:
        name: of the model.
        mixture: files with what it reads; rows of other periods are passed over.
        n_queries: how many of the examples are queries.
        period: length of the periods.
        starts: their first days.
    """

    learning: ClassVar[str] = "tempkb.models.training.exercises"
    name: str
    key: str
    recipe: Recipe
    seed: int
    base: str
    regime: RegimeName
    mixture: tuple[str, ...]
    n_queries: int
    period: Granularity
    starts: tuple[date, ...]

    @property
    def what(self) -> str:
        """The model as messages name it."""
        expert = f", expert {self.periods[0].label}" if REGIMES[self.regime].has_experts else ""
        return f"model {self.name!r}{expert}"

    @property
    def periods(self) -> tuple[Window, ...]:
        """Those of which it reads texts."""
        return tuple(Window(start, self.period) for start in self.starts)

    @property
    def n_examples(self) -> dict[str, int]:
        """How many examples it reads, by source."""
        return {TEXT: self.recipe.steps * self.recipe.batch_size - self.n_queries, QUERY: self.n_queries}

    def n_steps(self, n_processes: int = 1) -> int:
        """Return the number of steps of the optimiser, which is the same for any number of processes."""
        return self.recipe.steps

    @classmethod
    def of(cls, found: dict[str, Any]) -> "DatedLesson":
        """Return what was written as JSON."""
        read = {
            "recipe": Recipe(**found["recipe"]),
            "mixture": tuple(found["mixture"]),
            "period": Granularity(found["period"]),
            "starts": tuple(map(date.fromisoformat, found["starts"])),
        }
        return cls(**found | read)


@dataclass(frozen=True)
class Course:
    """How training went.

    Attributes:
        steps: of the optimiser.
        losses: pairs of a step and the mean loss of the steps up to it since the one before.
        validation: pairs of an epoch, from 1, and how well what is trained does then; of a linker the share of
            validation mentions whose entity is ranked first among the entities of all validation mentions. Empty if
            nothing is judged.
    """

    steps: int
    losses: tuple[tuple[int, float], ...]
    validation: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Course":
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


def sha256_of(found: Any) -> str:
    """Return the SHA-256 of what JSON can hold."""
    return hashlib.sha256(canonical(found).encode()).hexdigest()


def canonical(found: Any) -> str:
    """Return the one way in which something is written as JSON."""
    return json.dumps(found, sort_keys=True, ensure_ascii=False, default=str)
