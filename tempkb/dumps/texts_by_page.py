"""Texts of many pages in memory, such as the targets of all redirects: some thirty bytes a page beside the text."""

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class TextsByPage:
    """A number and a text for each page. As in a dict, a later one of a page takes the place of an earlier one.

    A dict of sixty million pages would take 9 GB; these are a few arrays, in which pages are found by bisection.
    """

    def __init__(self) -> None:
        self._pages, self._numbers, self._ends = array("q"), array("i"), array("q")
        self._bytes = bytearray()
        self._sorted: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        # Places of the sorted pages in the order in which they came; None if they came sorted.
        self._order: npt.NDArray[np.int64] | None = None

    def add(self, page_id: int, text: str, number: int = 0) -> None:
        """Add the text of a page, and a number of 32 bits, such as that of a namespace."""
        self._pages.append(page_id)
        self._numbers.append(number)
        self._bytes += text.encode()
        self._ends.append(len(self._bytes))

    def settle(self) -> "TextsByPage":
        """Sort the pages, and return self; call it when all are added, before `find`."""
        pages = np.array(self._pages, np.int64)
        self._order = None if (pages[1:] > pages[:-1]).all() else np.argsort(pages, kind="stable")
        self._sorted = pages if self._order is None else pages[self._order]
        # The pages are held sorted from now on.
        self._pages = array("q")
        return self

    def find(self, page_ids: Sequence[int]) -> list[tuple[int, str] | None]:
        """Return the number and the text of each page; None if it has none."""
        wanted = np.array(page_ids, np.int64)
        # Of equal pages the last, which came last.
        places = np.searchsorted(self._sorted, wanted, "right") - 1
        found = places >= 0
        found[found] = self._sorted[places[found]] == wanted[found]
        if self._order is not None:
            places = self._order[places]
        return [self._at(at) if has else None for at, has in zip(places.tolist(), found.tolist(), strict=True)]

    def _at(self, place: int) -> tuple[int, str]:
        begin = self._ends[place - 1] if place else 0
        return self._numbers[place], self._bytes[begin : self._ends[place]].decode()
