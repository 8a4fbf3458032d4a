"""Weighted sums of means of shares, for which clusters and draws of a training are two random factors."""

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tempkb.statistics.clusters import Codes, Floats
from tempkb.statistics.estimates import LEVEL, MIN_CLUSTERS, ROUNDING, Estimate, clustered_error, t_quantile

Bools = NDArray[np.bool_]
UNTRAINED = -1
"""Number of the training of what was not trained."""


@dataclass(frozen=True)
class Cells:
    """Sums of items by cell and cluster. A cell is what one unit gives at one test; all is numbered from 0.

    Attributes:
        cell: of each row.
        cluster: of each row; rows are sorted by it.
        n: of each row and measure, the number of items; may be 0.
        s: of each row and measure, the sum of their values, which are from 0 to 1.
        spots: of each cell, which training at which test; its cells share its weight.
        units: of each cell, what was trained; one that has cells at several tests is in each of them.
        trainings: of each cell, or `UNTRAINED`.
        seeds: of each cell, by which draw of the training; units of one draw are averaged.
    """

    cell: Codes
    cluster: Codes
    n: Floats
    s: Floats
    spots: Codes
    units: Codes
    trainings: Codes
    seeds: Codes

    @cached_property
    def numbers(self) -> Floats:
        """Number of items of each cell and measure."""
        return self._summed(self.n)

    @cached_property
    def means(self) -> Floats:
        """Mean of each cell and measure; 0 without an item."""
        return np.asarray(self._summed(self.s) / np.maximum(self.numbers, 1), np.float64)

    def _summed(self, values: Floats) -> Floats:
        found = np.zeros((len(self.spots), values.shape[1]))
        np.add.at(found, self.cell, values)
        return found


@dataclass(frozen=True)
class WeightedSum:
    """A weighted sum of the means of spots.

    Attributes:
        estimate: its value; `n_clusters` is of the side, of positive or negative weights, that has fewer. Clusters
            without an item of the measure do not count.
        seed_error: the part of its standard error that comes from seeds; None unless each training has several.
        n_seeds: fewest seeds of a training; None without trainings.
        n_units: how many units it puts together.
    """

    estimate: Estimate
    seed_error: float | None
    n_seeds: int | None
    n_units: int


def weighted_sums(cells: Cells, weights: Floats, *, is_pooled: bool = False) -> list[WeightedSum | None]:
    """Return a sum of the means of spots for each measure, with errors by cluster and by seed.

    With psi_c = sum of weight * (s_c - mean * n_c) / N over the cells in which a cluster occurs, the variance by
    cluster is C/(C-1) * sum psi_c^2, so that items that several cells share are paired. Seeds are a random factor: for
    each training the sample variance of what its S seeds contribute, over S, is added, provided that all trainings
    have several. Degrees of freedom are those of Satterthwaite. Intervals are cut at what the sum can be, where means
    are 0 or 1.

    Args:
        cells: sums of items.
        weights: of each spot; 0 for those that are not part of the sum.
        is_pooled: whether errors are around the mean of all cells of one sign, as where their items are put together,
            and not around each cell's own mean, as where each cell has a weight of its own.

    Returns:
        The sums; None for a measure of which a cell has no items.
    """
    share = weights[cells.spots] / np.bincount(cells.spots)[cells.spots]
    used = share != 0
    psi, counts, n_clusters = _by_cluster(cells, share, _pooled(cells.means, share) if is_pooled else cells.means)
    by_training, n_seeds = _by_training(cells, weights, used)
    n_units = len(np.unique(cells.units[used]))
    possible = float(share[share < 0].sum()), float(share[share > 0].sum())
    found: list[WeightedSum | None] = []
    for at, (numbers, means) in enumerate(zip(cells.numbers[used].T, cells.means[used].T, strict=True)):
        if not numbers.all():
            found.append(None)
            continue
        plain = Estimate(float(share[used] @ means), None, None, None, int(numbers.sum()), int(n_clusters[at]))
        seeds = [(float(variances[at]), n) for variances, n in by_training]
        of_seeds = math.fsum(variance for variance, _ in seeds)
        of_seeds = of_seeds if of_seeds > ROUNDING**2 else 0.0
        own = psi[:, at] if counts[:, at].all() else psi[counts[:, at], at]
        estimate = _with_errors(plain, clustered_error(own, 1), of_seeds, seeds).within(*possible)
        found.append(WeightedSum(estimate, math.sqrt(of_seeds) if seeds else None, n_seeds, n_units))
    return found


def _pooled(means: Floats, share: Floats) -> Floats:
    """The mean of all cells of one sign, for each cell."""
    found = means.copy()
    for side in (share > 0, share < 0):
        if side.any():
            found[side] = share[side] @ means[side] / share[side].sum()
    return found


def _by_cluster(cells: Cells, share: Floats, centres: Floats) -> tuple[Floats, Bools, Codes]:
    """What each cluster adds to the error of each measure, whether it counts, and how many do of the smaller side."""
    rows = share[cells.cell] != 0
    cell, cluster = cells.cell[rows], cells.cluster[rows]
    each = share[:, None] / np.maximum(cells.numbers, 1)
    parts = each[cell] * (cells.s[rows] - centres[cell] * cells.n[rows])
    starts = np.flatnonzero(np.diff(cluster, prepend=-1))
    numbers = [side[:, None] * cells.n[rows] for side in (share[cell] > 0, share[cell] < 0) if side.any()]
    sides = np.array([np.add.reduceat(n, starts) > 0 for n in numbers])
    counts: Bools = np.any(sides, axis=0)
    return np.add.reduceat(parts, starts), counts, np.min(sides.sum(axis=1), axis=0)


def _by_training(cells: Cells, weights: Floats, used: Bools) -> tuple[list[tuple[Floats, int]], int | None]:
    """Of each training the variance of its mean, by measure, with its number of seeds; and the fewest seeds.

    No variances if a training has a single seed.
    """
    given: defaultdict[int, defaultdict[int, defaultdict[int, Floats]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(lambda: np.zeros(cells.means.shape[1])))
    )
    for at in np.flatnonzero(used & (cells.trainings != UNTRAINED)).tolist():
        of_seed = given[int(cells.trainings[at])][int(cells.seeds[at])]
        of_seed[int(cells.units[at])] += weights[cells.spots[at]] * cells.means[at]
    fewest = min(map(len, given.values()), default=None)
    if fewest is None or fewest < 2:
        return [], fewest
    of_seeds = [
        np.array([np.mean(list(of_seed.values()), axis=0) for of_seed in own.values()]) for own in given.values()
    ]
    return [(np.var(own, axis=0, ddof=1) / len(own), len(own)) for own in of_seeds], fewest


def _with_errors(
    plain: Estimate, by_cluster: float | None, of_seeds: float, seeds: list[tuple[float, int]]
) -> Estimate:
    """Add the standard error of both factors, and the interval where there are enough clusters."""
    if by_cluster is None:
        return plain
    variance = by_cluster**2 + of_seeds
    error = math.sqrt(variance)
    if plain.n_clusters < MIN_CLUSTERS or not error:
        return replace(plain, standard_error=error)
    spread = by_cluster**4 / (plain.n_clusters - 1) + math.fsum(v**2 / (n - 1) for v, n in seeds)
    freedom = variance**2 / spread
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    low, high = plain.value - half, plain.value + half
    return replace(plain, standard_error=error, low=low, high=high, freedom=freedom)
