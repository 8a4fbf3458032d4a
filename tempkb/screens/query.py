"""The screen of `tempkb sql`: a query over the published tables, read-only."""

import csv
import json
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.screens.console import console, grid
from tempkb.store.plain import plain_rows

_SHOWN_ROWS = 100


def run_query(query: str, form: str | None, parquet: Path | None) -> None:
    """Run a query and print or write its result.

    Args:
        query: SQL; the file is open read-only, so nothing can be changed.
        form: `csv` or `json` to standard output; None prints a table.
        parquet: write a Parquet file instead.

    Raises:
        SettingsError: if DuckDB refuses the query; its words say where.
    """
    with open_store().database.reading() as connection:
        try:
            # A statement that returns nothing, such as SET, gives no relation.
            relation: duckdb.DuckDBPyRelation | None = connection.sql(query)
            if relation is None:
                return
            result = relation.to_arrow_table()
        except duckdb.Error as error:
            raise SettingsError(f"the query was refused: {error}") from None
    if parquet is not None:
        draft = parquet.with_name(parquet.name + ".draft")
        pq.write_table(result, draft, write_page_checksum=True)
        draft.replace(parquet)
        print(f"{result.num_rows} rows written to {parquet}", file=sys.stderr)  # noqa: T201 - a command's answer
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(result.column_names)
        writer.writerows(list(row.values()) for row in plain_rows(result))
    elif form == "json":
        for row in plain_rows(result):
            print(json.dumps(row, ensure_ascii=False, default=str))  # noqa: T201 - a command's answer
    else:
        out = console()
        out.print(grid(result.column_names, (list(row.values()) for row in plain_rows(result.slice(0, _SHOWN_ROWS)))))
        more = (
            f", the first {_SHOWN_ROWS} are shown; --csv, --json or --parquet give all"
            if result.num_rows > _SHOWN_ROWS
            else ""
        )
        out.print(f"{result.num_rows:,} rows{more}", highlight=False)
