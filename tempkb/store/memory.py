"""In-memory DuckDB connections, through which assets and checks query the lake's files."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.store.quoting import identifier, literal, parquet
from tempkb.store.tables import Table

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# In Jupyter DuckDB lets nobody set its progress bars unless a further package is there, and they are no noise.
QUIET = ("" if "ipykernel" in sys.modules else "SET enable_progress_bar = false; ") + "SET TimeZone = 'UTC'"
"""What each connection begins with: in UTC, and without progress bars."""


def in_memory() -> "duckdb.DuckDBPyConnection":
    """Open an in-memory DuckDB, in UTC and without progress bars."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(QUIET)
    return connection


def asking() -> "duckdb.DuckDBPyConnection":
    """Open a connection that only reads files, in a fortieth of the time of `in_memory`.

    All of a process share one DuckDB. Temporary views and registered tables belong to one connection; tables,
    functions and settings would be shared by all, so callers that need those use `in_memory` or `spilling_to`.
    """
    connection = _shared().cursor()
    connection.execute(QUIET)
    return connection


@cache
def _shared() -> "duckdb.DuckDBPyConnection":
    return in_memory()


@contextmanager
def spilling_to(folder: Path, memory: str = "") -> "Iterator[duckdb.DuckDBPyConnection]":
    """Give a connection that writes to `folder` what does not fit in memory; it may take `memory`, such as 1GB."""
    with in_memory() as connection:
        connection.execute(f"SET memory_limit = {literal(memory)}" if memory else "")
        connection.execute(f"SET temp_directory = {literal(folder)}; SET preserve_insertion_order = false")
        yield connection


def view_files(
    connection: "duckdb.DuckDBPyConnection",
    name: str,
    paths: Sequence[Path],
    schema: "pa.Schema | None" = None,
) -> None:
    """Make a view over Parquet files, replacing one of that name; without files, an empty table with `schema`.

    Args:
        schema: of the empty table that replaces missing files.
    """
    connection.unregister(name)
    if paths or schema is None:
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {identifier(name)} AS FROM {parquet(paths)}")
        return
    connection.execute(f"DROP VIEW IF EXISTS {identifier(name)}")
    connection.register(name, schema.empty_table())


def declared_rows(paths: Sequence[Path], table: Table) -> list[dict[str, Any]]:
    """Return the rows of Parquet files in key order, without Arrow."""
    if not paths:
        return []
    columns, order = (", ".join(map(identifier, names)) for names in (table.column_names(), table.key))
    with asking() as memory:
        rows = memory.execute(f"SELECT {columns} FROM {parquet(paths)} ORDER BY {order}").fetchall()
    return [dict(zip(table.column_names(), row, strict=True)) for row in rows]


def has_columns_of(path: Path, table: Table) -> bool:
    """Return whether a Parquet file has the columns of `table`, in their order and with their types.

    DuckDB looks at the file, because importing Arrow takes longer than all else that `tempkb status` does.
    """
    with asking() as memory:
        found, expected = (
            [(name, kind) for name, kind, *_ in memory.execute(f"DESCRIBE {query}").fetchall()]
            for query in (f"FROM {parquet([path])}", table.empty_query)
        )
    return found == expected
