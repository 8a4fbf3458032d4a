"""Joins the spells of an object to stays: runs of adjacent windows in each of which it is an answer.

A stay begins with the start of its earliest spell and ends with the end of its latest.
Stays are found over all time and do not depend on the study, so a longer study has the
same ones.
"""

from dataclasses import dataclass

import numpy as np

from tempkb.benchmarks.fact_queries.design import Design
from tempkb.benchmarks.fact_queries.spells import Numbers, Study
from tempkb.core.windows import Granularity, Window

# The fineness, as in `Study.start_fineness`, that a date needs to decide its window. Wikidata has days, months and
# years, so a quarter needs a month.
NEEDED = {Granularity.WEEK: 5, Granularity.MONTH: 4, Granularity.QUARTER: 4, Granularity.YEAR: 3}
# Number of months that a date covers, by its fineness: century, decade, year, month.
_SPANS = {1: 1_200, 2: 120, 3: 12, 4: 1}
_MONTHS = {Granularity.MONTH: 1, Granularity.QUARTER: 3, Granularity.YEAR: 12}
# 1970-01-01 was a Thursday: the week around it began three days earlier.
_DAYS_INTO_WEEK = 3


@dataclass(frozen=True)
class Stays:
    """The stays of a release's things, ordered by thing and time.

    Attributes:
        thing: number of the thing in the study, int64 [stays].
        first, last: numbers of the first and of the last window, by `number_windows`.
        starts: first and last day on which each may have begun, in days since 1970; any day if it has no date.
        ends: first and last day that may have been its last day, in days since 1970.
        is_start_dated, is_end_dated: whether the date is as fine as a window, and in the first or last window.
    """

    thing: Numbers
    first: Numbers
    last: Numbers
    starts: tuple[Numbers, Numbers]
    ends: tuple[Numbers, Numbers]
    is_start_dated: Numbers
    is_end_dated: Numbers


def find_stays(study: Study, design: Design) -> Stays:
    """Return the stays of each thing, by the design's granularity and kind of answers."""
    granularity = design.granularity
    spell, first, last = _held(study, design)
    order = np.lexsort((study.begins[spell], first, study.thing[spell]))
    spell, first, last = spell[order], first[order], last[order]
    thing = study.thing[spell]
    heads = np.flatnonzero(_begins_anew(thing, first, last))
    stay = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, len(spell))))
    until = np.maximum.reduceat(last, heads)
    # Each stay ends with the latest end among the spells of its last window.
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
    """Return the number of the window that contains each day; the window of 1970-01-01 has the number 0.

    Args:
        days: days since 1970-01-01.
    """
    if granularity is Granularity.WEEK:
        return (days.astype(np.int64) + _DAYS_INTO_WEEK) // 7
    return _months(days) // _MONTHS[granularity]


def number_of(window: Window) -> int:
    """Return the number of a window."""
    days = np.array([window.start], "datetime64[D]").astype(np.int64)
    return int(number_windows(days, window.granularity)[0])


def first_days(numbers: Numbers, granularity: Granularity) -> Numbers:
    """Return the first day of the windows with some numbers, in days since 1970-01-01."""
    if granularity is Granularity.WEEK:
        return numbers * 7 - _DAYS_INTO_WEEK
    return _days(numbers * _MONTHS[granularity])


def _held(study: Study, design: Design) -> tuple[Numbers, Numbers, Numbers]:
    """Runs of windows in which a spell is an answer: (spell, first window, last window)."""
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
    """For each run, ordered by thing and first window, whether a gap separates it from earlier runs of its thing."""
    # The greatest last window so far. The thing is in the upper half of the number, so that things do not mix.
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
