"""Differences on the same items, changes between sets of items, and clusters of two kinds."""

from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tempkb.statistics.clusters import Clusters, Sums, Values, aligned, codes, floats, joint_codes, summed
from tempkb.statistics.estimates import (
    ROUNDING,
    Estimate,
    as_share,
    clustered_error,
    clustered_mean,
    macro_mean,
    proportion,
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
