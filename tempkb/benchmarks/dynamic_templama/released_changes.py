"""The released rule of changes between two windows, which compares texts and names, answer by answer.

It ignores the removal of one answer among several, uses the first of several queries
with the same text, and does not distinguish two items with the same name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Query(NamedTuple):
    """A query in the form that the rule compares.

    Attributes:
        key: its text, or another key, to compare keys.
        answers: names of its answers, in order.
        source: the row from which it was made.
    """

    key: str
    answers: Sequence[str]
    source: Any = None


def released_changes(before: Sequence[Query], now: Sequence[Query]) -> Iterator[tuple[str, Query, int]]:
    """Yield (change, query, number of its answer) for every answer that the rule counts, in its order.

    `deleted` answers are those of the window before.
    """
    earlier = _first_of(before)
    for query in now:
        known = earlier.get(query.key)
        for at, answer in enumerate(query.answers):
            yield ("new" if known is None else "unchanged" if answer in known.answers else "updated"), query, at
    still = {query.key for query in now}
    for query in before:
        if query.key not in still:
            for at in range(len(query.answers)):
                yield "deleted", query, at


def _first_of(queries: Iterable[Query]) -> Mapping[str, Query]:
    found: dict[str, Query] = {}
    for one in queries:
        found.setdefault(one.key, one)
    return found
