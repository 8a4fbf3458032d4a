"""Temporary tables of what Python has worked out, for queries that join it with tables of the lake."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa


def make_table(connection: duckdb.DuckDBPyConnection, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Make a temporary table, or replace one.

    Args:
        columns: SQL of their names and types.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({columns})")
    if rows:
        arrays = [pa.array(values) for values in zip(*rows, strict=True)]
        connection.register(
            "rows_given", pa.Table.from_arrays(arrays, names=[f"column_{at}" for at in range(len(arrays))])
        )
        connection.execute(f"INSERT INTO {name} FROM rows_given")
        connection.unregister("rows_given")
