"""Exact search by inner product: FAISS finds a shortlist in float32, which is scored again in float64.

The score of a candidate is the dot product in float64, rounded to nine decimals, and ties are broken by page_id. So the
answer does not depend on the device, on FAISS, or on the order in which candidates are searched.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tempkb.core.errors import ModelError
from tempkb.core.wording import counted

if TYPE_CHECKING:
    import faiss

Log = Callable[[str], None]
Floats: TypeAlias = npt.NDArray[np.float32]
Halves: TypeAlias = npt.NDArray[np.float16]
Doubles: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

DECIMALS = 9
"""Of a score. Differences below them come from the order of summation, and mean nothing."""

_UNIT = 2.0**-24  # half the distance of 1 to the next number in float32
_LARGEST = 1e18
_QUERIES = 1 << 14  # searched at a time
_CONVERTED = 1 << 16  # vectors converted to float32 at a time
# Bytes of the float32 vectors of an index; more candidates than fit are searched in blocks. A GPU may have less.
_INDEX_BYTES = {"CPU": 1 << 30, "GPU": 1 << 33}
# What FAISS keeps on a GPU for its computations: by default six times as much, for the smallest search as well.
_GPU_BYTES = 1 << 28
_SCORED_BYTES = 1 << 22  # of the float64 vectors that are scored at a time; more do not stay in a core's cache
# The first shortlist has so many more candidates than are wanted; the next one as many as FAISS finds on a GPU.
_MORE, _WIDEST = 16, 2048


@dataclass(frozen=True)
class Ranked:
    """The best candidates of each query, best first.

    Attributes:
        page_ids: int64 (queries, k).
        scores: float64 (queries, k), rounded.
        n_tied: int32 (queries, k); the number of other candidates, in the list or not, with the same score.
    """

    page_ids: Integers
    scores: Doubles
    n_tied: npt.NDArray[np.int32]


def top(
    queries: Floats, candidates: Halves, page_ids: Integers, k: int, log: Log, device: str = ""
) -> tuple[Integers, Doubles]:
    """Return page_ids and scores of the best candidates; arguments and errors are those of `rank`."""
    ranked = rank(queries, candidates, page_ids, k, log, device)
    return ranked.page_ids, ranked.scores


def rank(queries: Floats, candidates: Halves, page_ids: Integers, k: int, log: Log, device: str = "") -> Ranked:
    """Return the best candidates of each query by inner product.

    Args:
        queries: float32 (m, d).
        candidates: float16 (n, d), in memory or in a file that is mapped into it.
        page_ids: int64 (n,), of the candidates.
        k: how many are wanted; all if there are fewer.
        device: cpu, or a GPU such as `cuda:1`; empty for a GPU if there is one, else cpu.

    Raises:
        ModelError: a vector of a query has numbers with which one cannot compute in float32; or a GPU has too little
            memory.
    """
    m, k = len(queries), min(k, len(candidates))
    # The square root of float32's largest number: no product can overflow, since float16 numbers are much smaller.
    odd = np.flatnonzero(~(np.abs(queries) < _LARGEST).all(axis=1))
    if len(odd):
        raise ModelError(
            f"search: the vector of query {odd[0]} of {m} has numbers that are not finite or beyond {_LARGEST:.0e}; "
            "expected smaller ones. The encoder overflows: compute in float32, or check its checkpoint"
        )
    found = Ranked(np.empty((m, k), np.int64), np.empty((m, k)), np.empty((m, k), np.int32))
    if not m or not k:
        return found
    where = _where(device)
    what = f"{len(candidates):,} candidates for {counted(m, 'query', 'queries')}"
    log(f"searching {what}: FAISS, exact, on the {where}")
    try:
        search = _Search(candidates, page_ids, k, where, _gpu_of(device))
        for start in range(0, m, _QUERIES):
            part = slice(start, start + _QUERIES)
            search.fill(
                np.ascontiguousarray(queries[part]),
                Ranked(found.page_ids[part], found.scores[part], found.n_tied[part]),
            )
    except RuntimeError as error:
        if where == "CPU":
            raise
        why = str(error).rpartition("failed: ")[2].partition("\n")[0]
        raise ModelError(
            f"search: FAISS could not search {what} on the GPU ({why}); expected enough free memory there. End what "
            "else uses the GPU, or search on the CPU with --device cpu"
        ) from error
    return found


def scores_of(queries: Doubles, candidates: npt.NDArray[Any]) -> Doubles:
    """Return the rounded dot products in float64 of vectors along the last axis, whatever the axes before it.

    Each product of a float32 and a float16 number is exact, and NumPy adds those of one pair in a fixed order.
    """
    products = np.multiply(queries, candidates, dtype=np.float64)
    # Without the zero, -0.0 would be another score than 0.0.
    return np.asarray(np.round(products.sum(axis=-1), DECIMALS) + 0.0)


class _Search:
    """The candidates of a search, and FAISS's index of them if it fits."""

    def __init__(self, candidates: Halves, page_ids: Integers, k: int, where: str, gpu: int) -> None:
        import faiss

        self._faiss = faiss
        self._candidates, self._page_ids, self._k = candidates, page_ids, k
        n, self._dim = candidates.shape
        n_bytes = _INDEX_BYTES[where]
        self._gpu, self._resources = gpu, None
        if where == "GPU":
            # Its memory is shared by all indexes of the search.
            self._resources = faiss.StandardGpuResources()
            self._resources.setTempMemory(_GPU_BYTES)
            n_bytes = min(n_bytes, _free_on(gpu) // 2)
        self._block = max(1, n_bytes // (4 * self._dim))
        self._whole = self._index(slice(0, n)) if n <= self._block else None
        self._longest = max(_longest(candidates[part]) for part in _slices(n, _CONVERTED))

    def fill(self, queries: Floats, found: Ranked) -> None:
        """Write the best candidates of some queries into the arrays of `found`."""
        waiting = np.arange(len(queries))
        for wanted in (self._k + _MORE, max(self._k + _MORE, _WIDEST)):
            if len(waiting):
                waiting = waiting[~self._take_shortlists(queries, waiting, wanted, found)]
        for one in waiting:
            self._take_all(queries[one], found, int(one))

    def _take_shortlists(self, queries: Floats, at: Integers, wanted: int, found: Ranked) -> npt.NDArray[np.bool_]:
        """Rank the shortlists of the queries at some places; return for each whether nothing outside can belong."""
        wanted = min(wanted, len(self._candidates))
        near, places = self._shortlist(queries[at], wanted)

        def take(part: slice) -> npt.NDArray[np.bool_]:
            asked = queries[at[part]].astype(np.float64)
            scores = scores_of(asked[:, None, :], self._candidates[places[part]])
            self._keep(scores, self._page_ids[places[part]], found, at[part])
            error = self._error(asked)[:, None]
            # Should a device compute less exactly than float32 allows, its shortlist proves nothing.
            is_float32 = (np.abs(near[part] - scores) <= error + 10.0**-DECIMALS).all(axis=1)
            lowest = found.scores[at[part], -1] - 2 * error[:, 0] - 10.0**-DECIMALS
            return np.asarray(is_float32 & ((near[part, -1] < lowest) | (wanted == len(self._candidates))))

        parts = _slices(len(at), max(1, _SCORED_BYTES // (8 * wanted * self._dim)))
        with ThreadPoolExecutor(self._faiss.omp_get_max_threads()) as threads:  # as many as FAISS has
            return np.concatenate(list(threads.map(take, parts)))

    def _take_all(self, query: Floats, found: Ranked, at: int) -> None:
        """Rank all candidates that may be as good as the worst that was found for a query.

        These are many only if very many candidates have nearly equal vectors.
        """
        asked = query.astype(np.float64)
        lowest = found.scores[at, -1] - 2 * self._error(asked[None])[0] - 10.0**-DECIMALS
        scores, places = [], []
        for part in _slices(len(self._candidates), _CONVERTED):
            near = self._candidates[part].astype(np.float32) @ query
            chosen = part.start + np.flatnonzero(near >= lowest)
            for some in _slices(len(chosen), max(1, _SCORED_BYTES // (8 * self._dim))):
                places.append(chosen[some])
                scores.append(scores_of(asked, self._candidates[chosen[some]]))
        pages = self._page_ids[np.concatenate(places)]
        self._keep(np.concatenate(scores)[None], pages[None], found, np.array([at]))

    def _keep(self, scores: Doubles, page_ids: Integers, found: Ranked, at: Integers) -> None:
        """Keep the best of some candidates of each query, with the number of their ties among these."""
        order = np.lexsort((page_ids, -scores), axis=-1)[:, : self._k]
        best = np.take_along_axis(scores, order, axis=1)
        found.page_ids[at] = np.take_along_axis(page_ids, order, axis=1)
        found.scores[at] = best
        rising = np.sort(scores, axis=1)
        for place, own, row in zip(at, best, rising, strict=True):
            found.n_tied[place] = np.searchsorted(row, own, "right") - np.searchsorted(row, own, "left") - 1

    def _error(self, queries: Doubles) -> Doubles:
        """How far a dot product in float32 may be from the exact one, in whatever order it is summed."""
        return np.asarray(self._dim * _UNIT * np.linalg.norm(queries, axis=1) * self._longest)

    def _shortlist(self, queries: Floats, wanted: int) -> tuple[Floats, Integers]:
        """Scores in float32 and places of the `wanted` best candidates of each query, best first."""
        if self._whole is not None:
            return self._whole.search(queries, wanted)
        scores, places = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        for part in _slices(len(self._candidates), self._block):
            own, at = self._index(part).search(queries, min(wanted, part.stop - part.start))
            scores, places = np.hstack([scores, own]), np.hstack([places, at + part.start])
            best = np.argsort(-scores, axis=1, kind="stable")[:, :wanted]
            scores, places = np.take_along_axis(scores, best, axis=1), np.take_along_axis(places, best, axis=1)
        return scores, places

    def _index(self, part: slice) -> "faiss.Index":
        """An index of a part of the candidates, whose vectors are converted a few at a time."""
        index: faiss.Index = self._faiss.IndexFlatIP(self._dim)
        if self._resources is not None:
            index = self._faiss.index_cpu_to_gpu(self._resources, self._gpu, index)
        for some in _slices(part.stop - part.start, _CONVERTED):
            index.add(self._candidates[part.start + some.start : part.start + some.stop].astype(np.float32))
        return index


def _where(device: str) -> str:
    """Where a search runs: on a GPU if there is one, unless the device is cpu."""
    import faiss

    return "GPU" if device != "cpu" and faiss.get_num_gpus() else "CPU"


def _gpu_of(device: str) -> int:
    """The number of the GPU that a device such as cuda:1 names; by default the first."""
    return int(device.partition(":")[2] or 0)


def _free_on(gpu: int) -> int:
    """Bytes of the memory of a GPU that nobody uses."""
    import torch

    return int(torch.cuda.mem_get_info(gpu)[0])


def _slices(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _longest(vectors: Halves) -> float:
    """At least the length of the longest vector, and not much more."""
    numbers = vectors.astype(np.float32)
    # Sums of squares in float32 are exact to a ten-thousandth for vectors of thousands of numbers.
    return float(np.sqrt(np.einsum("ij,ij->i", numbers, numbers).max()) * 1.001)
