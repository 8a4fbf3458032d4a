"""The card of a linker's checkpoint: what it is, what it was trained on and how, and how it is loaded."""

import json
from collections.abc import Mapping
from typing import Any

from tempkb.linking.training.lessons import Course, Lesson

_LOADING = """\
```python
from sentence_transformers import SentenceTransformer

linker = SentenceTransformer("FOLDER")
mention = "She spoke to the [Ms] Mejlis [Me] in May."
entities = ["Mejlis of the Crimean Tatar People [Ent] A body of the Crimean Tatars.", "Majlis [Ent] A council."]
scores = linker.encode_query([mention]) @ linker.encode_document(entities).T
print(scores.argmax())
```
"""


def card_of(
    row: Mapping[str, Any], lesson: Lesson, course: Course, recipe: Mapping[str, Any], inputs: Mapping[str, str]
) -> str:
    """Return the card as Markdown; it depends on nothing but the training.

    Args:
        row: of `linkers`, so far as it is known before the files' digests.
    """
    lines = [f"| {name} | {json.dumps(value)} |" for name, value in sorted(recipe.items())]
    made_from = [f"| {name} | {version} |" for name, version in sorted(inputs.items())]
    judged = (
        f"After the last epoch it ranks the entity of {course.validation[-1][1]:.1%} of the {len(lesson.validation)} "
        "validation mentions first among the entities of all of them."
        if course.validation
        else "The snapshot has no validation mentions."
    )
    return "\n".join(
        [
            "---",
            "library_name: sentence-transformers",
            "tags: [entity-linking, sentence-transformers]",
            "---",
            "",
            f"# {row['linker']}",
            "",
            f"A bi-encoder that links mentions to entities, trained by tempkb on the train mentions of the release "
            f"{row['release']} of TempEL at {row['cut']}: {len(lesson.train)} mentions of "
            f"{len({one.page_id for one in lesson.train})} entities, continual and new ones. {judged}",
            "",
            "Mentions read `left [Ms] mention [Me] right`, and entities `title [Ent] description`, both of at most "
            f"{lesson.recipe.max_tokens} tokens and cut between words. Vectors are those of the token [CLS], and are "
            "compared by their inner product.",
            "",
            "## How it was trained",
            "",
            f"Seed {lesson.seed}; preset {row['preset']}; it began with {row['base'] or 'random weights'}. "
            f"{course.steps} steps; the curves are in `training.json`.",
            "",
            "| number | value |",
            "|---|---|",
            *lines,
            "",
            "## What it was trained on",
            "",
            "| table and partition | version |",
            "|---|---|",
            *made_from,
            "",
            "## How it is loaded",
            "",
            _LOADING,
        ]
    )
