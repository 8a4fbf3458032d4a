"""Queries of users to the DuckDB file: which statements run, what they can reach, and their rows as Python values.

Arrow and NumPy are not used, since importing them takes longer than most answers. What Python cannot hold becomes
text: days before year 1 and after 9999, in the form of `plain.py`, and intervals, since Python has no months.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

from tempkb.core.errors import SettingsError
from tempkb.store.quoting import file_name, identifier, literals

_READS = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)
_FIRST_WORDS = ("pivot", "select", "from", "with", "(", "((")
# DuckDB's message about a WITH that writes; inside another query none may.
_WRITES_INSIDE = "must be at the top level"
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)


class RefusedError(SettingsError):
    """A statement does something other than reading published tables."""


def close_off(connection: duckdb.DuckDBPyConnection, tables: Iterable[Path]) -> None:
    """Let a connection reach only its own file and the folders of tables in the lake, and lock this setting.

    Views read Parquet files of these folders by absolute names; beside them in the
    lake lies the home's record with its salt. DuckDB checks both the name as it is
    written, with its quoted signs, and the name of the file found, so both forms
    are allowed. An allowed folder can be written to, so `check` is needed as well.
    """
    names = (name for folder in tables for name in (str(folder), file_name(folder)))
    folders = literals(dict.fromkeys(names))
    connection.execute(
        "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; "
        "SET allow_community_extensions = false; SET python_enable_replacements = false; "
        f"SET allowed_directories = [{folders}]; SET enable_external_access = false; SET lock_configuration = true"
    )


def check(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return the single statement of a query, if it only reads.

    The kind of a statement does not show this: `WITH x AS (COPY ... TO 'file') FROM x`
    is a SELECT to DuckDB. So it is bound, without running it, as part of another
    SELECT, where DuckDB allows nothing that writes.

    Raises:
        RefusedError: there is not exactly one statement, or it may write.
        duckdb.Error: it cannot be parsed or bound.
    """
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise RefusedError(
            f"the query has {len(statements)} statements; expected one" if statements else "the query is empty"
        )
    (statement,) = statements
    read = _explained(statement.query) if _words(statement.query)[0][0] == "explain" else statement.query
    kind = _kind(connection.extract_statements(read)[0])
    if kind not in _READS or (kind == duckdb.StatementType.MULTI and not _is_plain_pivot(read)):
        raise _refusal(statement.query)
    try:
        connection.execute(f"EXPLAIN SELECT * FROM (\n{bare(read)}\n)")
    except duckdb.Error as error:
        if _WRITES_INSIDE in str(error):
            raise _refusal(statement.query, ": its WITH writes") from None
        # DuckDB counts one line more than the user wrote.
        message = _LINE.sub(lambda line: f"LINE {max(int(line[1]) - 1, 1)}:", str(error))
        raise type(error)(message) from None
    return statement.query


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """Return the kind of a statement; None if DuckDB has no name for it in Python, such as for UPDATE EXTENSIONS."""
    try:
        return statement.type
    except ValueError:
        return None


def bare(query: str) -> str:
    """Return a statement without its semicolon, as it can be part of another."""
    words = _words(query)
    return query.encode()[: words[-1][1]].decode() if words[-1][0] == ";" else query


def names_in(query: str) -> set[str]:
    """Return the words of a statement in lower case and without quotes; the tables that it reads are among them."""
    return {word.strip('"') for word, _ in _words(query)}


def _explained(query: str) -> str:
    """Return the statement that an EXPLAIN explains."""
    words = [*_words(query), ("", len(query.encode()))]
    at = 2 if words[1][0] == "analyze" else 1
    # Options are in parentheses; a query in parentheses begins with a word that reads, or another parenthesis.
    if words[at][0].startswith("(") and words[at + 1][0] in ("analyze", "format"):
        while not words[at][0].startswith(")") and at < len(words) - 2:
            at += 1
        at += 1
    return query.encode()[words[at][1] :].decode()


def _is_plain_pivot(query: str) -> bool:
    """Is a query of several statements only a PIVOT without its values, which DuckDB parses as several?

    The first of them runs when the query is only bound, and with it a COPY in its WITH.
    """
    words = [word for word, _ in _words(query)]
    return words[0] in _FIRST_WORDS and "copy" not in words


