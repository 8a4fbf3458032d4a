"""Reading the dumps of a home against what is noted of them: by their publisher, by us, and in `dump_files`."""

import hashlib
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tempkb.dumps.catalogue import Dump, DumpFile, read_named
from tempkb.dumps.sums import NOTES, kind_of, noted_path, read_note_of
from tempkb.errors import SourceError

_PIECE = 1 << 20


@dataclass
class VerifiedDumps:
    """What a verification of dumps has found.

    Attributes:
        faults: a line each.
        files: how many files were read.
        bytes: how long these are together.
    """

    faults: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0


def verify_notes(root: Path) -> list[str]:
    """Return a line for each note about dumps below `root` that cannot be read."""
    faults = []
    for path in sorted((root / "named").glob("*.json")):
        try:
            read_named(root, path)
        except SourceError as error:
            faults.append(str(error))
    return faults + [
        f"{path}: found something else than the sums of a file; expected what tempkb noted. "
        f"It is noted anew once the file is read: rm {path}"
        for path in sorted((root / NOTES).glob("*.json"))
        if noted_path(path) is None
    ]


def missing_files(root: Path, dumps: Iterable[Dump], read: Mapping[str, str], mirror: str) -> list[str]:
    """Return a line for each file below `root` that was read once, and is gone though its dump was not removed.

    Where no publisher's list lies beside a dump, only the sum that was noted of a file tells that it was there; whoever
    removes a dump with tempkb removes its notes as well.

    Args:
        root: the home's folder of dumps.
        dumps: that are found there, each of whose files is looked at anyway.
        read: ids of the dumps in `dump_files`, by the names of their files.
        mirror: as `verify_dump` takes it.
    """
    # By name, since the notes of a home that was moved tell where its files lay before.
    known = {file.path.name for dump in dumps for file in dump.files}
    lines = []
    for note in sorted((root / NOTES).glob("*.json")):
        path = noted_path(note)
        if path is not None and path.name in read.keys() - known:
            dump_id = read[path.name]
            lines.append(
                f"{dump_id}, {path}: found no such file; expected it, as it was read. "
                f"{_how_to_get(dump_id, is_named=False, mirror=mirror)}. {_or_forget(dump_id)}"
            )
    return lines


def verify_dump(
    dump: Dump,
    written: Mapping[str, tuple[int, str]],
    verified: VerifiedDumps,
    at: Callable[[float], None],
    mirror: str,
) -> None:
    """Read the files of a dump, and hold their sizes and sums to what was noted of them.

    Args:
        dump: of the home.
        written: size and sha256 of its files by name, as `dump_files` has them.
        verified: is filled.
        at: is told how many bytes were read.
        mirror: from which the home fetches dumps; empty for none.
    """
    how = _how_to_get(dump.dump_id, is_named=dump.is_named, mirror=mirror)
    for file in dump.files:
        if not file.path.is_file():
            why = "since it was named with --dump" if dump.is_named else "as its publisher's list says"
            said = f"{dump.dump_id}, {file.path}: found no such file; expected it, {why}"
            verified.faults.append(f"{said}. {how}. {_or_forget(dump.dump_id)}")
            continue
        sums, n_bytes = _sums_of(file, verified.bytes, at)
        verified.files += 1
        verified.bytes += n_bytes
        if fault := _fault_of(file, sums, n_bytes, written.get(file.path.name)):
            away = f"Move it away: mv {shlex.quote(str(file.path))} {shlex.quote(f'{file.path}.damaged')}. "
            verified.faults.append(f"{dump.dump_id}, {file.path}: {fault}. {'' if dump.is_named else away}{how}")


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


def _how_to_get(dump_id: str, *, is_named: bool, mirror: str) -> str:
    """What to type for a whole file of a dump."""
    if is_named:
        return "Get the file again from where it came, and name it where it lies then: tempkb build --dump FILE"
    if mirror:
        return f"{dump_id} comes again from the mirror {mirror} once something is to be built from it: tempkb fetch"
    return (
        "No mirror is set, so put a whole copy there by hand, or fetch it once something is to be built from it: "
        "TEMPKB_MIRROR=https://dumps.wikimedia.org tempkb fetch"
    )


def _or_forget(dump_id: str) -> str:
    return f"If nothing is to be built from it any more: tempkb rm --dump {dump_id}"
