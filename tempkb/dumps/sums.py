"""Sums of files: computed once, noted beside the dumps, computed again when a file's size or time changes."""

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from tempkb.errors import SourceError

_PIECE = 1 << 20
NOTES = "sums"


class Hashes:
    """Several hashes of the same bytes, `sha256` always among them.

    Args:
        kinds: further ones, such as `sha1`.
    """

    def __init__(self, kinds: Collection[str] = ()) -> None:
        # md5 and sha1 are what the publisher gives; they guard against accidents only.
        self._hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in {"sha256", *kinds}}

    def take(self, data: bytes) -> None:
        """Take in the next bytes."""
        for one in self._hashes.values():
            one.update(data)

    def told(self) -> dict[str, str]:
        """Each hash so far, in hexadecimal, by kind."""
        return {kind: one.hexdigest() for kind, one in self._hashes.items()}


def kind_of(checksum: str) -> str:
    """Which hash a checksum such as `sha1:<hex>` is of."""
    return checksum.partition(":")[0]


def known_sums(path: Path, notes: Path | None, kinds: Collection[str] = ()) -> dict[str, str]:
    """Return a file's sums by kind, `sha256` and those asked for.

    Args:
        path: the file.
        notes: folder in which sums are noted; None: nothing is noted.
        kinds: further hashes wanted.

    The file is read only when nothing is noted of it, or when its size or time
    differs from what was noted.
    """
    noted = read_note_of(path, notes)
    if noted and {"sha256", *kinds} <= noted.keys():
        return noted
    hashes = Hashes(kinds)
    for piece in _pieces(path):
        hashes.take(piece)
    told = noted | hashes.told()
    if notes is not None:
        note_sums(path, notes, told)
    return told


def read_note_of(path: Path, notes: Path | None) -> dict[str, str]:
    """Return the sums that are noted of a file as it is now, by kind; nothing if its size or time is another."""
    if notes is None:
        return {}
    try:
        said = json.loads((notes / _note_name(path)).read_text("utf-8"))
        noted = (said["path"], said["size"], said["mtime_ns"])
        sums = {str(kind): str(told) for kind, told in said["sums"].items()}
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
        # Nothing is noted, or the note is damaged: then the file is read once more.
        return {}
    state = path.stat()
    return sums if noted == (str(path), state.st_size, state.st_mtime_ns) else {}


def noted_path(note: Path) -> Path | None:
    """Return the file that a note is about; None if it is not what tempkb wrote."""
    try:
        said = json.loads(note.read_text("utf-8"))
        return Path(said["path"]) if isinstance(said["path"], str) and isinstance(said["sums"], dict) else None
    except (ValueError, TypeError, KeyError):
        return None


def note_sums(path: Path, notes: Path, sums: dict[str, str]) -> None:
    """Note a file's sums, with the size and time they hold for."""
    state = path.stat()
    said = {"path": str(path), "size": state.st_size, "mtime_ns": state.st_mtime_ns, "sums": sums}
    notes.mkdir(parents=True, exist_ok=True)
    target = notes / _note_name(path)
    draft = target.with_name(f"{target.name}.{os.getpid()}.draft")
    draft.write_text(json.dumps(said) + "\n", "utf-8")
    draft.replace(target)


def forget_sums(path: Path, notes: Path) -> None:
    """Forget what is noted of a file that is removed."""
    (notes / _note_name(path)).unlink(missing_ok=True)


def verify(path: Path, checksum: str, notes: Path | None) -> None:
    """Hold a file to the sum that its publisher gives.

    Raises:
        SourceError: they differ.
    """
    kind, _, wanted = checksum.partition(":")
    found = known_sums(path, notes, [kind])[kind]
    if found != wanted:
        raise SourceError(
            f"{path}: its {kind} is {found}, but the publisher says {wanted}, so the file is damaged or another one. "
            "Remove it and fetch it again: tempkb fetch"
        )


def _note_name(path: Path) -> str:
    return f"{path.name}.{hashlib.sha256(str(path).encode()).hexdigest()[:8]}.json"


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as handle:
        while piece := handle.read(_PIECE):
            yield piece


def hash_of_all(hashes: Iterable[str]) -> str:
    """One hash of several files, whatever their order."""
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()
