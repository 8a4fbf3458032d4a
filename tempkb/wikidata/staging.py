"""Writes the rows of a pass over a dump to files, and reads them back in key order."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.filtering import LeftOut
from tempkb.store.memory import view_files
from tempkb.store.parquet import parquet_writer
from tempkb.store.quoting import identifier, literal, parquet
from tempkb.store.tables import Table
from tempkb.wikidata.rows import Rows
from tempkb.wikidata.tables import ENTITY_ORIGINS, FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

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
