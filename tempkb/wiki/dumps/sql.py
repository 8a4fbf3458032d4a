"""Reads rows from dumps of MediaWiki's SQL tables, as mysqldump writes them, as a stream.

Column names come from the file's CREATE TABLE, since they change over the years.
Values are tokenised and never split at commas: a title may contain `),(`.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.files import DamageError, open_dump

Value = bytes | int | float | None

_INSERT = re.compile(rb"INSERT (?:IGNORE )?INTO `(\w+)`(?: \([^)]*\))? VALUES\s*")
_CREATE = re.compile(rb"CREATE TABLE (?:IF NOT EXISTS )?`(\w+)` \(")
_COLUMN = re.compile(rb"\s*`(\w+)` ")
# One value: a quoted string with backslash escapes or doubled quotes, a hex literal of whole bytes, a number, or NULL.
_VALUE = re.compile(
    rb"\s*(?:(?:_binary\s+)?'([^'\\]*(?:(?:\\.|'')[^'\\]*)*)'|0[xX]((?:[0-9A-Fa-f]{2})+)|(-?\d{1,20})(?![\d.eE])|(-?\d*\.?\d+(?:[eE][-+]?\d+)?)|(NULL))\s*",
    re.DOTALL,
)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"Z": b"\x1a", b"b": b"\b"}
_ESCAPED = re.compile(rb"\\(.)|''", re.DOTALL)
# mysqldump writes statements of about a megabyte.
_MAX_STATEMENT = 1 << 26
_QUOTE = re.compile(rb"(?<!\\)(?:\\\\)*'")
# What may surround statements with rows, and the statements that hold none.
_COMMENT = rb"(?>\s+|--[^\n]*\n?|/\*(?:[^*]|\*(?!/))*+\*/;?)*+"
_COMMENTS = re.compile(_COMMENT)
_HARMLESS = re.compile(
    _COMMENT + rb"(?:(?:DROP TABLE|LOCK TABLES|UNLOCK TABLES|SET|ALTER TABLE|USE|BEGIN|COMMIT|START)\b[^;()']*;\s*)?"
)
_CREATED = re.compile(rb"\n\)[^()\n]*;\s*\Z")
# mysqldump's first line; a file that begins with it ends with "-- Dump completed".
_HEADER = re.compile(rb"^-- (?:MySQL|MariaDB) dump \d", re.MULTILINE)


def read_rows(path: Path, columns: Sequence[str]) -> Generator[tuple[Value, ...], None, None]:
    """Yield the wanted columns of every row of the table in a `.sql` or `.sql.gz` file.

    Strings are bytes, as stored: MediaWiki's titles hold underscores and
    need not be valid UTF-8.

    Args:
        columns: names of the wanted columns, in this order.

    Raises:
        SourceError: the file has no such table or columns, or mysqldump did not write it.
        DamageError: the file ends early or is damaged.
    """
    created: _Created | None = None
    places: list[int] = []
    for where, statement in _statements(path):
        insert, new = _INSERT.search(statement), _CREATE.search(statement)
        if new and not (insert and insert.start() < new.start()):
            created = _created(statement, new, path, where)
            places = _places(created, columns, path)
        elif insert:
            _refuse_other_rows(statement, insert, created, path, where)
            for row in _tuples(statement, insert.end(), path, where):
                if created is None or len(row) != len(created.columns):
                    expected = len(created.columns) if created else 0
                    raise DamageError(
                        path.name, where, "plain bytes", f"a row of {len(row)} values; the table has {expected}"
                    )
                yield tuple(row[place] for place in places)
        elif not _HARMLESS.fullmatch(statement):
            found = _COMMENTS.sub(b"", statement, count=1)[:40]
            raise DamageError(path.name, where, "plain bytes", f"a statement that mysqldump does not write: {found!r}")
    if created is None:
        raise SourceError(f"{path.name}: no CREATE TABLE in the file; expected a table as mysqldump writes it")


@dataclass(frozen=True)
class _Created:
    """A table as its CREATE statement describes it."""

    name: bytes
    columns: list[str]


def _created(statement: bytes, create: re.Match[bytes], path: Path, where: int) -> _Created:
    if not _COMMENTS.fullmatch(statement[: create.start()]) or not _CREATED.search(statement):
        raise DamageError(
            path.name, where, "plain bytes", f"a CREATE TABLE `{create[1].decode()}` that is not whole, or not alone"
        )
    return _Created(create[1], _columns_of(statement, create.end()))


def _places(created: _Created, columns: Sequence[str], path: Path) -> list[int]:
    missing = [column for column in columns if column not in created.columns]
    if missing:
        raise SourceError(
            f"{path.name}: no column {missing[0]!r} in table {created.name.decode()}; "
            f"it has: {', '.join(created.columns)}"
        )
    return [created.columns.index(column) for column in columns]


def _refuse_other_rows(
    statement: bytes, insert: re.Match[bytes], created: _Created | None, path: Path, where: int
) -> None:
    """Refuse rows of another table than the created one, and anything but comments before the rows."""
    if created is None:
        raise SourceError(
            f"{path.name}: rows come before any CREATE TABLE, at byte {where}; expected a whole table as mysqldump "
            "writes it"
        )
    if insert[1] != created.name:
        raise DamageError(
            path.name, where, "plain bytes", f"rows of `{insert[1].decode()}`; expected `{created.name.decode()}`"
        )
    if not _COMMENTS.fullmatch(statement[: insert.start()]):
        found = _COMMENTS.sub(b"", statement, count=1)[:40]
        raise DamageError(path.name, where, "plain bytes", f"something stands before INSERT INTO: {found!r}")


def _statements(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the file cut at each semicolon that ends a line, with its offset; a cut inside a string is undone."""
    buffer = b""
    where = start = looked = 0
    is_promised = in_string = False
    for piece in open_dump(path):
        buffer += piece
        while (end := buffer.find(b";\n", looked)) >= 0:
            looked = end + 2
            # An odd number of quotation marks opens a string or closes it.
            in_string ^= _ends_in_string(buffer, start, looked)
            start = looked
            if not in_string:
                is_promised = is_promised or (where == 0 and _HEADER.search(buffer, 0, looked) is not None)
                yield where, buffer[:looked]
                where, buffer, start, looked = where + looked, buffer[looked:], 0, 0
        looked = max(looked, len(buffer) - 1)
        if len(buffer) > _MAX_STATEMENT:
            what = "a text that is not closed" if in_string else f"no end in {_MAX_STATEMENT >> 20} MB"
            raise DamageError(path.name, where, "plain bytes", f"a statement begins here with {what}")
    if not _COMMENTS.fullmatch(buffer):
        if in_string:
            raise DamageError(path.name, where, "plain bytes", "a statement begins here with a text that is not closed")
        if not buffer.rstrip().endswith(b";"):
            raise DamageError(
                path.name, where, "plain bytes", "the file ends in the middle of the statement that begins here"
            )
        yield where, buffer
    if (is_promised or _HEADER.search(buffer)) and b"-- Dump completed" not in buffer:
        raise DamageError(
            path.name, where + len(buffer), "plain bytes", "the file ends here, without mysqldump's '-- Dump completed'"
        )


def _ends_in_string(buffer: bytes, start: int, end: int) -> bool:
    """Does a piece of a statement open or close a quoted string? This is rare, since mysqldump escapes line ends."""
    if start == 0 and not _INSERT.search(buffer, 0, end):
        return False
    return len(_QUOTE.findall(buffer, start, end)) % 2 == 1


def _columns_of(statement: bytes, start: int) -> list[str]:
    names = []
    for line in statement[start:].splitlines():
        match = _COLUMN.match(line)
        if match:
            names.append(match[1].decode())
    return names


def _tuples(statement: bytes, at: int, path: Path, where: int) -> Iterator[list[Value]]:
    match_value = _VALUE.match
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
        comma = _BETWEEN_ROWS.match(statement, at)
        if comma is None:
            break
        at = comma.end()
    if not _END_OF_ROWS.match(statement, at):
        found = statement[at : at + 20]
        raise DamageError(path.name, where + at, "plain bytes", f"expected a comma and a row, found {found!r}")


_BETWEEN_ROWS = re.compile(rb"\s*,\s*")
_END_OF_ROWS = re.compile(rb"\s*;\s*\Z")


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
