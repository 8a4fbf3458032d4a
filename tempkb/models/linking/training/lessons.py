"""What a linker is made from: a recipe, examples, and where it begins; and the card of its checkpoint."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from tempkb.core.files import toml_beside
from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb.models.linking.training.recipe import Recipe
from tempkb.models.training.lessons import Course, sha256_of
from tempkb.models.training.lessons import Lesson as AnyLesson

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
    corpus: tuple[str, ...] = ()

    def n_steps(self, n_processes: int = 1) -> int:
        """Return the number of steps of the optimiser; several processes leave out the rest of an epoch."""
        n, size = len(self.train), self.recipe.batch_size
        return int(self.recipe.epochs * (n // size if n_processes > 1 else math.ceil(n / size)))

    @property
    def what(self) -> str:
        """The linker as messages name it."""
        return f"linker {self.linker!r}"


def digest_of_examples(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of examples, without hard negatives."""
    return sha256_of([asdict(replace(one, negatives=())) for one in examples])


def card_of(
    row: Mapping[str, Any], lesson: Lesson, course: Course, recipe: Mapping[str, Any], inputs: Mapping[str, str]
) -> str:
    """Return the card as Markdown; it depends on nothing but the training.

    Args:
        row: of `linkers`, so far as it is known before the files' digests.
    """
    judged = (
        f"After the last epoch it ranks the entity of {course.validation[-1][1]:.1%} of the {len(lesson.validation)} "
        "validation mentions first among the entities of all of them."
        if course.validation
        else "The snapshot has no validation mentions."
    )
    text = toml_beside(__file__, "card.toml")["text"].format(
        linker=row["linker"],
        release=row["release"],
        cut=row["cut"],
        n_train=len(lesson.train),
        n_entities=len({one.page_id for one in lesson.train}),
        judged=judged,
        max_tokens=lesson.recipe.max_tokens,
        seed=lesson.seed,
        preset=row["preset"],
        base=row["base"] or "random weights",
        steps=course.steps,
        numbers="\n".join(f"| {name} | {json.dumps(value)} |" for name, value in sorted(recipe.items())),
        made_from="\n".join(f"| {name} | {version} |" for name, version in sorted(inputs.items())),
    )
    return str(text)
