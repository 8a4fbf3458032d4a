"""Locks between processes, and the patience spent on them. Standard library only."""

import contextlib
import fcntl
import os
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tempkb.core.errors import TempkbError

# Seconds for which somebody who only looks whether a thing is worked on may be in the way.
_LOOK = 1.0


class LockTimeoutError(TempkbError):
    """Another process kept a lock for longer than our patience."""


@dataclass
class Patience:
    """Seconds that one run may spend waiting for locks in all."""

    seconds: float = 10.0
    _random: random.Random = field(default_factory=lambda: random.Random(os.getpid()))  # noqa: S311 - jitter only

    def wait(self) -> bool:
        """Sleep for a short, jittered time; False if no patience is left."""
        if self.seconds <= 0:
            return False
        nap = min(self.seconds, self._random.uniform(0.02, 0.2))
        time.sleep(nap)
        self.seconds -= nap
        return True


@contextlib.contextmanager
def locked(path: Path, patience: Patience | None = None) -> Iterator[None]:
    """Hold an exclusive lock on `path` inside the block.

    The kernel releases the lock when its holder dies, so a killed process never
    blocks the next.

    Args:
        path: lock file, made if absent and never removed.
        patience: how long to wait in all; None waits without limit.

    Raises:
        LockTimeoutError: `patience` ran out.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        if patience is None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        else:
            while not try_lock(handle.fileno()):
                if not patience.wait():
                    raise LockTimeoutError(f"{path} is held by another process; try again when it has finished")
        yield


@contextlib.contextmanager
def passing_lock(path: Path, held: str) -> Iterator[None]:
    """Hold an exclusive lock inside the block without waiting for it, and leave no lock file behind.

    A holder that is killed leaves the file, without a lock on it; the next holder removes it.

    Args:
        path: lock file, made if absent and removed at the end.

    Raises:
        LockTimeoutError: another process holds the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as handle:
            if not try_lock(handle.fileno()):
                raise LockTimeoutError(held)
            # The last holder may have removed the file since we opened it; who comes next would make another.
            if is_same(path, handle):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return


@contextlib.contextmanager
def at_work(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Show inside the block that this process works on some things; others may do so as well.

    Raises:
        LockTimeoutError: one of them is being removed.
    """
    with _working(folder, names, fcntl.LOCK_SH, _LOOK):
        yield


@contextlib.contextmanager
def nobody_at_work(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Keep others from working on some things inside the block.

    Raises:
        LockTimeoutError: somebody works on one of them.
    """
    with _working(folder, names, fcntl.LOCK_EX, _LOOK):
        yield


def is_at_work(folder: Path, name: str) -> bool:
    """Does a process work on a thing?"""
    try:
        with _working(folder, [name] if (folder / name).exists() else [], fcntl.LOCK_EX, 0):
            return False
    except LockTimeoutError:
        return True


@contextlib.contextmanager
def _working(folder: Path, names: Iterable[str], lock: int, seconds: float) -> Iterator[None]:
    patience = Patience(seconds)
    with contextlib.ExitStack() as stack:
        for name in names:
            folder.mkdir(parents=True, exist_ok=True)
            handle = stack.enter_context((folder / name).open("a"))
            while not try_lock(handle.fileno(), lock):
                if patience.wait():
                    continue
                raise LockTimeoutError(
                    f"{name!r} is in use: another program works on it at this moment; wait until that has ended, or "
                    "end it, then type the same again"
                )
        yield


def name_of_run(run_id: str) -> str:
    """Return the name of the lock that the process of a run of Dagster holds until it ends."""
    return f"run {run_id}"


def try_lock(descriptor: int, lock: int = fcntl.LOCK_EX) -> bool:
    """Take the lock on an open file if it is free; False if another process holds it."""
    try:
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_same(path: Path, handle: TextIO) -> bool:
    """Is an open file still the one at `path`?"""
    try:
        return path.stat().st_ino == os.fstat(handle.fileno()).st_ino
    except FileNotFoundError:
        return False
