"""Spoiled files for tests: cut off, flipped and spliced; each spoilt one is known by its seed and number.

    for mutation in mutations(data, n=200, seed=7, other=something_else):
        path.write_bytes(mutation.data)

Chance is a hash of seed and number, never a generator's state: mutation 17 stays the same whoever asks for how many.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import py7zr
import zstandard

SECONDS = 10  # for a spoilt file of some kilobytes; whatever takes longer hangs


@dataclass(frozen=True)
class Mutation:
    """A spoilt file.

    Attributes:
        number: counts from 0.
        kind: truncate, flip or splice.
        what: which way of it, and where.
        data: the spoilt bytes, never equal to the whole ones.
        is_long: were several bytes flipped in a row, perhaps a tag or a quote together with its fellow?
    """

    number: int
    kind: str
    what: str
    data: bytes
    is_long: bool = False


def mutations(data: bytes, n: int, seed: int, other: bytes = b"") -> Iterator[Mutation]:
    """Yield `n` spoilt forms of a file, all kinds in turn; pieces of `other`, a second file, may be put in."""
    number = tried = 0
    while number < n:
        kind, way = _WAYS[number % len(_WAYS)]
        what, spoilt = way(data, lambda name, below, _t=tried: draw(seed, f"{_t}/{name}", below), other or data)
        tried += 1
        if spoilt != data:
            yield Mutation(number, kind, what, spoilt, is_long=way is _flip_a_run)
            number += 1


def draw(seed: int, key: str, below: int) -> int:
    """A number in [0, below) that hangs on seed and key alone."""
    digest = hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % max(below, 1)


Chance = Callable[[str, int], int]
_LONGEST_RUN = 24


def _cut_anywhere(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    at = chance("at", len(data))
    return f"ends at {at}", data[:at]


def _cut_at_a_line(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    lines = data.splitlines(keepends=True)
    kept = chance("lines", len(lines))
    return f"ends behind line {kept}", b"".join(lines[:kept])


def _flip_a_bit(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    at, bit = chance("at", len(data)), chance("bit", 8)
    return f"bit {bit} of byte {at}", _with(data, at, bytes([data[at] ^ (1 << bit)]))


def _flip_a_byte(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    at = chance("at", len(data))
    return f"byte {at}", _with(data, at, bytes([chance("byte", 256)]))


def _flip_a_run(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    at, size = chance("at", len(data)), 2 + chance("size", _LONGEST_RUN)
    size = min(size, len(data) - at)
    return f"{size} bytes from {at}", _with(data, at, bytes(chance(f"byte {n}", 256) for n in range(size)))


def _cut_out(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    begin, end = _stretch(data, chance, "stretch")
    return f"without [{begin}, {end})", data[:begin] + data[end:]


def _double(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    begin, end = _stretch(data, chance, "stretch")
    return f"[{begin}, {end}) twice", data[:end] + data[begin:]


def _move_in(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    begin, end = _stretch(data, chance, "stretch")
    at = chance("at", len(data))
    return f"[{begin}, {end}) also at {at}", data[:at] + data[begin:end] + data[at:]


def _put_in(data: bytes, chance: Chance, other: bytes) -> tuple[str, bytes]:
    begin, end = _stretch(other, chance, "stretch")
    first, last = _stretch(data, chance, "place")
    what = f"[{begin}, {end}) of another file for [{first}, {last})"
    return what, data[:first] + other[begin:end] + data[last:]


def _stretch(data: bytes, chance: Chance, name: str) -> tuple[int, int]:
    """A stretch of any length, short ones as often as long ones."""
    begin = chance(f"{name} begin", len(data))
    longest = len(data) >> chance(f"{name} scale", 10)
    return begin, min(len(data), begin + 1 + chance(f"{name} size", longest))


def _with(data: bytes, at: int, piece: bytes) -> bytes:
    return data[:at] + piece + data[at + len(piece) :]


_WAYS = (
    ("truncate", _cut_anywhere),
    ("flip", _flip_a_bit),
    ("splice", _cut_out),
    ("truncate", _cut_at_a_line),
    ("flip", _flip_a_byte),
    ("splice", _double),
    ("flip", _flip_a_run),
    ("splice", _move_in),
    ("splice", _put_in),
)


def seven_zip(data: bytes) -> bytes:
    """An archive with one member, as a dump is."""
    packed = io.BytesIO()
    with py7zr.SevenZipFile(packed, "w", filters=[{"id": py7zr.FILTER_LZMA, "preset": 4}]) as archive:
        archive.writestr(data, "dump")
    return packed.getvalue()


def seven_unzip(data: bytes) -> bytes:
    """The archive's one member."""
    factory = py7zr.io.BytesIOFactory(1 << 24)
    with py7zr.SevenZipFile(io.BytesIO(data)) as archive:
        archive.extractall(factory=factory)
    (member,) = factory.products.values()
    return member.read()


def in_two(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Packs into two streams, one after the other, parted at a line, as multistream files are."""

    def packed(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        half = len(lines) // 2
        return pack(b"".join(lines[:half])) + pack(b"".join(lines[half:]))

    return packed


# Suffix -> how to pack, and how to unpack by another way than tempkb's.
PACKINGS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "": (bytes, bytes),
    ".bz2": (in_two(bz2.compress), bz2.decompress),
    ".gz": (in_two(lambda data: gzip.compress(data, mtime=0)), gzip.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".lzma": (lambda data: lzma.compress(data, lzma.FORMAT_ALONE), lzma.decompress),
    ".zst": (zstandard.compress, zstandard.decompress),
    ".7z": (seven_zip, seven_unzip),
}


def unpacked(suffix: str, data: bytes) -> bytes | None:
    """What another reader makes of a packed file; None if it refuses it."""
    try:
        return PACKINGS[suffix][1](data)
    except Exception:  # noqa: BLE001 - whatever it says, it refuses
        return None


Judge = Callable[[Path, Mutation, bytes | None], str]
"""Takes the spoilt file, what was done to it, and what another library unpacks; returns what became of it."""


def spoil(tmp_path: Path, name: str, whole: bytes, other: bytes, n: int, seed: int, judge: Judge) -> None:
    """Judge `n` spoilt forms of a file, packed as its name says."""
    suffix = next((one for one in PACKINGS if one and name.endswith(one)), "")
    pack = PACKINGS[suffix][0]
    path = tmp_path / name
    for mutation in mutations(pack(whole), n, seed, pack(other)):
        path.write_bytes(mutation.data)
        began = time.monotonic()
        try:
            judge(path, mutation, unpacked(suffix, mutation.data))
        except Exception as error:
            error.add_note(f"{name}, mutation {mutation.number} of seed {seed}: {mutation.kind}, {mutation.what}")
            raise
        assert time.monotonic() - began < SECONDS, mutation.what


def refused_well(error: Exception, path: Path) -> None:
    """Does a message name the file, and where in it?"""
    assert path.name in str(error)
    assert _PLACE.search(str(error)), error


_PLACE = re.compile(r"byte \d+|line \d+|the row of page|page \d+ has two rows|no column|no CREATE TABLE|is empty")


def cut_off(path: Path) -> None:
    """Take away the last bytes of a file."""
    path.write_bytes(path.read_bytes()[:-10])


def flip(path: Path, at: int | None = None, bit: int = 2) -> None:
    """Change a bit of a byte, by default of the one in the middle, so that the file keeps its size."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1 << bit
    path.write_bytes(data)
