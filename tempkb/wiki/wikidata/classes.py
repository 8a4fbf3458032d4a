"""Writes the rows of a pass to files, and reads them back in order: classes of items, those above them, list pages.

Items about list pages are instances of Wikimedia list article and of its subclasses.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.core.files import parquet_writer
from tempkb.core.filtering import LeftOut
from tempkb.store.drafts import Provenance
from tempkb.store.memory import view_files
from tempkb.store.quoting import file_names, identifier, literal, parquet
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.wikidata.rows import Rows
from tempkb.wiki.wikidata.tables import (
    ENTITY_CLASSES,
    ENTITY_ORIGINS,
    FACTS,
    SUBCLASSES,
    UNDATED_STATEMENTS,
    WIKIDATA_ENTITIES,
)

_FLUSH_ROWS = 1 << 15
_BATCH_ROWS = 1 << 16
_EDGES = pa.schema([("below", pa.string()), ("above", pa.string())])


def _own_columns(table: Table) -> pa.Schema:
    """The columns that differ from row to row: all but those that are constant in a dump."""
    return pa.schema([one for one in table.schema if one.name not in ("wiki", "dump_id", "dump_date")])


_SCHEMAS = {
    "entities": _own_columns(WIKIDATA_ENTITIES),
    "facts": _own_columns(FACTS),
    "undated": _own_columns(UNDATED_STATEMENTS),
    "origins": _own_columns(ENTITY_ORIGINS),
    "classes": _EDGES,
    "subclasses": _EDGES,
}


class Staging:
    """Files with the rows that a pass has found so far.

    Args:
        folder: an empty folder on the lake's file system.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writers = {
            name: parquet_writer(self.path(name), schema, compression="zstd", compression_level=1)
            for name, schema in _SCHEMAS.items()
        }

    def path(self, name: str) -> Path:
        """Return the file for one kind of rows."""
        return self.folder / f"{name}.parquet"

    def take(self, rows: Rows, *, everything: bool = False) -> None:
        """Write collected rows and remove them from `rows`: kinds with many rows, or, with `everything`, all."""
        for name, schema in _SCHEMAS.items():
            waiting: list[tuple[Any, ...]] = getattr(rows, name)
            if len(waiting) < _FLUSH_ROWS and not (everything and waiting):
                continue
            columns = [
                pa.array(values, one.type) for values, one in zip(zip(*waiting, strict=True), schema, strict=True)
            ]
            self._writers[name].write_table(pa.Table.from_arrays(columns, schema=schema))
            waiting.clear()

    def close(self) -> None:
        """Finish the files."""
        for writer in self._writers.values():
            writer.close()

    def repeated(self, connection: duckdb.DuckDBPyConnection, name: str, table: Table) -> LeftOut:
        """Remove rows whose key another row has, and return their count. The row with the smallest values is kept.

        The id of a statement should be unique, but dumps do not guarantee it.
        """
        left_out = LeftOut()
        keys = ", ".join(table.key)
        view_files(connection, "staged", [self.path(name)])
        again = f"SELECT count(*) - 1 AS n, min({table.key[0]}) AS one FROM staged GROUP BY {keys} HAVING n > 0"
        n, example = connection.execute(f"SELECT sum(n)::BIGINT, min(one) FROM ({again})").fetchall()[0]
        if not n:
            return left_out
        kept = self.folder / f"{name}-kept.parquet"
        everything = ", ".join(map(identifier, _SCHEMAS[name].names))
        first = f"row_number() OVER (PARTITION BY {keys} ORDER BY {everything}) = 1"
        connection.execute(f"COPY (FROM staged QUALIFY {first}) TO {literal(kept)}")
        kept.replace(self.path(name))
        left_out.add(f"row of {table.name} whose key came before", example, n)
        return left_out

    def sorted_rows(
        self, connection: duckdb.DuckDBPyConnection, name: str, table: Table, constants: Mapping[str, Any]
    ) -> Iterator[pa.Table]:
        """Yield the rows of one kind in key order, with the columns that are constant in the dump."""
        own = ", ".join(map(identifier, _SCHEMAS[name].names))
        return query_rows(connection, f"SELECT {own} FROM {parquet([self.path(name)])}", table, constants)


