"""Opening the DuckDB file that people query: what lies there, who has it open, and what is damaged in it.

DuckDB locks the file for a process, and the system drops all locks of a process on a file as soon as the process closes
that file in any other way. An analyst may have it open in this very process, so nothing here opens it but DuckDB.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb

from tempkb.errors import TempkbError
from tempkb.store.damage import replace_whole
from tempkb.store.locks import LockTimeoutError, Patience
from tempkb.store.quoting import literal

# Bytes 8 to 11 of every DuckDB file. DuckDB would fetch an extension for other files, so it does not get them.
_MAGIC = b"DUCK"
# The storage version of our files: programs with DuckDB 1.4, which has long-term support, or a later one read it, and
# refuse the default of 2.0.
_STORAGE = "v1.4.0"
# What DuckDB says of a file that another process, or this one, has open.
_HELD = re.compile(r"could not set lock|different configuration", re.IGNORECASE)
# Of these, what it says if all that keeps us from writing are readers.
_READ = re.compile(r"able to open this database in read-only mode|different configuration", re.IGNORECASE)
_HERE = "different configuration"
_BRIEF = 1.0  # seconds for which readers are waited for: most have one query
# DuckDB's messages about a block or a write-ahead log with a wrong checksum, and about a file that ends early. A lock,
# a missing permission, a disk's error and the format of a newer DuckDB have other messages.
_CORRUPT = re.compile(r"corrupt (database|wal) file|failure while replaying wal", re.IGNORECASE)
_SHORT = "could not read enough bytes"
_BY_SYSTEM = re.compile(r"Permission denied|Read-only|No space|Too many open files|Input/output", re.IGNORECASE)


class DatabaseFileError(TempkbError):
    """The file at the database's path cannot be opened, or a user's table in it has a name that tempkb needs."""


class DamagedDatabaseError(DatabaseFileError):
    """Parts of the file are not as DuckDB wrote them."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"{found}; expected the published tables. Make them again from the lake: tempkb publish, which moves the "
            "damaged file aside; tables of your own are then in that file only"
        )
        self.found = found


class NothingPublishedError(DatabaseFileError):
    """There is no file yet, or it holds nothing of tempkb's."""


class ReadersError(LockTimeoutError):
    """The file cannot be opened for writing because others, or this process, have it open, as it seems for reading.

    Attributes:
        is_here: it is this process.
    """

    def __init__(self, message: str, *, is_here: bool) -> None:
        super().__init__(message)
        self.is_here = is_here


def is_begun(path: Path) -> bool:
    """Is there a DuckDB file? An empty file does not count.

    Raises:
        DamagedDatabaseError: its first bytes are damaged.
        DatabaseFileError: there is something else, or it cannot be read.
    """
    if not path.exists():
        return False
    words = {**os.environ, "LC_ALL": "C"}
    looked = subprocess.run(["head", "-c", "12", path], capture_output=True, check=False, env=words)  # noqa: S607
    if looked.returncode:
        why = os.fsdecode(looked.stderr).strip().rpartition(": ")[2]
        raise DatabaseFileError(f"{path} cannot be read: {why}; expected a DuckDB file")
    head = looked.stdout
    if head and head[8:] != _MAGIC:
        if sum(one != other for one, other in zip(head[8:], _MAGIC, strict=False)) == 1:
            # No other format begins like this: it is DuckDB's, with a damaged byte.
            raise DamagedDatabaseError(f"{path}: found a damaged file (bytes 8 to 11 are {head[8:]!r}, not {_MAGIC!r})")
        raise DatabaseFileError(
            f"{path} is not a DuckDB file, so tempkb did not write it and leaves it as it is. Move it away, then: "
            "tempkb publish"
        )
    return bool(head)


