"""The screen of `tempkb sql`: one reading query over the published tables."""

import contextlib
import errno
import json
import math
import re
import shlex
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click
import duckdb

from tempkb.commands.screens.failure import as_utf8, speak_utf8, warn
from tempkb.core.errors import SettingsError, StoredDamageError
from tempkb.core.wording import counted
from tempkb.platform.api import open_store
from tempkb.results.steps import are_due, asked_of
from tempkb.store.listings import csv_of
from tempkb.store.opening import DatabaseFileError
from tempkb.store.questions import BATCH_ROWS, Answer, RefusedError, check, names_in
from tempkb.store.quoting import visible
from tempkb.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN_ROWS = 100
_LIST_TABLES = "List the tables: tempkb tables"
_ONLY_TABLES = "tempkb sql reads the published tables of the home and no other files (list them: tempkb tables)"
_NO_TABLE = re.compile(r"Table with name (.+?) does not exist")
_SUGGESTED = re.compile(r"\nDid you mean \"(sqlite|pg|duckdb)_\w+\"\?")
# DuckDB's messages about what is not to be had here, with our words.
_UNAVAILABLE = (
    (r"it exists in the (\w+) extension", "it needs DuckDB's extension {}, and no extension is loaded here"),
    (r"Table with name (.*/.*|.+\.\w+?) does not exist", "{!r} is not a table of the home"),
    (r"Table Function with name (\S+) does not exist", "there is no table function {} here"),
    (r"Select a table using `table_name=", "a database is not a table"),
)
# Beginnings of DuckDB's messages of errors that are not faults of the query, which Arrow raises as its own errors.
_ERRORS = {
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "IO Error": duckdb.IOException,
    "Permission Error": duckdb.PermissionException,
    "FATAL Error": duckdb.FatalException,
    "INTERNAL Error": duckdb.InternalException,
}


# Table, partition, version and file name at the end of a Parquet file's path.
_PLACE = re.compile(r"/[^'\"]*/(?P<table>[^/'\"]+)/(?P<key>[^/'\"]+)/[^/'\"]+/(?P<file>[^/'\"]+\.parquet)")
# DuckDB's messages about a damaged Parquet file that do not name the file.
_UNREADABLE = re.compile(
    r"TProtocolException|don.t know what type|Out of buffer|Parquet file|(ZSTD|Snappy) decompression", re.IGNORECASE
)


def run_query(query: str, form: str | None, parquet: Path | None) -> None:
    """Run a query and print or write its result, batch by batch.

    Args:
        form: `csv` or `json` to standard output; None prints a table.
        parquet: the path of a Parquet file to write instead.

    Raises:
        SettingsError: the query does something else than read, DuckDB refuses it, or the Parquet file cannot be
            written there.
    """
    store = open_store()
    query = as_utf8(query)
    if parquet is not None:
        _check_target(store, parquet)
    with asking(store, query) as (connection, statement, notes):
        for note in notes:
            warn(note)
        if parquet is not None:
            _write_parquet(connection.sql(statement).to_arrow_reader(BATCH_ROWS), parquet)
            return
        answer = Answer(connection, statement)
        if form == "csv":
            _write_csv(answer)
        elif form == "json":
            _write_json(answer)
        else:
            _print(answer)


def _older(store: Store) -> str:
    """Say why SQL may show older rows than the lake has; empty if it does not."""
    try:
        pending, _ = store.database.pending()
    except DatabaseFileError as error:
        return str(error)
    n = f"{counted(len(pending), 'partition')} as the lake has {'it' if len(pending) == 1 else 'them'}"
    said = f"{store.database.path.name} does not show {n}, so SQL may show older rows"
    return f"{said}: if nothing is at work, type: tempkb publish" if pending else ""


@contextlib.contextmanager
def asking(store: Store, query: str) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, list[str]]]:
    """Yield a connection, the statement that it may run, and what must be known of the rows.

    Raises:
        SettingsError: nothing is published yet, the query does something else than read, or DuckDB refuses it.
    """
    path, older = store.database.path, _older(store)
    with store.database.asking() as connection:
        try:
            statement = check(connection, query)
            yield connection, statement, [*filter(None, (older, are_due(store, names_in(statement))))]
        except RefusedError as error:
            forms = "SELECT, FROM, WITH, EXPLAIN, DESCRIBE, SHOW, SUMMARIZE"
            one = (
                f"tempkb sql runs one statement that reads ({forms}); --csv, --json or --parquet FILE write its result"
            )
            raise SettingsError(f"the query was refused: {error}. {one}. {_own_shell(path)}") from None
        except duckdb.PermissionException as error:
            said = f"the query was refused: {_first_line(error)}. {_ONLY_TABLES}. {_own_shell(path)}"
            raise SettingsError(said) from None
        except duckdb.OutOfMemoryException as error:
            fewer = "select fewer columns or rows, or sort and group fewer of them"
            raise SettingsError(f"the query ran out of memory: {_first_line(error)}; {fewer}") from None
        except duckdb.Error as error:
            if damage := _unreadable_file(store, error):
                raise StoredDamageError(damage) from None
            if isinstance(error, duckdb.IOException | duckdb.FatalException | duckdb.InternalException):
                raise
            raise SettingsError(f"the query was refused: {_in_our_words(store, error)}") from None


