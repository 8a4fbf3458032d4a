"""What a linker is made from: a recipe, examples, and where it begins."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb.models.linking.training.recipe import Recipe
from tempkb.models.training.lessons import Lesson as AnyLesson
from tempkb.models.training.lessons import sha256_of

LEARNING = "tempkb.models.linking.training.learning"
"""The module that learns the lessons of linkers."""


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
class Lesson(AnyLesson):
    """What a linker is made from.

    Attributes:
        train: examples from which it learns, in an order that does not depend on the run.
        validation: examples by which it is judged after each epoch.
        corpus: texts on which a tokenizer is trained that goes with random weights.
    """

    learning: ClassVar[str] = LEARNING
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

    @property
    def what(self) -> str:
        """The linker as messages name it."""
        return f"linker {self.linker!r}"


def digest_of_examples(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of examples, without hard negatives."""
    return sha256_of([asdict(replace(one, negatives=())) for one in examples])
