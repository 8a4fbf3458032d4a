"""Opening the DuckDB file that people query, always from a database in memory, and what is wrong with it.

In one process `duckdb.connect` gives the rows of the file that was there when its path was first opened, until all its
connections to that path are closed; an attached file is the one that is there now. And the system drops all locks of a
process on a file as soon as the process closes that file in any other way. So nothing here opens it but DuckDB.
"""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import duckdb

from tempkb.core.errors import TempkbError
from tempkb.core.locks import LockTimeoutError, Patience
from tempkb.store.memory import QUIET
from tempkb.store.quoting import literal

# The name under which the file is attached: the one that it has for who opens it by itself.
_ATTACHED = "tempkb"
# The storage version of our files: programs with DuckDB 1.4, which has long-term support, or a later one read it.
_STORAGE = "v1.4.0"
# What DuckDB says of a file that another process, or this one, has open and writes in.
_HELD = re.compile(r"could not set lock|already attached", re.IGNORECASE)
# DuckDB's messages about a block or a write-ahead log with a wrong checksum, about a file that ends early, and about
# what is no fault of the file.
_CORRUPT = re.compile(r"corrupt (database|wal) file|failure while replaying wal", re.IGNORECASE)
_SHORT = "could not read enough bytes"
_BY_SYSTEM = re.compile(r"Permission denied|Read-only|No space|Too many open files|Input/output", re.IGNORECASE)
_FOREIGN = "not a valid DuckDB database file"


class DatabaseFileError(TempkbError):
    """The file at the database's path cannot be opened, or a user's table in it has a name that tempkb needs."""


class DamagedDatabaseError(DatabaseFileError):
    """Parts of the file are not as DuckDB wrote them."""


class NothingPublishedError(DatabaseFileError):
    """There is no file yet, or it holds nothing of tempkb's."""


def made_again_by(path: Path) -> str:
    """Return what to type so that the file is made again from the lake."""
    aside = path.with_name(f"{path.name}.damaged")
    command = f"mv {shlex.quote(str(path))} {shlex.quote(str(aside))} && tempkb publish"
    return f"Make it again from the lake: {command}; tables of your own are then in {aside.name} only"


@contextlib.contextmanager
def attached(path: Path, patience: Patience, *, to_write: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file, of which nobody else may then write in; wait for others who do.

    Args:
        to_write: make the file if it is absent; at the end all is in it that was written in the block, and none before.

    Raises:
        LockTimeoutError: a writer keeps it open.
        DamagedDatabaseError: parts of it are damaged, as its opening or a query has shown.
        DatabaseFileError: it is no DuckDB file, or cannot be read.
    """
    how = "READ_ONLY" if not to_write else "READ_WRITE" if path.exists() else f"STORAGE_VERSION '{_STORAGE}'"
    with duckdb.connect(config={"temp_directory": f"{path}.tmp"}) as connection:
        while True:
            try:
                connection.execute(f"ATTACH {literal(path)} AS {_ATTACHED} (TYPE duckdb, {how}); USE {_ATTACHED}")
                break
            except duckdb.Error as error:
                if not _HELD.search(str(error)):
                    raise _told(path, error) from None
            if not patience.wait():
                raise LockTimeoutError(
                    f"{path} is open in another program that writes to it, so it cannot be used; close it or try "
                    "again, then: tempkb publish"
                )
        try:
            connection.execute(QUIET)
            if not to_write:
                yield connection
                return
            connection.execute("BEGIN")
            yield connection
            connection.execute(f"COMMIT; CHECKPOINT {_ATTACHED}")
        except duckdb.Error as error:
            if _is_damage(path, error) or isinstance(error, duckdb.FatalException | duckdb.InternalException):
                raise _told(path, error) from None
            raise


def _is_damage(path: Path, error: duckdb.Error) -> bool:
    """Is an error about the DuckDB file itself, and not about a Parquet file of a view, or by the system?"""
    said = str(error)
    is_short = _SHORT in said.lower() and path.name in said
    return (is_short or _CORRUPT.search(said) is not None) and not _BY_SYSTEM.search(said)


def _told(path: Path, error: duckdb.Error) -> DatabaseFileError:
    """Return DuckDB's error about the file in our words; only what is damaged is set aside by a publication."""
    line = str(error).partition("\n")[0] or type(error).__name__
    if path.is_dir() or _FOREIGN in line:
        return DatabaseFileError(
            f"{path} is not a DuckDB file, so tempkb did not write it and leaves it as it is. Move it away, then: "
            "tempkb publish"
        )
    if _is_damage(path, error):
        said = f"{path}: found a damaged file ({line}); expected the published tables. {made_again_by(path)}"
        return DamagedDatabaseError(said)
    return DatabaseFileError(
        f"{path} cannot be read ({line}). tempkb leaves it as it is. If that lasts: {made_again_by(path)}"
    )
