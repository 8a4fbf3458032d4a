"""Locks between processes, and the patience spent on them. Standard library only."""

import contextlib
import fcntl
import os
import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tempkb.errors import TempkbError


class LockTimeoutError(TempkbError):
    """Somebody else kept a lock for longer than we were willing to wait."""


@dataclass
class Patience:
    """Seconds that one run may spend waiting for locks, all its waits together."""

    seconds: float = 10.0
    _random: random.Random = field(default_factory=lambda: random.Random(os.getpid()))  # noqa: S311 - jitter only

    def wait(self) -> bool:
        """Sleep a short, jittered while; False when no patience is left."""
        if self.seconds <= 0:
            return False
        nap = min(self.seconds, self._random.uniform(0.02, 0.2))
        time.sleep(nap)
        self.seconds -= nap
        return True


@contextlib.contextmanager
def locked(path: Path, patience: Patience | None = None) -> Iterator[None]:
    """Hold an exclusive lock on `path` for the length of the block.

    The kernel drops the lock when its holder dies, so a killed process never
    blocks the next.

    Args:
        path: lock file, made when absent and never removed.
        patience: how long to wait in all; None waits as long as it takes.

    Raises:
        LockTimeoutError: if `patience` ran out.
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
def alive_mark(folder: Path) -> Iterator[str]:
    """Give a name by which others can tell whether this process still lives, for the length of the block.

    Args:
        folder: where the marks of all lie.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex
    path = folder / mark
    with locked(path):
        try:
            yield mark
        finally:
            path.unlink(missing_ok=True)


def is_alive(folder: Path, mark: str) -> bool:
    """Does the process that made a mark still live? Of one that does not the mark is removed."""
    path = folder / mark
    try:
        with path.open("r+") as handle:
            if not try_lock(handle.fileno()):
                return True
            path.unlink()
    except FileNotFoundError:
        pass
    return False


def try_lock(descriptor: int) -> bool:
    """Take the lock on an open file if it is free; False if somebody holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
