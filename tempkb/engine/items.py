"""What all engines share: items, a folder for each, outcomes, failures in words, what a run after a crash keeps."""

import os
import resource
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tempkb.core.errors import TempkbError
from tempkb.core.failures import in_words

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
