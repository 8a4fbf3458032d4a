"""Checksums of files: computed once, noted beside the dumps, computed again if a file's size or time changes."""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from tempkb.core.errors import SourceError
from tempkb.core.files import own, read_summed, sum_of, write_summed

_PIECE = 1 << 20
ARRIVING = "_arriving"
NOTES = "sums"


class Hashes:
    """Several hashes of the same bytes, `sha256` always among them.

    Args:
        kinds: further ones, such as `sha1`.
    """

    def __init__(self, kinds: Collection[str] = ()) -> None:
        # The publisher gives md5 and sha1; they detect accidents, not attacks.
        self._hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in {"sha256", *kinds}}

    def take(self, data: bytes) -> None:
        """Add the next bytes."""
        for one in self._hashes.values():
            one.update(data)

    def hexdigests(self) -> dict[str, str]:
        """Return each hash of the bytes so far, in hexadecimal, by kind."""
        return {kind: one.hexdigest() for kind, one in self._hashes.items()}


def kind_of(checksum: str) -> str:
    """Return the kind of a checksum such as `sha1:<hex>`."""
    return checksum.partition(":")[0]


def known_sums(path: Path, notes: Path | None, kinds: Collection[str] = ()) -> dict[str, str]:
    """Return a file's checksums by kind: `sha256` and the wanted ones.

    The file is read only if no checksum is noted, or if its size or time has changed
    since.

    Args:
        notes: folder in which checksums are noted; None: they are not noted.
        kinds: further kinds that are wanted.
    """
    noted = read_note_of(path, notes)
    if noted and {"sha256", *kinds} <= noted.keys():
        return noted
    hashes = Hashes(kinds)
    for piece in pieces_of(path) if kinds else ():
        hashes.take(piece)
    sums = noted | (hashes.hexdigests() if kinds else {"sha256": sum_of(path)})
    if notes is not None:
        note_sums(path, notes, sums)
    return sums


def read_note_of(path: Path, notes: Path | None) -> dict[str, str]:
    """Return the noted checksums of a file by kind; none if its size or time has changed since."""
    if notes is None:
        return {}
    content = read_summed(notes / _note_name(path))
    if content is None:
        # Nothing is noted, or the note is damaged: then the file is read again.
        return {}
    state = path.stat()
    is_of_it = (content["path"], content["size"], content["mtime_ns"]) == (str(path), state.st_size, state.st_mtime_ns)
    return dict(content["sums"]) if is_of_it else {}


def noted_path(note: Path) -> Path | None:
    """Return the file that a note is about; None if the note is not as tempkb wrote it."""
    content = read_summed(note)
    return None if content is None else Path(content["path"])


def note_sums(path: Path, notes: Path, sums: dict[str, str]) -> None:
    """Note a file's checksums, with the size and time of the file for which they hold."""
    state = path.stat()
    content = {"path": str(path), "size": state.st_size, "mtime_ns": state.st_mtime_ns, "sums": sums}
    write_summed(own(notes.parent, notes / _note_name(path)), content)


def forget_sums(path: Path, notes: Path) -> None:
    """Remove the note of a file that is removed."""
    own(notes.parent, notes / _note_name(path)).unlink(missing_ok=True)


def verify(path: Path, checksum: str, notes: Path | None) -> None:
    """Check that a file has the checksum that its publisher gives.

    Raises:
        SourceError: it has another one.
    """
    kind, _, wanted = checksum.partition(":")
    found = known_sums(path, notes, [kind])[kind]
    if found != wanted:
        raise SourceError(
            f"{path}: its {kind} is {found}, but the publisher gives {wanted}, so the file is damaged or another one. "
            "Remove it and fetch it again: tempkb fetch"
        )


def _note_name(path: Path) -> str:
    return f"{path.name}.{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}.json"


def pieces_of(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file."""
    with path.open("rb") as handle:
        while piece := handle.read(_PIECE):
            yield piece


def hash_of_all(hashes: Iterable[str]) -> str:
    """Return one hash for several files, independent of their order."""
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()
