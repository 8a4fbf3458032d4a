"""Rows for people: dates before year 1 and after 9999, which Python does not know, become text."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Days from 1970-01-01 to the first and last day that Python's dates can hold.
_FIRST, _LAST = -719_162, 2_932_896


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as Python values."""
    for at, field in enumerate(table.schema):
        if pa.types.is_date32(field.type) and _is_beyond(table.column(at)):
            table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _is_beyond(days: pa.ChunkedArray) -> bool:
    ends = pc.min_max(days.cast(pa.int32())).as_py()
    return ends["min"] is not None and (ends["min"] < _FIRST or ends["max"] > _LAST)
