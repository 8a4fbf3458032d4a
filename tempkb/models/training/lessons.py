"""What is handed to the process that trains, written as JSON, and what it tells of how training went."""

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec

from tempkb.core.files import replace_whole
from tempkb.core.windows import Granularity, Window
from tempkb.models.training.requests import REGIMES, Recipe, RegimeName
from tempkb.models.training.tables import QUERY, TEXT

CHECKPOINT = "checkpoint"
"""The folder in that of a lesson with what was trained."""


class _Kept:
    """A frozen dataclass that is kept as JSON in the folder of a lesson."""

    file: ClassVar[str]

    def write(self, folder: Path) -> None:
        """Write it into a folder; it is there whole or not at all."""
        replace_whole(folder / self.file, canonical(asdict(self)).encode())  # type: ignore[call-overload]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return what is in a folder; None if it is not there, was cut, or was written by another version."""
        try:
            written = (folder / cls.file).read_bytes()
            found = msgspec.json.decode(written, type=cls)
        except (FileNotFoundError, ValueError):
            return None
        is_all = json.loads(canonical(asdict(found))) == json.loads(written)  # type: ignore[call-overload]
        return found if is_all else None


class Lesson(_Kept, ABC):
    """What something is trained from.

    Attributes:
        learning: dotted name of the module that learns it, which is run as a process.
        key: a digest of all that decides what it becomes.
        recipe: has at least `batch_size`, examples of a step on all GPUs together, `mini_batch_size`, of which
            activations are in memory at once, `learning_rate`, the highest one, `weight_decay` and `max_grad_norm`.
        seed: of all chance.
        base: folder of the checkpoint with which it begins; empty for random weights.
    """

    file: ClassVar[str] = "lesson.json"
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
    def with_key(cls, folder: Path, key: str) -> Self | None:
        """Return the lesson in a folder if it has that key."""
        found = cls.read(folder)
        return found if found is not None and found.key == key else None


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


@dataclass(frozen=True)
class Course(_Kept):
    """How training went.

    Attributes:
        steps: of the optimiser.
        losses: pairs of a step and the mean loss of the steps up to it since the one before.
        validation: pairs of an epoch, from 1, and how well what is trained does then, if anything judges it.
    """

    file: ClassVar[str] = "course.json"
    steps: int
    losses: tuple[tuple[int, float], ...]
    validation: tuple[tuple[int, float], ...]


def sha256_of(found: Any) -> str:
    """Return the SHA-256 of what JSON can hold."""
    return hashlib.sha256(canonical(found).encode()).hexdigest()


def canonical(found: Any) -> str:
    """Return the one way in which something is written as JSON."""
    return json.dumps(found, sort_keys=True, ensure_ascii=False, default=str)
