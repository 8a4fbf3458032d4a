"""The definition of another entity for each item: of the same release, window and split, by rendezvous. Pure.

A new entity takes over only the items that it wins, as long as the splits of the
others stay. A definition that holds the answer or the mention, as words, would give
something away, so the next one is taken; few hold none of "of" and "the", so items
with such an answer are those that may go without.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tempkb.benchmarks.chance import Hashes, draw, rendezvous
from tempkb.benchmarks.ecbd.matching import holds

_AT_A_TIME = 1 << 21  # scores, of 8 bytes each


@dataclass(frozen=True)
class Item:
    """An item that needs a definition of another entity.

    Attributes:
        cloze_id: its name.
        page_id: article of its own entity.
        answer: what is masked.
        mention: how the entity is mentioned.
    """

    cloze_id: str
    page_id: int
    answer: str
    mention: str


def choose_definitions(items: Sequence[Item], pool: Sequence[tuple[int, str]], seed: int) -> list[int | None]:
    """Return the article whose definition each item gets; None where every other one gives something away.

    Args:
        items: of one window and split.
        pool: (article, definition) of all entities of that window and split, its own among them.
        seed: of the release.
    """
    if len(pool) < 2:
        return [None] * len(items)
    candidates = np.array([draw(seed, "definition", page) for page, _ in pool], np.uint64)
    said = [definition.lower() for _, definition in pool]
    chosen: list[int | None] = []
    step = max(1, _AT_A_TIME // len(pool))
    for at in range(0, len(items), step):
        some = items[at : at + step]
        hashes = np.array([draw(seed, "item", one.cloze_id) for one in some], np.uint64)
        scores = rendezvous(hashes, candidates)
        chosen += [_first_fitting(item, row, pool, said) for item, row in zip(some, scores, strict=True)]
    return chosen


def _first_fitting(item: Item, scores: Hashes, pool: Sequence[tuple[int, str]], said: Sequence[str]) -> int | None:
    """Nearly always the first will do, so the others are put in order only when it does not."""
    answer, mention = item.answer.lower(), item.mention.lower()

    def fits(at: int) -> bool:
        return pool[at][0] != item.page_id and not holds(said[at], answer) and not holds(said[at], mention)

    first = int(scores.argmin())
    if fits(first):
        return pool[first][0]
    return next((pool[at][0] for at in np.argsort(scores, kind="stable").tolist() if fits(at)), None)
