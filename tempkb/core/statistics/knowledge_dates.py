"""Until when a model knows changes: a set of dates that a test does not reject."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tempkb.core.statistics.differences import paired_difference
from tempkb.core.statistics.estimates import (
    LEVEL,
    MIN_CLUSTERS,
    Clusters,
    Codes,
    Estimate,
    Floats,
    Values,
    aligned,
    codes,
)

Answer = Literal["interval", "not before", "not after", "cannot tell"]
AT_ONCE = 250
"""Permutations that are held in memory at once."""


@dataclass(frozen=True)
class KnowledgeDate:
    """What the changes of many windows tell of a model's knowledge date.

    Attributes:
        answer: `interval`: the date is from `low` to `high`; `not before`: it is `low` or later, perhaps after all
            windows; `not after`: it is `high` or earlier, perhaps before all windows; `cannot tell`: anything may be.
        low: the first start of a window that is kept; None where there is no such bound.
        high: the last start of a window that is kept; None where there is no such bound.
        best: the start of a window at which the fall is most likely, kept or not; None where there is no fall at all.
        p_values: by start of a window, from the second on: of the hypothesis that the preference falls there.
        no_fall: p-value of the hypothesis that it falls nowhere between the first window and the last.
        level: mean preference minus control over all windows: above zero in a model that knows all windows, which
            shows no fall, as does one that knows none.
    """

    answer: Answer
    low: date | None
    high: date | None
    best: date | None
    p_values: dict[date, float]
    no_fall: float | None
    level: Estimate


def knowledge_date(
    window_starts: Sequence[date],
    preferences: Values,
    controls: Values,
    clusters: Clusters,
    *,
    n_permutations: int = 1000,
    seed: int,
) -> KnowledgeDate:
    """Return the dates at which the preference for new objects may have fallen to half.

    The figure is the mean of preference minus control in each window. It is described by a step: one level in the
    windows that start before a date, a lower one from that date on. The step that fits best by least squares is where
    a gradual fall is halfway between its early and its late level. A bootstrap is inconsistent for such a date, so a
    test is inverted. For each start of a window, the hypothesis is that the step is there. Its likelihood ratio, that
    of the best step anywhere to this one, is compared with those after permutations which leave the hypothesis true:
    clusters change places with clusters of equally many changes on the same side of the date, each with its values in
    their order. Dates with p > 5 % are kept, and so is the hypothesis of no fall at all, in which clusters change
    places across all windows. Where that one is kept, the date may be outside the windows: on the side of the end that
    is kept among the dates. Where both ends are kept, or nothing, or there are fewer than ten clusters, nothing can be
    told. The set is of steps: for a gradual fall it is too narrow, and empty if the data are many.

    Args:
        window_starts: of each change.
        preferences: 1 where the model prefers the new object, otherwise 0.
        controls: the same for the change's control.
        clusters: of each change, such as its subject.
        n_permutations: of each test.
        seed: of NumPy's generator PCG64.

    Raises:
        ContractError: a value is not finite, or the lengths differ.
    """
    level = paired_difference(controls, preferences, clusters)
    values = np.asarray(preferences, np.float64) - np.asarray(controls, np.float64)
    aligned("starts of windows", values, window_starts)
    starts = sorted(set(window_starts))
    if level.n_clusters < MIN_CLUSTERS or len(starts) < 2:
        return KnowledgeDate("cannot tell", None, None, None, {}, None, level)
    number = {start: at for at, start in enumerate(starts)}
    window = np.array([number[start] for start in window_starts], np.int64)
    place, _ = codes(clusters)
    order = np.lexsort((window, place))
    changes = _Changes(window[order], values[order], place[order], len(starts))
    generator = np.random.Generator(np.random.PCG64(seed))
    falls = changes.falls
    # A fall at the first window is none within the windows: place 0 stands for that hypothesis.
    tested = np.array([changes.p_value(at, n_permutations, generator) for at in range(len(starts))])
    kept = np.flatnonzero(tested[1:] > 1 - LEVEL) + 1
    answer, low, high = _set(kept, len(starts) - 1, may_be_outside=bool(tested[0] > 1 - LEVEL))
    return KnowledgeDate(
        answer,
        None if low is None else starts[low],
        None if high is None else starts[high],
        starts[int(falls.argmax()) + 1] if falls.max() > 0 else None,
        dict(zip(starts[1:], tested[1:].tolist(), strict=True)),
        float(tested[0]),
        level,
    )


def _set(kept: Codes, last: int, *, may_be_outside: bool) -> tuple[Answer, int | None, int | None]:
    if not len(kept):
        return "cannot tell", None, None
    low, high = int(kept[0]), int(kept[-1])
    if not may_be_outside:
        return "interval", low, high
    if high == last and low > 1:
        return "not before", low, None
    if low == 1 and high < last:
        return "not after", None, high
    return "cannot tell", None, None


@dataclass(frozen=True)
class _Changes:
    """Changes by cluster and, within a cluster, by window."""

    window: Codes
    values: Floats
    place: Codes
    n_windows: int

    @property
    def falls(self) -> Floats:
        """How much of the squares each fall explains, at the second window, at the third, and so on."""
        sums = np.bincount(self.window, self.values, self.n_windows).astype(np.float64)
        return self._explained(sums[None]).ravel()

    def p_value(self, at: int, n_permutations: int, generator: np.random.Generator) -> float:
        """Return the p-value of a fall at a window; at the first one, of no fall."""
        sides = [self._blocks(self.window < at), self._blocks(self.window >= at)]
        observed = self.falls.max()
        n_as_large = 0
        for start in range(0, n_permutations, AT_ONCE):
            sums = np.zeros((min(AT_ONCE, n_permutations - start), self.n_windows))
            for blocks in sides:
                for block in blocks:
                    block.add_permuted(sums, generator)
            # What the hypothesis itself explains is the same in each permutation: the best step alone is compared.
            n_as_large += int((self._explained(sums).max(axis=1) >= observed * (1 - 1e-9)).sum())
        return (1 + n_as_large) / (1 + n_permutations)

    def _explained(self, sums: Floats) -> Floats:
        """Return the sum of squares explained by a fall at each window but the first; zero for a rise."""
        n = np.bincount(self.window, minlength=self.n_windows).cumsum()
        before = sums.cumsum(axis=1)
        n_before, n_after = n[:-1], n[-1] - n[:-1]
        fall = before[:, :-1] / n_before - (before[:, -1:] - before[:, :-1]) / n_after
        return np.asarray(np.maximum(fall, 0) ** 2 * (n_before * n_after / n[-1]), np.float64)

    def _blocks(self, members: NDArray[np.bool_]) -> list["_Block"]:
        """Return the clusters of one side, those with equally many changes together."""
        place, window, values = self.place[members], self.window[members], self.values[members]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        sizes = np.diff(first, append=len(place))
        found = []
        for size in np.unique(sizes).tolist():
            at = first[sizes == size][:, None] + np.arange(size)
            found.append(_Block(window[at], values[at]))
        return found


@dataclass(frozen=True)
class _Block:
    """Clusters of equally many changes on one side of a date: windows and values of shape [cluster, change]."""

    windows: Codes
    values: Floats

    def add_permuted(self, sums: Floats, generator: np.random.Generator) -> None:
        """Let clusters change places, anew for each row of the sums, and add their values to the sums by window."""
        order = np.broadcast_to(np.arange(len(self.values), dtype=np.int32), (len(sums), len(self.values)))
        drawn = generator.permuted(order, axis=1)
        for at in range(self.values.shape[1]):
            by_window = np.argsort(self.windows[:, at], kind="stable")
            windows: NDArray[Any] = self.windows[by_window, at]
            first = np.flatnonzero(np.diff(windows, prepend=-1))
            sums[:, windows[first]] += np.add.reduceat(self.values[drawn[:, by_window], at], first, axis=1)
