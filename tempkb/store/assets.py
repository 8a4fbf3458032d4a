"""What the assets of all rooms share: columns in their definitions, rows and pictures in their metadata."""

import re

import dagster as dg
import pyarrow as pa

from tempkb.store.materialise import CELL, cells_of, first_rows
from tempkb.store.tables import Table
from tempkb.store.versions import Version

_SCHEMA = "dagster/column_schema"
# Dagster renders the description of a column as Markdown; without a backslash, `<wiki>` would be an unknown tag.
_MARKS = re.compile(r"[\\`*_\[\]<>]")


def with_columns(spec: dg.AssetSpec, table: Table) -> dg.AssetSpec:
    """Give an asset the columns of its table, so that Dagster shows them before anything is built."""
    return spec.merge_attributes(
        metadata={_SCHEMA: schema_of(table), "dagster/table_name": f"tempkb.main.{table.name}"}
    )


def schema_of(table: Table) -> dg.TableSchema:
    """Return a table's columns in Dagster's form, with DuckDB's types and our meanings."""
    in_key = dg.TableColumnConstraints(nullable=False)
    columns = [
        dg.TableColumn(
            column.name,
            column.sql_type,
            _MARKS.sub(r"\\\g<0>", column.meaning),
            constraints=in_key if column.name in table.key else None,
        )
        for column in table.columns
    ]
    return dg.TableSchema(columns, dg.TableConstraints([f"key of a partition: {', '.join(table.key)}"]))


def sample_of(version: Version) -> dg.MetadataValue:
    """Return the first ten rows of a version as a table in Dagster; columns with one value come last."""
    rows = first_rows(version)
    cells = cells_of(rows)
    same = {name for name in rows.column_names if len(cells) > 1 and len({row[name] for row in cells}) == 1}
    return table_of(rows.select(sorted(rows.column_names, key=same.__contains__)))


def table_of(rows: pa.Table, cell: int = CELL) -> dg.MetadataValue:
    """Return a small table that Dagster shows at once, in which no cell is rendered as Markdown or HTML.

    Args:
        rows: shown in full; values are texts, so that no browser rounds a long number.
        cell: characters per cell; longer ones are cut.
    """
    records = [dg.TableRecord(row) for row in cells_of(rows, cell)]
    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(name) for name in rows.column_names]))
