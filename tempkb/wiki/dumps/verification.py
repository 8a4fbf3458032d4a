"""Compares the dumps of a home with checksums, the publisher's and tempkb's own, and removes dumps from it."""

import shlex
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tempkb.core.errors import SourceError
from tempkb.core.files import own, remove_tree
from tempkb.core.settings import Settings
from tempkb.wiki.dumps.catalogue import Dump, DumpFile, read_named
from tempkb.wiki.dumps.offers import CONTENT_HISTORY, WIKIDATA
from tempkb.wiki.dumps.sums import ARRIVING, NOTES, Hashes, forget_sums, kind_of, noted_path, pieces_of, read_note_of


@dataclass
class Tally:
    """What a verification has read, in files and bytes."""

    files: int = 0
    bytes: int = 0


def faults_of_notes(root: Path) -> Iterator[str]:
    """Yield a line for each note about dumps below `root` that cannot be read."""
    for path in sorted((root / "named").glob("*.json")):
        try:
            read_named(root, path)
        except SourceError as error:
            yield str(error)
    for path in sorted((root / NOTES).glob("*.json")):
        if noted_path(path) is None:
            yield (
                f"{path}: this is not a note of a file's checksums; expected what tempkb wrote. tempkb writes it again "
                f"when the file is read: rm {path}"
            )


def missing_files(root: Path, dumps: Iterable[Dump], read: Mapping[str, str], settings: Settings) -> list[str]:
    """Return a line for each file below `root` that was read once and is missing though its dump was not removed.

    If a dump has no publisher's list, only the note of a file's checksum shows that the file was there.

    Args:
        root: the home's folder of dumps.
        dumps: the dumps that are there; `faults_of_dump` looks at each of their files.
        read: ids of the dumps in `dump_files`, by the names of their files.
    """
    # Compared by name, since the notes of a home that was moved have its old paths.
    known = {file.path.name for dump in dumps for file in dump.files}
    noted = (noted_path(note) for note in (root / NOTES).glob("*.json"))
    missing = {_place_in(root, path) for path in noted if path is not None and path.name in read.keys() - known}
    return [_missing(read[path.name], path, "tempkb has read it before", settings) for path in sorted(missing)]


def _place_in(root: Path, path: Path) -> Path:
    """Return a noted file's place below `root`; in a home that was copied or moved, notes name the former root."""
    parts = path.parts
    if path.is_relative_to(root) or root.name not in parts:
        return path
    return root.joinpath(*parts[len(parts) - parts[::-1].index(root.name) :])


def faults_of_dump(
    dump: Dump,
    written: Mapping[str, tuple[int, str]],
    tally: Tally,
    at: Callable[[float], None],
    settings: Settings,
    again: Callable[[], str],
) -> Iterator[str]:
    """Read the files of a dump and compare their sizes and checksums with the noted ones; yield a line a fault.

    Args:
        written: size in bytes and sha256 of its files by name, from `dump_files`.
        at: called with the number of bytes that were read in all.
        again: gives the command that builds again what was built from the dump.
    """
    for file in dump.files:
        if not file.path.is_file():
            why = "it was named with --dump" if dump.is_named else "it is in its publisher's list"
            yield _missing(dump.dump_id, file.path, why, settings, is_named=dump.is_named)
            continue
        hashes = Hashes([kind_of(file.checksum)] if file.checksum else ())
        for piece in pieces_of(file.path):
            hashes.take(piece)
            tally.bytes += len(piece)
            at(tally.bytes)
        tally.files += 1
        how = _how_to_get(dump.dump_id, settings, is_named=dump.is_named)
        for said in _differences(dump, file, hashes.hexdigests(), written.get(file.path.name), how, again):
            yield f"{dump.dump_id}, {file.path}: {said}"


def _differences(
    dump: Dump,
    file: DumpFile,
    sums: dict[str, str],
    written: tuple[int, str] | None,
    how: str,
    again: Callable[[], str],
) -> Iterator[str]:
    """Yield how a file differs from its note, its publisher's list and `dump_files`, and what to type."""
    size, (kind, _, listed), noted = (
        file.path.stat().st_size,
        file.checksum.partition(":"),
        read_note_of(file.path, file.notes),
    )
    agrees, is_other = bool(listed) and sums[kind] == listed, bool(listed) and sums[kind] != listed
    is_read = written == (size, sums["sha256"])
    altered = [one for one, digest in noted.items() if sums.get(one, digest) != digest]
    in_table = "dump_files has {:,} bytes with sha256 {}".format(*written) if written else ""
    if agrees and written and not is_read:
        yield (
            f"published again since tempkb has read it: found {size:,} bytes with the {kind} that its publisher gives "
            f"now; {in_table}. What is built from it stays as it is. To build that again from the new file: {again()}. "
            f"{_or_forget(dump.dump_id)}"
        )
    elif (agrees or is_read) and (is_other or file.size not in (None, size)):
        gives = ", ".join(map(str, filter(None, (file.checksum, file.size))))
        yield (
            f"is {'as tempkb has read it' if is_read else 'whole'}, with {size} bytes, but its publisher's list beside "
            f"it gives {gives}: the list was altered, or the file was published again. Keep the file, and get the list "
            f"again. {how}"
        )
    elif file.size is not None and size < file.size:
        yield f"has {size:,} of {file.size:,} bytes. If it is still arriving, wait; else get the rest. {how}"
    elif not agrees and (is_other or altered or (written and not is_read)):
        expected = f"its publisher gives {file.checksum}" if is_other else in_table
        if altered and not is_other:
            expected = f"expected {noted[altered[0]]}, which was noted when the file was first read"
        away = f"Move it away: mv {shlex.quote(str(file.path))} {shlex.quote(f'{file.path}.damaged')}. "
        found = sums[kind if is_other else altered[0] if altered else "sha256"]
        yield f"found {size:,} bytes with {found}; {expected}. {'' if dump.is_named else away}{how}"


