"""Rows of a statement as Python values for people, fetched directly from DuckDB.

Arrow and NumPy are not used, since importing them takes longer than most answers. What
Python cannot hold becomes text: days before year 1 and after 9999, in the form of
`plain.py`, and intervals, since Python has no months.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias

import duckdb

from tempkb.store.questions import bare
from tempkb.store.quoting import identifier

BATCH_ROWS = 1 << 14
Row: TypeAlias = tuple[Any, ...]
_Reader: TypeAlias = Callable[[Any], Any]
# Types whose values lose something when converted to Python: months, nanoseconds.
_LOSING = {"interval", "timestamp_ns"}
_DAYS = {"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp with time zone"}
_NESTED = {"list", "array", "struct", "map"}
_UNHASHABLE = {*_NESTED, "tuple", "union"}
# DuckDB's form of a day or an instant that Python's types cannot hold.
_BEYOND = re.compile(r"(\d+)(-\d\d-\d\d)( \(BC\))?(?: (\d\d:\d\d:\d\d)(\.\d+)?(\+00)?)?")


class Answer:
    """The rows of one statement; they can be read once, and are never in memory as a whole.

    Args:
        connection: on which the statement runs; it is used for nothing else until the rows are read.

    Attributes:
        names: of the columns; several may be the same.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, statement: str) -> None:
        self._connection, self._statement = connection, statement
        self._columns = connection.execute(statement).description or []
        self.names = [str(column[0]) for column in self._columns]
        self._ask_for_texts()

    def batches(self) -> Iterator[list[Row]]:
        """Yield the rows, up to `BATCH_ROWS` at a time."""
        while rows := self._connection.fetchmany(BATCH_ROWS):
            yield self._readable(rows)

    def head(self, n: int) -> tuple[list[Row], int]:
        """Return the first `n` rows, and how many there are in all."""
        batches = self.batches()
        first = next(batches, [])
        more = next(batches, [])
        if not more:
            return first[:n], len(first)
        # DuckDB counts rows a hundred times as fast as it converts them to Python.
        self._connection.abort()
        counted = self._connection.execute(f"SELECT count(*) FROM (\n{bare(self._statement)}\n)").fetchall()
        return [*first, *more][:n], int(counted[0][0])

    def _ask_for_texts(self) -> None:
        """Run the statement again with texts in place of values that would lose something."""
        losing = [_holds(column[1], _LOSING) for column in self._columns]
        if not any(losing):
            return
        columns = ", ".join(
            f"CAST(#{at} AS VARCHAR) AS {identifier(name)}" if is_text else f"#{at} AS {identifier(name)}"
            for at, (name, is_text) in enumerate(zip(self.names, losing, strict=True), 1)
        )
        self._connection.abort()
        as_texts = f"SELECT {columns} FROM (\n{bare(self._statement)}\n)"
        self._columns = self._connection.execute(as_texts).description or []

    @cached_property
    def _readers(self) -> list[tuple[int, _Reader]]:
        """Return the columns whose values need a conversion: their positions, and the function for a value."""
        readers = [(at, _reader(column[1])) for at, column in enumerate(self._columns)]
        return [(at, read) for at, read in readers if read is not None]

    def _readable(self, rows: list[Row]) -> list[Row]:
        if not self._readers:
            return rows
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        for at, read in self._readers:
            columns[at] = [read(value) for value in columns[at]]
        return list(zip(*columns, strict=True))


def _parts(kind: Any) -> list[tuple[str, Any]]:
    """Return the types inside a type, each with its name in it; none for a type without parts."""
    return [(name, part) for name, part in kind.children if name != "size"] if kind.id in _NESTED else []


def _holds(kind: Any, ids: set[str]) -> bool:
    """Is a type, or one of its parts at any depth, among these?"""
    return kind.id in ids or any(_holds(part, ids) for _, part in _parts(kind))


def _reader(kind: Any) -> _Reader | None:
    """Return the conversion of each value of a type; None if values stay as they are."""
    if kind.id in _DAYS:
        return _moment
    readers = {name: _reader(part) for name, part in _parts(kind)}
    if kind.id == "map":
        # DuckDB gives a map as two lists if Python cannot look up its keys.
        is_split = dict(kind.children)["key"].id in _UNHASHABLE
        return partial(_pairs, readers["key"] or _same, readers["value"] or _same, is_split)
    if not any(readers.values()):
        return None
    if kind.id == "struct":
        return partial(_fields, {name: read or _same for name, read in readers.items()})
    return partial(_items, readers["child"] or _same)


def _moment(value: Any) -> Any:
    """Return a day or an instant; in ISO 8601 if Python cannot hold it: 27 BCE is -0026, as in astronomy."""
    if not isinstance(value, str):
        return value
    found = _BEYOND.fullmatch(value)
    if found is None:
        return value
    year, day, is_before, time, part, zone = found.groups()
    number = 1 - int(year) if is_before else int(year)
    text = f"{'-' if number < 0 else ''}{abs(number):04}{day}"
    if time is None:
        return text
    return f"{text} {time}{part.ljust(7, '0') if part else ''}{'+00:00' if zone else ''}"


def _items(read: _Reader, value: Sequence[Any] | None) -> list[Any] | None:
    return None if value is None else [read(one) for one in value]


def _fields(readers: dict[str, _Reader], value: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else {name: readers[name](one) for name, one in value.items()}


def _pairs(read_key: _Reader, read: _Reader, is_split: bool, value: dict[Any, Any] | None) -> list[Row] | None:
    if value is None:
        return None
    pairs = zip(value["key"], value["value"], strict=True) if is_split and value else value.items()
    return [(read_key(key), read(one)) for key, one in pairs]


def _same(value: Any) -> Any:
    return value
