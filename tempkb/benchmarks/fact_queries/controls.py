"""Draws controls: for a change of a subject's answers, the objects of another subject's change. Pure.

A model that prefers new names because they became more frequent, whoever they belong to, prefers them in another
subject's query as well. The pair of objects is drawn among the changes of the same relation and window, or, if none of
these fits, of the nearest earlier window with one that does.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tempkb.benchmarks.chance import Hashes, draw, rendezvous

_ROWS = 256  # pairs for which scores are computed at once


class Object(NamedTuple):
    """An answer: its Wikidata item and its name."""

    object_id: str
    label: str


class Change(NamedTuple):
    """A change of the answers of a subject and relation: one object left, and another one came."""

    subject_id: str
    relation: str
    old: Object
    new: Object


class Control(NamedTuple):
    """A control of a change.

    Attributes:
        drawn: the change of another subject whose objects are asked in place of its own.
    """

    change: Change
    drawn: Change
    window: str


@dataclass(frozen=True)
class _Pool:
    """The changes of a relation in a window, with their hashes."""

    window: str
    changes: Sequence[Change]
    hashes: Hashes

    @cached_property
    def different(self) -> list[Change]:
        """One change for each pair of objects."""
        return list({(one.old, one.new): one for one in self.changes}.values())


@dataclass
class Controls:
    """Draws controls, window by window; keeps the changes of the windows so far."""

    seed: int
    _pools: dict[str, list[_Pool]] = field(default_factory=dict)

    def add(self, window: str, changes: Iterable[Change]) -> None:
        """Add the changes of a window, which is later than those before."""
        by_relation: dict[str, list[Change]] = {}
        for one in sorted(changes):
            by_relation.setdefault(one.relation, []).append(one)
        for relation, own in by_relation.items():
            hashes = np.array([self._hash(one) for one in own], np.uint64)
            self._pools.setdefault(relation, []).append(_Pool(window, own, hashes))

    def draw(self, changes: Iterable[Change], known: "Known") -> Iterator[Control]:
        """Yield the controls of changes of the last window; a change for which no other fits has none."""
        by_relation: dict[str, list[Change]] = {}
        for one in sorted(changes):
            by_relation.setdefault(one.relation, []).append(one)
        for relation, own in sorted(by_relation.items()):
            for start in range(0, len(own), _ROWS):
                yield from self._draw_some(own[start : start + _ROWS], relation, known)

    def _draw_some(self, changes: Sequence[Change], relation: str, known: "Known") -> Iterator[Control]:
        hashes = np.array([self._hash(one) for one in changes], np.uint64)
        left = list(range(len(changes)))
        for pool in reversed(self._pools.get(relation, [])):
            if not left:
                return
            scores = rendezvous(hashes[left], pool.hashes)
            missing = []
            for at, row in zip(left, scores, strict=True):
                drawn = _best_fitting(row, pool, changes[at], known)
                if drawn is None:
                    missing.append(at)
                    continue
                known.take(changes[at], drawn)
                yield Control(changes[at], drawn, pool.window)
            left = missing

    def _hash(self, change: Change) -> int:
        return draw(
            self.seed, "control", change.subject_id, change.relation, change.old.object_id, change.new.object_id
        )


class Known:
    """The objects that must not be drawn as controls: those of the subject itself, and those drawn for its query.

    Args:
        own: the ids and names of all objects that a subject ever had in the release, by subject.
    """

    def __init__(self, own: dict[str, set[str]]) -> None:
        self._own = own
        self._drawn: dict[tuple[str, str], set[str]] = {}

    def fits(self, change: Change, drawn: Change) -> bool:
        """Return whether the objects of another change can be asked in the query of a change."""
        return change.subject_id != drawn.subject_id and self.fits_objects(change, drawn)

    def fits_objects(self, change: Change, drawn: Change) -> bool:
        """Return the same, whichever subject the other change is of."""
        refused: Collection[str] = self._own.get(change.subject_id, ())
        already: Collection[str] = self._drawn.get((change.subject_id, change.relation), ())
        names = {*drawn.old, *drawn.new}
        return names.isdisjoint(refused) and names.isdisjoint(already)

    def take(self, change: Change, drawn: Change) -> None:
        """Note that the objects of another change are asked in the query of a change."""
        self._drawn.setdefault((change.subject_id, change.relation), set()).update(drawn.old, drawn.new)


def _best_fitting(scores: Hashes, pool: _Pool, change: Change, known: Known) -> Change | None:
    """Return the change with the lowest score of those that fit."""
    best = pool.changes[int(scores.argmin())]
    if known.fits(change, best):
        return best
    # A relation with few objects, such as parties, may have none that fit, which is seen without trying every change.
    if not any(known.fits_objects(change, one) for one in pool.different):
        return None
    ranked = (pool.changes[at] for at in scores.argsort())
    return next((one for one in ranked if known.fits(change, one)), None)
