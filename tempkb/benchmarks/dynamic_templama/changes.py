"""Classifies what changes between two windows, by the dates of facts: items are compared, never names. Pure.

For a subject and relation, an object that is an answer in both windows is *unchanged*. The others are classified by
the design's `changes`:

- `handover`: an arriving object and the leaving object that it replaces are both
  *updated*, each in its own window, and refer to one another. Other arriving
  objects are *new*, other leaving objects are *deleted*.
- `sets`: if objects arrive and others leave, the arriving ones are *updated*; if objects
  only arrive, they are *new*; if objects only leave, they are *deleted*.

An arrival or leaving is classified only if the date that causes it is at least as fine as the granularity. Otherwise
its window is not known, and it is *undatable*, which is outside the four classes.

For a handover each object is used once, the nearest pair first. Two objects can be a pair if

- both dates, the start of one and the end of the other, are as fine as a window;
- the window of the arriving object's first day and the window of the leaving object's
  last day are the same or adjacent;
- the leaving object was first: for some reading of the dates it began no later and ended
  no later than the arriving one, and for no reading the other way round. An object that
  arrived and left during the stay of another one took over nothing from it.

The distance of a pair is the smallest number of days between the leaving object's last day and the arriving object's
first day, over all readings of both dates: 0 on the same day, 1 on the next. Ties are broken by the smaller item
number of the arriving object, then of the leaving object, then by the earlier arrival, then by the earlier leaving.

The released rule compares texts and names, answer by answer. It ignores the removal of one answer among several, uses
the first of several queries with the same text, and does not distinguish two items with the same name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.stays import NEEDED, Stays, find_stays, first_days, number_of
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.design import Design, Release
from tempkb.benchmarks.fact_queries.spells import Numbers, Study
from tempkb.core.windows import Window


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


_WORDS = pa.array(
    [
        "unchanged",
        "undatable",
        "updated",
        "new",
        "deleted",
        None,
        "returning",
        "appeared",
        "vanished",
        "replaced",
        "extended",
        "reduced",
        "arriving",
        "leaving",
    ]
)
(
    _UNCHANGED,
    _UNDATABLE,
    _UPDATED,
    _NEW,
    _DELETED,
    _NOTHING,
    _RETURNING,
    _APPEARED,
    _VANISHED,
    _REPLACED,
    _EXTENDED,
    _REDUCED,
    _ARRIVING,
    _LEAVING,
) = range(len(_WORDS))


class _Classified(NamedTuple):
    """The changes of some things by a rule.

    Attributes:
        partner: the things with which they are paired; -1 for none.
        partner_window: numbers of the windows with the partners' rows, if there is a partner.
    """

    change: Numbers
    role: Numbers
    partner: Numbers
    partner_window: Numbers
    has_row: Numbers


def make_changes(
    study: Study, release: Release, before: Window, window: Window, handovers: Handovers | None
) -> pa.Table:
    """Return the changes from one window to the next, in key order.

    Args:
        before: a window of the release.
        window: the window after it.
        handovers: the release's handovers; None for the rule `sets`.
    """
    held_before = study.holding(before, release.design.answers)
    held_now = study.holding(window, release.design.answers)
    held_before_by_thing, held_now_by_thing = study.things_of(held_before), study.things_of(held_now)
    things = np.flatnonzero(held_before_by_thing | held_now_by_thing)
    was, is_now = held_before_by_thing[things], held_now_by_thing[things]
    came, went = is_now & ~was, was & ~is_now
    pairs = study.pair_of_thing[things]
    of = _OfPairs(pairs, study.pairs.num_rows)
    if handovers is None:
        causing = np.where(came, _first_start(study, held_now)[things], _last_end(study, held_before)[things])
        classified = _by_sets(came, went, causing >= NEEDED[release.design.granularity], of)
    else:
        classified = _by_handovers(handovers, window, things, came, went)
    detail = np.select(
        [
            was & is_now,
            came & _began_earlier(study, before)[things],
            came & ~of.any(was),
            went & ~of.any(is_now),
            of.any(came) & of.any(went),
            came,
        ],
        [_NOTHING, _RETURNING, _APPEARED, _VANISHED, _REPLACED, _EXTENDED],
        _REDUCED,
    )
    return _rows(study, release, window, things, classified, detail, held_before)


class _OfPairs:
    """Extends conditions from things to their pairs: `any` is true for a thing if any thing of its pair fulfils one."""

    def __init__(self, pairs: Numbers, n_pairs: int) -> None:
        self._pairs, self._n = pairs, n_pairs

    def any(self, mask: Numbers) -> Numbers:
        found: Numbers = (np.bincount(self._pairs[mask], minlength=self._n) > 0)[self._pairs]
        return found


def _by_sets(came: Numbers, went: Numbers, is_datable: Numbers, of: _OfPairs) -> _Classified:
    change = np.select(
        [~came & ~went, ~is_datable, came & of.any(went & is_datable), came],
        [_UNCHANGED, _UNDATABLE, _UPDATED, _NEW],
        _DELETED,
    )
    nobody = np.full(len(came), -1)
    # A leaving object has no row if others arrive, because their rows list all answers before.
    has_row = ~(went & is_datable & of.any(came & is_datable))
    return _Classified(change, np.full(len(came), _NOTHING), nobody, nobody, has_row)


def _by_handovers(handovers: Handovers, window: Window, things: Numbers, came: Numbers, went: Numbers) -> _Classified:
    stays = handovers.stays
    arriving, leaving = handovers.events_of(window)
    # `things` is sorted and contains everything that begins or ends with this window, so a search finds its place.
    arrived, left = (np.searchsorted(things, stays.thing[one]) for one in (arriving, leaving))
    is_datable = np.zeros(len(things), bool)
    is_datable[arrived], is_datable[left] = stays.is_start_dated[arriving], stays.is_end_dated[leaving]
    other = np.full(len(things), -1)
    other[arrived], other[left] = handovers.took_from[arriving], handovers.gave_to[leaving]
    is_paired = other >= 0
    change = np.select(
        [~came & ~went, ~is_datable, is_paired, came], [_UNCHANGED, _UNDATABLE, _UPDATED, _NEW], _DELETED
    )
    role = np.select([came & is_paired, is_paired], [_ARRIVING, _LEAVING], _NOTHING)
    # The row of a leaving object is in the window after its last one.
    partner_window = np.where(came, stays.last[other] + 1, stays.first[other])
    partner = np.where(is_paired, stays.thing[other], -1)
    return _Classified(change, role, partner, partner_window, np.ones(len(things), bool))


def _first_start(study: Study, held: Numbers) -> Numbers:
    """The fineness of the start of each thing's earliest spell that holds."""
    # If several values are assigned to one place, the last one stays: here the earliest start.
    return _written(study, study.latest_start_first[held[study.latest_start_first]], study.start_fineness)


