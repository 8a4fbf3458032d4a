"""What changed between two windows, from when facts began and ended, on items and never on names.

For a subject and relation: an object in both windows is *unchanged*; if some came
and some went, those that came are *updated*; if some only came, they are *new*; if
some only went, they are *deleted*. A coming or going counts at a granularity only
if the date that causes it is at least as fine; otherwise nobody can say in which
window it fell, and it is *undatable*, outside the four.
"""

import numpy as np
import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.study import Numbers, Study
from tempkb.windows import Granularity, Window

# Wikidata knows days, months and years; a quarter is told by a month.
_NEEDED = {Granularity.WEEK: 5, Granularity.MONTH: 4, Granularity.QUARTER: 4, Granularity.YEAR: 3}
_WORDS = pa.array(
    ["unchanged", "undatable", "updated", "new", "deleted", None, "returning", "appeared", "vanished", "replaced",
     "extended", "reduced"]
)  # fmt: skip
(
    _UNCHANGED, _UNDATABLE, _UPDATED, _NEW, _DELETED, _NOTHING, _RETURNING, _APPEARED, _VANISHED, _REPLACED, _EXTENDED,
    _REDUCED,
) = range(len(_WORDS))  # fmt: skip


def make_changes(study: Study, release: Release, before: Window, window: Window) -> pa.Table:
    """Return the changes from one window to the next, in key order."""
    held_before = study.holding(before, release.design.answers)
    held_now = study.holding(window, release.design.answers)
    stood, stands = study.things_of(held_before), study.things_of(held_now)
    things = np.flatnonzero(stood | stands)
    was, is_now = stood[things], stands[things]
    came, went = is_now & ~was, was & ~is_now
    causing = np.where(came, _first_start(study, held_now)[things], _last_end(study, held_before)[things])
    is_datable = (was & is_now) | (causing >= _NEEDED[release.design.granularity])
    pairs = study.pair_of_thing[things]
    of = _OfPairs(pairs, study.pairs.num_rows)
    change = np.select(
        [was & is_now, ~is_datable, came & of.any(went & is_datable), came],
        [_UNCHANGED, _UNDATABLE, _UPDATED, _NEW],
        _DELETED,
    )
    detail = np.select(
        [was & is_now, came & _stood_earlier(study, before)[things], came & ~of.any(was), went & ~of.any(is_now),
         of.any(came) & of.any(went), came],
        [_NOTHING, _RETURNING, _APPEARED, _VANISHED, _REPLACED, _EXTENDED],
        _REDUCED,
    )  # fmt: skip
    # What went when others came is told by those: each names all answers before.
    told = ~(went & is_datable & of.any(came & is_datable))
    return _rows(study, release, window, things[told], change[told], detail[told], held_before)


class _OfPairs:
    """Asks of each thing whether something is so of any thing of its pair."""

    def __init__(self, pairs: Numbers, n_pairs: int) -> None:
        self._pairs, self._n = pairs, n_pairs

    def any(self, mask: Numbers) -> Numbers:
        found: Numbers = (np.bincount(self._pairs[mask], minlength=self._n) > 0)[self._pairs]
        return found


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
    study: Study, release: Release, window: Window, things: Numbers, change: Numbers, detail: Numbers, held: Numbers
) -> pa.Table:
    pairs = study.pair_of_thing[things]
    about = study.pairs.take(pa.array(pairs))
    n = len(things)
    return DYNAMIC_TEMPLAMA_CHANGES.conform(
        pa.table({
            "wiki": about["wiki"], "dump_id": about["dump_id"], "release": about["release"],
            "window_start": pa.repeat(pa.scalar(window.start), n), "subject_id": about["subject_id"],
            "relation": about["relation"], "object_id": study.object_of_thing.take(pa.array(things)),
            "change": _words(change), "change_detail": _words(detail),
            "previous_object_ids": _answers_before(study, held).take(pa.array(pairs)),
            "granularity": pa.repeat(str(release.design.granularity), n),
            "n_times": pa.repeat(pa.scalar(1, pa.int32()), n),
        })
    )  # fmt: skip


def _words(codes: Numbers) -> pa.Array:
    """Words of codes, nothing for those that stand for none."""
    return _WORDS.take(pa.array(codes))


def _answers_before(study: Study, held: Numbers) -> pa.ListArray:
    """For each pair the objects that hold, by their numbers."""
    things = study.things_by_number[study.things_of(held)[study.things_by_number]]
    counts = np.bincount(study.pair_of_thing[things], minlength=study.pairs.num_rows)
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
    return pa.ListArray.from_arrays(offsets, study.object_of_thing.take(pa.array(things)))
