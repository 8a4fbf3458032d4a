"""Promises of tables to one another: queries that return what breaks them, asked of the lake."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.store.memory import asking, in_memory, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table


def broken(
    store: Store,
    query: str,
    tables: Mapping[str, Table],
    partitions: Callable[[Table], Sequence[str] | None] = lambda _table: None,
    given: Mapping[str, pa.Table] | None = None,
    prepare: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    narrowed: Mapping[str, str] | None = None,
) -> list[tuple[Any, ...]]:
    """Return the rows that break a promise; nothing when a table is not there yet.

    Args:
        store: where the tables are.
        query: SQL that returns what is broken.
        tables: by the names that the query uses.
        partitions: which of a table's partitions are looked at; None for all.
        given: rows that take the place of a table's, by the names that the query uses.
        prepare: gives the connection functions that the query needs.
        narrowed: by the names that the query uses, SQL that selects from `rows`, which are all of the table, those
            that the query sees.
    """
    given = given or {}
    files = {
        name: store.lake.files(table.name, partitions(table)) for name, table in tables.items() if name not in given
    }
    if not all(files.values()):
        return []
    # Functions would be everybody's in the DuckDB that all questions share.
    with asking() if prepare is None else in_memory() as connection:
        if prepare is not None:
            prepare(connection)
        for name, paths in files.items():
            view_files(connection, name, paths, narrowed=(narrowed or {}).get(name, ""))
        for name, rows in given.items():
            connection.register(name, rows)
        return connection.execute(query).fetchall()