def _last_end(study: Study, held: Numbers) -> Numbers:
    """The fineness of the end of each thing's last spell that holds."""
    return _written(study, study.earliest_end_first[held[study.earliest_end_first]], study.end_fineness)


def _written(study: Study, spells: Numbers, values: Numbers) -> Numbers:
    fineness = np.zeros(len(study.pair_of_thing), np.int8)
    fineness[study.thing[spells]] = values[spells]
    return fineness


def _began_earlier(study: Study, before: Window) -> Numbers:
    """For each thing, whether it began before the window before."""
    return study.things_of(study.begins < np.datetime64(before.start, "D").astype(int))


def _rows(
    study: Study,
    release: Release,
    window: Window,
    things: Numbers,
    classified: _Classified,
    detail: Numbers,
    held: Numbers,
) -> pa.Table:
    kept = classified.has_row
    things = things[kept]
    pairs = study.pair_of_thing[things]
    about = study.pairs.take(pa.array(pairs))
    n = len(things)
    partner = classified.partner[kept]
    is_alone = partner < 0
    days = first_days(classified.partner_window[kept], release.design.granularity).astype("datetime64[D]")
    return DYNAMIC_TEMPLAMA_CHANGES.conform(
        pa.table(
            {
                "wiki": about["wiki"],
                "dump_id": about["dump_id"],
                "release": about["release"],
                "window_start": pa.repeat(pa.scalar(window.start), n),
                "subject_id": about["subject_id"],
                "relation": about["relation"],
                "object_id": study.object_of_thing.take(pa.array(things)),
                "change": _words(classified.change[kept]),
                "change_detail": _words(detail[kept]),
                "role": _words(classified.role[kept]),
                "paired_object_id": study.object_of_thing.take(pa.array(partner, mask=is_alone)),
                "paired_window_start": pa.array(days, mask=is_alone),
                "previous_object_ids": _answers_before(study, held).take(pa.array(pairs)),
                "granularity": pa.repeat(str(release.design.granularity), n),
                "n_times": pa.repeat(pa.scalar(1, pa.int32()), n),
            }
        )
    )


def _words(codes: Numbers) -> pa.Array:
    """The words of codes; null for the code that means nothing."""
    return _WORDS.take(pa.array(codes))


def _answers_before(study: Study, held: Numbers) -> pa.ListArray:
    """For each pair, the objects that hold, in the order of their numbers."""
    things = study.things_by_number[study.things_of(held)[study.things_by_number]]
    counts = np.bincount(study.pair_of_thing[things], minlength=study.pairs.num_rows)
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
    return pa.ListArray.from_arrays(offsets, study.object_of_thing.take(pa.array(things)))


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
