"""Turns the qualifiers of statements into the intervals in which they hold. Pure.

`membership.py` has the truth table: in which windows such an interval holds.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from tempkb.wikidata.decoding import Qualifiers, Snak, Statement, time_in
from tempkb.wikidata.times import Precision, Span, TimeError, read_time

VALUE, SOMEVALUE, NOVALUE, ABSENT, UNREADABLE = "value", "somevalue", "novalue", "absent", "unreadable"
"""Kinds of a start or an end: a date; an unknown date; explicitly none; not given; a date that cannot be read or is
coarser than a century."""


class Bound(NamedTuple):
    """A start or an end.

    Attributes:
        kind: one of the five kinds.
        span: the days on which it may lie; an end is the last day on which the statement held. None without a date.
        latest: for an unknown end before another start, the day before which it must lie; otherwise None.
    """

    kind: str
    span: Span | None = None
    latest: int | None = None


class Interval(NamedTuple):
    """One interval in which a statement held.

    Attributes:
        start, end: its bounds.
        is_point: whether it is given by a point in time instead of a start and an end.
    """

    start: Bound
    end: Bound
    is_point: bool = False

    @property
    def valid_from(self) -> int | None:
        """First day on which it may hold; None if not known."""
        return self.start.span.first if self.start.span else None

    @property
    def certain_from(self) -> int | None:
        """Latest day on which it may begin; None if not known."""
        return self.start.span.end - 1 if self.start.span else None

    @property
    def valid_to(self) -> int | None:
        """First day on which it can no longer hold, the day after the last possible one; None if not known."""
        return self.end.span.end if self.end.span else self.end.latest

    @property
    def certain_to(self) -> int | None:
        """Earliest day on which it may no longer hold; None if not known."""
        return self.end.span.first + 1 if self.end.span else None


def is_dated(statement: Statement) -> bool:
    """Return whether a statement has a start, an end or a point in time."""
    given = statement.qualifiers
    return isinstance(given, Qualifiers) and not (given.start is UNSET and given.end is UNSET and given.point is UNSET)


def intervals_of(qualifiers: Qualifiers, unreadable: list[str]) -> list[Interval]:
    """Return the intervals that qualifiers give, oldest first.

    Points in time are used only if there is neither a start nor an end. Several
    starts and ends give several intervals: they are paired in order if there are
    as many starts as ends; otherwise each start lasts until the next end or start.

    Args:
        unreadable: receives a line for every time that cannot be read.
    """
    if qualifiers.start is UNSET and qualifiers.end is UNSET:
        points, kind = _dates(qualifiers.point, unreadable)
        spans = [Interval(Bound(VALUE, one), Bound(VALUE, one), is_point=True) for one in points]
        return spans or [Interval(Bound(kind), Bound(kind), is_point=True)]
    starts, start_kind = _dates(qualifiers.start, unreadable)
    ends, end_kind = _dates(qualifiers.end, unreadable)
    if len(starts) == len(ends) and all(end.end > start.first for start, end in zip(starts, ends, strict=True)):
        pairs = [Interval(Bound(VALUE, start), Bound(VALUE, end)) for start, end in zip(starts, ends, strict=True)]
        return pairs or [Interval(Bound(start_kind), Bound(end_kind))]
    if len(starts) <= 1 and len(ends) <= 1:
        start = Bound(VALUE, starts[0]) if starts else Bound(start_kind)
        return [Interval(start, Bound(VALUE, ends[0]) if ends else Bound(end_kind))]
    return list(_in_turn(starts, ends, start_kind, end_kind))


def _in_turn(starts: Sequence[Span], ends: Sequence[Span], start_kind: str, end_kind: str) -> Iterator[Interval]:
    """Yield the intervals between starts and ends, in the order of time."""
    events = sorted([(one, False) for one in starts] + [(one, True) for one in ends])
    begun: Span | None = None
    for span, is_end in events:
        if is_end:
            yield Interval(Bound(VALUE, begun) if begun else Bound(start_kind), Bound(VALUE, span))
            begun = None
            continue
        if begun is not None:
            # It ended before it began again, at an unknown time.
            yield Interval(Bound(VALUE, begun), Bound(SOMEVALUE, latest=span.end))
        begun = span
    if begun is not None:
        yield Interval(Bound(VALUE, begun), Bound(end_kind))


def _dates(snaks: list[Snak] | UnsetType, unreadable: list[str]) -> tuple[list[Span], str]:
    """The dates among the qualifiers of one property, oldest first, and the kind of a bound without a date."""
    if snaks is UNSET:
        return [], ABSENT
    spans: set[Span] = set()
    kinds: set[str] = set()
    for snak in snaks:
        span = read_snak(snak, unreadable)
        if span is not None:
            spans.add(span)
        else:
            kinds.add(snak.snaktype if snak.snaktype in (SOMEVALUE, NOVALUE) else UNREADABLE)
    for kind in (NOVALUE, SOMEVALUE, UNREADABLE):
        if kind in kinds:
            return sorted(spans), kind
    return sorted(spans), ABSENT


def read_snak(snak: Snak, unreadable: list[str]) -> Span | None:
    """Return the days that a snak's time covers; None if it has no readable time. Problems go to `unreadable`."""
    if snak.snaktype != VALUE:
        return None
    value = time_in(snak)
    if value is None:
        unreadable.append("no time")
        return None
    span, why = _read(value.time, value.precision, value.calendarmodel)
    if span is None:
        unreadable.append(f"{value.time} of precision {value.precision}: {why}")
    return span


@lru_cache(1 << 16)
def _read(time: str, precision: int, calendar: str) -> tuple[Span | None, str]:
    try:
        return read_time(time, precision, calendar), ""
    except TimeError as error:
        return None, str(error)


def best_ranked(statements: Iterable[Statement]) -> list[Statement]:
    """Return the preferred statements, or else all that are not deprecated."""
    kept = [one for one in statements if one.rank != "deprecated"]
    preferred = [one for one in kept if one.rank == "preferred"]
    return preferred or kept


def earliest(dated: Iterable[tuple[Span, str]]) -> tuple[Span, str] | None:
    """Return the earliest of some dates with their properties; among dates that may be the same day, the finest.

    2020 is not earlier than 3 May 2020: it may be the same day, and is less precise.
    """
    found = list(dated)
    if not found:
        return None
    certainly_by = min(span.end for span, _ in found)
    first = [(span, name) for span, name in found if span.first < certainly_by]
    return min(first, key=lambda one: (-one[0].precision, one[0].first, one[1]))


def precision_name(span: Span | None) -> str | None:
    """Return `day`, `month`, `year`, `decade` or `century`; None without a date."""
    return Precision(span.precision).name.lower() if span else None
