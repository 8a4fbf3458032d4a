"""Progress of long work: bars in a terminal, log lines elsewhere."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from tempkb.store.quoting import visible

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
    """Shows the progress of work with a known number of bytes or of something else, with rate and time left.

    In a terminal it draws a bar; elsewhere it passes a line to `log` every
    fifteen seconds, so that captured output stays readable.

    Args:
        total: bytes in all, or whatever else is counted.
        unit: what is counted, in the plural; empty for bytes.
    """

    def __init__(self, title: str, total: float, log: Callable[[str], None], unit: str = "") -> None:
        self._title, self._total, self._log, self._unit = title, max(total, 1.0), log, unit
        self._done = 0.0
        self._began = self._logged_at = time.monotonic()
        self._bar = _bar_on(_terminal, unit) if _terminal is not None else None

    def __enter__(self) -> "Meter":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(visible(self._title), total=self._total, rate=0.0)
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
            self._bar.update(self._task, completed=done, rate=self._rate())
            return
        now = time.monotonic()
        if now - self._logged_at >= _LOG_SECONDS:
            self._logged_at = now
            self._log(self.line())

    def line(self) -> str:
        """The progress as a sentence."""
        rate = self._rate()
        left = (self._total - self._done) / rate if rate else float("inf")
        share = self._done / self._total
        if self._unit:
            amounts = f"{share:.0%} of {self._total:,.0f} {self._unit}, {rate:,.0f} {self._unit}/s"
        else:
            amounts = f"{share:.0%} of {self._total / 1e6:.1f} MB, {rate / 1e6:.1f} MB/s"
        return f"{self._title}: {amounts}, about {left:.0f} s left"

    def _rate(self) -> float:
        """How much is done in a second."""
        return self._done / max(time.monotonic() - self._began, 1e-9)


def _bar_on(terminal: TextIO, unit: str) -> "Progress":
    # Imported here because workers never draw and need not spend time on it.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    counted = (
        TextColumn(f"{{task.completed:,.0f}}/{{task.total:,.0f}} {unit}"),
        TextColumn(f"{{task.fields[rate]:,.0f}} {unit}/s"),
    )
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *(counted if unit else (DownloadColumn(), TransferSpeedColumn())),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(file=terminal, force_terminal=True), transient=True)
