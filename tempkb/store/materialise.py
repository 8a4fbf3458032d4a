"""What every asset reports about a table that it has written: rows, a sample. No Dagster here."""

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tempkb.store.plain import plain_rows
from tempkb.store.store import read_files
from tempkb.store.versions import Version
from tempkb.store.visible import visible

_SAMPLE_ROWS = 10
CELL = 60
"""Characters of a cell of a sample; longer ones are cut."""
# Characters with a meaning inside a line of Markdown, as in Dagster's UI and on GitHub.
_SIGNS = re.compile(r"[\\`*\[\]<>&|~$]")
# An underscore inside a word, as in names of columns, has none.
_EDGE_OF_WORD = re.compile(r"(?<![^\W_])_++|_++(?![^\W_])")
_ADDRESS = re.compile(r"://|\bwww\.|@|\bmailto:|\bxmpp:", re.IGNORECASE)


def first_rows(version: Version) -> pa.Table:
    """Return the first ten rows of a version."""
    rows = next(iter(read_files(version.paths())), None)
    return pa.table({}) if rows is None else rows.slice(0, _SAMPLE_ROWS)


def cells_of(table: pa.Table, cell: int = CELL) -> list[dict[str, str | None]]:
    """Return the rows of a small table as texts, cut to `cell` characters; null stays null."""
    return [
        {name: None if value is None else _cut(visible(str(value)), cell) for name, value in row.items()}
        for row in plain_rows(table)
    ]


def markdown(table: pa.Table, cell: int = CELL) -> str:
    """Return a small table in Markdown, with cells cut to `cell` characters."""
    lines = ["| " + " | ".join(map(escaped, table.column_names)) + " |", "|" + " --- |" * table.num_columns]
    lines += ["| " + " | ".join(_cell(value, cell) for value in row.values()) + " |" for row in plain_rows(table)]
    return "\n".join(lines)


def facts_of(version: Version) -> dict[str, Any]:
    """Return the metadata of a version that was just written."""
    return {
        "dagster/row_count": version.rows,
        "version": version.version,
        "bytes": sum(file.bytes for file in version.files),
    }


def facts_of_partitions(versions: Sequence[Version], unit: str = "partitions") -> dict[str, Any]:
    """Return the metadata of versions that were written together, whose number is given in a unit."""
    return {"dagster/row_count": sum(one.rows for one in versions), unit: len(versions)}


def escaped(text: str) -> str:
    r"""Return a text escaped so that Markdown shows it unchanged, in a cell of a table.

    Titles and sentences come from anybody: a browser must not fetch an image or
    offer a link because one of them contains it. What renderers take for an address
    without any sign around it cannot be escaped, so it becomes code.

    >>> print(escaped("![x](http) <b>_a_b | 5*2"))
    !\[x\](http) \<b\>\_a_b \| 5\*2
    """
    text = visible(text)
    if _ADDRESS.search(text):
        fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
        return f"{fence} {text} {fence}".replace("|", "\\|")
    return _EDGE_OF_WORD.sub(lambda run: "\\_" * len(run[0]), _SIGNS.sub(r"\\\g<0>", text))


def _cell(value: object, most: int) -> str:
    text = "" if value is None else str(value)
    return escaped(_cut(text, most))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
