"""Classifies changes between two windows by the dates of facts. It compares items and never names.

For a subject and relation, an object that is an answer in both windows is *unchanged*.
The others are classified by the design's `changes`:

- `handover`: an arriving object and the leaving object that it replaces are both
  *updated*, each in its own window, and refer to one another (`handovers.py` finds the
  pairs). Other arriving objects are *new*, other leaving objects are *deleted*.
- `sets`: if objects arrive and others leave, the arriving ones are *updated*; if objects
  only arrive, they are *new*; if objects only leave, they are *deleted*.

An arrival or leaving is classified only if the date that causes it is at least as fine as
the granularity. Otherwise its window is not known, and it is *undatable*, which is outside
the four classes. The released rule, on texts and names, is in `released_changes.py`.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.handovers import Handovers
from tempkb.benchmarks.dynamic_templama.stays import NEEDED, first_days
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.study import Numbers, Study
from tempkb.windows import Window

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
