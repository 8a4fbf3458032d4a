"""Bootstraps: of clusters, and of subjects and seeds at once."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tempkb.core.errors import ContractError
from tempkb.core.statistics.estimates import (
    LEVEL,
    MIN_CLUSTERS,
    ROUNDING,
    Clusters,
    Estimate,
    Floats,
    Values,
    aligned,
    codes,
    floats,
    summed,
    t_quantile,
    two_sided,
)

Statistic = Literal["mean", "macro_mean", "median"]
DRAWS_AT_ONCE = 4_000_000
"""Draws that are held in memory at once; 10,000 replicates of 8,500 items need some 100 MB so."""


@dataclass(frozen=True)
class Resampled:
    """A value, its replicates, and the interval between their 2.5 % and 97.5 % quantiles.

    Attributes:
        value: the statistic of the items themselves.
        replicates: the statistic of each sample of clusters.
        low: lower end; None with fewer than ten clusters.
        high: upper end; None as `low`.
        n_items: number of items.
        n_clusters: number of clusters.
    """

    value: float
    replicates: Floats
    low: float | None
    high: float | None
    n_items: int
    n_clusters: int

    @property
    def standard_error(self) -> float:
        """Standard deviation of the replicates."""
        return float(np.std(self.replicates, ddof=1))


def cluster_bootstrap(
    values: Values,
    clusters: Clusters,
    statistic: Statistic = "mean",
    *,
    n_replicates: int = 10_000,
    seed: int,
) -> Resampled:
    """Return a statistic of items whose clusters are drawn with replacement, as many as there are.

    Args:
        values: one for each item.
        clusters: one for each item.
        statistic: the mean over items, the mean over clusters of their means, or the median over items.
        n_replicates: number of samples.
        seed: of NumPy's generator PCG64; equal seeds give equal replicates.

    Raises:
        ContractError: a value is not finite, there is not one cluster for each value, or no such statistic.
    """
    found = floats(values)
    aligned("clusters", found, clusters)
    place, n_clusters = codes(clusters)
    generator = np.random.Generator(np.random.PCG64(seed))
    if statistic == "median":
        value, replicates = float(np.median(found)), _medians(found, place, n_clusters, n_replicates, generator)
    elif statistic in get_args(Statistic):
        by_cluster = summed(found, place, n_clusters)
        by_cluster = by_cluster.means if statistic == "macro_mean" else by_cluster
        value, replicates = by_cluster.mean, _means(by_cluster.s, by_cluster.n, n_replicates, generator)
    else:
        raise ContractError(f"no statistic {statistic!r}; there are {', '.join(get_args(Statistic))}")
    low, high = (float(end) for end in np.quantile(replicates, _ends()))
    enough = n_clusters >= MIN_CLUSTERS
    return Resampled(value, replicates, low if enough else None, high if enough else None, len(found), n_clusters)


def crossed_bootstrap(matrix: Floats, *, n_replicates: int = 10_000, seed: int) -> Estimate:
    """Return the mean of a matrix of subjects by seeds, both of which are drawn at random.

    Rows and columns are drawn with replacement, independently (the pigeonhole bootstrap; Owen 2007), and the standard
    deviation of the replicates is the standard error. Two corrections are made, since seeds are few. The variances
    between K columns and between R rows, each of which a bootstrap finds too small by the factor (K-1)/K or (R-1)/R,
    are completed. And the interval is that of t, with degrees of freedom after Satterthwaite: K-1 where seeds make all
    the difference, R-1 where subjects do. Percentiles of replicates of five seeds are lopsided by chance.

    Args:
        matrix: a row for each subject, a column for each seed; NaN where a subject has no value for a seed.
        n_replicates: number of samples.
        seed: of NumPy's generator PCG64.

    Returns:
        The estimate, with the number of values, and the number of subjects as its clusters. There is no interval with
        a single seed or with fewer than ten subjects.

    Raises:
        ContractError: a value is infinite, or there is no value in a row or column.
    """
    has = ~np.isnan(matrix)
    if matrix.ndim != 2 or np.isinf(matrix).any() or not (has.any(axis=0).all() and has.any(axis=1).all()):
        raise ContractError(
            f"a matrix of shape {matrix.shape} for a bootstrap of subjects and seeds; "
            "expected finite values or NaN, and a value in each row and column"
        )
    n_rows, n_columns = matrix.shape
    values = np.where(has, matrix, 0.0)
    value = float(values.sum() / has.sum())
    if n_rows < MIN_CLUSTERS or n_columns < 2:
        return Estimate(value, None, None, None, int(has.sum()), n_rows)
    generator = np.random.Generator(np.random.PCG64(seed))
    sums, counts = np.empty((n_replicates, n_columns)), np.empty((n_replicates, n_columns))
    for part in parts(n_replicates, n_rows):
        rows = times_drawn(n_rows, part.stop - part.start, generator)
        sums[part], counts[part] = rows @ values, rows @ has
    columns = times_drawn(n_columns, n_replicates, generator)
    numbers = (counts * columns).sum(axis=1)
    replicates = (sums * columns).sum(axis=1)[numbers > 0] / numbers[numbers > 0]
    centred = np.where(has, matrix - value, 0.0) / has.sum()
    of_rows = float((centred.sum(axis=1) ** 2).sum()) * n_rows / (n_rows - 1)
    of_columns = float((centred.sum(axis=0) ** 2).sum()) * n_columns / (n_columns - 1)
    spread = float(np.std(replicates, ddof=1))
    error = math.sqrt(spread**2 + of_rows / n_rows + of_columns / n_columns)
    if error <= ROUNDING * abs(value):
        return Estimate(value, 0.0, None, None, int(has.sum()), n_rows)
    freedom = (of_rows + of_columns) ** 2 / (of_rows**2 / (n_rows - 1) + of_columns**2 / (n_columns - 1))
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    p_value = two_sided(value / error, freedom)
    return Estimate(value, error, value - half, value + half, int(has.sum()), n_rows, p_value, freedom=freedom)


def _means(s: Floats, n: Floats, n_replicates: int, generator: np.random.Generator) -> Floats:
    # A complex number holds sum and number of a cluster: both are looked up and added at once.
    both = s + 1j * n
    found = np.empty(n_replicates)
    for part in parts(n_replicates, len(s)):
        drawn = both[generator.integers(0, len(s), (part.stop - part.start, len(s)), np.uint32)].sum(axis=1)
        found[part] = drawn.real / drawn.imag
    return found


def parts(n_replicates: int, n_draws: int) -> Iterator[slice]:
    """Replicates of so many draws each, in parts whose draws are held in memory at once."""
    step = max(1, DRAWS_AT_ONCE // n_draws)
    for start in range(0, n_replicates, step):
        yield slice(start, min(start + step, n_replicates))


def times_drawn(n: int, n_replicates: int, generator: np.random.Generator) -> Floats:
    """How often each of n things is drawn in a replicate that draws n times: (n_replicates, n)."""
    return generator.multinomial(n, np.full(n, 1 / n), n_replicates).astype(np.float64)


def _medians(
    values: Floats, place: NDArray[np.int64], n_clusters: int, n_replicates: int, generator: np.random.Generator
) -> Floats:
    """Medians of samples: each sorted value counts as often as its cluster was drawn."""
    order = np.argsort(values, kind="stable")
    ascending, place = values[order], place[order]
    found = np.empty(n_replicates)
    for number in range(n_replicates):
        drawn = np.bincount(generator.integers(0, n_clusters, n_clusters, np.uint32), minlength=n_clusters)
        up_to = np.cumsum(drawn[place])
        middle = np.searchsorted(up_to, [(up_to[-1] + 1) // 2, up_to[-1] // 2 + 1])
        found[number] = ascending[middle].mean()
    return found


def _ends() -> tuple[float, float]:
    return (1 - LEVEL) / 2, (1 + LEVEL) / 2
