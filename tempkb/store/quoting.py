"""Values, names and files in SQL, and text of others in a form that cannot control the terminal."""

import re
import unicodedata
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


# Format characters that are part of how words are written: joiners of Persian and Indic scripts, number signs.
_WRITTEN = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
# Control characters; format characters, such as those that turn the direction of text; separators of lines and
# paragraphs; halves of characters.
_HIDDEN = frozenset(("Cc", "Cf", "Zl", "Zp", "Cs"))
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with its control and format characters as escapes.

    Args:
        keep: characters to keep as they are, such as a newline in a message of several lines.

    >>> print(visible("red \x1b[31m, turned \u202e, a\nb"))
    red \x1b[31m, turned \u202e, a\nb
    """
    if text.isprintable():
        return text
    return "".join(one if one in keep or not _is_hidden(one) else _escape(one) for one in text)


def _is_hidden(one: str) -> bool:
    return unicodedata.category(one) in _HIDDEN and one not in _WRITTEN


def _escape(one: str) -> str:
    code = ord(one)
    return _NAMED.get(one) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
