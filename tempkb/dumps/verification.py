"""Reading the dumps of a home against what is noted of them: by their publisher, by us, and in `dump_files`."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tempkb.dumps.catalogue import Dump, DumpFile, read_named
from tempkb.dumps.sums import NOTES, kind_of, read_note_of
from tempkb.errors import SourceError

_PIECE = 1 << 20


@dataclass
class VerifiedDumps:
    """What a verification of dumps has found.

    Attributes:
        faults: a line each.
        files: how many files were read.
        bytes: how long these are together.
        gone: files of named dumps that are no longer where they were.
    """

    faults: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    gone: list[str] = field(default_factory=list)


def verify_notes(root: Path) -> list[str]:
    """Return a line for each note about dumps below `root` that cannot be read."""
    faults = []
    for path in sorted((root / "named").glob("*.json")):
        try:
            read_named(root, path)
        except SourceError as error:
            faults.append(str(error))
    for path in sorted((root / NOTES).glob("*.json")):
        try:
            said = json.loads(path.read_text("utf-8"))
            is_note = isinstance(said["path"], str) and isinstance(said["sums"], dict)
        except (ValueError, TypeError, KeyError):
            is_note = False
        if not is_note:
            faults.append(
                f"{path}: found something else than the sums of a file; expected what tempkb noted. "
                f"It is noted anew once the file is read: rm {path}"
            )
    return faults


def verify_dump(
    dump: Dump, written: Mapping[str, tuple[int, str]], verified: VerifiedDumps, at: Callable[[float], None]
) -> None:
    """Read the files of a dump, and hold their sizes and sums to what was noted of them.

    Args:
        dump: of the home.
        written: size and sha256 of its files by name, as `dump_files` has them.
        verified: is filled.
        at: is told how many bytes were read.
    """
    for file in dump.files:
        if not file.path.is_file():
            if dump.is_named:
                verified.gone.append(str(file.path))
            else:
                verified.faults.append(
                    f"{dump.dump_id}, {file.path}: found no such file; expected it. {_mend(dump, file)}"
                )
            continue
        sums, n_bytes = _sums_of(file, verified.bytes, at)
        verified.files += 1
        verified.bytes += n_bytes
        if fault := _fault_of(file, sums, n_bytes, written.get(file.path.name)):
            verified.faults.append(f"{dump.dump_id}, {file.path}: {fault}. {_mend(dump, file)}")


def _fault_of(file: DumpFile, sums: Mapping[str, str], n_bytes: int, written: tuple[int, str] | None) -> str:
    kind, _, wanted = file.checksum.partition(":")
    if file.checksum and sums[kind] != wanted:
        return f"found {kind} {sums[kind]}; its publisher says {wanted}"
    noted = read_note_of(file.path, file.notes)
    for told, expected in noted.items():
        if told in sums and sums[told] != expected:
            return f"found {told} {sums[told]}; expected {expected}, as was noted when it was first read"
    if written is not None and written != (n_bytes, sums["sha256"]):
        size, digest = written
        return f"found {n_bytes:,} bytes with sha256 {sums['sha256']}; dump_files says {size:,} with {digest}"
    return ""


def _sums_of(file: DumpFile, before: float, at: Callable[[float], None]) -> tuple[dict[str, str], int]:
    kinds = {"sha256"} | ({kind_of(file.checksum)} if file.checksum else set())
    hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in sorted(kinds)}
    n_bytes = 0
    with file.path.open("rb") as handle:
        while piece := handle.read(_PIECE):
            n_bytes += len(piece)
            for one in hashes.values():
                one.update(piece)
            at(before + n_bytes)
    return {kind: one.hexdigest() for kind, one in hashes.items()}, n_bytes


def _mend(dump: Dump, file: DumpFile) -> str:
    if dump.is_named:
        return "Get the file again from where it came, and name it: tempkb build --dump FILE"
    return f"Fetch it again: rm {file.path}; tempkb fetch"
