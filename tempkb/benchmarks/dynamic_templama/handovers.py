"""Pairs arriving and leaving objects of one query to handovers: each is used once, the nearest first.

An arriving and a leaving object can be a handover if

- both dates, the start of one and the end of the other, are as fine as a window;
- the window of the arriving object's first day and the window of the leaving object's
  last day are the same or adjacent;
- the leaving object was first: for some reading of the dates it began no later and ended
  no later than the arriving one, and for no reading the other way round. An object that
  arrived and left during the stay of another one took over nothing from it.

The distance of a pair is the smallest number of days between the leaving object's last
day and the arriving object's first day, over all readings of both dates: 0 on the same
day, 1 on the next. Ties are broken by the smaller item number of the arriving object,
then of the leaving object, then by the earlier arrival, then by the earlier leaving.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tempkb.benchmarks.dynamic_templama.stays import Stays, find_stays, number_of
from tempkb.benchmarks.fact_queries.design import Design
from tempkb.benchmarks.fact_queries.study import Numbers, Study
from tempkb.windows import Window


@dataclass(frozen=True)
class Handovers:
    """The handovers of a release, over all time, so that the edges of the study change none.

    Attributes:
        took_from: for each stay, the stay from which it took over; -1 for none.
        gave_to: for each stay, the stay that took over from it; -1 for none.
    """

    stays: Stays
    took_from: Numbers
    gave_to: Numbers

    def events_of(self, window: Window) -> tuple[Numbers, Numbers]:
        """Return the stays that begin with a window, and the stays that ended with the window before."""
        number = number_of(window)
        starts, ends = self._by_start, self._by_end
        arriving = starts[slice(*np.searchsorted(self.stays.first[starts], (number, number + 1)))]
        leaving = ends[slice(*np.searchsorted(self.stays.last[ends], (number - 1, number)))]
        return arriving, leaving

    @cached_property
    def _by_start(self) -> Numbers:
        return np.argsort(self.stays.first, kind="stable")

    @cached_property
    def _by_end(self) -> Numbers:
        return np.argsort(self.stays.last, kind="stable")


def find_handovers(study: Study, design: Design) -> Handovers:
    """Return the handovers among all stays of a release, also before and after its windows."""
    stays = find_stays(study, design)
    arriving, leaving = _candidates(stays, study.pair_of_thing[stays.thing])
    rank = np.lexsort(
        (
            stays.last[leaving],
            stays.first[arriving],
            study.number_of_thing[stays.thing[leaving]],
            study.number_of_thing[stays.thing[arriving]],
            _days_between(stays, arriving, leaving),
        )
    )
    took_from, gave_to = (np.full(len(stays.thing), -1, np.int64) for _ in range(2))
    for came, left in _best_first(arriving[rank], leaving[rank], len(stays.thing)):
        took_from[came], gave_to[left] = left, came
    return Handovers(stays, took_from, gave_to)


def _candidates(stays: Stays, pair: Numbers) -> tuple[Numbers, Numbers]:
    """All possible handovers: (arriving stays, leaving stays)."""
    arriving, leaving = np.flatnonzero(stays.is_start_dated), np.flatnonzero(stays.is_end_dated)
    if not len(arriving) or not len(leaving):
        return arriving[:0], leaving[:0]
    # A pair and a window are encoded as one number, so that a sorted search finds the adjacent windows of one pair. The
    # windows of different pairs are at least three numbers apart.
    least = min(stays.first[arriving].min(), stays.last[leaving].min())
    width = max(stays.first[arriving].max(), stays.last[leaving].max()) - least + 3
    ended = pair[leaving] * width + stays.last[leaving] - least
    order = np.argsort(ended, kind="stable")
    began = pair[arriving] * width + stays.first[arriving] - least
    low = np.searchsorted(ended[order], began - 1, "left")
    counts = np.searchsorted(ended[order], began + 1, "right") - low
    came = np.repeat(arriving, counts)
    left = leaving[order[np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]]
    kept = (stays.thing[came] != stays.thing[left]) & _may_precede(stays, left, came) & ~_may_precede(stays, came, left)
    return came[kept], left[kept]


def _may_precede(stays: Stays, one: Numbers, other: Numbers) -> Numbers:
    """For each pair of stays, whether one begins and ends no later than the other for some reading of the dates."""
    before: Numbers = (stays.starts[0][one] <= stays.starts[1][other]) & (stays.ends[0][one] <= stays.ends[1][other])
    return before


def _days_between(stays: Stays, arriving: Numbers, leaving: Numbers) -> Numbers:
    gap = stays.starts[0][arriving] - stays.ends[1][leaving]
    overlap = stays.ends[0][leaving] - stays.starts[1][arriving]
    days: Numbers = np.maximum(np.maximum(gap, overlap), 0)
    return days


def _best_first(arriving: Numbers, leaving: Numbers, n_stays: int) -> list[tuple[Numbers, Numbers]]:
    """Choose from candidates, best first, so that no arrival and no leaving is used twice.

    A walk down the list would take each candidate that is the best remaining one for
    both of its stays. All such candidates are taken at once, and this is repeated with
    those that remain.
    """
    chosen = []
    while len(arriving):
        places = np.arange(len(arriving))
        best_of_arriving, best_of_leaving = np.full(n_stays, -1), np.full(n_stays, -1)
        # If several values are assigned to one place, the last one stays: in reverse order, the best.
        best_of_arriving[arriving[::-1]] = places[::-1]
        best_of_leaving[leaving[::-1]] = places[::-1]
        taken = (best_of_arriving[arriving] == places) & (best_of_leaving[leaving] == places)
        chosen.append((arriving[taken], leaving[taken]))
        is_used = np.zeros((2, n_stays), bool)
        is_used[0, arriving[taken]] = is_used[1, leaving[taken]] = True
        left = ~is_used[0, arriving] & ~is_used[1, leaving]
        arriving, leaving = arriving[left], leaving[left]
    return chosen
