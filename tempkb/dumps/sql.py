"""Rows out of MediaWiki's SQL tables, as mysqldump writes them, as a stream.

Column names come from the CREATE TABLE of the file, since they change over the
years. Values are tokenised, never split: a title may hold `),(`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tempkb.dumps.files import DamageError, open_dump
from tempkb.errors import SourceError

Value = bytes | int | float | None

_INSERT = re.compile(rb"INSERT (?:IGNORE )?INTO `(\w+)`(?: \([^)]*\))? VALUES\s*")
_CREATE = re.compile(rb"CREATE TABLE (?:IF NOT EXISTS )?`(\w+)` \(")
_COLUMN = re.compile(rb"\s*`(\w+)` ")
# One value: a quoted string with backslash escapes or doubled quotes, a hex literal, a number, or NULL.
_VALUE = re.compile(
    rb"\s*(?:(?:_binary\s+)?'([^'\\]*(?:(?:\\.|'')[^'\\]*)*)'|0[xX]([0-9A-Fa-f]+)|(-?\d+)(?![\d.eE])|(-?\d*\.?\d+(?:[eE][-+]?\d+)?)|(NULL))\s*",
    re.DOTALL,
)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"Z": b"\x1a", b"b": b"\b"}
_ESCAPED = re.compile(rb"\\(.)|''", re.DOTALL)
_MAX_STATEMENT = 1 << 28


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[Value, ...]]:
    """Yield the asked columns of every row of the table in a `.sql` or `.sql.gz` file.

    Strings come as bytes, as stored: MediaWiki's titles hold underscores and
    need not be valid UTF-8.

    Args:
        path: a dump of one table.
        columns: names of the columns to give, in this order.

    Raises:
        SourceError: the file has no such table or columns, or is not what mysqldump writes.
        DamageError: the file ends early or is damaged.
    """
    places: list[int] | None = None
    names: list[str] = []
    where = 0
    for statement in _statements(path):
        created = _CREATE.search(statement)
        if created:
            names = _columns_of(statement, created.end())
            missing = [column for column in columns if column not in names]
            if missing:
                raise SourceError(
                    f"{path.name}: no column {missing[0]!r} in table {created[1].decode()}; it has: {', '.join(names)}"
                )
            places = [names.index(column) for column in columns]
        insert = _INSERT.search(statement)
        if insert:
            if places is None:
                raise SourceError(
                    f"{path.name}: rows come before any CREATE TABLE; expected a whole table as mysqldump writes it"
                )
            for row in _tuples(statement, insert.end(), path, where):
                if len(row) != len(names):
                    raise DamageError(
                        path.name, where, "plain bytes", f"a row of {len(row)} values; the table has {len(names)}"
                    )
                yield tuple(row[place] for place in places)
        where += len(statement)
    if places is None:
        raise SourceError(f"{path.name}: no CREATE TABLE in there; expected a table as mysqldump writes it")


def _statements(path: Path) -> Iterator[bytes]:
    """Yield the file cut at each semicolon that ends a line; such a cut inside a string is mended."""
    buffer = b""
    for piece in open_dump(path):
        buffer += piece
        start = 0
        while (end := buffer.find(b";\n", start)) >= 0:
            statement = buffer[: end + 2]
            if not _inside_string(statement):
                yield statement
                buffer, start = buffer[end + 2 :], 0
            else:
                start = end + 2
        if len(buffer) > _MAX_STATEMENT:
            raise SourceError(
                f"{path.name}: a statement longer than {_MAX_STATEMENT >> 20} MB; not a table of MediaWiki"
            )
    if buffer.strip():
        if _INSERT.search(buffer) and not buffer.rstrip().endswith(b";"):
            raise DamageError(
                path.name, path.stat().st_size, "compressed bytes", "the file ends in the middle of a statement"
            )
        yield buffer


def _inside_string(statement: bytes) -> bool:
    """Does the statement end inside a quoted string? mysqldump escapes line ends, so this is rare."""
    if not _INSERT.search(statement):
        return False
    return len(re.findall(rb"(?<!\\)(?:\\\\)*'", statement)) % 2 == 1


def _columns_of(statement: bytes, start: int) -> list[str]:
    names = []
    for line in statement[start:].splitlines():
        match = _COLUMN.match(line)
        if match:
            names.append(match[1].decode())
    return names


def _tuples(statement: bytes, at: int, path: Path, where: int) -> Iterator[list[Value]]:
    match_value, size = _VALUE.match, len(statement)
    while True:
        if statement[at : at + 1] != b"(":
            raise DamageError(path.name, where + at, "plain bytes", "expected a row in parentheses")
        at += 1
        row: list[Value] = []
        while True:
            match = match_value(statement, at)
            if match is None:
                raise DamageError(path.name, where + at, "plain bytes", f"not a value: {statement[at : at + 20]!r}")
            row.append(_value(match))
            at = match.end()
            mark = statement[at : at + 1]
            at += 1
            if mark == b")":
                break
            if mark != b",":
                raise DamageError(
                    path.name, where + at, "plain bytes", "expected a comma or a parenthesis after a value"
                )
        yield row
        while at < size and statement[at : at + 1] in b" \r\n\t":
            at += 1
        mark = statement[at : at + 1]
        if mark == b";" or not mark:
            return
        at += 1
        while at < size and statement[at : at + 1] in b" \r\n\t":
            at += 1


def _value(match: re.Match[bytes]) -> Value:
    text, hexadecimal, integer, real, _ = match.groups()
    if text is not None:
        if b"\\" in text or b"''" in text:
            return _ESCAPED.sub(lambda one: _ESCAPES.get(one[1], one[1]) if one[1] else b"'", text)
        return text
    if integer is not None:
        return int(integer)
    if hexadecimal is not None:
        return bytes.fromhex(hexadecimal.decode())
    return float(real) if real is not None else None