def _in_our_words(store: Store, error: duckdb.Error) -> str:
    """Return what is wrong with a query, and, if it needs something that is not available here, where it is."""
    text = str(error)
    for pattern, words in _UNAVAILABLE:
        if found := re.search(pattern, text):
            return f"{words.format(*found.groups())}. {_ONLY_TABLES}. {_own_shell(store.database.path)}"
    no_table = _NO_TABLE.search(text)
    if no_table is None:
        return text
    name = no_table[1].lower()
    if asked_of(store, (name,)):
        return f"{name} was not computed yet; compute it from the scores that are there: tempkb results"
    if name in {*store.tables, *store.views}:
        said = f"nothing of {name} is published yet"
        return f"{said}; wait for the build that runs, or see what is built: tempkb status"
    # The nearest name may be one of DuckDB's own tables, which is no help.
    return f"{_SUGGESTED.sub('', text)}\n{_LIST_TABLES}"


def _unreadable_file(store: Store, error: duckdb.Error) -> str:
    """Return which file of a view DuckDB cannot read; empty if an error is about something else."""
    text = _first_line(error)
    place = _PLACE.search(text)
    if place is not None and place["table"] in store.tables:
        words = text.replace(place[0], place["file"])
        thing, option = f"{place['table']} {place['key']}, {place['file']}", f" --table {place['table']}"
    elif _UNREADABLE.search(text):
        words, thing, option = text, "a view over files of the lake", ""
    else:
        return ""
    return (
        f"{thing}: found a file that DuckDB cannot read ({words}); expected what tempkb wrote. Compare it with its "
        f"checksum, and see how to repair it: tempkb verify{option}"
    )


def _own_shell(path: Path) -> str:
    shell = f"open the file in DuckDB's shell: duckdb -readonly {shlex.quote(str(path))}"
    return f"For everything else, {shell}; or in Python: duckdb.connect({str(path)!r}, read_only=True)"


def _first_line(error: duckdb.Error) -> str:
    return str(error).split("\n", 1)[0]


def _check_target(store: Store, target: Path) -> None:
    """Refuse a path for the result that cannot be written, or is a part of the home."""
    folder, why = target.absolute().parent, ""
    if target.is_dir():
        why = f"is a folder; name a file in it, such as {target / 'rows.parquet'}"
    elif not folder.is_dir():
        why = f"there is no folder {folder}; make it: mkdir -p {shlex.quote(str(folder))}"
    elif store.home.owns(target):
        why = f"is among the home's own files in {store.home.path}; name a file elsewhere"
    if why:
        raise SettingsError(f"--parquet {target}: {why}")


def _write_parquet(rows: "pa.RecordBatchReader", target: Path) -> None:
    import pyarrow.parquet as pq

    _refuse_equal_names(rows.schema.names, "--parquet")
    draft, n_rows = target.with_name(f".{uuid.uuid4().hex}.draft"), 0
    try:
        with pq.ParquetWriter(draft, rows.schema) as writer:
            for batch in _batches(rows):
                writer.write_batch(batch)
                n_rows += batch.num_rows
        draft.replace(target)
    except OSError as error:
        # The message must name the file that the person named, and not the draft.
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(target)) from None
    finally:
        draft.unlink(missing_ok=True)
    click.echo(f"{counted(n_rows, 'row')} written to {visible(str(target))}", err=True)


def _batches(rows: "pa.RecordBatchReader") -> "Iterator[pa.RecordBatch]":
    """Yield the rows in batches, and raise DuckDB's errors, which Arrow raises as errors of its own."""
    import pyarrow as pa

    while True:
        try:
            batch = rows.read_next_batch()
        except StopIteration:
            return
        except (OSError, pa.ArrowException) as error:
            kind = str(error).partition(":")[0]
            raise _ERRORS.get(kind, duckdb.Error)(str(error)) from None
        yield batch


def _write_csv(answer: Answer) -> None:
    speak_utf8()
    sys.stdout.write(csv_of([answer.names]))
    for rows in answer.batches():
        sys.stdout.write(csv_of(map(_csv, row) for row in rows))


def _write_json(answer: Answer) -> None:
    _refuse_equal_names(answer.names, "--json")
    speak_utf8()
    for rows in answer.batches():
        for row in rows:
            sys.stdout.write(_json_line(dict(zip(answer.names, row, strict=True))) + "\n")


def _print(answer: Answer) -> None:
    """Print the first rows as a table if it fits, as it always does without a terminal, or else one column per line."""
    # Imported here because --csv, --json and --parquet do not need it.
    from tempkb.commands.screens.console import Screen, exact, grid, record

    out, names = Screen(), [visible(name) for name in answer.names]
    first, n_rows = answer.head(_SHOWN_ROWS)
    if names == ["explain_key", "explain_value"]:
        for _, plan in first:
            click.echo(visible(str(plan), keep="\n"))
        return
    table = grid(names, first, exact)
    if not out.is_bounded or out.width_of(table) <= out.width:
        out.print(table)
    else:
        for number, row in enumerate(first, 1):
            out.print(record(number, names, [exact(value) for value in row]))
    more = f", the first {_SHOWN_ROWS} are shown; --csv, --json or --parquet give all" if n_rows > len(first) else ""
    out.print(f"{counted(n_rows, 'row')}{more}")


def _csv(value: object) -> object:
    """The value of a CSV cell: empty for null, JSON for lists and structs."""
    if isinstance(value, bytes | list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=_json) if not isinstance(value, bytes) else _json(value)
    return value


def _json_line(row: object) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, default=_json, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(row), ensure_ascii=False, default=_json)


def _finite(value: object) -> object:
    """A value with null in place of numbers that JSON does not have: NaN and infinity."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _json(value: object) -> object:
    """A value of a type that JSON does not have: integral decimals as numbers, bytes as hexadecimal, others as text."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _refuse_equal_names(names: Sequence[str], option: str) -> None:
    again = [name for name, n in Counter(names).items() if n > 1]
    if again:
        raise SettingsError(f"{option}: several columns are named {again[0]!r}; give them names of their own with AS")