def query_rows(
    connection: duckdb.DuckDBPyConnection, query: str, table: Table, constants: Mapping[str, Any]
) -> Iterator[pa.Table]:
    """Yield the rows of a query in the key order of a table, with the constant columns added."""
    shared = ", ".join(f"${name} AS {name}" for name in constants)
    order = ", ".join(table.key)
    names = ", ".join(table.column_names())
    ordered = f"SELECT {names} FROM (SELECT {shared}, * FROM ({query})) ORDER BY {order}"
    for batch in connection.sql(ordered, params=dict(constants)).to_arrow_reader(_BATCH_ROWS):
        yield pa.Table.from_batches([batch])


# Longer chains of subclasses are loops or errors in Wikidata.
MOST_STEPS = 50


def write_classes(
    store: Store,
    dump_id: str,
    staging: Staging,
    connection: duckdb.DuckDBPyConnection,
    constants: Mapping[str, Any],
    provenance: Provenance,
) -> Version:
    """Write `entity_classes` of a dump from the edges that a pass has staged."""
    below = staging.folder / "below.parquet"
    connection.execute(f"CREATE TEMP VIEW subclasses AS FROM {parquet([staging.path('subclasses')])}")
    close(connection, store.home.settings.classes)
    connection.execute(f"COPY below TO {literal(below)}")
    query = f"""
        SELECT below AS entity_id, above AS class_id, 0::SMALLINT AS depth FROM {parquet([staging.path("classes")])}
        UNION ALL
        SELECT c.below, b.class_id, min(b.depth)::SMALLINT
        FROM {parquet([staging.path("classes")])} AS c JOIN {parquet([below])} AS b ON b.entity_id = c.above
        WHERE b.depth > 0 GROUP BY c.below, b.class_id
    """
    # A class may be reached directly and through another class; the shorter way counts.
    nearest = f"SELECT entity_id, class_id, min(depth) AS depth FROM ({query}) GROUP BY entity_id, class_id"
    rows = query_rows(connection, nearest, ENTITY_CLASSES, constants)
    return store.write(ENTITY_CLASSES, dump_id, rows, provenance)


def write_subclasses(
    store: Store,
    dump_id: str,
    staging: Staging,
    connection: duckdb.DuckDBPyConnection,
    constants: Mapping[str, Any],
    provenance: Provenance,
) -> Version:
    """Write `subclasses` of a dump; several statements of one edge become one row."""
    query = f"SELECT DISTINCT below AS class_id, above AS above_id FROM {parquet([staging.path('subclasses')])}"
    rows = query_rows(connection, query, SUBCLASSES, constants)
    return store.write(SUBCLASSES, dump_id, rows, provenance)


def close(connection: duckdb.DuckDBPyConnection, classes: Sequence[str]) -> None:
    """Make the table `below(entity_id, class_id, depth)`: some classes and all their direct and indirect subclasses.

    Needs the view `subclasses(below, above)`. Wikidata has loops of subclasses.
    They end because a class is added once only, at its smallest depth.

    Args:
        classes: QIDs of the classes; these have depth 0.
    """
    connection.execute("CREATE OR REPLACE TEMP TABLE below (entity_id VARCHAR, class_id VARCHAR, depth SMALLINT)")
    for one in classes:
        connection.execute("INSERT INTO below VALUES (?, ?, 0)", [one, one])
    for depth in range(MOST_STEPS):
        added = connection.execute(
            """
            INSERT INTO below
            SELECT DISTINCT s.below, b.class_id, $depth + 1 FROM subclasses AS s
            JOIN below AS b ON b.entity_id = s.above AND b.depth = $depth
            ANTI JOIN below AS known ON known.entity_id = s.below AND known.class_id = b.class_id
            """,
            {"depth": depth},
        ).fetchall()
        if not added[0][0]:
            return


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