def _words(query: str) -> list[tuple[str, int]]:
    """Return the tokens of a query without its comments, in lower case, each with the byte at which it begins."""
    text, tokens = query.encode(), duckdb.tokenize(query)
    ends = [start for start, _ in tokens[1:]] + [len(text)]
    return [
        (text[start:end].decode(errors="replace").strip().lower(), start)
        for (start, kind), end in zip(tokens, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]


def _refusal(query: str, why: str = "") -> RefusedError:
    shown = " ".join(query.split())
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return RefusedError(f"{shown!r} does not only read{why}")


BATCH_ROWS = 1 << 14
Row: TypeAlias = tuple[Any, ...]
_Reader: TypeAlias = Callable[[Any], Any]
# Types whose values lose something when converted to Python: months, nanoseconds.
_LOSING = {"interval", "timestamp_ns"}
_DAYS = {"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp with time zone"}
_NESTED = {"list", "array", "struct", "map"}
_UNHASHABLE = {*_NESTED, "tuple", "union"}
# DuckDB's form of a day or an instant that Python's types cannot hold.
_BEYOND = re.compile(r"(\d+)(-\d\d-\d\d)( \(BC\))?(?: (\d\d:\d\d:\d\d)(\.\d+)?(\+00)?)?")


class Answer:
    """The rows of one statement; they can be read once, and are never in memory as a whole.

    Args:
        connection: on which the statement runs; it is used for nothing else until the rows are read.

    Attributes:
        names: of the columns; several may be the same.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, statement: str) -> None:
        self._connection, self._statement = connection, statement
        self._columns = connection.execute(statement).description or []
        self.names = [str(column[0]) for column in self._columns]
        self._ask_for_texts()

    def batches(self) -> Iterator[list[Row]]:
        """Yield the rows, up to `BATCH_ROWS` at a time."""
        while rows := self._connection.fetchmany(BATCH_ROWS):
            yield self._readable(rows)

    def head(self, n: int) -> tuple[list[Row], int]:
        """Return the first `n` rows, and how many there are in all."""
        batches = self.batches()
        first = next(batches, [])
        more = next(batches, [])
        if not more:
            return first[:n], len(first)
        # DuckDB counts rows a hundred times as fast as it converts them to Python.
        self._connection.abort()
        counted = self._connection.execute(f"SELECT count(*) FROM (\n{bare(self._statement)}\n)").fetchall()
        return [*first, *more][:n], int(counted[0][0])

    def _ask_for_texts(self) -> None:
        """Run the statement again with texts in place of values that would lose something."""
        losing = [_holds(column[1], _LOSING) for column in self._columns]
        if not any(losing):
            return
        columns = ", ".join(
            f"CAST(#{at} AS VARCHAR) AS {identifier(name)}" if is_text else f"#{at} AS {identifier(name)}"
            for at, (name, is_text) in enumerate(zip(self.names, losing, strict=True), 1)
        )
        self._connection.abort()
        as_texts = f"SELECT {columns} FROM (\n{bare(self._statement)}\n)"
        self._columns = self._connection.execute(as_texts).description or []

    @cached_property
    def _readers(self) -> list[tuple[int, _Reader]]:
        """Return the columns whose values need a conversion: their positions, and the function for a value."""
        readers = [(at, _reader(column[1])) for at, column in enumerate(self._columns)]
        return [(at, read) for at, read in readers if read is not None]

    def _readable(self, rows: list[Row]) -> list[Row]:
        if not self._readers:
            return rows
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        for at, read in self._readers:
            columns[at] = [read(value) for value in columns[at]]
        return list(zip(*columns, strict=True))


def _parts(kind: Any) -> list[tuple[str, Any]]:
    """Return the types inside a type, each with its name in it; none for a type without parts."""
    return [(name, part) for name, part in kind.children if name != "size"] if kind.id in _NESTED else []


def _holds(kind: Any, ids: set[str]) -> bool:
    """Is a type, or one of its parts at any depth, among these?"""
    return kind.id in ids or any(_holds(part, ids) for _, part in _parts(kind))


def _reader(kind: Any) -> _Reader | None:
    """Return the conversion of each value of a type; None if values stay as they are."""
    if kind.id in _DAYS:
        return _moment
    readers = {name: _reader(part) for name, part in _parts(kind)}
    if kind.id == "map":
        # DuckDB gives a map as two lists if Python cannot look up its keys.
        is_split = dict(kind.children)["key"].id in _UNHASHABLE
        return partial(_pairs, readers["key"] or _same, readers["value"] or _same, is_split)
    if not any(readers.values()):
        return None
    if kind.id == "struct":
        return partial(_fields, {name: read or _same for name, read in readers.items()})
    return partial(_items, readers["child"] or _same)


def _moment(value: Any) -> Any:
    """Return a day or an instant; in ISO 8601 if Python cannot hold it: 27 BCE is -0026, as in astronomy."""
    if not isinstance(value, str):
        return value
    found = _BEYOND.fullmatch(value)
    if found is None:
        return value
    year, day, is_before, time, part, zone = found.groups()
    number = 1 - int(year) if is_before else int(year)
    text = f"{'-' if number < 0 else ''}{abs(number):04}{day}"
    if time is None:
        return text
    return f"{text} {time}{part.ljust(7, '0') if part else ''}{'+00:00' if zone else ''}"


def _items(read: _Reader, value: Sequence[Any] | None) -> list[Any] | None:
    return None if value is None else [read(one) for one in value]


def _fields(readers: dict[str, _Reader], value: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else {name: readers[name](one) for name, one in value.items()}


def _pairs(read_key: _Reader, read: _Reader, is_split: bool, value: dict[Any, Any] | None) -> list[Row] | None:
    if value is None:
        return None
    pairs = zip(value["key"], value["value"], strict=True) if is_split and value else value.items()
    return [(read_key(key), read(one)) for key, one in pairs]


def _same(value: Any) -> Any:
    return value
