"""Means, proportions and entity means, with standard errors and 95 % intervals that know of clusters."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tempkb.core.errors import ContractError
from tempkb.core.estimates_sql import EDGE as EDGE
from tempkb.core.estimates_sql import LEVEL as LEVEL
from tempkb.core.estimates_sql import MIN_CLUSTERS as MIN_CLUSTERS
from tempkb.core.estimates_sql import ROUNDING as ROUNDING

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Values = Sequence[float] | Sequence[bool] | NDArray[Any]
Clusters = Sequence[Hashable] | NDArray[Any]


@dataclass(frozen=True)
class Sums:
    """The number of items and the sum of their values in each cluster that has items."""

    n: Floats
    s: Floats

    @property
    def n_items(self) -> int:
        """Number of items in all clusters."""
        return int(self.n.sum())

    @property
    def mean(self) -> float:
        """Mean over all items."""
        return float(self.s.sum() / self.n.sum())

    @property
    def deviations(self) -> Floats:
        """What each cluster adds to the error of the mean: (s_c - mean * n_c) / N."""
        return np.asarray((self.s - self.mean * self.n) / self.n.sum(), np.float64)

    @property
    def means(self) -> "Sums":
        """The same clusters with one item each, the mean of the cluster."""
        return Sums(np.ones_like(self.n), self.s / self.n)


def floats(values: Values) -> Floats:
    """Return values as an array.

    Raises:
        ContractError: a value is not finite, or there is no value.
    """
    found = np.asarray(values, np.float64)
    if found.ndim != 1 or not found.size:
        raise ContractError(f"values of shape {found.shape}; expected one dimension with at least one value")
    if not np.isfinite(found).all():
        n = int((~np.isfinite(found)).sum())
        raise ContractError(
            f"{n} of {found.size} values are not finite, the first at {int(np.argmin(np.isfinite(found)))}; "
            "leave out items without a score before estimating, and count them"
        )
    return found


def codes(clusters: Clusters) -> tuple[Codes, int]:
    """Return a number from 0 on for each item's cluster, and the number of clusters.

    Whole numbers are sorted by NumPy; any other ids are looked up in a dict, which is as fast for long texts.
    """
    if isinstance(clusters, np.ndarray) and clusters.dtype.kind in "iub":
        distinct, found = np.unique(clusters, return_inverse=True)
        return found.astype(np.int64, copy=False), len(distinct)
    ids: Iterable[Hashable] = clusters.tolist() if isinstance(clusters, np.ndarray) else clusters
    known: dict[Hashable, int] = {}
    found = np.fromiter((known.setdefault(one, len(known)) for one in ids), np.int64)
    return found, len(known)


def joint_codes(first: Clusters, second: Clusters) -> tuple[Codes, int]:
    """Return as `codes` a number for each item of two sides, and the number of clusters of either.

    Clusters are numbered in the order in which they are first seen, so that sums over them, and with them the last
    digits of an estimate, are the same for arrays of whole numbers, which NumPy sorts, as for any other ids.
    """
    numbers = [one for one in (first, second) if isinstance(one, np.ndarray) and one.dtype.kind in "iub"]
    if len(numbers) == 2:
        together: NDArray[Any] = np.concatenate(numbers)
        # Not so for signed numbers with unsigned ones of 64 bits, which become floats.
        if together.dtype.kind in "iub":
            distinct, seen_at, found = np.unique(together, return_index=True, return_inverse=True)
            rank = np.empty(len(distinct), np.int64)
            rank[np.argsort(seen_at)] = np.arange(len(distinct))
            return rank[found], len(distinct)
    return codes([*first, *second])


def aligned(what: str, values: Floats, *others: Clusters) -> None:
    """Check that there is one of each for each value.

    Raises:
        ContractError: the lengths differ.
    """
    for other in others:
        if len(other) != len(values):
            raise ContractError(f"{what}: {len(values)} values, but {len(other)} ids; expected one for each value")


def sums(values: Values, clusters: Clusters) -> Sums:
    """Return numbers and sums by cluster.

    Raises:
        ContractError: a value is not finite, or there is not one cluster for each value.
    """
    found = floats(values)
    aligned("clusters", found, clusters)
    place, n_clusters = codes(clusters)
    return summed(found, place, n_clusters)


def summed(values: Floats, place: Codes, n_clusters: int) -> Sums:
    """Return numbers and sums by cluster, where clusters are coded already."""
    n = np.bincount(place, minlength=n_clusters).astype(np.float64)
    return Sums(n, np.bincount(place, values, minlength=n_clusters).astype(np.float64))


POWER = 0.80


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval.

    Attributes:
        value: the estimate.
        standard_error: its clustered standard error; None with a single cluster.
        low: lower end of the interval; None where `reason` says why there is none.
        high: upper end of the interval; None as `low`.
        n_items: number of items; of a change, those of both sides together.
        n_clusters: number of clusters; of a change or of two ways of clustering, the smaller number.
        p_value: of the hypothesis that a difference is zero, two-sided; None for what is no difference.
        design_effect: variance of a clustered mean over the variance that it would have if each item were a cluster.
        freedom: degrees of freedom of a difference of two random factors; None where they follow from the clusters.
    """

    value: float
    standard_error: float | None
    low: float | None
    high: float | None
    n_items: int
    n_clusters: int
    p_value: float | None = None
    design_effect: float | None = None
    freedom: float | None = None

    @property
    def mde(self) -> float | None:
        """The smallest true difference that is found with a power of 80 %, in units of the value."""
        if self.low is None or self.standard_error is None:
            return None
        return (t_quantile((1 + LEVEL) / 2, self.n_clusters - 1) + t_quantile(POWER, self.n_clusters - 1)) * (
            self.standard_error
        )

    def within(self, least: float, most: float) -> "Estimate":
        """Return the same with its interval cut at what is possible; rounding may leave the value outside of that."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=min(max(self.low, least), self.value), high=max(min(self.high, most), self.value))

    @property
    def reason(self) -> str | None:
        """Why there is no interval, in one sentence; None where there is one."""
        if self.low is not None:
            return None
        if self.n_clusters < MIN_CLUSTERS:
            unit = "cluster" if self.n_clusters == 1 else "clusters"
            return f"{self.n_clusters} {unit}; at least {MIN_CLUSTERS} are needed for an interval"
        return f"all {self.n_clusters} clusters agree exactly, so that their spread cannot be estimated"


def clustered_mean(values: Values, clusters: Clusters) -> Estimate:
    """Return the mean over items, with the standard error of a ratio.

    SE^2 = C/(C-1) * sum_c (s_c - mean * n_c)^2 / N^2 for C clusters with n_c items of sum s_c; the interval is that of
    t with C-1 degrees of freedom.

    >>> mean = clustered_mean([1, 0, 1, 1], ["a", "a", "b", "c"])
    >>> mean.value, round(mean.standard_error, 4), mean.reason
    (0.75, 0.1875, '3 clusters; at least 10 are needed for an interval')

    Raises:
        ContractError: a value is not finite, or there is not one cluster for each value.
    """
    found = floats(values)
    return ratio_mean(sums(found, clusters), unclustered_error(found))


def proportion(is_true: Values, clusters: Clusters) -> Estimate:
    """Return the share of items that are true (1), the others being false (0).

    The standard error is that of `clustered_mean`, the interval that of `as_share`.

    Raises:
        ContractError: a value is neither 0 nor 1, or there is not one cluster for each value.
    """
    return as_share(clustered_mean(truths(is_true), clusters))


def truths(is_true: Values) -> Floats:
    """Return the values of a proportion.

    Raises:
        ContractError: a value is neither 0 nor 1.
    """
    found = floats(is_true)
    if not np.isin(found, (0, 1)).all():
        odd = found[~np.isin(found, (0, 1))][0]
        raise ContractError(f"a proportion of values such as {odd:g}; expected 0 and 1 only")
    return found


def as_share(mean: Estimate) -> Estimate:
    """Return a mean of 0 and 1 with an interval that stays between them.

    Where fewer than ten effective items are true, or false, it is Wilson's for n_eff = p(1-p)/SE^2 items, but no more
    than there are; if all or none are true, for as many items as there are clusters. Its quantile is that of t with
    C-1 degrees of freedom.
    """
    n_effective = effective_items(mean)
    is_central = n_effective * min(mean.value, 1 - mean.value) >= EDGE
    if mean.n_clusters < MIN_CLUSTERS or (is_central and mean.standard_error):
        return mean
    low, high = wilson(mean.value, n_effective, mean.n_clusters - 1)
    return replace(mean, low=low, high=high)


def macro_mean(values: Values, clusters: Clusters) -> Estimate:
    """Return the mean of the means of clusters: each cluster counts once, however many items it has.

    Raises:
        ContractError: a value is not finite, or there is not one cluster for each value.
    """
    found = sums(values, clusters)
    return replace(ratio_mean(found.means), n_items=found.n_items)


def exponentiated(estimate: Estimate) -> Estimate:
    """Return exp of an estimate: a perplexity for a mean negative log-probability in nats.

    The ends of the interval are exp of the ends. The standard error is that of the delta method, and infinite where
    the value is; a p-value of a difference stays, as exp of zero is one.
    """
    value, error = exponential(estimate.value), estimate.standard_error
    if error is not None:
        # Zero times an infinite value would be no number.
        error = math.inf if math.isinf(value) else value * error
    return replace(
        estimate,
        value=value,
        standard_error=error,
        low=None if estimate.low is None else exponential(estimate.low),
        high=None if estimate.high is None else exponential(estimate.high),
        design_effect=None,
    )


def exponential(nats: float) -> float:
    """Return exp, which is infinite where it is larger than any number of Python (from 710 nats on)."""
    try:
        return math.exp(nats)
    except OverflowError:
        return math.inf


def ratio_mean(found: Sums, unclustered: float | None = None) -> Estimate:
    """Return the mean over items for numbers and sums by cluster."""
    error = clustered_error(found.deviations, abs(found.mean))
    effect = None if not unclustered or error is None else (error / unclustered) ** 2
    return with_interval(found.mean, error, found.n_items, len(found.n), design_effect=effect)


def clustered_error(deviations: Floats, scale: float) -> float | None:
    """Return sqrt(C/(C-1) * sum of squared deviations) for what each of C clusters adds to an error.

    None for a single cluster; zero for what rounding leaves of zero in values of that scale.
    """
    n = len(deviations)
    if n < 2:
        return None
    error = math.sqrt(n / (n - 1) * float(deviations @ deviations))
    return error if error > ROUNDING * scale else 0.0


def unclustered_error(values: Floats) -> float | None:
    """Return the standard error of the mean if each item were a cluster; None for a single item."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def with_interval(
    value: float,
    standard_error: float | None,
    n_items: int,
    n_clusters: int,
    *,
    is_difference: bool = False,
    design_effect: float | None = None,
) -> Estimate:
    """Return an estimate with the interval of t with `n_clusters - 1` degrees of freedom, and a difference's p-value.

    Where all of C clusters agree exactly there is no interval. If the difference in which they agree is not zero, its
    p-value is that of the signs, 2^(1-C).
    """
    plain = Estimate(value, standard_error, None, None, n_items, n_clusters, None, design_effect)
    if n_clusters < MIN_CLUSTERS or standard_error is None:
        return plain
    if not standard_error:
        p_value = (2.0 ** (1 - n_clusters) if value else 1.0) if is_difference else None
        return replace(plain, p_value=p_value)
    half = t_quantile((1 + LEVEL) / 2, n_clusters - 1) * standard_error
    p_value = two_sided(value / standard_error, n_clusters - 1) if is_difference else None
    return replace(plain, low=value - half, high=value + half, p_value=p_value)


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def two_sided(statistic: float, freedom: float) -> float:
    """Return the two-sided p-value of a t statistic."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(statistic)))


def equivalence(estimate: Estimate, margin: float) -> float | None:
    """Return the p-value of two one-sided tests that a difference is at least a margin away from zero.

    Below 0.05 the 90 % interval lies within the margin: the difference is shown to be smaller.

    Args:
        estimate: of the difference.
        margin: in the units of its value.
    """
    from scipy.special import stdtr

    if not estimate.standard_error or estimate.low is None:
        return None
    freedom = estimate.freedom or estimate.n_clusters - 1
    return float(stdtr(freedom, (abs(estimate.value) - margin) / estimate.standard_error))


def effective_items(mean: Estimate) -> float:
    """Return the number of independent items with the same standard error as a clustered proportion.

    Never more than there are items; the number of clusters where all items are true, or none.
    """
    if mean.value in (0, 1):
        return float(mean.n_clusters)
    if not mean.standard_error:
        return float(mean.n_items)
    return min(mean.value * (1 - mean.value) / mean.standard_error**2, float(mean.n_items))


def wilson(share: float, n_effective: float, freedom: int) -> tuple[float, float]:
    """Return Wilson's interval with the quantile of t in place of that of the normal distribution.

    It contains the share, which rounding may leave just outside where all items are true, or none.
    """
    z = t_quantile((1 + LEVEL) / 2, freedom)
    scale = 1 + z**2 / n_effective
    centre = (share + z**2 / (2 * n_effective)) / scale
    half = z * math.sqrt(share * (1 - share) / n_effective + z**2 / (4 * n_effective**2)) / scale
    return min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share)
