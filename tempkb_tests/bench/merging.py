"""Merging runs, from 200 to 12,800 of twenty rows each, in Arrow files as workers leave them."""

import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tempkb.store.merge import SortedRun, merge_sorted
from tempkb.wiki.revisions.staging import Run
from tempkb_tests.bench.measuring import row

_ROWS = 20
_KEY = ("page_id", "revision_id")
_SCHEMA = pa.schema([("page_id", pa.int64()), ("revision_id", pa.int64()), ("text_sha1", pa.string())])
_NOTHING = np.array([], np.int64)


def measure_all(folder: Path) -> None:
    """Measure all of it."""
    row(f"runs of {_ROWS} rows", "one after another, CPU s", "interleaved, CPU s", "CPU ms a run")
    row("---", "---", "---", "---")
    for n in (200, 800, 3200, 12_800):
        apart, interleaved = (_merge(folder / f"{kind}-{n}", n, kind) for kind in ("apart", "interleaved"))
        row(f"{n:,}", f"{apart:.2f}", f"{interleaved:.2f}", f"{1000 * apart / n:.2f} and {1000 * interleaved / n:.2f}")
    print()


def _merge(folder: Path, n: int, kind: str) -> float:
    folder.mkdir()
    runs = [_write(folder, number, n, kind) for number in range(n)]
    began = time.process_time()
    rows = sum(table.num_rows for table in merge_sorted(runs, _KEY))
    spent = time.process_time() - began
    assert rows == n * _ROWS, rows
    return spent


def _write(folder: Path, number: int, n: int, kind: str) -> SortedRun:
    keys = number * _ROWS + np.arange(_ROWS) if kind == "apart" else number + n * np.arange(_ROWS)
    table = pa.Table.from_arrays(
        [pa.array(keys), pa.array(keys), pa.array([f"{key:031}" for key in keys])], schema=_SCHEMA
    )
    with pa.OSFile(str(folder / f"log-{number:05}.arrow"), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_table(table)
    first = (int(keys[0]), int(keys[0]))
    return SortedRun(first, partial(Run("log", "all", folder, first, (number,), (0,)).read, _NOTHING))
