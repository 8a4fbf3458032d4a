"""Times of which only is known between which days they lie: Turnbull's estimate, with intervals by cluster."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tempkb.core.errors import ContractError
from tempkb.core.statistics.estimates import LEVEL, MIN_CLUSTERS, Clusters, Codes, Floats, codes
from tempkb.core.statistics.resampling import parts, times_drawn

GAP, GAP_OF_REPLICATES = 1e-6, 1e-4
"""How much further the mean log-likelihood may rise when an estimate is taken as found."""
_MOST_ROUNDS = 2_000
_TINY = float(np.finfo(np.float64).tiny)
_AS_ONE = 1e-5  # shares that differ by less count as equal, since the search ends near its limit


@dataclass(frozen=True)
class Arrivals:
    """By which day which share has come: a step for each stretch of days in which some must have come.

    Attributes:
        first: of each step, the first day of its stretch; ascending.
        last: the last day of it. On which of its days they came cannot be known.
        shares: what has come by that last day; 1 at the last step.
        replicates: the same of each sample of clusters, a row each; without rows under ten clusters.
        n_clusters: number of clusters.
    """

    first: Codes
    last: Codes
    shares: Floats
    replicates: Floats
    n_clusters: int

    @property
    def intervals(self) -> Floats:
        """Lower and upper ends of the 95 % intervals of the shares, a row each; NaN under ten clusters."""
        if not len(self.replicates):
            return np.full((2, len(self.shares)), np.nan)
        return np.quantile(self.replicates, _ENDS, axis=0)

    def by(self, day: int) -> tuple[float, float]:
        """Return the smallest and the largest share that may have come by a day."""
        n_last, n_first = (int(np.searchsorted(ends, day, "right")) for ends in (self.last, self.first))
        whole = np.append(0.0, self.shares)
        return float(whole[n_last]), float(whole[n_first])

    def days_to(self, share: float) -> tuple[int, int | None, int | None]:
        """Return the day by which a share has come for certain, and its 95 % interval."""
        value = int(self.last[_reached(self.shares, share)])
        if not len(self.replicates):
            return value, None, None
        found = self.last[_reached(self.replicates, share)]
        low, high = np.quantile(found, _ENDS, method="inverted_cdf")
        return value, int(low), int(high)


def turnbull(
    first: Codes, last: Codes, numbers: Codes, clusters: Clusters, *, n_replicates: int = 500, seed: int
) -> Arrivals:
    """Return Turnbull's estimate of the distribution of times of which each lies on one of some days.

    It is the distribution of the greatest likelihood. It has mass only on the stretches from a first day to the next
    last day with no other of either between, and how the mass lies within one cannot be known. Clusters are drawn
    with replacement, as many as there are.

    Source: B. W. Turnbull, J. R. Statist. Soc. B 38 (1976) 290-295; the EM algorithm there.

    Args:
        first: of each group of items, the first day on which their time may be.
        last: the last such day.
        numbers: of items in each group.
        clusters: of each group.
        n_replicates: number of samples of clusters.
        seed: of NumPy's generator PCG64.

    Raises:
        ContractError: there is no group, or a last day is before the first one.
    """
    if not len(first) or (last < first).any():
        raise ContractError("times for Turnbull's estimate: expected at least one, and no last day before the first")
    starts, ends = _stretches(first, last)
    # Items that may be in the same stretches are alike.
    low, high = np.searchsorted(starts, first), np.searchsorted(ends, last, "right") - 1
    (alike, kind), (place, n_clusters) = np.unique([low, high], axis=1, return_inverse=True), codes(clusters)
    within = (alike[0][:, None] <= np.arange(len(starts))) & (np.arange(len(starts)) <= alike[1][:, None])
    shape = within.astype(np.float64)
    by_cluster = np.zeros((n_clusters, len(shape)))
    np.add.at(by_cluster, (place, kind.reshape(-1)), numbers)
    masses = _likeliest(by_cluster.sum(axis=0, keepdims=True), shape, np.full((1, len(starts)), 1 / len(starts)), GAP)
    replicates = [np.empty((0, len(starts)))]
    if n_clusters >= MIN_CLUSTERS:
        generator = np.random.Generator(np.random.PCG64(seed))
        for part in parts(n_replicates, max(by_cluster.shape)):
            drawn = times_drawn(n_clusters, part.stop - part.start, generator) @ by_cluster
            # Begun near the estimate, but with some mass everywhere, since what is nought stays so.
            begin = np.broadcast_to(0.9 * masses + 0.1 / len(starts), (len(drawn), len(starts)))
            replicates.append(_likeliest(drawn, shape, begin, GAP_OF_REPLICATES))
    cumulated = np.cumsum(np.concatenate(replicates), axis=1)
    return Arrivals(starts, ends, np.cumsum(masses[0]), cumulated, n_clusters)


_ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def _reached(cumulated: Floats, share: float) -> NDArray[np.int64]:
    """The first step at which a share is reached."""
    found: NDArray[np.int64] = np.argmax(cumulated >= share - _AS_ONE, axis=-1)
    return found


def _stretches(first: Codes, last: Codes) -> tuple[Codes, Codes]:
    """The stretches of days from a first day to a last day with no other of either between."""
    firsts, lasts = np.unique(first), np.unique(last)
    following = lasts[np.searchsorted(lasts, firsts)]
    is_latest = np.append(firsts[1:] > following[:-1], True)
    return firsts[is_latest], following[is_latest]


def _likeliest(weights: Floats, shape: Floats, masses: Floats, gap: float) -> Floats:
    """The masses (samples, stretches) of the greatest likelihood, by EM.

    Every other round leaps ahead where two rounds point to (SQUAREM; Varadhan and Roland 2008).

    Args:
        weights: (samples, kinds of items).
        shape: (kinds, stretches), 1 where an item of the kind may be.
        masses: to begin with.
        gap: by how much the mean log-likelihood may be below the greatest.
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    found, left = masses.copy(), np.arange(len(masses))
    for _ in range(_MOST_ROUNDS):
        before = found[left]
        once, likelihood, rise = _round(shares[left], shape, before)
        found[left] = once
        unfinished = rise.max(axis=1) > 1 + gap
        if not unfinished.any():
            break
        left, before, once = left[unfinished], before[unfinished], once[unfinished]
        twice, _, _ = _round(shares[left], shape, once)
        step, bend = once - before, twice - 2 * once + before
        far = np.maximum(np.linalg.norm(step, axis=1) / np.maximum(np.linalg.norm(bend, axis=1), _TINY), 1)[:, None]
        # What is nought stays so: of each mass a part is kept.
        leap = np.maximum(before + 2 * far * step + far**2 * bend, twice / 10)
        leap /= leap.sum(axis=1, keepdims=True)
        is_better = _round(shares[left], shape, leap)[1] > likelihood[unfinished]
        found[left] = np.where(is_better[:, None], leap, twice)
    return found


def _round(shares: Floats, shape: Floats, masses: Floats) -> tuple[Floats, Floats, Floats]:
    """A round of EM: new masses, the mean log-likelihood of the former ones, and its derivatives.

    The largest derivative less 1 bounds how much further the log-likelihood can rise.
    """
    probabilities = np.maximum(masses @ shape.T, _TINY)
    rise = (shares / probabilities) @ shape
    return masses * rise, (shares * np.log(probabilities)).sum(axis=1), rise
