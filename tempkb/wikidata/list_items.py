"""Finds the items about list pages: instances of Wikimedia list article and of its subclasses."""

from datetime import date

import duckdb

from tempkb.store.memory import view_files
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wikidata.classes import close
from tempkb.wikidata.tables import ENTITY_CLASSES, SUBCLASSES

LIST_CLASS = "Q13406463"
"""The class "Wikimedia list article"."""


def fill_list_items(store: Store, connection: duckdb.DuckDBPyConnection, cut: date) -> list[Version]:
    """Make the table `list_items(entity_id)` from the first Wikidata dump at or after a cut, or else from the last one.

    Returns:
        The versions that were read. If the home has no Wikidata dump, the list and the table are empty.
    """
    connection.execute("CREATE OR REPLACE TEMP TABLE list_items (entity_id VARCHAR)")
    dump_id = dump_for(store, connection, cut)
    versions = [store.lake.current(table.name, dump_id) for table in (ENTITY_CLASSES, SUBCLASSES)] if dump_id else []
    read = [one for one in versions if one is not None]
    if len(read) < 2:
        return []
    for name, version in zip(("item_classes", "subclass_edges"), read, strict=True):
        view_files(connection, name, version.paths())
    connection.execute(
        "CREATE OR REPLACE TEMP VIEW subclasses AS SELECT class_id AS below, above_id AS above FROM subclass_edges"
    )
    close(connection, [LIST_CLASS])
    connection.execute(
        """
        INSERT INTO list_items SELECT DISTINCT c.entity_id FROM item_classes AS c
        JOIN below AS b ON b.entity_id = c.class_id WHERE c.depth = 0
        """
    )
    return read


def dump_for(store: Store, connection: duckdb.DuckDBPyConnection, cut: date) -> str | None:
    """Return the first Wikidata dump at or after a cut, or else the last one; None if the home has none."""
    paths = file_names(store.lake.files(ENTITY_CLASSES.name))
    if not paths:
        return None
    rows = connection.execute(
        "SELECT DISTINCT dump_date, dump_id FROM read_parquet($paths) ORDER BY dump_date, dump_id", {"paths": paths}
    ).fetchall()
    reaching = [dump_id for day, dump_id in rows if day is not None and day >= cut]
    return str((reaching or [rows[-1][1]])[0]) if rows else None
