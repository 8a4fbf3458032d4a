"""The texts of one page that may still be chosen, within a fixed amount of memory."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import zstandard

BLOCK_BYTES = 1 << 24


class TextStore:
    """Keeps texts by number; full blocks are compressed and written to disk.

    Neighbouring revisions are nearly equal, so a block of them compresses to about
    a thirtieth, and a page of any length stays small.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._first_open = 0
        self._blocks: list[tuple[int, int, list[int]]] = []  # place in the file, length, text lengths
        self._file: IO[bytes] | None = None

    def add(self, text: bytes) -> int:
        """Keep a text and return its number; numbers increase by one."""
        number = self._first_open + len(self._open)
        self._open.append(text)
        self._open_bytes += len(text)
        if self._open_bytes >= BLOCK_BYTES:
            self._spill()
        return number

    def get(self, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (number, text) for each wanted number, in increasing order; each block is read once."""
        wanted = sorted(set(numbers))
        first = 0
        for place, length, sizes in self._blocks:
            inside = [number for number in wanted if first <= number < first + len(sizes)]
            if inside:
                yield from self._from_block(place, length, sizes, first, inside)
            first += len(sizes)
        for number in wanted:
            if number >= self._first_open:
                yield number, self._open[number - self._first_open]

    def clear(self) -> None:
        """Remove all texts, for the next page."""
        self._open, self._open_bytes, self._first_open = [], 0, 0
        self._blocks = []
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()

    def _from_block(
        self, place: int, length: int, sizes: list[int], first: int, inside: list[int]
    ) -> Iterator[tuple[int, bytes]]:
        file = self._spill_file()
        file.seek(place)
        block = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(file.read(length))
        wanted = set(inside)
        at = 0
        for number, size in enumerate(sizes, first):
            if number in wanted:
                yield number, block[at : at + size]
            at += size

    def _spill(self) -> None:
        # The window is as long as a block (2 ** 24 bytes), so that each revision is compressed against its neighbours.
        fast = zstandard.ZstdCompressionParameters.from_level(1, window_log=24, enable_ldm=True)
        block = zstandard.ZstdCompressor(compression_params=fast).compress(b"".join(self._open))
        file = self._spill_file()
        place = file.seek(0, 2)
        file.write(block)
        self._blocks.append((place, len(block), [len(text) for text in self._open]))
        self._first_open += len(self._open)
        self._open, self._open_bytes = [], 0

    def _spill_file(self) -> IO[bytes]:
        if self._file is None:
            # The file has no name, so that a killed worker leaves nothing behind.
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - open as long as the store
        return self._file
