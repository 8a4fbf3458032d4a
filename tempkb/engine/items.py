"""What all engines share: items, a folder for each, outcomes, failures in words."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tempkb.errors import TempkbError
from tempkb.failures import in_words

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
