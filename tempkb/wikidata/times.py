"""Reads Wikidata's time values as half-open intervals of days. Pure.

A value such as 2020, May 2020 or the 1840s is not an instant: it says that
something happened on one of many days. It is kept as the interval of those
days, with its precision, and no part of the date is filled in.
"""

from dataclasses import dataclass
from enum import IntEnum

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
