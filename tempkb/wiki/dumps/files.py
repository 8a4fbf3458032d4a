"""Dump files as streams of plain bytes, whatever their compression, with bounded memory.

Each reader yields pieces of at most about a megabyte, knows how far into the compressed file it is, and distinguishes
a truncated file from a whole one. Of `.7z` files a program (7zz, 7z, 7za) reads the one file inside, where there is
such a program: py7zr, which is always installed and reads elsewhere, takes twice the processor time.
"""

import bz2
import codecs
import contextlib
import lzma
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import zstandard

from tempkb.core.errors import SourceError

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
        from tempkb.wiki.dumps.sevenzip_python import members_of

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
        from tempkb.wiki.dumps.sevenzip_python import push_members

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


PIECE = 1 << 17  # bytes of plain text requested at a time: small enough to stay in a core's cache
_READ = 1 << 18  # compressed bytes read at a time


CUT = "the file ends in the middle of a stream"


def place_of(position: int, of: str, reason: str) -> str:
    """Return where and how a file is damaged, in words; a truncated file is "cut"."""
    return f"{'cut' if reason == CUT else 'damaged'} at byte {position} ({of}): {reason}"


class DamageError(SourceError):
    """A file ends early or is broken from some place on; everything before that place is good.

    Attributes:
        position: byte offset of the damage.
        of: what the offset counts: compressed or plain bytes.
    """

    def __init__(self, file: str, position: int, of: str, reason: str, instead: str = "") -> None:
        super().__init__(f"{file}: {place_of(position, of, reason)}. Fetch the file again{instead}.")
        self.file, self.position, self.of, self.reason = file, position, of, reason


class Decompressor(Protocol):
    """The interface that bz2 and lzma share; the other decompressors are adapted to it."""

    @property
    def eof(self) -> bool:
        """Has the stream ended?"""

    @property
    def unused_data(self) -> bytes:
        """What follows the end of the stream."""

    @property
    def needs_input(self) -> bool:
        """Can it give nothing more without further input?"""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most `max_length` plain bytes."""


@dataclass
class Progress:
    """How far a reader is: bytes of the file on disk that it has used, and the file's size."""

    done: int = 0
    total: int = 0
    note: str = field(default="")


def open_dump(path: Path, progress: Progress | None = None) -> Generator[bytes, None, None]:
    """Yield the plain bytes of a dump file, recoded to UTF-8 if a byte order mark declares UTF-16.

    Args:
        path: `.bz2` (also multistream), `.7z`, `.gz`, `.zst`, `.xz`, `.lzma`, or plain.

    Raises:
        SourceError: there is no such file, or its archive needs more memory than there is.
        DamageError: while reading, at the place where the file is damaged.
    """
    if not path.is_file():
        raise SourceError(f"{path}: no such file")
    progress = progress or Progress()
    progress.total = path.stat().st_size
    pieces = _seven_zip(path, progress) if _is_seven_zip(path) else _decompressed(path, progress)
    return _utf8(path, pieces)


def _is_seven_zip(path: Path) -> bool:
    with path.open("rb") as handle:
        return path.suffix == ".7z" or handle.read(6) == b"7z\xbc\xaf\x27\x1c"


def _seven_zip(path: Path, progress: Progress) -> Iterator[bytes]:
    reader = SevenZipReader(path)
    progress.note = reader.program
    seen = 0
    try:
        plain = reader.plain_bytes
        for piece in reader.pieces(PIECE):
            seen += len(piece)
            if plain:
                progress.done = min(progress.total, progress.total * seen // plain)
            yield piece
    except SevenZipBrokenError as error:
        if "memory" in str(error).lower():
            # Not the file's fault, so that nothing of it is kept and no other file is asked for.
            why = f"reading it needs more memory than there is ({error}); use fewer workers: TEMPKB_WORKERS=1"
            raise SourceError(f"{path.name}: {why}") from None
        raise DamageError(path.name, seen, "plain bytes", str(error)) from None


def _decompressed(path: Path, progress: Progress) -> Iterator[bytes]:
    with path.open("rb") as handle:
        make = _decompressor_for(path, handle.read(8))
        handle.seek(0)
        if make is None:
            while piece := handle.read(PIECE):
                progress.done += len(piece)
                yield piece
            return
        yield from _streams(path, handle, make, progress)


def _decompressor_for(path: Path, magic: bytes) -> Callable[[], Decompressor] | None:
    """Choose by the first bytes, since a name can be wrong; LZMA-alone has no magic bytes and goes by its name."""
    if magic.startswith(b"BZh"):
        return bz2.BZ2Decompressor
    if magic.startswith(b"\x1f\x8b"):
        return _Gzip
    if magic.startswith(b"\x28\xb5\x2f\xfd") or _SKIPPED_FRAME.match(magic):
        return _Zstd
    if magic.startswith(b"\xfd7zXZ"):
        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY)
    if path.suffix == ".lzma":
        return lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_LZMA_MEMORY)
    if path.suffix in {".bz2", ".gz", ".zst", ".xz"}:
        raise DamageError(path.name, 0, "compressed bytes", f"these are not the first bytes of a {path.suffix} file")
    return None


