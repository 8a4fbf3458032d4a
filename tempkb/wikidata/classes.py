"""Writes the classes of items, the configured classes above them, and the edges of the class tree."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from tempkb.store.drafts import Provenance
from tempkb.store.quoting import literal, parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wikidata.staging import Staging, query_rows
from tempkb.wikidata.tables import ENTITY_CLASSES, SUBCLASSES

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
