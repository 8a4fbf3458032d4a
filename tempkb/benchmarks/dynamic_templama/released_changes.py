"""The released rule of what changed between two windows: on texts and names, answer by answer.

It knows no removal of one answer among several, takes the first query of a text
for all of that text, and calls two items of one name the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A query as the rule sees it.

    Attributes:
        key: its text; or another name for it, to see what keys do.
        answers: names of its answers, in order.
        source: what it came from, for whoever wants to know.
    """

    key: str
    answers: Sequence[str]
    source: Any = None


def released_changes(before: Sequence[Asked], now: Sequence[Asked]) -> Iterator[tuple[str, Asked, int]]:
    """Yield (change, query, number of its answer) for every answer that the rule counts, in its order.

    `deleted` ones are of the window before.
    """
    earlier = _first_of(before)
    for asked in now:
        known = earlier.get(asked.key)
        for at, answer in enumerate(asked.answers):
            yield ("new" if known is None else "unchanged" if answer in known.answers else "updated"), asked, at
    still = {asked.key for asked in now}
    for asked in before:
        if asked.key not in still:
            for at in range(len(asked.answers)):
                yield "deleted", asked, at


def _first_of(asked: Iterable[Asked]) -> Mapping[str, Asked]:
    found: dict[str, Asked] = {}
    for one in asked:
        found.setdefault(one.key, one)
    return found


def count_changes(changes: Iterable[tuple[str, Asked, int]]) -> dict[str, int]:
    """Count answers by change, all four named."""
    counted = Counter(change for change, _, _ in changes)
    return {change: counted[change] for change in ("unchanged", "updated", "new", "deleted")}
