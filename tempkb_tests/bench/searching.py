"""Linkers without their encoder: `python -m tempkb_tests.bench searching` measures exact search, and the way of vectors.

Each side runs in a process of its own with one thread. Vectors are random; a cheap encoder stands for a real one, so that
only reading, planning, writing and looking up are measured. `python -m tempkb_tests.bench.searching gpu` searches on a
GPU, in seconds of the wall from arrays in memory to arrays in memory, beside NumPy on all cores.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tempkb_tests.bench.measuring import row

QUERIES, CANDIDATES, DIM, K = 10_000, 200_000, 256, 64
_BLOCK = 256  # queries at a time of those sides that keep the scores of all candidates


def measure_all() -> None:
    """Print the tables of search and of vectors."""
    row(f"{QUERIES:,} queries, {CANDIDATES:,} x {DIM} candidates, top {K}", "CPU s", "peak MB", "same candidates")
    row("---", "---", "---", "---")
    for side in ("tempkb", "faiss", "torch", "numpy"):
        found = _measured(side, QUERIES, CANDIDATES)
        row(side, f"{found['cpu']:.1f}", f"{found['peak_mb']:.0f}", f"{found['same']:.2%}")
    print()
    row("1,000 queries among", "CPU s", "peak MB")
    row("---", "---", "---")
    for n in (50_000, 200_000, 800_000):
        found = _measured("tempkb", 1_000, n)
        row(f"{n:,} candidates", f"{found['cpu']:.1f}", f"{found['peak_mb']:.0f}")
    print()
    row(
        "entities of a snapshot",
        "digests, CPU s",
        "vectors planned and stored, CPU s",
        "vectors read, CPU s",
        "peak MB",
    )
    row("---", "---", "---", "---", "---")
    for n in (10_000, 40_000, 160_000):
        found = _measured("vectors", 0, n)
        row(f"{n:,}", *(f"{found[name]:.1f}" for name in ("digests", "encode", "read")), f"{found['peak_mb']:.0f}")
    print()


def measure_on_gpu() -> None:
    """Print the table of search on a GPU."""
    row("10,000 queries, top 64, among", "side", "s", "CPU s", "same candidates")
    row("---", "---", "---", "---", "---")
    for n, dim in ((200_000, 256), (1_000_000, 256), (1_000_000, 1_024)):
        sides = [("tempkb", "cuda"), ("faiss", "cuda"), ("torch", "cuda")]
        if n == CANDIDATES:
            sides += [("tempkb", "cpu"), ("numpy", "cpu")]
        for side, device in sides:
            found = _measured(side, QUERIES, n, dim, device)
            where = side if device == "cuda" else f"{side}, {os.cpu_count()} cores"
            row(f"{n:,} x {dim}", where, f"{found['wall']:.2f}", f"{found['cpu']:.1f}", f"{found['same']:.2%}")


def _measured(side: str, n_queries: int, n_candidates: int, dim: int = DIM, device: str = "") -> dict[str, Any]:
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    numbers = [str(one) for one in (n_queries, n_candidates, dim)]
    command = [sys.executable, "-m", "tempkb_tests.bench.searching", side, *numbers, device or "cpu"]
    # On the machine of a GPU, with all its cores.
    environment = {**os.environ, **({} if device else single)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _vectors(n: int, seed: int, dim: int = DIM) -> np.ndarray:
    numbers = np.random.default_rng(seed)
    parts = [numbers.standard_normal((min(10_000, n - at), dim), np.float32) for at in range(0, n, 10_000)]
    return np.concatenate(parts)


def _search(side: str, n_queries: int, n_candidates: int, dim: int, device: str) -> dict[str, float]:
    queries, candidates = _vectors(n_queries, 1, dim), _vectors(n_candidates, 2, dim).astype(np.float16)
    pages = np.arange(n_candidates)
    _begin(device)
    began, began_cpu = time.perf_counter(), time.process_time()
    if side == "tempkb":
        from tempkb.models.linking.searching import top

        found, _ = top(queries, candidates, pages, K, lambda line: None, device)
    elif side == "numpy":
        found = _by_numpy(queries, candidates.astype(np.float32))
    else:
        found = {"faiss": _by_faiss, "torch": _by_torch}[side](queries, candidates.astype(np.float32), device)
    wall, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    exact = _in_float64(queries[:20], candidates)
    return {"wall": wall, "cpu": cpu, "peak_mb": peak, "same": float((found[:20] == exact).mean())}


def _begin(device: str) -> None:
    """Import the libraries; the first use of a GPU takes seconds, whatever is computed."""
    import faiss
    import torch

    if device != "cpu":
        torch.ones(1, device=device).sum().item()
        faiss.StandardGpuResources()


def _by_faiss(queries: np.ndarray, candidates: np.ndarray, device: str) -> np.ndarray:
    import faiss

    index = faiss.IndexFlatIP(queries.shape[1])
    if device != "cpu":
        resources = faiss.StandardGpuResources()
        index = faiss.index_cpu_to_gpu(resources, 0, index)
    index.add(candidates)
    return np.asarray(index.search(queries, K)[1])


def _by_torch(queries: np.ndarray, candidates: np.ndarray, device: str) -> np.ndarray:
    import torch

    others = torch.from_numpy(candidates).to(device).T
    parts = [(one @ others).topk(K).indices for one in torch.from_numpy(queries).to(device).split(_BLOCK)]
    return torch.cat(parts).cpu().numpy()


def _by_numpy(queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    parts = []
    for at in range(0, len(queries), _BLOCK):
        scores = queries[at : at + _BLOCK] @ candidates.T
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
        parts.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(parts)


def _in_float64(queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    scores = np.concatenate(
        [
            queries.astype(np.float64) @ candidates[at : at + 50_000].astype(np.float64).T
            for at in range(0, len(candidates), 50_000)
        ],
        axis=1,
    )
    return np.argsort(-scores, axis=1, kind="stable")[:, :K]


class _Cheap:
    """An encoder that computes nothing worth mentioning."""

    dim = DIM

    def entities(self, texts: list[Any], report: Any) -> np.ndarray:
        numbers = np.array([len(one.title) + len(one.description) for one in texts], np.float32)
        return np.repeat(numbers[:, None], DIM, axis=1)


def _way_of_vectors(n: int, folder: Path) -> dict[str, float]:
    """Seconds for the digests of `n` articles, for planning and storing their vectors, and for reading these."""
    os.environ |= {"TEMPKB_HOME": str(folder), "TEMPKB_GRANULARITY": "year", "TEMPKB_WORKERS": "1"}
    import pyarrow as pa

    from tempkb.benchmarks.register import create
    from tempkb.benchmarks.tempel.benchmark import TEMPEL
    from tempkb.benchmarks.tempel.design import make_design
    from tempkb.benchmarks.tempel.entity_texts import write_entity_texts
    from tempkb.benchmarks.tempel.tables import TEMPEL_ENTITIES
    from tempkb.benchmarks.work import working
    from tempkb.models.linking import encoders
    from tempkb.models.linking.candidates import of_release
    from tempkb.models.linking.requests import LinkRequest
    from tempkb.models.linking.tables import DIGESTS
    from tempkb.models.linking.vectors import encode_missing, vectors_of
    from tempkb.platform.api import open_store
    from tempkb.store.drafts import Provenance
    from tempkb.wiki.mentions.tables import PAGE_TEXTS

    store, cut = open_store(), date(2022, 1, 1)
    store.claim("benchwiki")
    words = [f"word{number}" for number in range(5_000)]
    numbers = np.random.default_rng(3)

    def rows(table: Any, fill: Callable[[int], dict[str, Any]]) -> Iterator[pa.Table]:
        for at in range(0, n, 5_000):
            filled = [dict.fromkeys(table.column_names()) | fill(page) for page in range(at, min(n, at + 5_000))]
            yield pa.Table.from_pylist(filled, table.schema)

    def text(page: int) -> dict[str, Any]:
        said = " ".join(words[one] for one in numbers.integers(0, 5_000, 600))
        return {"page_id": page, "revision_id": page, "quarter": date(2021, 1, 1), "text": said}

    def entity(page: int) -> dict[str, Any]:
        return {"release": "r", "cut": cut, "page_id": page, "revision_id": page, "title": f"Page {page}"}

    store.write(PAGE_TEXTS, "2021-01-01", rows(PAGE_TEXTS, text), Provenance())
    store.write(TEMPEL_ENTITIES, f"r.{cut}", rows(TEMPEL_ENTITIES, entity), Provenance())
    release = create(store.home, TEMPEL, "small", make_design("small", [cut], {}), "r")

    def write_digests() -> None:
        with working(store, release) as work:
            write_entity_texts(work, cut)

    encoders.load_encoder = lambda *_: _Cheap()  # type: ignore[assignment, return-value]
    linker = dict.fromkeys(DIGESTS, "0") | {"linker": "cheap", "dim": DIM, "n_parameters": 1}
    found = {}
    for name, work in (
        ("digests", write_digests),
        ("encode", lambda: encode_missing(store, linker, [of_release(store, "r", cut)], LinkRequest(), print)),
        ("read", lambda: vectors_of(store, linker, of_release(store, "r", cut), folder)),
    ):
        began = time.process_time()
        work()
        found[name] = time.process_time() - began
    return {**found, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    asked, *numbers_asked = sys.argv[1:]
    if asked == "gpu":
        measure_on_gpu()
    elif asked == "vectors":
        with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as home:
            print(json.dumps(_way_of_vectors(int(numbers_asked[1]), Path(home))))
    else:
        *sizes, on = numbers_asked
        print(json.dumps(_search(asked, *map(int, sizes), on)))
