"""Values and clusters as arrays: checked, coded as whole numbers, and summed."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tempkb.errors import ContractError

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
