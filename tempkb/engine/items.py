"""What all engines share: items, a folder for each, outcomes, failures in words.

The peak memory of a process.

Writes down the result of each finished item, so that a run after a crash continues with the rest.

Progress of long work: bars in a terminal, log lines elsewhere.
"""

import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

from tempkb.core.errors import TempkbError
from tempkb.core.failures import in_words
from tempkb.store.quoting import visible

if TYPE_CHECKING:
    from rich.progress import Progress


ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

Report = Callable[[float], None]
"""Called from time to time with the number of bytes done so far."""

Work = Callable[[ItemT, Path, Report], ResultT]
"""Processes an item: (item, folder of its own, report of bytes done) -> result."""


@dataclass(frozen=True)
class Outcome(Generic[ItemT, ResultT]):
    """The outcome of an item: a result, or a failure in words."""

    item: ItemT
    result: ResultT | None
    failure: str = ""


def item_folder(folder: Path, number: int, tries_before: int = 0) -> Path:
    """Return the folder of the item at place `number`; each further try gets another one."""
    again = f"-again-{tries_before}" if tries_before else ""
    return folder / f"item-{number:05}{again}"


def attempt(work: Work[ItemT, ResultT], item: ItemT, folder: Path, report: Report) -> Outcome[ItemT, ResultT]:
    """Do one item in a new folder of its own and return its outcome; only the death of the process is not caught."""
    try:
        folder.mkdir(parents=True)
        return Outcome(item, work(item, folder, report))
    except TempkbError as error:
        return Outcome(item, None, str(error))
    except Exception as error:  # noqa: BLE001 - an item's failure is reported, and the others continue
        return Outcome(item, None, _in_words(error))


def _in_words(error: Exception) -> str:
    message = in_words(error)
    if message is not None:
        return message
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} (at {Path(last.filename).name}:{last.lineno})"


_STATUS = Path("/proc/self/status")


def peak_megabytes() -> int:
    """Return the largest resident size of this process so far, in megabytes.

    On Linux it is the figure of this program; the portable figure would include the
    parent's memory from the instant between fork and exec.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@dataclass(frozen=True)
class Noting(Generic[ItemT, ResultT]):
    """Wraps a function so that each result is written down as soon as it exists; can be sent to other processes.

    Attributes:
        receipts: folder of the results, one file per item.
        name_of: names an item by everything that its result depends on.
        encode: turns a result into bytes.
    """

    work: Work[ItemT, ResultT]
    receipts: Path
    name_of: Callable[[ItemT], str]
    encode: Callable[[ResultT], bytes]

    def __call__(self, item: ItemT, folder: Path, report: Report) -> ResultT:
        """Do an item, and write its result down once it is complete."""
        result = self.work(item, folder, report)
        draft = folder / "receipt.draft"
        with draft.open("wb") as handle:
            handle.write(self.encode(result))
            handle.flush()
            os.fsync(handle.fileno())
        draft.replace(self.receipts / self.name_of(item))
        return result

    def finished(self, item: ItemT, decode: Callable[[bytes], ResultT]) -> ResultT | None:
        """Return the result of an item that an earlier run finished; None if none did."""
        try:
            return decode((self.receipts / self.name_of(item)).read_bytes())
        except FileNotFoundError:
            return None


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
