"""The released rule of changes between two windows, which compares texts and names, answer by answer.

It ignores the removal of one answer among several, uses the first of several queries
with the same text, and does not distinguish two items with the same name.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A query in the form that the rule compares.

    Attributes:
        key: its text, or another key, to compare keys.
        answers: names of its answers, in order.
        source: the row from which it was made.
    """

    key: str
    answers: Sequence[str]
    source: Any = None


def released_changes(before: Sequence[Asked], now: Sequence[Asked]) -> Iterator[tuple[str, Asked, int]]:
    """Yield (change, query, number of its answer) for every answer that the rule counts, in its order.

    `deleted` answers are those of the window before.
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
    """Return the number of answers by change, for all four changes."""
    counted = Counter(change for change, _, _ in changes)
    return {change: counted[change] for change in ("unchanged", "updated", "new", "deleted")}
