"""Values, names and files in SQL; no other module quotes them."""

import re
from collections.abc import Iterable
from pathlib import Path

_PATTERN_SIGNS = re.compile(r"[\[*?]")


def literal(value: object) -> str:
    """Return a text, a path or a day as a literal of SQL.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + str(value).replace("'", "''") + "'"


def literals(values: Iterable[object]) -> str:
    """Return values as literals with commas between them.

    >>> print(literals(["a", "b"]))
    'a', 'b'
    """
    return ", ".join(map(literal, values))


def identifier(name: str) -> str:
    """Return the name of a table or column as SQL reads it, whatever characters it has.

    >>> print(identifier('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def file_name(path: Path) -> str:
    """Return a path in the form in which DuckDB reads exactly that file.

    DuckDB takes the names of files for patterns: without this, it would look for
    the files of a home `data/[x]` in `data/x`.

    >>> file_name(Path("data/[x]/part-0.parquet"))
    'data/[[]x]/part-0.parquet'
    """
    return _PATTERN_SIGNS.sub(lambda sign: f"[{sign[0]}]", str(path))


def file_names(paths: Iterable[Path]) -> list[str]:
    """Return paths as the value of a parameter of `read_parquet`; see `file_name`."""
    return [file_name(path) for path in paths]


def parquet(paths: Iterable[Path], *, tagged: bool = False) -> str:
    """Return the call that reads Parquet files; a column that only some of them have is null in the others.

    Args:
        tagged: with the file of each row, in a column `lake_file`.
    """
    files, tag = literals(file_names(paths)), ", filename = 'lake_file'" if tagged else ""
    return f"read_parquet([{files}], union_by_name = true{tag})"
