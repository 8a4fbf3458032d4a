"""Rows for people: days before year 1 and after 9999, which Python's dates cannot hold, become text at any depth."""

import re
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Rows: TypeAlias = pa.Table | pa.RecordBatch
# Days from 1970-01-01 to the first and last day that Python's dates can hold.
_FIRST, _LAST = -719_162, 2_932_896
_SECONDS_OF_DAY = 86_400
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def plain_rows(rows: Rows) -> list[dict[str, Any]]:
    """Return rows as Python values.

    A column, or a field of structs in lists, with a day or an instant outside Python's
    range is text throughout, in ISO 8601: 27 BCE is -0026, as in astronomy.
    """
    columns = [plain_values(rows.column(at)) for at in range(rows.num_columns)]
    names = rows.schema.names
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def plain_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as Python values, as `plain_rows` does."""
    if not _holds_days(column.type):
        return list(column.to_pylist())
    return _values(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _values(array: pa.Array) -> list[Any]:
    kind = array.type
    if not _holds_days(kind):
        return list(array.to_pylist())
    if pa.types.is_temporal(kind):
        return _texts(array) if _is_beyond(array) else list(array.to_pylist())
    there = array.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        names = [kind.field(at).name for at in range(kind.num_fields)]
        fields = zip(*(_values(one) for one in array.flatten()), strict=True)
        return [dict(zip(names, one, strict=True)) if ok else None for ok, one in zip(there, fields, strict=True)]
    if pa.types.is_map(kind):
        array = array.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    values = _values(array.flatten())
    if pa.types.is_map(kind):
        values = [tuple(pair.values()) for pair in values]
    import pyarrow.compute as pc

    ends = np.cumsum([0, *pc.fill_null(pc.list_value_length(array), 0).to_pylist()])
    return [values[begin:end] if ok else None for ok, (begin, end) in zip(there, pairwise(ends), strict=True)]


def _holds_days(kind: pa.DataType) -> bool:
    """Does a type hold dates or instants, at any depth?"""
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return True
    return pa.types.is_nested(kind) and any(_holds_days(kind.field(at).type) for at in range(kind.num_fields))


def _is_beyond(array: pa.Array) -> bool:
    numbers = _numbers(array)
    if not len(numbers):
        return False
    a_day = _units_of_day(array.type)
    return bool(numbers.min() < _FIRST * a_day or numbers.max() >= (_LAST + 1) * a_day)


def _numbers(array: pa.Array) -> "np.ndarray[Any, np.dtype[Any]]":
    """Return the stored numbers of days or instants, without nulls and without Arrow's functions: they load slowly."""
    valid, stored = array.buffers()
    kind, span = (
        np.int32 if pa.types.is_date32(array.type) else np.int64,
        slice(array.offset, array.offset + len(array)),
    )
    numbers: np.ndarray[Any, np.dtype[Any]] = np.frombuffer(stored, kind)[span] if stored else np.empty(0, kind)
    if not array.null_count:
        return numbers
    is_there = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[span].astype(bool)
    present: np.ndarray[Any, np.dtype[Any]] = numbers[is_there]
    return present


def _units_of_day(kind: pa.DataType) -> int:
    if pa.types.is_timestamp(kind):
        return _SECONDS_OF_DAY * _PER_SECOND[kind.unit]
    return 1 if pa.types.is_date32(kind) else _SECONDS_OF_DAY * _PER_SECOND["ms"]


def _texts(array: pa.Array) -> list[str | None]:
    """Return days as `-0026-01-14` and instants as `-0026-01-14 00:00:00`, in UTC if they have a zone."""
    is_day, a_day = pa.types.is_date(array.type), _units_of_day(array.type)
    numbers = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64()).to_pylist()
    if is_day:
        return [None if one is None else _iso(np.datetime64(one // a_day, "D")) for one in numbers]
    unit, zone = array.type.unit, "+00:00" if array.type.tz else ""
    return [None if one is None else _iso(np.datetime64(one, unit)) + zone for one in numbers]


def _iso(moment: np.datetime64) -> str:
    sign, year, rest = re.fullmatch(r"(-?)(\d+)(-.*)", str(moment)).groups()  # type: ignore[union-attr]
    return f"{sign}{year:0>4}{rest}".replace("T", " ").removesuffix(".000000")