def _missing(dump_id: str, path: Path, why: str, settings: Settings, *, is_named: bool = False) -> str:
    how = _how_to_get(dump_id, settings, is_named=is_named)
    return f"{dump_id}, {path}: the file is missing, though {why}. {how}. {_or_forget(dump_id)}"


def _how_to_get(dump_id: str, settings: Settings, *, is_named: bool) -> str:
    """Return what to do to get a good file of a dump."""
    if is_named:
        return "Get the file again from its source and name its path: tempkb build --dump FILE"
    mirror, wiki = settings.mirror or "https://dumps.wikimedia.org", dump_id.rpartition("-")[0]
    lacking = {
        "MIRROR": "" if settings.mirror else mirror,
        "CONTACT": "" if settings.contact or "://" not in mirror else "me@example.org",
        # A dump of Wikidata's entities goes with any wiki.
        "WIKI": "" if settings.wiki or wiki == WIKIDATA else wiki,
    }
    command = "".join(f"TEMPKB_{name}={value} " for name, value in lacking.items() if value) + "tempkb fetch"
    if settings.mirror:
        return f"If something is still to be built from {dump_id}, fetch it again from the mirror {mirror}: {command}"
    return (
        "No mirror is set, so copy a good file there by hand or, if something is still to be built from it, fetch it: "
        f"{command}"
    )


def _or_forget(dump_id: str) -> str:
    return f"If nothing more is to be built from it: tempkb rm --dump {dump_id}"


_REMOVED = "_removed"


def superfluous(dumps: Sequence[Dump], keep: int, needed: Collection[str]) -> list[Dump]:
    """Return the dumps that may be removed, oldest first.

    Args:
        dumps: those of the home's wiki and of Wikidata; named and incomplete ones are always kept.
        keep: how many of the newest are kept, counted separately for the wiki's pages and for Wikidata's entities;
            0 keeps all.
        needed: ids of dumps that are kept whatever their age: a window or the assets of Wikidata are still to be
            built from them.
    """
    if not keep:
        return []
    complete = [dump for dump in dumps if not dump.is_named and not dump.flaws]
    gone = []
    for of_entities in (False, True):
        family = sorted((one for one in complete if bool(one.entities) == of_entities), key=lambda one: one.horizon)
        gone += [dump for dump in family[:-keep] if dump.dump_id not in needed]
    return gone


def remove_dump(root: Path, dump: Dump) -> int:
    """Remove the folders of a dump below `root`, with any partial downloads, and return their size in bytes.

    For a named dump only the note of its paths is removed; its files stay.
    A folder is first moved out of the catalogue's sight in one step, so that a removal that is killed leaves nothing
    that could be taken for a dump.
    """
    bin_folder, folders = own(root, root / _REMOVED), folders_of(root, dump)
    for file in dump.files:
        forget_sums(file.path, root / NOTES)
    if dump.is_named:
        own(root, root / "named" / f"{dump.dump_id}.json").unlink(missing_ok=True)
        return 0
    freed = 0
    for folder in folders:
        if folder.is_dir():
            freed += sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
            bin_folder.mkdir(exist_ok=True)
            folder.rename(bin_folder / uuid.uuid4().hex)
            _remove_empty(root, folder.parent)
    empty_bin(root)
    return freed


def folders_of(root: Path, dump: Dump) -> list[Path]:
    """Return the folders in which files of a dump may lie, or arrive; raise a LinkError where one is behind a link."""
    return [own(root, base / place) for place in _places_of(dump) for base in (root, root / ARRIVING)]


def empty_bin(root: Path) -> None:
    """Delete the folders that removals have moved aside, including those of a removal that was killed."""
    remove_tree(root, root / _REMOVED, may_fail=True)


def _places_of(dump: Dump) -> list[str]:
    """Return the places of a dump in all layouts, each a folder that holds nothing else."""
    if dump.date is None or dump.is_named:
        return []
    day = f"{dump.date:%Y%m%d}"
    of_entities = [f"{WIKIDATA}/entities/{day}"] if dump.wiki == WIKIDATA else []
    return [f"{dump.wiki}/{day}", f"{CONTENT_HISTORY}/{dump.wiki}/{dump.date}", *of_entities]


def _remove_empty(root: Path, folder: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
