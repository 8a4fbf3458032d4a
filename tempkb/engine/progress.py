"""Progress of long work: bars in a terminal, log lines elsewhere."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from tempkb.store.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress

_LOG_SECONDS = 15.0
_terminal: TextIO | None = None


@contextmanager
def on_terminal() -> Iterator[None]:
    """Inside the block, draw bars on this process's terminal even if its standard error is redirected.

    Dagster redirects standard error while a step runs, so a bar could not be drawn
    there otherwise. Without a terminal nothing changes.
    """
    global _terminal  # noqa: PLW0603 - there is one terminal per process
    if not sys.stderr.isatty():
        yield
        return
    with os.fdopen(os.dup(sys.stderr.fileno()), "w") as stream:
        _terminal = stream
        try:
            yield
        finally:
            _terminal = None


class Meter:
    """Shows the progress of work of a known size, with rate and time left.

    In a terminal it draws a bar; elsewhere it passes a line to `log` every
    fifteen seconds, so that captured output stays readable.

    Args:
        title: what the work is.
        total: bytes in all, or the number of things.
        log: receives a line.
        unit: what the things are, such as "prompts"; empty for bytes.
    """

    def __init__(self, title: str, total: float, log: Callable[[str], None], unit: str = "") -> None:
        self._title, self._total, self._log, self._unit = title, max(total, 1.0), log, unit
        self._done = 0.0
        self._began = self._logged_at = time.monotonic()
        self._bar = _bar_on(_terminal, unit) if _terminal is not None else None

    def __enter__(self) -> "Meter":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(visible(self._title), total=self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, done: float) -> None:
        """Report how much is done in all."""
        self._done = done
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
            return
        now = time.monotonic()
        if now - self._logged_at >= _LOG_SECONDS:
            self._logged_at = now
            self._log(self.line())

    def line(self) -> str:
        """The progress as a sentence."""
        rate = self._done / max(time.monotonic() - self._began, 1e-9)
        left = (self._total - self._done) / rate if rate else float("inf")
        size, speed = (
            (f"{self._total:,.0f} {self._unit}", f"{rate:,.0f} {self._unit}/s")
            if self._unit
            else (f"{self._total / 1e6:.1f} MB", f"{rate / 1e6:.1f} MB/s")
        )
        return f"{self._title}: {self._done / self._total:.0%} of {size}, {speed}, about {left:.0f} s left"


def _bar_on(terminal: TextIO, unit: str) -> "Progress":
    # Imported here because workers never draw and need not spend time on it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.text import Text

    class Speed(ProgressColumn):
        """Things per second."""

        def render(self, task: Task) -> Text:
            return Text(f"{unit}, {task.speed or 0:,.0f}/s")

    amounts: tuple[ProgressColumn, ...] = (DownloadColumn(), TransferSpeedColumn())
    if unit:
        amounts = (MofNCompleteColumn(), Speed())
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *amounts,
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(file=terminal, force_terminal=True), transient=True)
