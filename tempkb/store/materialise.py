"""What every asset reports about a table it has written: rows, a sample, publication. No Dagster here."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tempkb.store.database import Publication
from tempkb.store.lake import Version
from tempkb.store.plain import plain_rows
from tempkb.store.store import read_files

_SAMPLE_ROWS = 10
_CELL = 60


def sample_of(version: Version) -> str:
    """Return the first ten rows of a version as a Markdown table."""
    for table in read_files(version.paths()):
        return markdown(table.slice(0, _SAMPLE_ROWS))
    return "(no rows)"


def markdown(table: pa.Table, cell: int = _CELL) -> str:
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
    return text if len(text) <= most else text[: most - 1] + "…"
