"""Calibration of a choice between two objects: an unbiased calibration error, Brier's score, the area under ROC."""

import math
from dataclasses import dataclass

import numpy as np

from tempkb.core.errors import ContractError
from tempkb.core.statistics.estimates import (
    MIN_CLUSTERS,
    ROUNDING,
    Clusters,
    Codes,
    Estimate,
    Floats,
    Values,
    aligned,
    as_share,
    clustered_error,
    clustered_mean,
    codes,
    floats,
    joint_codes,
    summed,
    with_interval,
)

N_BINS = 15


@dataclass(frozen=True)
class Bin:
    """Items of similar confidence, and the share of them that is right, with its interval."""

    mean_confidence: float
    right: Estimate


@dataclass(frozen=True)
class Calibration:
    """How well confidences agree with shares of right choices.

    Attributes:
        squared_error: unbiased estimate of the mean square of (confidence - share right); below zero by chance where
            it is nearly zero; None with fewer than ten clusters.
        error: its square root, or zero; the calibration error, in probability.
        plain_error: the usual expected calibration error, mean of |confidence - share right| over bins, biased upwards.
        brier: mean of (confidence - right)^2, with its interval.
        bins: the bins, by confidence; as many items in each as ties allow.
    """

    squared_error: float | None
    error: float | None
    plain_error: float
    brier: Estimate
    bins: tuple[Bin, ...]


def forced_choice(new_nats: Values, old_nats: Values) -> tuple[Floats, Floats]:
    """Return the confidence in the object that a model prefers, and whether it is the new one (1) or the old one (0).

    The confidence is the share of the preferred object in the probability of both, at least a half. Equal
    log-probabilities are a wrong choice with a confidence of a half.

    Raises:
        ContractError: a log-probability is not finite, or the lengths differ.
    """
    new, old = floats(new_nats), floats(old_nats)
    aligned("old objects", new, old)
    margin = new - old
    return 1 / (1 + np.exp(-np.abs(margin))), (margin > 0).astype(np.float64)


def calibration(confidences: Values, is_right: Values, clusters: Clusters, n_bins: int = N_BINS) -> Calibration:
    """Return the calibration of choices.

    Items are put into bins of equal numbers by confidence; equal confidences stay together. In a bin, the square of
    the difference d between mean confidence and share of right choices is too large by the variance of d on average,
    which its clustered standard error estimates: it is subtracted (Kumar, Liang and Ma 2019, with clusters). There is
    at most one bin for each twenty clusters; a bin in which a single cluster is left is merged with its neighbour.

    Args:
        confidences: of each choice, from 0 to 1.
        is_right: 1 or 0.
        clusters: one for each item.
        n_bins: the largest number of bins.

    Raises:
        ContractError: a confidence is not from 0 to 1, or the lengths differ.
    """
    confidence, right = floats(confidences), floats(is_right)
    aligned("choices", confidence, right, clusters)
    if confidence.min() < 0 or confidence.max() > 1 or not np.isin(right, (0, 1)).all():
        raise ContractError("confidences outside 0 to 1, or choices that are neither right (1) nor wrong (0)")
    place, n_clusters = codes(clusters)
    bins, squares, plain = [], 0.0, 0.0
    for members in _binned(confidence, place, min(n_bins, max(1, n_clusters // 20))):
        gap = confidence[members] - right[members]
        mine, n_mine = codes(place[members])
        by_cluster = summed(gap, mine, n_mine)
        error = clustered_error(by_cluster.deviations, 0.0) or 0.0
        bins.append(Bin(float(confidence[members].mean()), as_share(clustered_mean(right[members], mine))))
        squares += len(gap) * (by_cluster.mean**2 - error**2)
        plain += len(gap) * abs(by_cluster.mean)
    squared = squares / len(confidence) if n_clusters >= MIN_CLUSTERS else None
    return Calibration(
        squared_error=squared,
        error=None if squared is None else math.sqrt(max(squared, 0.0)),
        plain_error=plain / len(confidence),
        brier=clustered_mean((confidence - right) ** 2, place).within(0, 1),
        bins=tuple(bins),
    )


def _binned(confidence: Floats, place: np.ndarray[tuple[int], np.dtype[np.int64]], n_bins: int) -> list[np.ndarray]:
    """Return the places of the items of each bin, by confidence."""
    edges = np.unique(np.quantile(confidence, np.arange(1, n_bins) / n_bins))
    of_bin = np.searchsorted(edges, confidence, side="left")
    found: list[np.ndarray] = []
    for number in range(len(edges) + 1):
        members = np.flatnonzero(of_bin == number)
        if found and (len(np.unique(place[members])) < 2 or len(np.unique(place[found[-1]])) < 2):
            found[-1] = np.concatenate([found[-1], members])
        elif len(members):
            found.append(members)
    return found


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
