"""Merge sorted runs of rows into one sorted stream, with bounded memory.

Each run yields Arrow tables in key order. Of every run one table is held; all
rows up to the smallest last key among them are sorted and passed on.
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def merge_sorted(runs: Iterable[Iterator[pa.Table]], key: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of all runs in the order of `key`.

    Args:
        runs: iterators over tables, each run in key order by itself. A run is
            first asked for a table when the merge begins.
        key: columns of integers or strings that order the rows.

    Runs that follow one another without overlap (files of rising page ranges)
    are passed through without sorting.
    """
    heads: list[tuple[pa.Table, Iterator[pa.Table]]] = []
    for run in runs:
        _push(heads, run)
    while heads:
        bound = min(_key_at(table, -1, key) for table, _ in heads)
        ready, kept = [], []
        for table, run in heads:
            n = _count_up_to(table, bound, key)
            if n:
                ready.append(table.slice(0, n))
            if n < table.num_rows:
                kept.append((table.slice(n), run))
            else:
                _push(kept, run)
        heads = kept
        if len(ready) == 1:
            yield ready[0]
        else:
            yield pa.concat_tables(ready).sort_by([(name, "ascending") for name in key])


def _push(heads: list[tuple[pa.Table, Iterator[pa.Table]]], run: Iterator[pa.Table]) -> None:
    for table in run:
        if table.num_rows:
            heads.append((table, run))
            return


def _key_at(table: pa.Table, row: int, key: Sequence[str]) -> tuple[object, ...]:
    return tuple(table[name][row].as_py() for name in key)


def _count_up_to(table: pa.Table, bound: tuple[object, ...], key: Sequence[str]) -> int:
    """Number of leading rows whose key is at most `bound`, by bisection."""
    if _key_at(table, -1, key) <= bound:
        return int(table.num_rows)
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high) // 2
        if _key_at(table, middle, key) <= bound:
            low = middle + 1
        else:
            high = middle
    return low


def union_by_key(
    old: Iterator[pa.Table], new: Iterator[pa.Table], key: Sequence[str], prefer: str
) -> Iterator[pa.Table]:
    """Yield old union new in key order, each key once.

    Args:
        old: rows that stand, in key order, no key twice.
        new: rows that come, likewise.
        key: columns that name a row.
        prefer: `old` or `new`, whose row is kept where both have the key.
    """
    marked = [_marked(old, 0 if prefer == "old" else 1), _marked(new, 1 if prefer == "old" else 0)]
    last: tuple[object, ...] | None = None
    for table in merge_sorted(marked, [*key, "_rank"]):
        keep = pa.array([True] * table.num_rows)
        if table.num_rows > 1:
            same = pa.array([True] * (table.num_rows - 1))
            for name in key:
                column = table[name].combine_chunks()
                same = pc.and_(same, pc.equal(column.slice(1), column.slice(0, len(column) - 1)))
            keep = pa.concat_arrays([pa.array([True]), pc.invert(same)])
        if last is not None and _key_at(table, 0, key) == last:
            keep = pa.concat_arrays([pa.array([False]), keep.slice(1)])
        last = _key_at(table, -1, key)
        kept = table.filter(keep).drop_columns(["_rank"])
        if kept.num_rows:
            yield kept


def _marked(run: Iterator[pa.Table], rank: int) -> Iterator[pa.Table]:
    for table in run:
        yield table.append_column("_rank", pa.array([rank] * table.num_rows, pa.int8()))
