"""Reading the single file inside a `.7z` dump as a stream.

The first available reader of these is used: a 7-Zip program (7zz, 7z, 7za),
libarchive through its Python binding, and py7zr, which is always installed but
several times slower. bsdtar is of no use: Wikimedia's archives hold a member
without a name, which it skips.
"""

import contextlib
import importlib
import queue
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

_PROGRAMS = ("7zz", "7z", "7za")


class SevenZipBrokenError(Exception):
    """The archive could not be read to its end; the message is that of the reader."""


class SevenZipReader:
    """Reads the single member of an archive.

    Args:
        path: the archive.
        program: `7zz`, `7z`, `7za`, `libarchive` or `py7zr`; by default the first available one.

    Attributes:
        program: the reader that is used.
        plain_bytes: size of the member in bytes; None if the archive does not give it.
    """

    Broken = SevenZipBrokenError

    def __init__(self, path: Path, program: str | None = None) -> None:
        self.path = path
        self.program = program or _first_there()
        self.plain_bytes = self._measure()

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the member's bytes in pieces of at most `size`.

        Raises:
            SevenZipBrokenError: the archive is damaged or holds several files.
        """
        if self.program == "libarchive":
            return self._from_libarchive(size)
        self._refuse_several_members()
        return self._from_py7zr(size) if self.program == "py7zr" else self._from_program(size)

    def _from_libarchive(self, size: int) -> Iterator[bytes]:
        archives = importlib.import_module("libarchive")
        n = 0
        try:
            with archives.file_reader(str(self.path)) as archive:
                for entry in archive:
                    n += 1
                    if n > 1:
                        raise SevenZipBrokenError("expected one file inside, found several")
                    yield from entry.get_blocks(size)
        except archives.ArchiveError as error:
            raise SevenZipBrokenError(f"libarchive: {error}") from None
        if n == 0:
            raise SevenZipBrokenError("expected one file inside, found none")

    def _from_program(self, size: int) -> Iterator[bytes]:
        with tempfile.TemporaryFile() as errors:
            command = [self.program, "e", "-so", "-bd", "-mmt=1", "-p", "--", str(self.path)]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, bufsize=0
            )
            if process.stdout is None:
                raise SevenZipBrokenError(f"{self.program} gave no output")
            try:
                while piece := process.stdout.read(size):
                    yield piece
                if process.wait():
                    errors.seek(0)
                    raise SevenZipBrokenError(_last_words(self.program, errors.read()))
            finally:
                process.stdout.close()
                if process.poll() is None:
                    process.kill()
                process.wait()

    def _from_py7zr(self, size: int) -> Iterator[bytes]:
        # Imported here because it is heavy and seldom used.
        from tempkb.dumps.sevenzip_python import push_members

        pieces: queue.Queue[bytes | Exception | None] = queue.Queue(maxsize=8)
        stop = threading.Event()
        reader = threading.Thread(target=push_members, args=(self.path, pieces, stop), daemon=True)
        reader.start()
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise SevenZipBrokenError(f"py7zr: {type(piece).__name__}: {piece}") from None
                for start in range(0, len(piece), size):
                    yield piece[start : start + size]
        finally:
            stop.set()
            with contextlib.suppress(queue.Empty):
                while True:
                    pieces.get_nowait()
            reader.join()

    def _measure(self) -> int | None:
        if self.program not in _PROGRAMS:
            return None
        listing = self._listing()
        sizes = re.findall(r"^Size = (\d+)$", listing, re.MULTILINE)
        return int(sizes[0]) if len(sizes) == 1 else None

    def _listing(self) -> str:
        command = [self.program, "l", "-slt", "-bd", "-p", "--", str(self.path)]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return done.stdout.decode("utf-8", "replace")

    def _refuse_several_members(self) -> None:
        if self.program == "py7zr":
            from tempkb.dumps.sevenzip_python import members_of

            try:
                members = members_of(self.path)
            except ValueError as error:
                raise SevenZipBrokenError(f"py7zr: {error}") from None
        else:
            members = re.findall(r"^Path = (.*)$", self._listing(), re.MULTILINE)[1:]
        if len(members) != 1:
            found = f"{len(members)} ({', '.join(members[:3])})" if members else "none, so it may be no .7z at all"
            raise SevenZipBrokenError(f"expected one file inside, found {found}")


def _first_there() -> str:
    for name in _PROGRAMS:
        if shutil.which(name):
            return name
    try:
        importlib.import_module("libarchive")
    except (ImportError, OSError, TypeError, AttributeError):
        # The binding fails in several ways when the C library is not installed.
        return "py7zr"
    return "libarchive"


def _last_words(program: str, errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    with_error = [line for line in lines if "rror" in line] or lines or ["it failed without a message"]
    return f"{program}: {with_error[-1]}"
