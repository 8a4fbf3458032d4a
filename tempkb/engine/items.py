"""What every engine is asked and answers: items, a folder for each, outcomes, failures in words."""

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
"""Called now and then with the number of bytes done so far."""

Work = Callable[[ItemT, Path, Report], ResultT]
"""What is done with an item: (item, folder of its own, report of bytes done) -> result."""


@dataclass(frozen=True)
class Outcome(Generic[ItemT, ResultT]):
    """What became of an item: a result, or a failure in words."""

    item: ItemT
    result: ResultT | None
    failure: str = ""


def item_folder(folder: Path, number: int, tries_before: int = 0) -> Path:
    """Name the folder of the item at place `number`; each further try gets another."""
    again = f"-again-{tries_before}" if tries_before else ""
    return folder / f"item-{number:05}{again}"


def attempt(work: Work[ItemT, ResultT], item: ItemT, folder: Path, report: Report) -> Outcome[ItemT, ResultT]:
    """Do one item in a new folder of its own and say what became of it; only a death is not survived."""
    try:
        folder.mkdir(parents=True)
        return Outcome(item, work(item, folder, report))
    except TempkbError as error:
        return Outcome(item, None, str(error))
    except Exception as error:  # noqa: BLE001 - an item's failure is named, and the others go on
        return Outcome(item, None, _in_words(error))


def _in_words(error: Exception) -> str:
    said = in_words(error)
    if said is not None:
        return said
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} (at {Path(last.filename).name}:{last.lineno})"
