"""Items that are finished stay finished: what came out of each is written down, and taken up after a crash."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from tempkb.engine.items import ItemT, Report, ResultT, Work


@dataclass(frozen=True)
class Noting(Generic[ItemT, ResultT]):
    """A work that writes down each result in the moment it has it. Can be sent to other processes.

    Attributes:
        work: what is done with an item.
        receipts: folder of the results, one file an item.
        name_of: names an item by all that its result depends on.
        encode: a result as bytes.
    """

    work: Work[ItemT, ResultT]
    receipts: Path
    name_of: Callable[[ItemT], str]
    encode: Callable[[ResultT], bytes]

    def __call__(self, item: ItemT, folder: Path, report: Report) -> ResultT:
        """Do an item, and write its result down once all of it is there."""
        result = self.work(item, folder, report)
        draft = folder / "receipt.draft"
        with draft.open("wb") as handle:
            handle.write(self.encode(result))
            handle.flush()
            os.fsync(handle.fileno())
        draft.replace(self.receipts / self.name_of(item))
        return result

    def finished(self, item: ItemT, decode: Callable[[bytes], ResultT]) -> ResultT | None:
        """Return the result of an item that was finished in an earlier run; None if it was not."""
        try:
            return decode((self.receipts / self.name_of(item)).read_bytes())
        except FileNotFoundError:
            return None
