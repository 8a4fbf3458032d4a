"""Reading a `.7z` archive with py7zr, which pushes what it reads: turned into a queue that can be pulled from."""

import queue
import threading
from pathlib import Path

import py7zr
from py7zr.io import Py7zIO, WriterFactory


def members_of(path: Path) -> list[tuple[str, int]]:
    """Return name and size in bytes of the files inside.

    Raises:
        ValueError: if the archive cannot be read; the message is py7zr's.
    """
    try:
        with py7zr.SevenZipFile(path) as archive:
            return [(one.filename, one.uncompressed) for one in archive.list()]
    except Exception as error:  # noqa: BLE001 - of a damaged header py7zr raises whatever it trips over
        raise ValueError(str(error) or type(error).__name__) from None


class _Stopped(Exception):  # noqa: N818 - not an error: the consumer has gone
    """Ends py7zr's thread early."""


def push_members(path: Path, pieces: "queue.Queue[bytes | Exception | None]", stop: threading.Event) -> None:
    """Read the archive and put its bytes into the queue, then None, or the error that ended it."""
    try:
        with py7zr.SevenZipFile(path) as archive:
            archive.extract(targets=archive.getnames(), factory=_QueueFactory(pieces, stop))
        pieces.put(None)
    except _Stopped:
        return
    except Exception as error:  # noqa: BLE001 - handed to the consumer's thread, which raises it by name
        pieces.put(error)


class _QueueFactory(WriterFactory):
    def __init__(self, pieces: "queue.Queue[bytes | Exception | None]", stop: threading.Event) -> None:
        self._pieces, self._stop = pieces, stop

    def create(self, filename: str) -> Py7zIO:
        return _QueueWriter(self._pieces, self._stop)


class _QueueWriter(Py7zIO):
    """Hands what py7zr writes to the consumer's queue, which holds it back when full."""

    def __init__(self, pieces: "queue.Queue[bytes | Exception | None]", stop: threading.Event) -> None:
        self._pieces, self._stop, self._size = pieces, stop, 0

    def write(self, s: bytes | bytearray) -> int:
        while not self._stop.is_set():
            try:
                self._pieces.put(bytes(s), timeout=0.2)
                self._size += len(s)
                return len(s)
            except queue.Full:
                continue
        raise _Stopped

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def flush(self) -> None:
        return None

    def size(self) -> int:
        return self._size
