"""Counting what a process changes on the disk, and ending it with SIGKILL right before a change.

Python tells of every rename, removal and file that is opened for writing
(`sys.addaudithook`); the ends of DuckDB's transactions are added here. Changes of
drafts below `_staging` count for nothing, since nobody reads them, but what is
moved out of there does.
"""

import os
import re
import secrets
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

_MOVES = ("os.rename", "os.link")
_ENDS = ("os.remove", "os.rmdir", "shutil.rmtree", "os.truncate")
_LOCKS = (".lock", ".swap", ".alive")
_CHANCE = re.compile(r"[0-9a-f]{32}|[0-9a-f]{16}|\.\d+\.draft|try-\d{4}")


class Deaths:
    """Writes a line about each change of a home, and dies before one of them.

    Args:
        home: whose files count.
        told: file that takes the lines.
        number: which change is never made, from 0; None: the process lives.
    """

    def __init__(self, home: Path, told: Path, number: int | None) -> None:
        self._home, self._number = str(home) + os.sep, number
        self._told = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self._n = 0
        self._is_busy = False

    def begin(self) -> None:
        """Count from here on, for the rest of the process."""
        # Of two homes only what was read may differ, and not the salt under which contributors are hashed.
        mock.patch.object(secrets, "token_hex", lambda n: "5a" * n).start()
        sys.addaudithook(self._heard)

    def change(self, label: str, half: Callable[[], object] = lambda: None) -> None:
        """Count a change that is about to be made; the last one is made by half."""
        os.write(self._told, (_CHANCE.sub("*", label).replace(self._home, "") + "\n").encode())
        if self._n == self._number:
            self._is_busy = True
            half()
            os.killpg(0, signal.SIGKILL)
        self._n += 1

    def _heard(self, event: str, told: tuple) -> None:
        if self._is_busy or not (event == "open" or event in _MOVES or event in _ENDS):
            return
        self._is_busy = True
        try:
            self._look(
                event, [os.fsdecode(one) for one in told[:2] if isinstance(one, str | bytes | os.PathLike)], told
            )
        finally:
            self._is_busy = False

    def _look(self, event: str, paths: list[str], told: tuple) -> None:
        # Of a move its end tells more, unless that is a bin among the drafts.
        counted = [path for path in reversed(paths[: 2 if event in _MOVES else 1]) if self._counts(path)]
        if not counted:
            return
        path = Path(counted[0])
        if event == "open":
            if told[2] & (os.O_WRONLY | os.O_RDWR):
                self.change(f"open {path}", lambda: _open_half(path, told[2]))
        elif event == "shutil.rmtree":
            self.change(f"rmtree {path}", lambda: _remove_half(path))
        else:
            self.change(f"{event.removeprefix('os.')} {path}")

    def _counts(self, path: str) -> bool:
        if not path.startswith(self._home) or path.endswith(_LOCKS):
            return False
        below = path.removeprefix(self._home)
        is_draft = below.startswith("lake/_staging/") and "/receipts/" not in below and "before" not in below
        # Dagster's own storage has kills of its own.
        return not (is_draft or below.startswith("dagster/"))


def _open_half(path: Path, flags: int) -> None:
    """What is left when a process dies right behind opening a file: an empty one, where it is written anew."""
    if flags & os.O_CREAT:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | (flags & os.O_TRUNC), 0o644))


def _remove_half(path: Path) -> None:
    """What is left when a process dies while it removes a folder."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else []
    for one in files[: (len(files) + 1) // 2]:
        one.unlink()
    if path.is_dir() and not files:
        shutil.rmtree(path)
