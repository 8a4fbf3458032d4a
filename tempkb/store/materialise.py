"""What every asset reports about a table it has written: rows, a sample, publication. No Dagster here."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tempkb.store.database import Publication
from tempkb.store.lake import Version
from tempkb.store.plain import plain_rows
from tempkb.store.store import read_files

_SAMPLE_ROWS = 10
CELL = 60
"""Characters of a cell of a sample; longer ones are cut."""


def first_rows(version: Version) -> pa.Table:
    """Return the first ten rows of a version."""
    rows = next(iter(read_files(version.paths())), None)
    return pa.table({}) if rows is None else rows.slice(0, _SAMPLE_ROWS)


def cells_of(table: pa.Table, cell: int = CELL) -> list[dict[str, str | None]]:
    """Return the rows of a small table as texts, cells longer than `cell` cut; what is null stays so."""
    return [
        {name: None if value is None else _cut(str(value), cell) for name, value in row.items()}
        for row in plain_rows(table)
    ]


def markdown(table: pa.Table, cell: int = CELL) -> str:
    """Return a small table in Markdown, cells longer than `cell` cut."""
    lines = ["| " + " | ".join(table.column_names) + " |", "|" + " --- |" * table.num_columns]
    lines += ["| " + " | ".join(_cell(value, cell) for value in row.values()) + " |" for row in plain_rows(table)]
    return "\n".join(lines)


def facts_of(version: Version, publication: Publication) -> dict[str, Any]:
    """Return what is worth telling of a version that was just written."""
    facts: dict[str, Any] = {
        "dagster/row_count": version.rows,
        "version": version.version,
        "bytes": sum(file.bytes for file in version.files),
        "published": publication.left == 0,
    }
    if publication.reason:
        facts["not_published_because"] = publication.reason
    return facts


def facts_of_windows(versions: Sequence[Version], publication: Publication) -> dict[str, Any]:
    """Return what is worth telling of versions that are the windows of one release."""
    return {
        "dagster/row_count": sum(one.rows for one in versions),
        "windows": len(versions),
        "published": publication.left == 0,
    }


def _cell(value: object, most: int) -> str:
    text = "" if value is None else str(value)
    text = text.replace("|", "\\|").replace("\n", " ")
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