@contextlib.contextmanager
def connected(path: Path, patience: Patience, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file; wait for others who have it open.

    Args:
        patience: for writers; readers are waited for only briefly.

    Raises:
        ReadersError: readers keep it open, so it cannot be opened for writing.
        LockTimeoutError: a writer keeps it open.
        DamagedDatabaseError: parts of it are damaged, as its opening or a query has shown.
        DatabaseFileError: it cannot be read otherwise.
    """
    brief = Patience(min(_BRIEF, patience.seconds))
    while True:
        try:
            connection = duckdb.connect(str(path), read_only=read_only)
            break
        except duckdb.Error as error:
            if not _HELD.search(str(error)):
                raise _refused(path, error) from None
            is_read = not read_only and bool(_READ.search(str(error)))
            if not (brief if is_read else patience).wait():
                message = (
                    f"{path} is open in another program, so it cannot be {'read' if read_only else 'updated'}; "
                    "close it or try again, then: tempkb publish"
                )
                if is_read:
                    raise ReadersError(message, is_here=_HERE in str(error)) from None
                raise LockTimeoutError(message) from None
    try:
        connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
        yield connection
    except duckdb.Error as error:
        if _is_damage(path, error):
            raise _damaged(path, error) from None
        if isinstance(error, duckdb.FatalException | duckdb.InternalException):
            raise DatabaseFileError(_unreadable(path, error)) from None
        raise
    finally:
        connection.close()


def make_file(path: Path) -> None:
    """Make an empty DuckDB file that programs with older versions can read, too."""
    with duckdb.connect() as memory:
        memory.execute(f"ATTACH {literal(str(path))} AS made (STORAGE_VERSION '{_STORAGE}')")


def is_too_new(connection: duckdb.DuckDBPyConnection) -> bool:
    """Has an open file a storage version that programs with older versions of DuckDB refuse?"""
    query = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = current_database()"
    found, ours = (
        [int(number) for number in re.findall(r"\d+", version)]
        for version in (connection.execute(query).fetchall()[0][0], _STORAGE)
    )
    return found > ours


def copy_all(path: Path, target: Path) -> None:
    """Copy all that a DuckDB file holds, also what analysts made, to a new file of `make_file`.

    Raises:
        duckdb.Error: somebody's table has a type that the storage version lacks.
    """
    make_file(target)
    with duckdb.connect() as memory:
        memory.execute(f"ATTACH {literal(str(path))} AS held (READ_ONLY); ATTACH {literal(str(target))} AS made")
        memory.execute("COPY FROM DATABASE held TO made")


def noted_damage(path: Path) -> str:
    """Return what was noted about damage to a file that has not changed since; empty if nothing was.

    A reader may have met a block that a publication does not touch.
    """
    try:
        message, state = json.loads(note_of(path).read_bytes())
    except (FileNotFoundError, ValueError):
        return ""
    return str(message) if state == _state_of(path) else ""


def note_of(path: Path) -> Path:
    """Return the place of the note about damage to a file."""
    return path.with_name(f"{path.name}.damage.json")


def _refused(path: Path, error: duckdb.Error) -> DatabaseFileError:
    """Return the error of a file that cannot be opened; a refusal by the system does not mean damage."""
    if isinstance(error, duckdb.IOException) and _BY_SYSTEM.search(str(error)):
        return DatabaseFileError(f"{path} cannot be opened: {_first_line(error)}")
    return _damaged(path, error) if _is_damage(path, error) else DatabaseFileError(_unreadable(path, error))


def _is_damage(path: Path, error: duckdb.Error) -> bool:
    """Is an error about the DuckDB file itself, and not about a Parquet file of a view?"""
    message = str(error)
    return bool(_CORRUPT.search(message)) or (_SHORT in message.lower() and path.name in message)


def _damaged(path: Path, error: duckdb.Error) -> DamagedDatabaseError:
    """Note, for the next publication, that a file is damaged, and return the error to raise."""
    message = f"{path}: found a damaged file ({_first_line(error)})"
    # A user who may not write here still gets the error.
    with contextlib.suppress(OSError):
        replace_whole(note_of(path), json.dumps([message, _state_of(path)]).encode())
    return DamagedDatabaseError(message)


def _state_of(path: Path) -> list[int]:
    """Return values that differ for a later file in the same place, and after something was written to this one."""
    state = path.stat()
    return [state.st_ino, state.st_size, state.st_mtime_ns]


def _unreadable(path: Path, error: duckdb.Error) -> str:
    aside = path.with_name(f"{path.name}.damaged")
    return (
        f"{path}: found a file that this version of DuckDB cannot read ({_first_line(error)}); expected the published "
        f"tables. tempkb leaves it as it is. To make them again from the lake: mv {shlex.quote(str(path))} "
        f"{shlex.quote(str(aside))} && tempkb publish; tables of your own are then in {aside.name} only"
    )


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
