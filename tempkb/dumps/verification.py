"""Compares the dumps of a home with the publisher's checksums, tempkb's own notes, and `dump_files`."""

import hashlib
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tempkb.dumps.catalogue import Dump, DumpFile, read_named
from tempkb.dumps.offers import WIKIDATA
from tempkb.dumps.sums import NOTES, kind_of, note_sums, noted_path, read_note_of
from tempkb.errors import SourceError
from tempkb.settings import Settings

_PIECE = 1 << 20


@dataclass
class VerifiedDumps:
    """Result of a verification of dumps."""

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
        f"{path}: this is not a note of a file's checksums; expected what tempkb wrote. "
        f"tempkb writes it again when the file is read: rm {path}"
        for path in sorted((root / NOTES).glob("*.json"))
        if noted_path(path) is None
    ]


def missing_files(root: Path, dumps: Iterable[Dump], read: Mapping[str, str], settings: Settings) -> list[str]:
    """Return a line for each file below `root` that was read once and is missing though its dump was not removed.

    If a dump has no publisher's list, only the note of a file's checksum shows that the file was there. Removing a dump
    with tempkb removes its notes as well.

    Args:
        root: the home's folder of dumps.
        dumps: the dumps that are there; `verify_dump` looks at each of their files.
        read: ids of the dumps in `dump_files`, by the names of their files.
    """
    # Compared by name, since the notes of a home that was moved have its old paths.
    known = {file.path.name for dump in dumps for file in dump.files}
    noted = (noted_path(note) for note in sorted((root / NOTES).glob("*.json")))
    missing = {_place_in(root, path) for path in noted if path is not None and path.name in read.keys() - known}
    return [
        f"{read[path.name]}, {path}: the file is missing, though tempkb has read it before. "
        f"{_how_to_get(read[path.name], is_named=False, settings=settings)}. {_or_forget(read[path.name])}"
        for path in sorted(missing)
    ]


def _place_in(root: Path, path: Path) -> Path:
    """Return a noted file's place below `root`; in a home that was copied or moved, notes name the former root."""
    parts = path.parts
    if path.is_relative_to(root) or root.name not in parts:
        return path
    return root.joinpath(*parts[len(parts) - parts[::-1].index(root.name) :])


def verify_dump(
    dump: Dump,
    written: Mapping[str, tuple[int, str]],
    verified: VerifiedDumps,
    at: Callable[[float], None],
    settings: Settings,
    again: Callable[[Dump], str],
) -> None:
    """Read the files of a dump and compare their sizes and checksums with the noted ones.

    Args:
        written: size in bytes and sha256 of its files by name, from `dump_files`.
        at: called with the number of bytes that were read.
        again: gives the command that builds again what was built from a dump.
    """
    how = _how_to_get(dump.dump_id, is_named=dump.is_named, settings=settings)
    for file in dump.files:
        if not file.path.is_file():
            why = "was named with --dump" if dump.is_named else "is in its publisher's list"
            missing = f"{dump.dump_id}, {file.path}: the file is missing, though it {why}"
            verified.faults.append(f"{missing}. {how}. {_or_forget(dump.dump_id)}")
            continue
        sums, n_bytes = _sums_of(file, verified.bytes, at)
        verified.files += 1
        verified.bytes += n_bytes
        noted, is_read = read_note_of(file.path, file.notes), written.get(file.path.name) == (n_bytes, sums["sha256"])
        agrees = file.checksum.partition(":")[2] == sums.get(kind_of(file.checksum))
        if file.notes and agrees and any(sums.get(kind, one) != one for kind, one in noted.items()):
            note_sums(file.path, file.notes, sums)
            found = "its note had another checksum than the file, whose publisher agrees; the note was made again"
            verified.faults.append(f"{dump.dump_id}, {file.path}: {found}")
        if change := _change_of(file, sums, n_bytes, written.get(file.path.name)):
            verified.faults.append(
                f"{dump.dump_id}, {file.path}: {change}. What is built from it stays as it is. To build that again "
                f"from the new file: {again(dump)}. {_or_forget(dump.dump_id)}"
            )
        elif (agrees or is_read) and ((file.checksum and not agrees) or file.size not in (None, n_bytes)):
            listed = ", ".join(map(str, filter(None, (file.checksum, file.size))))
            verified.faults.append(
                f"{dump.dump_id}, {file.path}: is {'as tempkb has read it' if is_read else 'whole'}, with "
                f"{n_bytes} bytes, but its publisher's list beside it gives {listed}: the list was altered, or the "
                f"file was published again. Keep the file, and get the list again. {how}"
            )
        elif file.size is not None and n_bytes < file.size:
            verified.faults.append(
                f"{dump.dump_id}, {file.path}: has {n_bytes:,} of {file.size:,} bytes. If it is still arriving, wait; "
                f"else get the rest. {how}"
            )
        elif fault := _fault_of(file, sums, n_bytes, written.get(file.path.name)):
            away = f"Move it away: mv {shlex.quote(str(file.path))} {shlex.quote(f'{file.path}.damaged')}. "
            verified.faults.append(f"{dump.dump_id}, {file.path}: {fault}. {'' if dump.is_named else away}{how}")


