"""Writes down the result of each finished item, so that a run after a crash continues with the rest."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from tempkb.engine.items import ItemT, Report, ResultT, Work


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
