"""Promises of tables to one another: queries that return what breaks them, asked of the lake."""

from collections.abc import Mapping
from typing import Any

from tempkb.store.memory import in_memory, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table


def broken(store: Store, query: str, tables: Mapping[str, Table]) -> list[tuple[Any, ...]]:
    """Return the rows that break a promise; nothing when a table is not there yet.

    Args:
        store: where the tables are.
        query: SQL that returns what is broken.
        tables: by the names that the query uses.
    """
    files = {name: store.lake.files(table.name) for name, table in tables.items()}
    if not all(files.values()):
        return []
    with in_memory() as connection:
        for name, paths in files.items():
            view_files(connection, name, paths)
        return connection.execute(query).fetchall()
