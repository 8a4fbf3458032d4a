"""Promises of tables to one another: queries over the lake that return the rows which break them."""

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
    """Return the rows that break a promise; none if a table does not exist yet.

    Args:
        store: where the tables are.
        query: SQL that returns the broken rows.
        tables: by the names that the query uses.
        partitions: the partitions of a table to check; None: all.
        given: rows that replace a table's, by the names that the query uses.
        prepare: registers functions that the query needs on the connection.
        narrowed: SQL that selects from `rows`, all rows of a table, those that the query sees; by the names that the
            query uses.
    """
    given = given or {}
    files = {
        name: store.lake.files(table.name, partitions(table)) for name, table in tables.items() if name not in given
    }
    if not all(files.values()):
        return []
    # Functions would be shared by all users of the process's one DuckDB.
    with asking() if prepare is None else in_memory() as connection:
        if prepare is not None:
            prepare(connection)
        for name, paths in files.items():
            view_files(connection, name, paths, narrowed=(narrowed or {}).get(name, ""))
        for name, rows in given.items():
            connection.register(name, rows)
        return connection.execute(query).fetchall()
