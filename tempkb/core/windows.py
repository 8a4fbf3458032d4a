"""Half-open windows of time and their cuts. Pure: no Dagster, no files.

A window is [start, end), UTC. Its *cut* is its end: the first instant that is *not* in the window's snapshot.
"""

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from tempkb.core.errors import DesignError, SettingsError
from tempkb.core.options import Form

_RANGE = re.compile(r"(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


class Granularity(StrEnum):
    """The length of windows. Weeks begin on Monday, as in ISO 8601."""

    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True, order=True)
class Window:
    """The half-open span of time [start, end).

    >>> window = window_of(date(2021, 11, 5), Granularity.QUARTER)
    >>> window.key, window.label, window.cut.isoformat()
    ('2021-10-01', '2021-Q4', '2022-01-01')
    """

    start: date
    granularity: Granularity

    @property
    def end(self) -> date:
        """First day that is not in the window.

        Raises:
            SettingsError: it would be in the year 10000, which dates do not have.
        """
        try:
            if self.granularity is Granularity.WEEK:
                return self.start + timedelta(days=7)
            return _add_months(self.start, _MONTHS[self.granularity])
        except (OverflowError, ValueError):
            raise SettingsError(
                f"window {self.key}: it ends after {date.max}, the last day that a date can be; expected an earlier "
                "window"
            ) from None

    @property
    def cut(self) -> date:
        """The instant (midnight UTC of this day) that the window's snapshot does not include."""
        return self.end

    @property
    def key(self) -> str:
        """Name of the partition: the start day."""
        return self.start.isoformat()

    @property
    def label(self) -> str:
        """Name for people: `2021-Q4`, `2021-10`, `2021-W40`, `2021`."""
        if self.granularity is Granularity.WEEK:
            iso = self.start.isocalendar()
            return f"{iso.year}-W{iso.week:02}"
        if self.granularity is Granularity.MONTH:
            return f"{self.start:%Y-%m}"
        if self.granularity is Granularity.QUARTER:
            return f"{self.start.year}-Q{(self.start.month + 2) // 3}"
        return str(self.start.year)

    def __contains__(self, instant: datetime) -> bool:
        return epoch_seconds(self.start) <= instant.timestamp() < epoch_seconds(self.end)


