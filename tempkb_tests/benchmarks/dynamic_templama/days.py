"""Changes by handover, day by day: a brute force that shares no code with the benchmark. Pure."""

from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from tempkb.core.windows import Granularity, window_of, windows_between

# Before and after all dates of the tests; a Monday, and the first day of a year.
FIRST_DAY, LAST_DAY = date(1990, 1, 1), date(2024, 12, 31)
EVERY_DAY = [FIRST_DAY + timedelta(days=n) for n in range((LAST_DAY - FIRST_DAY).days + 1)]
FINE_ENOUGH = {
    "week": {"day"},
    "month": {"day", "month"},
    "quarter": {"day", "month"},
    "year": {"day", "month", "year"},
}
PRECISIONS = ["day", "month", "year", "decade", ""]


class Run(NamedTuple):
    """Adjacent windows in which an object is an answer, with all days that may have been its first, and its last."""

    who: str
    first: int
    last: int
    starts: list[date]
    start_precision: str
    stops: list[date]
    stop_precision: str


def brute_force(dated, granularity, number, shown):
    """Rows of one question: (window's first day, object) -> (change, role, partner, its window, answers before).

    Args:
        dated: (object, start, end) of each statement; a date is all days that it may be, and how fine it is.
        granularity: of the windows.
        number: of an object.
        shown: first days of the windows whose rows are wanted.
    """
    windows, of_day = windows_of_days(granularity)
    possible = possible_days(dated)
    answers = {who: {of_day[day] for day in days} for who, days in possible.items()}
    runs = [
        run_of(who, first, dated, possible[who], of_day)
        for who, held in answers.items()
        for first in sorted(at for at in held if at - 1 not in held)
    ]
    said = {}
    for row in rows_of(runs, FINE_ENOUGH[granularity], number):
        at, who, *judged, other_at = row
        if at < len(windows) and windows[at].start in shown:
            before = sorted((one for one, held in answers.items() if at - 1 in held), key=number)
            when = None if other_at is None else windows[other_at].start
            said[windows[at].start, who] = (*judged, when, before)
    return said


@cache
def windows_of_days(granularity):
    """All windows, and the place of that of each day."""
    windows = list(windows_between(FIRST_DAY, LAST_DAY, Granularity(granularity)))
    place = {window.start: at for at, window in enumerate(windows)}
    return windows, {day: place[window_of(day, Granularity(granularity)).start] for day in EVERY_DAY}


@cache
def days_of(text):
    """All days that a date as `2021`, `2021-02` or `2021-02-13` may be, and how fine it is; nothing has none."""
    if not text:
        return [], ""
    parts = tuple(int(part) for part in text.split("-"))
    found = [day for day in EVERY_DAY if (day.year, day.month, day.day)[: len(parts)] == parts]
    return found, {1: "year", 2: "month", 3: "day"}[len(parts)]


def possible_days(dated):
    found = {}
    for who, (starts, _), (ends, _) in dated:
        since, until = (starts or EVERY_DAY)[0], (ends or EVERY_DAY)[-1]
        found.setdefault(who, set()).update(EVERY_DAY[(since - FIRST_DAY).days : (until - FIRST_DAY).days + 1])
    return found


def run_of(who, first, dated, days, of_day):
    held = {of_day[day] for day in days}
    last = first
    while last + 1 in held:
        last += 1
    within = [day for day in days if first <= of_day[day] <= last]
    begins, ends = min(within), max(within)
    starts = [start for head, start, _ in dated if head == who and (start[0] or EVERY_DAY)[0] == begins]
    stops = [end for head, _, end in dated if head == who and (end[0] or EVERY_DAY)[-1] == ends]
    opening, closing = (min(some, key=lambda one: PRECISIONS.index(one[1])) for some in (starts, stops))
    return Run(who, first, last, opening[0] or EVERY_DAY, opening[1], closing[0] or EVERY_DAY[-1:], closing[1])


def rows_of(runs, fine, number):
    came_from, gave_to = pairs_of(runs, fine, number)
    for run in runs:
        who, first, last, *_ = run
        for at in range(first + 1, last + 1):
            yield at, who, "unchanged", None, None, None
        if run.start_precision not in fine:
            yield first, who, "undatable", None, None, None
        elif other := came_from.get((who, first)):
            yield first, who, "updated", "arriving", other.who, other.last + 1
        else:
            yield first, who, "new", None, None, None
        if run.stop_precision not in fine:
            yield last + 1, who, "undatable", None, None, None
        elif other := gave_to.get((who, first)):
            yield last + 1, who, "updated", "leaving", other.who, other.first
        else:
            yield last + 1, who, "deleted", None, None, None


def pairs_of(runs, fine, number):
    """From whom each run took over, and to whom it gave, by its object and first window."""
    candidates = []
    for at, came in enumerate(runs):
        for to, left in enumerate(runs):
            if may_hand_over(left, came, fine):
                days = days_between(left.stops, came.starts)
                candidates.append((days, number(came.who), number(left.who), came.first, left.last, at, to))
    came_from, gave_to = {}, {}
    for *_, at, to in sorted(candidates):
        came, left = runs[at], runs[to]
        if (came.who, came.first) not in came_from and (left.who, left.first) not in gave_to:
            came_from[came.who, came.first], gave_to[left.who, left.first] = left, came
    return came_from, gave_to


def days_between(stops, starts):
    """Least days between one of some days in a row and one of others."""
    if set(stops) & set(starts):
        return 0
    return min(abs((one - two).days) for one in (stops[0], stops[-1]) for two in (starts[0], starts[-1]))


def may_hand_over(left, came, fine):
    return (
        left.who != came.who
        and came.start_precision in fine
        and left.stop_precision in fine
        and abs(came.first - left.last) <= 1
        and may_precede(left, came)
        and not may_precede(came, left)
    )


def may_precede(one, other):
    """Is there a day of its start no later than one of the other's, and the same of its end?"""
    return one.starts[0] <= other.starts[-1] and one.stops[0] <= other.stops[-1]
