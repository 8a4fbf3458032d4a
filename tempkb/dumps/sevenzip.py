"""Reading the single file inside a `.7z` dump as a stream.

A 7-Zip program (7zz, 7z, 7za) reads where there is one, because py7zr, which is always
installed and reads elsewhere, takes twice the processor time.
"""

import contextlib
import queue
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

_PROGRAMS = ("7zz", "7z", "7za")
_PY7ZR = "py7zr"


class SevenZipBrokenError(Exception):
    """The archive could not be read to its end; the message is that of the reader."""


class SevenZipReader:
    """Reads the single member of an archive.

    Args:
        program: `7zz`, `7z`, `7za` or `py7zr`; by default the first available one.
    """

    def __init__(self, path: Path, program: str | None = None) -> None:
        self.path = path
        self.program = program or next(filter(shutil.which, _PROGRAMS), _PY7ZR)

    @cached_property
    def plain_bytes(self) -> int:
        """Size of the member in bytes; 0 if the archive does not give it.

        Raises:
            SevenZipBrokenError: the archive is damaged, or does not hold one file.
        """
        names, sizes = self._listed_by_py7zr() if self.program == _PY7ZR else self._listed_by_program()
        if len(names) != 1:
            found = f"{len(names)} ({', '.join(names[:3])})" if names else "none, so it may be no .7z at all"
            raise SevenZipBrokenError(f"expected one file inside, found {found}")
        return sizes[0] if len(sizes) == 1 else 0

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the member's bytes in pieces of at most `size`.

        Raises:
            SevenZipBrokenError: the archive is damaged, or does not hold one file.
        """
        _ = self.plain_bytes
        return self._from_py7zr(size) if self.program == _PY7ZR else self._from_program(size)

    def _listed_by_py7zr(self) -> tuple[list[str], list[int]]:
        # Imported here because it is heavy and seldom used.
        from tempkb.dumps.sevenzip_python import members_of

        try:
            members = members_of(self.path)
        except ValueError as error:
            raise SevenZipBrokenError(f"py7zr: {error}") from None
        return [name for name, _ in members], [size for _, size in members]

    def _listed_by_program(self) -> tuple[list[str], list[int]]:
        command = [self.program, "l", "-slt", "-bd", "-p", "--", str(self.path)]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        listing = done.stdout.decode("utf-8", "replace")
        # The first path is that of the archive.
        names = re.findall(r"^Path = (.*)$", listing, re.MULTILINE)[1:]
        return names, [int(size) for size in re.findall(r"^Size = (\d+)$", listing, re.MULTILINE)]

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


def _last_words(program: str, errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    with_error = [line for line in lines if "rror" in line] or lines or ["it failed without a message"]
    return f"{program}: {with_error[-1]}"
