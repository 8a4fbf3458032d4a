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

from tempkb.errors import TempkbError
from tempkb.store.locks import LockTimeoutError, Patience
from tempkb.store.quoting import literal

ATTACHED = "tempkb"
"""The name under which the file is attached: the one that it has for who opens it by itself."""
# The storage version of our files: programs with DuckDB 1.4, which has long-term support, or a later one read it, and
# refuse the default of 2.0.
_STORAGE = "v1.4.0"
# What DuckDB says of a file that another process, or this one, has open and writes in.
_HELD = re.compile(r"could not set lock|already attached", re.IGNORECASE)
# DuckDB's messages about a block or a write-ahead log with a wrong checksum, and about a file that ends early. A lock,
# a missing permission, a disk's error and the format of a newer DuckDB have other messages.
_CORRUPT = re.compile(r"corrupt (database|wal) file|failure while replaying wal", re.IGNORECASE)
_SHORT = "could not read enough bytes"
_BY_SYSTEM = re.compile(r"Permission denied|Read-only|No space|Too many open files|Input/output", re.IGNORECASE)
_FOREIGN = "not a valid DuckDB database file"
# Bytes 8 to 11 of every DuckDB file.
_MAGIC = b"DUCK"


class DatabaseFileError(TempkbError):
    """The file at the database's path cannot be opened, or a user's table in it has a name that tempkb needs."""


class DamagedDatabaseError(DatabaseFileError):
    """Parts of the file are not as DuckDB wrote them."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"{path}: found a damaged file ({found}); expected the published tables. {made_again_by(path)}"
        )
        self.found = f"{path}: found a damaged file ({found})"


class NothingPublishedError(DatabaseFileError):
    """There is no file yet, or it holds nothing of tempkb's."""


def made_again_by(path: Path) -> str:
    """Return what to type so that the file is made again from the lake."""
    aside = path.with_name(f"{path.name}.damaged")
    return (
        f"Make it again from the lake: mv {shlex.quote(str(path))} {shlex.quote(str(aside))} && tempkb publish; tables "
        f"of your own are then in {aside.name} only"
    )


@contextlib.contextmanager
def attached(path: Path, patience: Patience, *, to_write: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file, of which nobody else may then write in; wait for others who do.

    Args:
        to_write: make the file if it is absent, and let it be written in.

    Raises:
        LockTimeoutError: a writer keeps it open.
        DamagedDatabaseError: parts of it are damaged, as its opening or a query has shown.
        DatabaseFileError: it is no DuckDB file, or cannot be read.
    """
    how = "READ_ONLY" if not to_write else "READ_WRITE" if path.exists() else f"STORAGE_VERSION '{_STORAGE}'"
    with duckdb.connect(config={"temp_directory": f"{path}.tmp"}) as connection:
        while True:
            try:
                connection.execute(f"ATTACH {literal(path)} AS {ATTACHED} (TYPE duckdb, {how}); USE {ATTACHED}")
                break
            except duckdb.Error as error:
                if not _HELD.search(str(error)):
                    raise _refused(path, error) from None
            if not patience.wait():
                raise LockTimeoutError(
                    f"{path} is open in another program that writes to it, so it cannot be {_DOES[to_write]}; close it "
                    "or try again, then: tempkb publish"
                )
        try:
            connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
            yield connection
        except duckdb.Error as error:
            if _is_damage(path, error):
                raise DamagedDatabaseError(path, _first_line(error)) from None
            if isinstance(error, duckdb.FatalException | duckdb.InternalException):
                raise DatabaseFileError(_unreadable(path, error)) from None
            raise


_DOES = {False: "read", True: "updated"}


def _refused(path: Path, error: duckdb.Error) -> DatabaseFileError:
    """Return the error of a file that cannot be opened; a refusal by the system does not mean damage."""
    if _FOREIGN in str(error) or path.is_dir():
        return _foreign(path)
    if isinstance(error, duckdb.IOException) and _BY_SYSTEM.search(str(error)):
        return DatabaseFileError(f"{path} cannot be opened: {_first_line(error)}")
    if _is_damage(path, error):
        return DamagedDatabaseError(path, _first_line(error))
    return DatabaseFileError(_unreadable(path, error))


def _foreign(path: Path) -> DatabaseFileError:
    """Return the error of a file that does not begin as DuckDB's do."""
    try:
        with path.open("rb") as file:
            found = file.read(12)[8:]
    except OSError as error:
        return DatabaseFileError(f"{path} cannot be read: {error.strerror}; expected a DuckDB file")
    if sum(one != other for one, other in zip(found, _MAGIC, strict=False)) == 1:
        # No other format begins like this: it is DuckDB's, with a damaged byte.
        return DamagedDatabaseError(path, f"bytes 8 to 11 are {found!r}, not {_MAGIC!r}")
    return DatabaseFileError(
        f"{path} is not a DuckDB file, so tempkb did not write it and leaves it as it is. Move it away, then: "
        "tempkb publish"
    )


def _is_damage(path: Path, error: duckdb.Error) -> bool:
    """Is an error about the DuckDB file itself, and not about a Parquet file of a view?"""
    message = str(error)
    return bool(_CORRUPT.search(message)) or (_SHORT in message.lower() and path.name in message)


def _unreadable(path: Path, error: duckdb.Error) -> str:
    return (
        f"{path}: found a file that this version of DuckDB cannot read ({_first_line(error)}); expected the published "
        f"tables. tempkb leaves it as it is. {made_again_by(path)}"
    )


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