_LZMA_MEMORY = 1 << 28
# How a frame of zstd begins that readers skip; pzstd puts one before each frame of data.
_SKIPPED_FRAME = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_FAULTS = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zstandard.ZstdError)


def _streams(path: Path, handle: Any, make: Callable[[], Decompressor], progress: Progress) -> Iterator[bytes]:
    """Decompress stream after stream; multistream and multi-member files are sequences of streams."""
    stream, begun, is_first = make(), False, True
    data = b""
    block = 0
    while True:
        if not data and stream.needs_input:
            block = handle.tell()
            data = handle.read(_READ)
            if not data:
                break
        if not begun and not is_first:
            # Zero bytes after a stream are padding (tar, xz); anything else must be a further stream.
            data = data.lstrip(b"\0")
            if not data:
                progress.done = handle.tell()
                continue
        try:
            piece = stream.decompress(data, PIECE)
        except _FAULTS as error:
            reason = f"{str(error) or type(error).__name__}, in the {handle.tell() - block} bytes from there on"
            raise DamageError(path.name, block, "compressed bytes", reason) from None
        data = b""
        begun = True
        progress.done = handle.tell()
        if piece:
            yield piece
        if stream.eof:
            data = stream.unused_data
            stream, begun, is_first = make(), False, False
    if begun:
        raise DamageError(path.name, handle.tell(), "compressed bytes", CUT)


class _Gzip:
    """zlib behind the interface of bz2 and lzma."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


class _Zstd:
    """Zstandard frames, one after another, behind the same interface.

    The library's own streaming reader bounds each piece; its output is fed from
    a queue of compressed bytes.
    """

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        self._waiting = b""
        self.unused_data = b""
        self.eof = False

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        # A zstd block holds at most 128 kB of plain text, so small bites of input bound the output.
        data = self._waiting + data
        bite, self._waiting = data[:_ZSTD_BITE], data[_ZSTD_BITE:]
        piece = self._inner.decompress(bite)
        if self._inner.eof:
            self.eof = True
            self.unused_data = self._inner.unused_data + self._waiting
            self._waiting = b""
        return piece


_ZSTD_BITE = 1 << 10
# The most that `zstd --long` uses by default; a frame that needs a larger window is refused.
_ZSTD_WINDOW = 1 << 27


def _utf8(path: Path, pieces: Iterator[bytes]) -> Generator[bytes, None, None]:
    """Recode UTF-16 to UTF-8 and drop a byte order mark; refuse other declared encodings."""
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= 200:
            break
    utf16 = next((name for start, name in _UTF16.items() if first.startswith(start)), None)
    if utf16:
        yield from _recoded(path, utf16, first, pieces)
        return
    head = first[:200].lower()
    if b"<?xml" in head and b"encoding=" in head:
        named = head.split(b"encoding=")[1][1:].split(b"'")[0].split(b'"')[0]
        if named not in (b"utf-8", b"utf8", b"us-ascii", b"ascii"):
            at = head.find(b"encoding=")
            raise SourceError(
                f"{path.name}: encoding {named.decode('latin-1')!r}, at byte {at}; expected UTF-8 or UTF-16"
            )
    yield first.removeprefix(codecs.BOM_UTF8)
    yield from pieces


# By byte order mark, or by how "<" looks at the start of a file without one.
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


def _recoded(path: Path, encoding: str, first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    seen = 0
    try:
        for piece in chain((first,), pieces):
            yield decoder.decode(piece).encode()
            seen += len(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-16 ({error.reason})"
        raise DamageError(path.name, seen + error.start, "bytes of UTF-16", reason) from None
