"""What changed between two windows, from when facts began and ended, on items and never on names.

For a subject and relation: an object in both windows is *unchanged*. Of the others, by the
design's `changes`:

- `handover`: what came and what took its leave for it are both *updated*, each in its own
  window, and name one another (`handovers.py` says who takes over from whom); what else
  came is *new*, what else went *deleted*.
- `sets`: if some came and some went, those that came are *updated*; if some only came, they
  are *new*; if some only went, they are *deleted*.

A coming or going counts at a granularity only if the date that causes it is at least as
fine; otherwise nobody can say in which window it fell, and it is *undatable*, outside the
four. The released rule, on texts and names, is in `released_changes.py`.
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


class _Judged(NamedTuple):
    """What a rule says of some things.

    Attributes:
        change: codes of their changes.
        role: codes of their roles.
        partner: things that they are paired with; -1: none.
        partner_window: numbers of the windows of the partners' rows, where there is a partner.
        is_told: does a thing have a row?
    """

    change: Numbers
    role: Numbers
    partner: Numbers
    partner_window: Numbers
    is_told: Numbers


def make_changes(
    study: Study, release: Release, before: Window, window: Window, handovers: Handovers | None
) -> pa.Table:
    """Return the changes from one window to the next, in key order.

    Args:
        study: the release's spells.
        release: whose changes they are.
        before: a window of the release.
        window: the one that follows.
        handovers: those of the release; None for the rule `sets`.
    """
    held_before = study.holding(before, release.design.answers)
    held_now = study.holding(window, release.design.answers)
    stood, stands = study.things_of(held_before), study.things_of(held_now)
    things = np.flatnonzero(stood | stands)
    was, is_now = stood[things], stands[things]
    came, went = is_now & ~was, was & ~is_now
    pairs = study.pair_of_thing[things]
    of = _OfPairs(pairs, study.pairs.num_rows)
    if handovers is None:
        causing = np.where(came, _first_start(study, held_now)[things], _last_end(study, held_before)[things])
        judged = _by_sets(came, went, causing >= NEEDED[release.design.granularity], of)
    else:
        judged = _by_handovers(handovers, window, things, came, went)
    detail = np.select(
        [
            was & is_now,
            came & _stood_earlier(study, before)[things],
            came & ~of.any(was),
            went & ~of.any(is_now),
            of.any(came) & of.any(went),
            came,
        ],
        [_NOTHING, _RETURNING, _APPEARED, _VANISHED, _REPLACED, _EXTENDED],
        _REDUCED,
    )
    return _rows(study, release, window, things, judged, detail, held_before)


class _OfPairs:
    """Asks of each thing whether something is so of any thing of its pair."""

    def __init__(self, pairs: Numbers, n_pairs: int) -> None:
        self._pairs, self._n = pairs, n_pairs

    def any(self, mask: Numbers) -> Numbers:
        found: Numbers = (np.bincount(self._pairs[mask], minlength=self._n) > 0)[self._pairs]
        return found


def _by_sets(came: Numbers, went: Numbers, is_datable: Numbers, of: _OfPairs) -> _Judged:
    change = np.select(
        [~came & ~went, ~is_datable, came & of.any(went & is_datable), came],
        [_UNCHANGED, _UNDATABLE, _UPDATED, _NEW],
        _DELETED,
    )
    nobody = np.full(len(came), -1)
    # What went when others came is told by those: each names all answers before.
    is_told = ~(went & is_datable & of.any(came & is_datable))
    return _Judged(change, np.full(len(came), _NOTHING), nobody, nobody, is_told)


def _by_handovers(handovers: Handovers, window: Window, things: Numbers, came: Numbers, went: Numbers) -> _Judged:
    stays = handovers.stays
    arriving, leaving = handovers.events_of(window)
    # What begins or ends with this window is among its things, which are in order.
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
    # Who left has its row in the window after its last one.
    partner_window = np.where(came, stays.last[other] + 1, stays.first[other])
    partner = np.where(is_paired, stays.thing[other], -1)
    return _Judged(change, role, partner, partner_window, np.ones(len(things), bool))


def _first_start(study: Study, held: Numbers) -> Numbers:
    """How finely the start of each thing's earliest spell that holds is known."""
    # Of what is written to one place the last stays: here the earliest start.
    return _written(study, study.latest_start_first[held[study.latest_start_first]], study.start_fineness)


def _last_end(study: Study, held: Numbers) -> Numbers:
    """How finely the end of each thing's last spell that holds is known."""
    return _written(study, study.earliest_end_first[held[study.earliest_end_first]], study.end_fineness)


def _written(study: Study, spells: Numbers, values: Numbers) -> Numbers:
    fineness = np.zeros(len(study.pair_of_thing), np.int8)
    fineness[study.thing[spells]] = values[spells]
    return fineness


def _stood_earlier(study: Study, before: Window) -> Numbers:
    """Which things had begun before the window before."""
    return study.things_of(study.begins < np.datetime64(before.start, "D").astype(int))


def _rows(
    study: Study, release: Release, window: Window, things: Numbers, judged: _Judged, detail: Numbers, held: Numbers
) -> pa.Table:
    told = judged.is_told
    things = things[told]
    pairs = study.pair_of_thing[things]
    about = study.pairs.take(pa.array(pairs))
    n = len(things)
    partner = judged.partner[told]
    is_alone = partner < 0
    days = first_days(judged.partner_window[told], release.design.granularity).astype("datetime64[D]")
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
                "change": _words(judged.change[told]),
                "change_detail": _words(detail[told]),
                "role": _words(judged.role[told]),
                "paired_object_id": study.object_of_thing.take(pa.array(partner, mask=is_alone)),
                "paired_window_start": pa.array(days, mask=is_alone),
                "previous_object_ids": _answers_before(study, held).take(pa.array(pairs)),
                "granularity": pa.repeat(str(release.design.granularity), n),
                "n_times": pa.repeat(pa.scalar(1, pa.int32()), n),
            }
        )
    )


def _words(codes: Numbers) -> pa.Array:
    """Words of codes, nothing for those that stand for none."""
    return _WORDS.take(pa.array(codes))


def _answers_before(study: Study, held: Numbers) -> pa.ListArray:
    """For each pair the objects that hold, by their numbers."""
    things = study.things_by_number[study.things_of(held)[study.things_by_number]]
    counts = np.bincount(study.pair_of_thing[things], minlength=study.pairs.num_rows)
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
    return pa.ListArray.from_arrays(offsets, study.object_of_thing.take(pa.array(things)))
