"""Calibration of a choice between two objects: a calibration error that is not biased upwards, and Brier's score."""

import math
from dataclasses import dataclass

import numpy as np

from tempkb.errors import ContractError
from tempkb.statistics.clusters import Clusters, Floats, Values, aligned, codes, floats, summed
from tempkb.statistics.estimates import MIN_CLUSTERS, Estimate, clustered_error, clustered_mean

N_BINS = 15


@dataclass(frozen=True)
class Bin:
    """Items of similar confidence."""

    n_items: int
    n_clusters: int
    mean_confidence: float
    share_right: float


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
        bins.append(Bin(len(gap), n_mine, float(confidence[members].mean()), float(right[members].mean())))
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
