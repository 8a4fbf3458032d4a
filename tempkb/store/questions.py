"""Queries of users to the DuckDB file: which statements run, and what they can reach."""

import re
from collections.abc import Iterable
from pathlib import Path

import duckdb

from tempkb.errors import SettingsError
from tempkb.store.quoting import file_name, literals

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
