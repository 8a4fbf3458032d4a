"""What is handed to the process that trains, and what it tells of how training went."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tempkb.core.windows import Window
from tempkb.models.training.requests import Recipe, TrainRequest

CHECKPOINT = "checkpoint"
"""The folder in that of a lesson with what was trained."""


class Lesson(ABC):
    """What something is trained from.

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


@dataclass(frozen=True)
class DatedLesson(Lesson):
    """What a language model is trained from, or an expert of one.

    Attributes:
        mixture: files with what it reads; rows of other periods are passed over.
        n_examples: how many examples it reads, by source.
        periods: those of which it reads texts.
    """

    learning: ClassVar[str] = "tempkb.models.training.exercises"
    request: TrainRequest
    key: str
    recipe: Recipe
    base: str
    mixture: tuple[str, ...]
    n_examples: Mapping[str, int]
    periods: tuple[Window, ...]

    @property
    def seed(self) -> int:  # type: ignore[override]  # is only read
        """That of the request."""
        return self.request.seed

    @property
    def what(self) -> str:
        """The model as messages name it."""
        expert = f", expert {self.periods[0].label}" if self.request.how.has_experts else ""
        return f"model {self.request.name!r}{expert}"

    def n_steps(self, n_processes: int = 1) -> int:
        """Return the number of steps of the optimiser, which is the same for any number of processes."""
        return self.recipe.steps


@dataclass(frozen=True)
class Course:
    """How training went.

    Attributes:
        steps: of the optimiser.
        losses: pairs of a step and the mean loss of the steps up to it since the one before.
        validation: pairs of an epoch, from 1, and how well what is trained does then, if anything judges it.
    """

    steps: int
    losses: tuple[tuple[int, float], ...]
    validation: tuple[tuple[int, float], ...]


def sha256_of(found: Any) -> str:
    """Return the SHA-256 of what JSON can hold."""
    return hashlib.sha256(canonical(found).encode()).hexdigest()


def canonical(found: Any) -> str:
    """Return the one way in which something is written as JSON."""
    return json.dumps(found, sort_keys=True, ensure_ascii=False, default=str)
