"""Replaces the DuckDB file while readers have it open: a copy of it is changed and then moved into its place.

    tempkb.duckdb.draft    the copy, with what the write-ahead log held
    tempkb.duckdb.again    what the copy holds in a storage version that older clients read
    tempkb.duckdb.old-N    the file that was replaced, with its log, for as long as readers have it open

All of this happens under the lock of the publication. Meanwhile nobody can write to the file, because a process of its
own holds it open for reading. A kill leaves the old file or the new one; `mend` tidies up what else it leaves.
"""

import contextlib
import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

from tempkb.errors import TempkbError
from tempkb.store.locks import LockTimeoutError, Patience
from tempkb.store.opening import connected, copy_all, is_too_new

# Ends as soon as we close its standard input, or die.
_HOLD = """
import sys, duckdb
held = duckdb.connect(sys.argv[1], read_only=True)
print("held", flush=True)
sys.stdin.read()
"""
# Fails while any process, this one included, has a DuckDB file open.
_TAKE = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


class SwapError(TempkbError):
    """A copy cannot be made, or cannot be moved into place; the file is as it was."""


@contextlib.contextmanager
def held_for_reading(path: Path) -> Iterator[None]:
    """Let nobody write to a DuckDB file inside the block.

    Raises:
        LockTimeoutError: somebody has it open for writing.
        DatabaseFileError: it cannot be opened.
    """
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Ctrl-C is meant for us; the file must stay held until we have tidied up.
        start_new_session=True,
    ) as holder:
        if holder.stdout is None or not holder.stdout.readline():
            with connected(path, Patience(0), read_only=True):
                raise LockTimeoutError(f"{path} was open in another program that wrote to it; type: tempkb publish")
        yield


@contextlib.contextmanager
def copied(path: Path) -> Iterator[Path]:
    """Make a copy of a DuckDB file and of its log inside the block; at the end it is deleted, unless it was moved.

    Raises:
        SwapError: there is no room for it, or it cannot be written.
    """
    draft = draft_of(path)
    parts = {path: draft, **{log: _renamed(log, path, draft) for log in _logs_of(path)}}
    needed = 2 * sum(part.stat().st_size for part in parts)
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise SwapError(
            f"{path} is open in a program that reads it, and a copy to be changed needs {needed:,} bytes, of which the "
            f"disk has {free:,}; close the program or make room, then: tempkb publish"
        )
    try:
        for part, target in parts.items():
            # By another process: see `opening.py`.
            done = subprocess.run(["cp", "-p", part, target], capture_output=True, text=True, check=False)  # noqa: S607
            if done.returncode:
                raise SwapError(
                    f"{path} is open in a program that reads it, and could not be copied: {done.stderr.strip()}; close "
                    "the program, then: tempkb publish"
                )
        yield draft
    finally:
        _delete_drafts(path)


def made_again(path: Path) -> None:
    """Make a copy again in the storage version of new files, if it has a later one.

    It stays as it is if somebody's table in it has a type that the older version lacks.
    """
    draft, again = draft_of(path), _again_of(path)
    with connected(draft, Patience(0), read_only=True) as connection:
        if not is_too_new(connection):
            return
    with contextlib.suppress(duckdb.Error):
        copy_all(draft, again)
        again.replace(draft)


def put_in_place(path: Path, draft: Path) -> None:
    """Replace a DuckDB file by a changed copy, which has no log; the old file stays under another name.

    Raises:
        SwapError: the file system cannot do so.
    """
    is_done = False
    try:
        old = free_name(path, "old")
        old.hardlink_to(path)
        # The log first: beside it, the new file could not be opened.
        for log in _logs_of(path):
            log.rename(_renamed(log, path, old))
        draft.replace(path)
        is_done = True
    except OSError as error:
        raise SwapError(
            f"{path} is open in a program that reads it, and cannot be replaced while it is ({error.strerror}); close "
            "the program, then: tempkb publish"
        ) from None
    finally:
        if not is_done:
            mend(path)


def mend(path: Path) -> Path | None:
    """Put back a log that was set aside for a replacement which did not come about, and delete its copy.

    Returns:
        where the copy is kept, if somebody has written to the file without the log in the meantime: then only the
        copy has what was in the log. None in all other cases.
    """
    draft, kept = draft_of(path), None
    for old in numbered(path, "old"):
        if not path.exists() or not old.samefile(path):
            continue
        back = {log: _renamed(log, old, path) for log in _logs_of(old)}
        if back and draft.exists() and (any(log.exists() for log in back.values()) or _is_later(path, draft)):
            kept = draft.rename(free_name(path, "damaged"))
        else:
            for log, place in back.items():
                log.rename(place)
        _delete(old)
    _delete_drafts(path)
    return kept


def old_files(path: Path) -> list[Path]:
    """Return the replaced files that somebody still has open; those that nobody has open are deleted."""
    for old in (olds := numbered(path, "old")):
        if not _is_open(old):
            _delete(old)
    return [old for old in olds if old.exists()]


def move_aside(path: Path, kind: str) -> Path:
    """Give a DuckDB file and its log the first free name of a kind, and return it; see `numbered`."""
    place = free_name(path, kind)
    # The log first, or DuckDB would replay it into a new file.
    for log in _logs_of(path):
        log.rename(_renamed(log, path, place))
    return path.rename(place)


def draft_of(path: Path) -> Path:
    """Return the place where a file is prepared that will be moved to `path`."""
    return path.with_name(f"{path.name}.draft")


def _again_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.again")


def numbered(path: Path, kind: str) -> list[Path]:
    """Return the files beside a DuckDB file that are named after it, a kind and a number, without their logs."""
    wanted = re.compile(rf"{re.escape(path.name)}\.{kind}-\d+")
    return sorted(one for one in path.parent.glob(f"*.{kind}-*") if wanted.fullmatch(one.name))


def free_name(path: Path, kind: str) -> Path:
    """Return the first name of a kind that is free; see `numbered`."""
    names = (path.with_name(f"{path.name}.{kind}-{n}") for n in itertools.count(1))
    return next(one for one in names if not one.exists())


def _logs_of(path: Path) -> list[Path]:
    """Write-ahead logs: the usual one, and two others that a kill during a checkpoint leaves."""
    names = (path.with_name(path.name + ending) for ending in (".wal", ".wal.checkpoint", ".wal.recovery"))
    return [one for one in names if one.exists()]


def _renamed(log: Path, of: Path, to: Path) -> Path:
    return to.with_name(to.name + log.name.removeprefix(of.name))


def _is_later(path: Path, draft: Path) -> bool:
    return path.stat().st_mtime_ns > draft.stat().st_mtime_ns


def _is_open(old: Path) -> bool:
    return (
        subprocess.run([sys.executable, "-P", "-c", _TAKE, str(old)], capture_output=True, check=False).returncode != 0
    )


def _delete_drafts(path: Path) -> None:
    """Delete the copy of a DuckDB file, if it was not moved, and what it was to be replaced by."""
    for one in (draft_of(path), _again_of(path)):
        _delete(one)


def _delete(path: Path) -> None:
    for one in (*_logs_of(path), path):
        one.unlink(missing_ok=True)
