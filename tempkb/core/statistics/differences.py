"""Differences on the same items, changes between sets of items, and weighted sums of means over items and trainings."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tempkb.core.statistics.estimates import (
    LEVEL,
    MIN_CLUSTERS,
    ROUNDING,
    Clusters,
    Codes,
    Estimate,
    Floats,
    Sums,
    Values,
    aligned,
    as_share,
    clustered_error,
    clustered_mean,
    codes,
    floats,
    joint_codes,
    macro_mean,
    proportion,
    summed,
    t_quantile,
    truths,
    with_interval,
)


def paired_difference(first: Values, second: Values, clusters: Clusters) -> Estimate:
    """Return the mean of `second - first` over the same items, in the same order.

    Raises:
        ContractError: a value is not finite, or the lengths differ.
    """
    return tested(clustered_mean(subtracted(first, second), clusters))


def paired_macro_difference(first: Values, second: Values, clusters: Clusters) -> Estimate:
    """Return the mean over clusters of their means of `second - first` over the same items, in the same order.

    Raises:
        ContractError: a value is not finite, or the lengths differ.
    """
    return tested(macro_mean(subtracted(first, second), clusters))


def change(before: Values, before_clusters: Clusters, after: Values, after_clusters: Clusters) -> Estimate:
    """Return the mean over the items after, minus that over the items before; a cluster may have items in both.

    psi_c = (s_c1 - mean_1 n_c1)/N_1 - (s_c0 - mean_0 n_c0)/N_0, and SE^2 = C/(C-1) * sum psi_c^2 over the C clusters
    of either side. Degrees of freedom, and whether there is an interval, follow from the side with fewer clusters.
    Equals `paired_difference` where both sides have the same items.

    Raises:
        ContractError: a value is not finite, or there is not one cluster for each value.
    """
    return _changed(before, before_clusters, after, after_clusters, lambda found: found)


def macro_change(before: Values, before_clusters: Clusters, after: Values, after_clusters: Clusters) -> Estimate:
    """Return the mean of clusters' means after, minus that before; otherwise as `change`.

    Raises:
        ContractError: a value is not finite, or there is not one cluster for each value.
    """
    return _changed(before, before_clusters, after, after_clusters, lambda found: found.means)


def two_way(values: Values, first: Clusters, second: Clusters) -> Estimate:
    """Return the mean over items that are clustered in two ways, such as by subject and by object.

    The variance is the largest of three: by either way, and by both (first + second - their pairs; Cameron, Gelbach
    and Miller 2011). Degrees of freedom, and whether there is an interval, follow from the way with fewer clusters.

    Raises:
        ContractError: a value is not finite, or there is not one cluster of each kind for each value.
    """
    from statsmodels.regression.linear_model import OLS
    from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

    found = floats(values)
    aligned("clusters of two ways", found, first, second)
    (one, n_one), (other, n_other) = codes(first), codes(second)
    n_clusters = min(n_one, n_other)
    value = float(found.mean())
    if n_clusters < 2:
        return with_interval(value, None, len(found), n_clusters)
    fit = OLS(found, np.ones((len(found), 1))).fit()
    variance = max(float(matrix[0, 0]) for matrix in cov_cluster_2groups(fit, one, other))
    error = float(np.sqrt(max(variance, 0)))
    return with_interval(value, error if error > ROUNDING * abs(value) else 0.0, len(found), n_clusters)


def two_way_proportion(is_true: Values, first: Clusters, second: Clusters) -> Estimate:
    """Return the share of items that are true (1), the others being false (0), clustered in two ways.

    The standard error is that of `two_way`, and the interval is by the rule of `proportion`. Near the edges an interval
    from a larger error may have an end nearer to the share, so each end is the farthest of this and of either way.

    Raises:
        ContractError: a value is neither 0 nor 1, or there is not one cluster of each kind for each value.
    """
    found = truths(is_true)
    share = as_share(two_way(found, first, second))
    if share.low is None:
        return share
    ways = [share, proportion(found, first), proportion(found, second)]
    return replace(
        share,
        low=min(one.low for one in ways if one.low is not None),
        high=max(one.high for one in ways if one.high is not None),
    )


def leave_one_out(
    values: Values,
    clusters: Clusters,
    groups: Clusters,
    estimator: Callable[[Values, Clusters], Estimate] = clustered_mean,
) -> dict[Hashable, Estimate]:
    """Return, for each group such as a relation, the estimate from all other groups; no entry for a group that is all.

    Raises:
        ContractError: a value is not finite, or there is not one cluster and one group for each value.
    """
    found = floats(values)
    aligned("clusters and groups", found, clusters, groups)
    place, _ = codes(clusters)
    group, n_groups = codes(groups)
    names = dict(zip(group.tolist(), groups, strict=True))
    return {
        names[number]: estimator(found[group != number], place[group != number])
        for number in range(n_groups)
        if (group != number).any()
    }


def subtracted(first: Values, second: Values) -> NDArray[np.float64]:
    """Return `second - first`.

    Raises:
        ContractError: a value is not finite, or the lengths differ.
    """
    one, other = floats(first), floats(second)
    aligned("differences", one, other)
    return other - one


def tested(mean: Estimate) -> Estimate:
    """Return the mean of differences with its p-value."""
    found = with_interval(mean.value, mean.standard_error, mean.n_items, mean.n_clusters, is_difference=True)
    return replace(found, design_effect=mean.design_effect)


def _changed(
    before: Values, before_clusters: Clusters, after: Values, after_clusters: Clusters, unit: Callable[[Sums], Sums]
) -> Estimate:
    old, new = floats(before), floats(after)
    aligned("clusters before", old, before_clusters)
    aligned("clusters after", new, after_clusters)
    place, n_clusters = joint_codes(before_clusters, after_clusters)
    sides = [summed(old, place[: len(old)], n_clusters), summed(new, place[len(old) :], n_clusters)]
    psi = np.zeros(n_clusters)
    means, numbers = [], []
    for sign, side in zip((-1, 1), sides, strict=True):
        has = side.n > 0
        found = unit(Sums(side.n[has], side.s[has]))
        psi[has] += sign * found.deviations
        means.append(found.mean)
        numbers.append(int(has.sum()))
    error = clustered_error(psi, max(map(abs, means)))
    return with_interval(means[1] - means[0], error, len(old) + len(new), min(numbers), is_difference=True)


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