def window_of(day: date, granularity: Granularity) -> Window:
    """Return the one window of `granularity` that contains `day`."""
    if granularity is Granularity.WEEK:
        return Window(day - timedelta(days=day.weekday()), granularity)
    months = _MONTHS[granularity]
    return Window(date(day.year, (day.month - 1) // months * months + 1, 1), granularity)


def window_of_key(key: str, granularity: Granularity) -> Window:
    """Return the window whose key is `key`.

    Raises:
        SettingsError: if no window of `granularity` begins on that day.
    """
    day = parse_day(key)
    window = window_of(day, granularity)
    if window.start != day:
        raise SettingsError(
            f"window {key}: no {granularity} begins on that day; the {granularity} around it begins on {window.key}"
        )
    return window


def window_ending(cut: date, granularity: Granularity) -> Window:
    """Return the window whose cut is `cut`.

    Raises:
        DesignError: if none ends there.
    """
    window = window_of(cut - timedelta(days=1), granularity)
    if window.cut != cut:
        raise DesignError(
            f"cut {cut}: no {granularity} of the home ends there; expected the first day of a {granularity}, "
            f"as {window.cut}"
        )
    return window


def windows_between(first: date, last: date, granularity: Granularity) -> Iterator[Window]:
    """Yield the windows whose first day is in [first, last), oldest first."""
    window = window_of(first, granularity)
    if window.start < first:
        window = Window(window.end, granularity)
    while window.start < last:
        yield window
        window = Window(window.end, granularity)


def windows_until(first: date, horizon: date, granularity: Granularity) -> list[Window]:
    """Return the windows from `first` on whose cut is at or before `horizon`."""
    return [window for window in windows_between(first, horizon, granularity) if window.cut <= horizon]


def newest_ended(today: date, granularity: Granularity) -> Window:
    """Return the newest window that has ended by a day.

    >>> newest_ended(date(2026, 11, 22), Granularity.QUARTER).label
    '2026-Q3'
    """
    return window_of(window_of(today, granularity).start - timedelta(days=1), granularity)


def in_the_future(day: date, today: date) -> str:
    """Return what is wrong with a dump that reaches to a day which has not come; empty if it has.

    A window that ends on that day would be built before it has ended, and never again.
    """
    if day <= today:
        return ""
    return f"reaches to {day}, and today is {today}; correct the date in its name, or the clock of this machine"


def refuse_future_cuts(
    typed: str, cuts: Sequence[date], today: date, granularity: Granularity, option: str = ""
) -> None:
    """Refuse cuts in the future, which no dump can serve.

    Args:
        cuts: oldest first.
        option: the option to put before the suggested cuts.

    Raises:
        SettingsError: a cut is after today; names the newest that can be built, and what to type.
    """
    later = [cut for cut in cuts if cut > today]
    if not later:
        return
    newest = newest_ended(today, granularity).cut
    good = [cut for cut in cuts if cut <= today] or [newest]
    raise SettingsError(
        f"{typed}: {later[0]} has not come yet, today is {today}. The newest cut that can be built is {newest}; type "
        f"{option}{','.join(str(cut) for cut in good)}"
    )


def refuse_unended(typed: str, windows: Sequence[Window], today: date, example: str) -> None:
    """Refuse windows that have not ended, which no dump can serve yet.

    Args:
        windows: the wanted windows, oldest first.
        example: what to type, with `{first}` and `{end}` for the days to put in.

    Raises:
        SettingsError: a window ends after today; names the newest that has ended, and what to type.
    """
    if not windows or windows[-1].cut <= today:
        return
    ended = [window for window in windows if window.cut <= today]
    unended = next(window for window in windows if window.cut > today)
    newest = newest_ended(today, unended.granularity)
    first = (ended or [newest])[0]
    raise SettingsError(
        f"{typed}: {unended.label} has not ended yet, it ends on {unended.cut}, and today is {today}. The newest "
        f"window that has ended is {newest.label}; type {example.format(first=first.start, end=newest.end)}"
    )


def parse_range(text: str) -> tuple[date, date]:
    """Read `A..B`, the windows whose first day is in [A, B).

    >>> parse_range("2020-01-01..2021-01-01")
    (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))
    """
    match = _RANGE.fullmatch(text.strip())
    if not match:
        raise SettingsError(f"window {text!r}: expected A..B with two days, such as 2020-01-01..2021-01-01")
    first, last = parse_day(match[1]), parse_day(match[2])
    if first >= last:
        raise SettingsError(f"window {text!r}: {last} is not after {first}, so there is no window between them")
    return first, last


Days = Annotated[tuple[date, date], Form(parse_range, "A..B with two days")]
"""First day, and the day after the last, as people write them."""


def nearest_days(days: Iterable[date], wanted: date, n: int = 3) -> list[date]:
    """Return the `n` days nearest to `wanted`, the nearest first; the earlier of two equally near ones.

    >>> nearest_days([date(2021, 1, 1), date(2022, 1, 1), date(2023, 1, 1)], date(2022, 12, 31), 2)
    [datetime.date(2023, 1, 1), datetime.date(2022, 1, 1)]
    """
    return sorted(set(days), key=lambda day: (abs((day - wanted).days), day))[:n]


def parse_day(text: str) -> date:
    """Read a day as YYYY-MM-DD."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        # If the month or day does not exist, Python's reason is helpful; its name of the format is not.
        why = "" if "isoformat" in str(error) else f" ({error})"
        raise SettingsError(f"day {text!r}: expected YYYY-MM-DD, such as 2021-01-31{why}") from None


def epoch_seconds(day: date) -> int:
    """Seconds from 1970-01-01 to midnight UTC of `day`."""
    return calendar.timegm(day.timetuple())


def instant(seconds: int) -> datetime:
    """Return the aware UTC instant `seconds` after 1970-01-01."""
    return datetime.fromtimestamp(seconds, UTC)


def stretches(windows: Sequence[Window]) -> list[list[Window]]:
    """Split windows into runs of consecutive ones, since a run of Dagster takes one range of partitions."""
    rows: list[list[Window]] = []
    for window in windows:
        if rows and rows[-1][-1].end == window.start:
            rows[-1].append(window)
        else:
            rows.append([window])
    return rows


def _add_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, 1)
