"""Chooses the definition of another entity of the same release, window and split for each item. Pure.

By rendezvous hashing an added entity takes over only the items that it wins, as long
as the splits of the others do not change. A definition that contains the answer or the
mention as words would give it away, so the next one is taken. Nearly all definitions
contain "of" or "the", so items with such an answer may get none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tempkb.benchmarks.chance import Hashes, draw, rendezvous
from tempkb.benchmarks.ecbd.matching import folded, holds

_AT_A_TIME = 1 << 21  # scores, of 8 bytes each


@dataclass(frozen=True)
class Item:
    """An item that needs a definition of another entity."""

    cloze_id: str
    page_id: int
    answer: str
    mention: str


def choose_definitions(items: Sequence[Item], pool: Sequence[tuple[int, str]], seed: int) -> list[int | None]:
    """Return the page number of the article whose definition each item gets; None if every one would give it away.

    Args:
        items: the items of one window and split.
        pool: (page number, definition) of all entities of that window and split.
    """
    if len(pool) < 2:
        return [None] * len(items)
    candidates = np.array([draw(seed, "definition", page) for page, _ in pool], np.uint64)
    chosen: list[int | None] = []
    step = max(1, _AT_A_TIME // len(pool))
    for at in range(0, len(items), step):
        some = items[at : at + step]
        hashes = np.array([draw(seed, "item", one.cloze_id) for one in some], np.uint64)
        scores = rendezvous(hashes, candidates)
        chosen += [_first_fitting(item, row, pool) for item, row in zip(some, scores, strict=True)]
    return chosen


def tells(definition: str, answer: str, mention: str) -> bool:
    """Return whether a definition contains an answer or a mention as words, in any case.

    >>> tells("The Lamp is old.", "lamp", "Ida"), tells("Lamps are old.", "lamp", "Ida")
    (True, False)
    """
    text = folded(definition)
    return holds(text, folded(answer)) or holds(text, folded(mention))


def _first_fitting(item: Item, scores: Hashes, pool: Sequence[tuple[int, str]]) -> int | None:
    """The definition with the lowest score that fits. The first nearly always does, so the rest is sorted rarely."""

    def fits(at: int) -> bool:
        page, definition = pool[at]
        return page != item.page_id and not tells(definition, item.answer, item.mention)

    first = int(scores.argmin())
    if fits(first):
        return pool[first][0]
    return next((pool[at][0] for at in np.argsort(scores, kind="stable").tolist() if fits(at)), None)
