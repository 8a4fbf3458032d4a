"""Turns the qualifiers of statements into the intervals in which they hold. Pure.

A time value such as 2020, May 2020 or the 1840s is not an instant: it says that something happened on one of many
days. It is kept as the half-open interval of those days, with its precision, and no part of the date is filled in.
`views.py` has the truth table: in which windows an interval between two such dates holds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from tempkb.wiki.wikidata.decoding import Qualifiers, Snak, Statement, time_in

# Days from 0000-03-01 to 1970-01-01, by the proleptic Gregorian and by the Julian calendar.
_EPOCH_GREGORIAN = 719_468
_EPOCH_JULIAN = 719_470
# Days of later years would not fit into a column of 32-bit days.
_LARGEST_YEAR = 5_000_000
# Wikibase's own limit for a year. Python refuses to read numbers of more than 4,300 digits.
_MOST_DIGITS = 16

JULIAN = "Q1985786"


class Precision(IntEnum):
    """The precision of a time, with Wikidata's numbers; a larger number is finer."""

    CENTURY = 7
    DECADE = 8
    YEAR = 9
    MONTH = 10
    DAY = 11


@dataclass(frozen=True, order=True)
class Span:
    """The days on which something may have happened.

    Attributes:
        first: the first of these days, in days since 1970-01-01.
        end: the day after the last of them, likewise.
    """

    first: int
    end: int
    precision: Precision


class TimeError(ValueError):
    """A time value that cannot be read, or is coarser than a century; the message says why."""


def read_time(time: str, precision: int, calendar: str = "") -> Span:
    """Return the days that a time value of Wikidata's JSON covers.

    Args:
        time: `+2019-05-03T00:00:00Z`; also with eleven digits for the year, as
            until about 2015, with `00` for an unknown month or day, and with `-`
            for years before the common era (-0027 is 27 BCE; there is no year 0).
        precision: 7 (century) to 11 (day); 12 to 14 (hours and below) count as days.
        calendar: the calendar's URI or item; dates of day precision in the
            Julian calendar are converted to the Gregorian one. Coarser dates are
            not converted, as in Wikidata's own RDF export.

    Raises:
        TimeError: the value is coarser than a century, out of range, or not a date.

    >>> span = read_time("+2020-00-00T00:00:00Z", 9)
    >>> span.first, span.end
    (18262, 18628)
    """
    if precision < Precision.CENTURY:
        raise TimeError("coarser than a century")
    year, month, day = _parts(time)
    level = Precision(min(precision, Precision.DAY))
    # A missing month or day limits the precision, even if the value claims a finer one.
    if month == 0:
        level = min(level, Precision.YEAR)
    elif day == 0:
        level = min(level, Precision.MONTH)
    if level is Precision.DAY:
        return _one_day(year, month, day, is_julian=calendar.endswith(JULIAN))
    if level is Precision.MONTH:
        return Span(_gregorian(year, month, 1), _gregorian(*_month_after(year, month), 1), level)
    first, last = _years(year, level)
    return Span(_gregorian(first, 1, 1), _gregorian(last + 1, 1, 1), level)


def _parts(time: str) -> tuple[int, int, int]:
    sign, rest = time[:1], time[1:]
    date, at, _ = rest.partition("T")
    parts = date.split("-")
    if (
        sign not in ("+", "-")
        or not at
        or len(parts) != 3
        or not all(part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS for part in parts)
    ):
        raise TimeError(f"{time!r} is no time of Wikidata")
    year, month, day = (int(part) for part in parts)
    if month > 12 or day > 31:
        raise TimeError(f"{time!r} is no date")
    if year > _LARGEST_YEAR:
        raise TimeError("out of range")
    # Wikidata has no year 0. In astronomical numbering 1 BCE is year 0, so that years can be added and subtracted.
    return (year if sign == "+" else 1 - year), month, day


def _one_day(year: int, month: int, day: int, *, is_julian: bool) -> Span:
    count = _julian if is_julian else _gregorian
    first = count(year, month, day)
    if first >= count(*_month_after(year, month), 1):
        raise TimeError(f"{year:04}-{month:02}-{day:02} is no date")
    return Span(first, first + 1, Precision.DAY)


def _month_after(year: int, month: int) -> tuple[int, int]:
    return (year, month + 1) if month < 12 else (year + 1, 1)


def _years(year: int, level: Precision) -> tuple[int, int]:
    """First and last year, in astronomical numbering, of the year, decade or century that contains a year."""
    if level is Precision.YEAR:
        return year, year
    if year <= 0:
        # Before the common era they are mirrored: the 50s BCE are 59 to 50, the first century is 100 to 1.
        later, earlier = _years(1 - year, level)
        return 1 - earlier, 1 - later
    if level is Precision.DECADE:
        # There is no year 0, so the first decade has nine years.
        return max(1, year // 10 * 10), year // 10 * 10 + 9
    century = (year - 1) // 100
    return century * 100 + 1, century * 100 + 100


def _gregorian(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date in the proleptic Gregorian calendar.

    Years begin in March here, so that the leap day is the last day of a year
    (H. Hinnant, chrono-compatible low-level date algorithms).
    """
    years = year - (month <= 2)
    return _day_of_year(month, day) + years * 365 + years // 4 - years // 100 + years // 400 - _EPOCH_GREGORIAN


def _julian(year: int, month: int, day: int) -> int:
    years = year - (month <= 2)
    return _day_of_year(month, day) + years * 365 + years // 4 - _EPOCH_JULIAN


def _day_of_year(month: int, day: int) -> int:
    return (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1


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