def _change_of(file: DumpFile, sums: Mapping[str, str], n_bytes: int, written: tuple[int, str] | None) -> str:
    """Return how a file of its publisher's present list differs from the one that was read; empty if it does not."""
    kind, _, wanted = file.checksum.partition(":")
    if not wanted or sums[kind] != wanted or written is None or written == (n_bytes, sums["sha256"]):
        return ""
    size, digest = written
    return (
        f"published again since tempkb has read it: found {n_bytes:,} bytes with the {kind} that its publisher gives "
        f"now; dump_files has {size:,} bytes with sha256 {digest}"
    )


def _fault_of(file: DumpFile, sums: Mapping[str, str], n_bytes: int, written: tuple[int, str] | None) -> str:
    kind, _, wanted = file.checksum.partition(":")
    if file.checksum and sums[kind] != wanted:
        return f"found {kind} {sums[kind]}; its publisher gives {wanted}"
    noted = read_note_of(file.path, file.notes)
    for kind, expected in noted.items():
        if kind in sums and sums[kind] != expected:
            return f"found {kind} {sums[kind]}; expected {expected}, which was noted when the file was first read"
    if written is not None and written != (n_bytes, sums["sha256"]):
        size, digest = written
        return f"found {n_bytes:,} bytes with sha256 {sums['sha256']}; dump_files has {size:,} bytes with {digest}"
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


def _how_to_get(dump_id: str, *, is_named: bool, settings: Settings) -> str:
    """Return what to do to get a good file of a dump."""
    if is_named:
        return "Get the file again from its source and name its path: tempkb build --dump FILE"
    command = _fetch_command(dump_id.rpartition("-")[0], settings)
    if settings.mirror:
        return (
            f"If something is still to be built from {dump_id}, fetch it again from the mirror {settings.mirror}: "
            f"{command}"
        )
    return (
        "No mirror is set, so copy a good file there by hand or, if something is still to be built from it, fetch it: "
        f"{command}"
    )


def _fetch_command(wiki: str, settings: Settings) -> str:
    """Return the command that fetches dumps, with the variables that it needs and that are not set."""
    mirror = settings.mirror or "https://dumps.wikimedia.org"
    lacking = {
        "MIRROR": "" if settings.mirror else mirror,
        "CONTACT": "" if settings.contact or "://" not in mirror else "me@example.org",
        # A dump of Wikidata's entities goes with any wiki.
        "WIKI": "" if settings.wiki or wiki == WIKIDATA else wiki,
    }
    return "".join(f"TEMPKB_{name}={value} " for name, value in lacking.items() if value) + "tempkb fetch"


def _or_forget(dump_id: str) -> str:
    return f"If nothing more is to be built from it: tempkb rm --dump {dump_id}"
