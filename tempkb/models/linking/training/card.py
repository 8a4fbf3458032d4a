"""The card of a linker's checkpoint: what it is, what it was trained on and how, and how it is loaded."""

import json
from collections.abc import Mapping
from typing import Any

from tempkb.benchmarks.card import texts_beside
from tempkb.models.linking.training.lessons import Lesson
from tempkb.models.training.lessons import Course


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
    text = texts_beside(__file__)["text"].format(
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
