"""Merges sorted runs of rows into one sorted stream, with bounded memory.

Each run yields Arrow tables in key order. A run is opened when its first key is
due and closed when it is used up; one table is held of every open run. So the
time grows with the rows, and the memory with the runs that overlap at one key,
however many runs there are.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import heappop, heappush

import pyarrow as pa

Key = tuple[int | str, ...]
# A key and the number of a run, so that no two runs are ever at the same place.
_Place = tuple[Key, int]

# Small pieces are passed on together, up to this many rows or bytes, because each table costs its receiver time.
_ROWS = 1 << 12
_BYTES = 1 << 24


@dataclass(frozen=True)
class SortedRun:
    """Rows in key order that are read only when they are due.

    Attributes:
        first: key of the first row, or one that comes before it.
        read: opens the run and yields its tables.
    """

    first: Key
    read: Callable[[], Iterator[pa.Table]]


def merge_sorted(runs: Iterable[SortedRun], key: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of all runs in the order of `key`; among equal keys, rows of an earlier run come first.

    Runs that follow one another without overlap (files of increasing page ranges)
    are passed through without sorting.

    Args:
        runs: each in key order by itself.
        key: columns of integers or strings, without nulls, that order the rows.
    """
    return _gathered(_Merge(runs, key).pieces())


class _Merge:
    """The waiting runs, in the order in which they are due, and the held table of each open run."""

    def __init__(self, runs: Iterable[SortedRun], key: Sequence[str]) -> None:
        self._key = key
        numbered = [((run.first, number), run) for number, run in enumerate(runs)]
        self._waiting = sorted(numbered, key=lambda one: one[0], reverse=True)
        self._held: dict[int, tuple[pa.Table, Iterator[pa.Table]]] = {}
        # Heaps of the places of the first and of the last row of each held table.
        self._firsts: list[_Place] = []
        self._lasts: list[_Place] = []
        # The rest of the run whose table ended last.
        self._ended: Iterator[pa.Table] = iter(())

    def pieces(self) -> Iterator[pa.Table]:
        """Yield pieces of rows in key order; each has all rows up to the smallest last row of the held tables."""
        while self._waiting or self._lasts:
            if self._waiting and (not self._lasts or self._waiting[-1][0] <= self._lasts[0]):
                (_, number), run = self._waiting.pop()
                self._hold_next(number, run.read())
                continue
            bound = self._lasts[0]
            ready = []
            while self._firsts and self._firsts[0] <= bound:
                _, number = heappop(self._firsts)
                ready.append((number, self._take(number, bound)))
            # Only after all others are taken: the run's next table may begin with the key at which this one ended.
            self._hold_next(bound[1], self._ended)
            if len(ready) > 1:
                # In the order of their runs, which a stable sort keeps among equal keys.
                together = pa.concat_tables(piece for _, piece in sorted(ready, key=lambda one: one[0]))
                yield together.combine_chunks().sort_by([(name, "ascending") for name in self._key])
            else:
                yield ready[0][1]

    def _hold_next(self, number: int, tables: Iterator[pa.Table]) -> None:
        for table in tables:
            if table.num_rows:
                self._held[number] = (table, tables)
                heappush(self._firsts, (_key_at(table, 0, self._key), number))
                heappush(self._lasts, (_key_at(table, -1, self._key), number))
                return

    def _take(self, number: int, bound: _Place) -> pa.Table:
        """Return the rows of a held table up to the bound, and hold the rest."""
        table, tables = self._held.pop(number)
        if number == bound[1]:
            heappop(self._lasts)
            self._ended = tables
            return table
        n = _count_up_to(table, bound, number, self._key)
        rest = table.slice(n)
        self._held[number] = (rest, tables)
        heappush(self._firsts, (_key_at(rest, 0, self._key), number))
        return table.slice(0, n)


def _key_at(table: pa.Table, row: int, key: Sequence[str]) -> Key:
    return tuple(table[name][row].as_py() for name in key)


def _count_up_to(table: pa.Table, bound: _Place, number: int, key: Sequence[str]) -> int:
    """Return the number of leading rows of a run's table whose place is at most `bound`, by bisection."""
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high) // 2
        if (_key_at(table, middle, key), number) <= bound:
            low = middle + 1
        else:
            high = middle
    return low


def _gathered(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Join small pieces, as copies, so that the files from which they are mapped are closed."""
    waiting: list[pa.Table] = []
    rows = size = 0
    for piece in pieces:
        waiting.append(piece)
        rows += piece.num_rows
        size += piece.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def union_by_key(
    old: Iterator[pa.Table], new: Iterator[pa.Table], key: Sequence[str], prefer: str
) -> Iterator[pa.Table]:
    """Yield the union of old and new rows in key order, each key once.

    Args:
        old: existing rows, in key order, each key once.
        key: columns that identify a row.
        prefer: `old` or `new`, whose row is kept if both have the key.
    """
    import pyarrow.compute as pc

    sides = (old, new) if prefer == "old" else (new, old)
    last: Key | None = None
    for table in merge_sorted([run for side in sides for run in _begun(side, key)], key):
        is_first = pa.array([last is None or _key_at(table, 0, key) != last])
        last = _key_at(table, -1, key)
        columns = [table[name].combine_chunks() for name in key]
        repeats = reduce(pc.and_, (pc.equal(column[1:], column[:-1]) for column in columns))
        yield table.filter(pa.concat_arrays([is_first, pc.invert(repeats)]))


def _begun(tables: Iterator[pa.Table], key: Sequence[str]) -> Iterator[SortedRun]:
    """Make a run of tables from their first key, unless they have no rows."""
    for table in tables:
        if table.num_rows:
            yield SortedRun(_key_at(table, 0, key), lambda: itertools.chain([table], tables))  # noqa: B023 - one run
            return
