"""The area under a ROC curve whose items come in clusters. Pure."""

import math

import numpy as np

from tempkb.statistics.clusters import Clusters, Codes, Floats, Values, aligned, floats, joint_codes, summed
from tempkb.statistics.estimates import MIN_CLUSTERS, ROUNDING, Estimate, as_share, with_interval


def clustered_auc(high: Values, low: Values, high_clusters: Clusters, low_clusters: Clusters) -> Estimate:
    """Return the share of pairs in which an item that should be high is above one that should be low; ties are half.

    With the placements V of each item among those of the other side, and M and N items in I and J clusters, of C
    altogether, the variance is I/(I-1) sum a_c^2 + J/(J-1) sum b_c^2 + 2 C/(C-1) sum a_c b_c, where a_c is the sum of
    V - AUC over a cluster's high items, over M, and b_c that of its low items, over N (Obuchowski 1997, Biometrics 53,
    567-578; with a cluster for each item that of DeLong et al. 1988). The interval is that of `as_share`, with as many
    clusters as the side that has fewer.

    >>> auc = clustered_auc([3, 5, 4], [1, 3], ["a", "a", "b"], ["c", "d"])
    >>> round(auc.value, 3), auc.n_items, auc.n_clusters
    (0.917, 5, 2)

    Raises:
        ContractError: a side has no value, a value is not finite, or there is not one cluster for each value.
    """
    one, other = floats(high), floats(low)
    aligned("clusters", one, high_clusters)
    aligned("clusters", other, low_clusters)
    above, below = _placements(one, other), 1 - _placements(other, one)
    auc = float(above.mean())
    place, n = joint_codes(high_clusters, low_clusters)
    sides = [summed(above - auc, place[: len(one)], n), summed(below - auc, place[len(one) :], n)]
    a, b = (side.s / side.n_items for side in sides)
    n_high, n_low = (int((side.n > 0).sum()) for side in sides)
    n_clusters = min(n_high, n_low)
    error = None
    if n_clusters > 1:
        variance = _scaled(n_high, a, a) + _scaled(n_low, b, b) + 2 * _scaled(n, a, b)
        # Of few clusters that are on both sides the covariance may leave less than nothing.
        error = math.sqrt(variance) if variance > ROUNDING**2 else 0.0
    estimate = with_interval(auc, error, len(one) + len(other), n_clusters)
    return as_share(estimate) if n_clusters >= MIN_CLUSTERS else estimate


def _placements(values: Floats, others: Floats) -> Floats:
    """Of each value the share of the others that are below it, ties counted half."""
    ordered = np.sort(others)
    both = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(both / (2 * len(others)), np.float64)


def _scaled(n: int, one: Floats, other: Floats) -> float:
    return n / (n - 1) * float(one @ other)


def permuted_aucs(values: Values, is_high: Values, units: Codes, strata: Codes, *, n: int, seed: int) -> Floats:
    """Return the AUCs of permuted labels, whose mean is one half whatever the values are.

    Args:
        values: one for each item.
        is_high: of each item, whether it is one that should be high; the same for all items of a unit.
        units: of each item, what has the label as a whole.
        strata: of each item, that of its unit; labels are permuted within each.
        n: number of permutations.
        seed: of NumPy's generator PCG64.

    Returns:
        float64, at most (n,): a permutation that leaves a side without an item, as units are of several sizes, has no
        AUC.
    """
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    labels, stratum = np.asarray(is_high, bool)[first], np.asarray(strata)[first]
    found = floats(values)
    ordered = np.sort(found)
    ranks = (np.searchsorted(ordered, found, "left") + np.searchsorted(ordered, found, "right") + 1) / 2
    sizes, sums = np.bincount(unit), np.bincount(unit, ranks)
    groups = [np.flatnonzero(stratum == one) for one in np.unique(stratum)]
    generator = np.random.Generator(np.random.PCG64(seed))
    aucs = []
    for _ in range(n):
        for group in groups:
            labels[group] = generator.permutation(labels[group])
        n_high = int(sizes[labels].sum())
        n_low = len(found) - n_high
        if n_high and n_low:
            aucs.append((float(sums[labels].sum()) - n_high * (n_high + 1) / 2) / (n_high * n_low))
    return np.array(aucs, np.float64)
