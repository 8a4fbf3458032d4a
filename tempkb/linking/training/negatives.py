"""Hard negatives: wrong entities that another linker ranks high for a mention, so that there is much to be learnt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tempkb.errors import SettingsError
from tempkb.linking.encoders import Encoder
from tempkb.linking.inputs import EntityText
from tempkb.linking.searching import top
from tempkb.linking.training.lessons import Example


def with_hard_negatives(
    examples: Sequence[Example],
    candidates: Mapping[int, EntityText],
    encoder: Encoder,
    n: int,
    log: Callable[[str], None],
) -> list[Example]:
    """Return examples with the `n` wrong entities that an encoder ranks highest.

    An entity with the text of the right one is not wrong; it could not be told from it.

    Args:
        examples: with their right entities.
        candidates: the entities of the cut by page_id.
        encoder: that ranks them.
        n: wrong entities of each example.
        log: takes a sentence about the search.

    Raises:
        SettingsError: there are not so many wrong entities.
    """
    pages = np.array(sorted(candidates), dtype=np.int64)
    vectors = encoder.entities([candidates[int(page)] for page in pages]).astype(np.float16)
    queries = encoder.mentions([one.mention for one in examples])
    like: dict[EntityText, int] = {}
    for text in candidates.values():
        like[text] = like.get(text, 0) + 1
    # So many that enough are left without those that have the text of the right one.
    k = n + max(like.get(one.entity, 0) for one in examples)
    ranked, _ = top(queries, vectors, pages, k, log)
    return [replace(one, negatives=_wrong(one, ranked[row], candidates, n)) for row, one in enumerate(examples)]


def _wrong(example: Example, ranked: Any, candidates: Mapping[int, EntityText], n: int) -> tuple[EntityText, ...]:
    texts = (candidates[int(page)] for page in ranked if page != example.page_id)
    wrong = tuple(dict.fromkeys(text for text in texts if text != example.entity))[:n]
    if len(wrong) < n:
        raise SettingsError(
            f"found {len(wrong)} wrong entities for a mention of {example.entity.title!r}; expected {n} hard "
            "negatives. Set a smaller number: hard_negatives."
        )
    return wrong
