"""When an object was an answer without a break: its spells joined to stretches of windows, over all of time.

A *stay* is a run of adjacent windows in each of which an object is an answer. It begins
with the start of its earliest spell and ends with the end of its latest. Stays do not
know the study: a longer study has the same ones.
"""

from dataclasses import dataclass

import numpy as np

from tempkb.benchmarks.fact_queries.design import Design
from tempkb.benchmarks.fact_queries.study import Numbers, Study
from tempkb.windows import Granularity, Window

# Wikidata knows days, months and years; a quarter is told by a month. Numbers are those of `Study.start_fineness`.
NEEDED = {Granularity.WEEK: 5, Granularity.MONTH: 4, Granularity.QUARTER: 4, Granularity.YEAR: 3}
# How many months a date of less than a day's precision spans, by its fineness: century, decade, year, month.
_SPANS = {1: 1_200, 2: 120, 3: 12, 4: 1}
_MONTHS = {Granularity.MONTH: 1, Granularity.QUARTER: 3, Granularity.YEAR: 12}
# 1970-01-01 was a Thursday: the week around it began three days earlier.
_DAYS_INTO_WEEK = 3


@dataclass(frozen=True)
class Stays:
    """Stays of a release's things, by thing and time.

    Attributes:
        thing: row of the thing in the study.
        first, last: numbers of the first and of the last window, as `number_windows` counts them.
        starts: first and last day on which each may have begun, in days since 1970; a start without a date may be any.
        ends: first and last of the days that may have been its last day.
        is_start_dated, is_end_dated: is the date as fine as a window, and in the window that it opens or closes?
    """

    thing: Numbers
    first: Numbers
    last: Numbers
    starts: tuple[Numbers, Numbers]
    ends: tuple[Numbers, Numbers]
    is_start_dated: Numbers
    is_end_dated: Numbers


def find_stays(study: Study, design: Design) -> Stays:
    """Join the spells of each thing to stays, by the design's granularity and kind of answers."""
    granularity = design.granularity
    spell, first, last = _held(study, design)
    order = np.lexsort((study.begins[spell], first, study.thing[spell]))
    spell, first, last = spell[order], first[order], last[order]
    thing = study.thing[spell]
    heads = np.flatnonzero(_begins_anew(thing, first, last))
    stay = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, len(spell))))
    until = np.maximum.reduceat(last, heads)
    # The latest end among the spells of the last window.
    by_end = np.lexsort((study.ends[spell], last, stay))
    tails = by_end[np.append(heads[1:], len(spell))[: len(heads)] - 1]
    opening, closing = spell[heads], spell[tails]
    starts = _readings_of_starts(study.begins[opening], study.start_fineness[opening])
    ends = _readings_of_ends(study.ends[closing], study.end_fineness[closing])
    needed = NEEDED[granularity]
    return Stays(
        thing[heads],
        first[heads],
        until,
        starts,
        ends,
        (study.start_fineness[opening] >= needed)
        & (number_windows(study.begins[opening], granularity) == first[heads]),
        (study.end_fineness[closing] >= needed) & (number_windows(study.ends[closing] - 1, granularity) == until),
    )


def number_windows(days: Numbers, granularity: Granularity) -> Numbers:
    """Return the number of the window that holds each day; that of 1970-01-01 is 0.

    Args:
        days: days since 1970-01-01.
        granularity: how long windows are.
    """
    if granularity is Granularity.WEEK:
        return (days.astype(np.int64) + _DAYS_INTO_WEEK) // 7
    return _months(days) // _MONTHS[granularity]


def number_of(window: Window) -> int:
    """Return the number of a window."""
    days = np.array([window.start], "datetime64[D]").astype(np.int64)
    return int(number_windows(days, window.granularity)[0])


def first_days(numbers: Numbers, granularity: Granularity) -> Numbers:
    """Return the first day, as days since 1970-01-01, of the window of each number."""
    if granularity is Granularity.WEEK:
        return numbers * 7 - _DAYS_INTO_WEEK
    return _days(numbers * _MONTHS[granularity])


def _held(study: Study, design: Design) -> tuple[Numbers, Numbers, Numbers]:
    """Stretches of windows in which a thing is an answer: (spell, first window, last window)."""
    if design.answers == "possible":
        spell, since, until = np.arange(len(study.thing)), study.begins, study.ends
    else:
        spell, since, until = study.members
    first, last = (
        number_windows(since, design.granularity),
        number_windows(until.astype(np.int64) - 1, design.granularity),
    )
    held = first <= last
    return spell[held], first[held], last[held]


def _begins_anew(thing: Numbers, first: Numbers, last: Numbers) -> Numbers:
    """Which stretches, by thing and first window, neither overlap an earlier one of their thing nor follow at once."""
    # The greatest last window so far, of the same thing: things are kept apart by the upper half of the number.
    apart = thing.astype(np.int64) << 32
    reached = np.maximum.accumulate(apart + last) - apart
    anew: Numbers = np.ones(len(thing), bool)
    anew[1:] = (thing[1:] != thing[:-1]) | (first[1:] > reached[:-1] + 1)
    return anew


def _readings_of_starts(begins: Numbers, fineness: Numbers) -> tuple[Numbers, Numbers]:
    latest = begins.astype(np.int64)
    for fine, months in _SPANS.items():
        of = fineness == fine
        latest[of] = _days(_months(begins[of]) + months) - 1
    latest[fineness == 0] = np.iinfo(np.int32).max
    return begins.astype(np.int64), latest


def _readings_of_ends(ends: Numbers, fineness: Numbers) -> tuple[Numbers, Numbers]:
    earliest = ends.astype(np.int64) - 1
    for fine, months in _SPANS.items():
        of = fineness == fine
        earliest[of] = _days(_months(ends[of]) - months)
    return earliest, ends.astype(np.int64) - 1


def _months(days: Numbers) -> Numbers:
    """Months since January 1970 of days since 1970-01-01."""
    months: Numbers = days.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return months


def _days(months: Numbers) -> Numbers:
    days: Numbers = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days
