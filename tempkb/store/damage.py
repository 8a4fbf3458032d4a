"""Faults of stored files, checksums of files, and the notes that a partition is damaged or lost.

Bits flip on disks and copies break off. Sizes are compared whenever a version
is looked up, checksums before its files are read, once per process.
"""

import contextlib
import errno
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tempkb.errors import StoredDamageError
from tempkb.store.owned import LinkError, own

MARK = "damaged"
"""Note of a partition whose current version was found damaged: it counts as absent."""
LOST = "lost"
"""Note of a partition that was set aside and must be built again."""
OWED = "owed"
"""Notes of a lost partition that several builds fill: an empty file for each build that has not filled it again yet."""
HELD = "held"
"""Copies of the pointers: a partition with a copy but no pointer was not removed; its pointer was lost."""
POINTER = "CURRENT"
NOTES = "_notes"


@dataclass(frozen=True)
class Fault:
    """A file of the lake that was changed since it was written.

    Attributes:
        file: name in the version's folder, or `CURRENT`.
        version: the one that the pointer names; empty if the pointer itself cannot be read.
    """

    table: str
    partition: str
    file: str
    found: str
    expected: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.table} {self.partition}, {self.file}: found {self.found}; expected {self.expected}"


@dataclass(frozen=True)
class Mended:
    """What was done about a fault.

    Attributes:
        is_pointed: was the pointer written again from its copy? Otherwise the partition was set aside for a new build.
    """

    fault: Fault
    is_pointed: bool

    def __str__(self) -> str:
        if self.is_pointed:
            version = f"version {self.fault.version}" if self.fault.version else "the version that it named"
            return f"put right: {self.fault}. It was written again, since all files of {version} are whole"
        return f"damaged, and set aside: {self.fault}"


# Checksums of files that this process has read, with the state of the file for which they hold.
_SUMS: dict[Path, tuple[tuple[int, int, int], str]] = {}


def sum_of(path: Path, *, anew: bool = False) -> str:
    """Return the sha256 of a file in hexadecimal; an unchanged file is read once per process."""
    state = path.stat()
    seen = (state.st_size, state.st_mtime_ns, state.st_ino)
    known = _SUMS.get(path)
    if known is not None and known[0] == seen and not anew:
        return known[1]
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    _SUMS[path] = (seen, digest)
    return digest


def size_fault(path: Path | str, size: int) -> tuple[str, str] | None:
    """Compare a file's size with the noted one; return what was found and what was expected if it differs."""
    try:
        found = os.stat(path).st_size  # noqa: PTH116 - called for each file of each partition, where it costs half
    except FileNotFoundError:
        return "no such file", f"{size:,} bytes"
    return None if found == size else (f"{found:,} bytes", f"{size:,} bytes")


def sum_fault(path: Path, size: int, digest: str, *, anew: bool = False) -> tuple[str, str] | None:
    """Compare a file's size and checksum with the noted ones; return what was found and expected if they differ.

    Raises:
        OSError: the system does not let us read the file now, which does not mean that it is damaged.
    """
    if fault := size_fault(path, size):
        return fault
    try:
        found = sum_of(path, anew=anew)
    except OSError as error:
        # Too many open files, or a missing permission. A disk that cannot read its block is damage.
        if error.errno not in (errno.EIO, errno.ENOENT):
            raise
        return f"a file that cannot be read ({error.strerror})", f"sha256 {digest[:16]}…"
    return None if found == digest else (f"sha256 {found[:16]}…", f"sha256 {digest[:16]}…")


def carry_sum(old: Path, new: Path) -> None:
    """Keep the known checksum of a file that was moved."""
    if (known := _SUMS.pop(old, None)) is not None:
        _SUMS[new] = known


def write_note(path: Path, fault: Fault) -> None:
    """Write a note of a fault in one step."""
    replace_whole(path, json.dumps(asdict(fault), ensure_ascii=False).encode() + b"\n")


def replace_whole(path: Path, data: bytes) -> None:
    """Write a small file in one step; make its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_bytes(data)
    draft.replace(path)


def read_note(path: Path) -> Fault | None:
    """Return the noted fault; None if there is no note. An unreadable note is a fault, too."""
    try:
        note: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return Fault(**{key: str(value) for key, value in note.items()})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError):
        return Fault(path.parent.name, path.name, path.name, "a note that cannot be read", "a note about damage")


def note_path(root: Path, kind: str, table: str, partition: str) -> Path:
    """Return the path of a note (`MARK`, `LOST`, `OWED` or `HELD`) about a partition."""
    return root.joinpath(NOTES, kind, table, partition)


def refuse(folder: Path, fault: Fault) -> StoredDamageError:
    """Note a fault of the version in a folder, if it is the current one, and return the error to raise."""
    # A user who may not write here still gets the error; others will find the fault by themselves.
    with contextlib.suppress(OSError, UnicodeDecodeError, LinkError):
        # A reader may hold a version, or its manifest, that was replaced and collected in the meantime: not damage.
        pointer = (folder.parent / POINTER).read_text("utf-8")
        if f'"{fault.version}"' in pointer and f'"{fault.file}"' in pointer:
            root = folder.parents[2]
            write_note(own(root, note_path(root, MARK, fault.table, fault.partition)), fault)
    advice = "The partition counts as absent until it is built again; for the command to type: tempkb status"
    return StoredDamageError(f"{fault}. {advice}")
