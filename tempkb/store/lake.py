"""The lake: immutable version folders and one pointer file per partition.

    lake/<table>/<partition>/CURRENT              the pointer: current version, files, side files, sha256, rows
    lake/<table>/<partition>/<version>/part-*.parquet
    lake/<table>/<partition>/<version>/exclusions.jsonl, manifest.jsonl
    lake/_staging/<run>/...                       drafts; a lock file shows whether their run is alive
    lake/_damaged/<table>/<partition>/...         damaged versions that were set aside; nothing reads them
    lake/_notes/held/<table>/<partition>          a copy of the pointer, deleted only when the partition is removed

`<version>` is a hash of the content, so writing equal rows again changes
nothing. Only `CURRENT` is ever replaced, by `os.replace`: a partition is complete
or absent at every instant, for any number of writers and readers. Readers ask
the lake for explicit lists of files and never glob.

A partition whose pointer or files were changed since they were written counts as
absent: sizes are compared whenever it is looked up, checksums before its files are
read. So does a partition whose pointer is missing though its copy exists: nobody
removed it on purpose. The pointer is then written again from the copy if all
files of that version are good.
"""

import contextlib
import hashlib
import itertools
import json
import os
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from tempkb.errors import ContractError, StoredDamageError
from tempkb.record import digest_of
from tempkb.store.damage import (
    HELD,
    LOST,
    MARK,
    NOTES,
    OWED,
    POINTER,
    Fault,
    Mended,
    carry_sum,
    note_path,
    read_note,
    refuse,
    replace_whole,
    size_fault,
    sum_fault,
    sum_of,
    write_note,
)
from tempkb.store.locks import LockTimeoutError, Patience, is_same, locked, try_lock
from tempkb.store.memory import has_columns_of
from tempkb.store.owned import links_in, own, own_tree, real_folders, remove_tree
from tempkb.store.tables import Table

_MOMENT = 60.0  # seconds
DAY = 86_400.0  # seconds
_LOOK = 2.0  # seconds for which another process may hold a folder of drafts to check whether its run is alive
RESUMABLE = "resumable-"
_SLUG = re.compile(r"[a-z0-9_][a-z0-9._-]*")
_DAMAGED = "_damaged"
_WHY = "why.json"
# Added to the name of a version whose deletion begins, so that a kill leaves no half version; it needs no room.
_GONE = ".gone"
_VERSION = re.compile(r"[0-9a-f]{16}(\.gone)?")
_FILE = re.compile(r"part-\d+\.parquet|[a-z]+(-[0-9a-f]{8})?\.jsonl")


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a version: its name in the version folder, size, checksum and rows."""

    name: str
    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True)
class SideFile:
    """The rows of a side table, `exclusions` or `manifest`, that belong to a version."""

    table: str
    name: str
    sha256: str
    bytes: int


# Whether versions with the first fingerprint fit the declaration with the second one.
_FITS: dict[tuple[str, str], bool] = {}


@dataclass(frozen=True)
class Version:
    """The version of a partition that `CURRENT` names."""

    table: str
    partition: str
    version: str
    rows: int
    schema: str
    files: tuple[DataFile, ...]
    folder: Path
    sides: tuple[SideFile, ...] = ()
    record: str = ""
    """Digest of the home's record under which it was written; empty if there was none, or in earlier versions."""

    def paths(self) -> list[Path]:
        """Return the absolute paths of the data files, in key order, for reading; verifies their checksums first.

        Raises:
            StoredDamageError: a file was changed since it was written; the partition counts as absent from now on.
        """
        for file in self.files:
            if fault := sum_fault(self.folder / file.name, file.bytes, file.sha256):
                raise refuse(self.folder, self.fault(file.name, *fault))
        return self.places()

    def places(self) -> list[Path]:
        """Return the absolute paths of the data files, in key order, without verifying them."""
        return [self.folder / file.name for file in self.files]

    def fits(self, table: Table) -> bool:
        """Does the version have the columns of a declaration, in name, type and order? Meanings may differ.

        Raises:
            StoredDamageError: the file that shows it was changed since it was written.
        """
        if self.schema == table.fingerprint:
            return True
        # Versions with equal fingerprints have equal columns, so one file is read for all of them.
        known = self.schema, table.fingerprint
        if known not in _FITS:
            file = self.files[0]
            if fault := sum_fault(self.folder / file.name, file.bytes, file.sha256):
                raise refuse(self.folder, self.fault(file.name, *fault))
            _FITS[known] = has_columns_of(self.folder / file.name, table)
        return _FITS[known]

    def side_rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of the side file `exclusions` or `manifest`, in the order of the table's columns.

        Raises:
            StoredDamageError: the file was changed since it was written; the partition counts as absent from now on.
        """
        # The name of a version's folder depends on the content of its manifest, which so cannot contain the name.
        return [row | ({"version": self.version} if "version" in row else {}) for row in self._side_rows(name)]

    def n_bytes(self) -> int:
        """Return the size of all files, side files included."""
        return sum(file.bytes for file in self.files) + sum(side.bytes for side in self.sides)

    def sum_of_sides(self) -> str:
        """Return a hash of exclusions and manifest, which may differ for equal rows."""
        checksums = sorted((side.table, side.sha256) for side in self.sides)
        return hashlib.sha256(json.dumps(checksums).encode()).hexdigest()[:16]

    def fault(self, file: str, found: str, expected: str) -> Fault:
        """Return a fault of one of the files."""
        return Fault(self.table, self.partition, file, found, expected, self.version)

    def first_fault(self, *, sums: bool, anew: bool = False) -> Fault | None:
        """Return the fault of the first changed file; None if all files are as they were written.

        Args:
            sums: compare checksums of data files as well; those of side files are always compared.
            anew: also read files whose checksums this process already knows.
        """
        for file in self.files:
            path = self.folder / file.name
            found = sum_fault(path, file.bytes, file.sha256, anew=anew) if sums else size_fault(path, file.bytes)
            if found:
                return self.fault(file.name, *found)
        for side in self.sides:
            if found := sum_fault(self.folder / side.name, side.bytes, side.sha256, anew=anew):
                return self.fault(side.name, *found)
        return None

    def size_fault(self) -> Fault | None:
        """Return the fault of the first file whose size is not the noted one; None if all sizes are right."""
        folder = str(self.folder)
        sizes = [(file.name, file.bytes) for file in self.files]
        for name, size in (*sizes, *((side.name, side.bytes) for side in self.sides)):
            if found := size_fault(f"{folder}/{name}", size):
                return self.fault(name, *found)
        return None

    def _side_rows(self, table: str) -> list[dict[str, Any]]:
        named = [side.name for side in self.sides if side.table == table]
        rows: list[dict[str, Any]] = []
        for name in named:
            try:
                with (self.folder / name).open(encoding="utf-8") as lines:
                    found = [json.loads(line) for line in lines]
            except (ValueError, FileNotFoundError) as error:
                raise refuse(self.folder, self.fault(name, str(error), "one JSON object a line")) from None
            rows += found
        return rows


@dataclass
class Resumable:
    """A folder of drafts that is kept if its run fails.

    Attributes:
        is_finished: set once nothing in it is needed any more.
    """

    folder: Path
    is_finished: bool = False


class Lake:
    """All partitions below one folder.

    Args:
        root: the home's `lake` folder; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._swap_lock = self.root / ".swap"
        # The version of each pointer when it was last read, and the pointer's bytes.
        self._pointers: dict[tuple[str, str], tuple[bytes, Version]] = {}
        self._seen: dict[tuple[str, str], tuple[Version | None, Fault | None]] | None = None

    @contextlib.contextmanager
    def one_look(self) -> Iterator[None]:
        """Examine each partition once inside the block, which only reads, so that the parts of a screen agree."""
        self._seen = {}
        try:
            yield
        finally:
            self._seen = None

    def current(self, table: str, partition: str) -> Version | None:
        """Return the current version; None if the partition was never built, was removed, or is damaged."""
        version, fault = self.examine(table, partition)
        return version if fault is None else None

    def pointed_at(self, table: str, partition: str) -> int | None:
        """Return when a partition was written last, in nanoseconds since 1970; None if it is not there.

        Unlike the version it is another one for a partition that was removed and built again with equal rows.
        """
        try:
            return (self._folder(table, partition) / POINTER).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def examine(self, table: str, partition: str) -> tuple[Version | None, Fault | None]:
        """Return the version that a partition's pointer names, as far as it can be read, and its fault, if any.

        Compares the pointer's own checksum and the sizes of all files, and reads the notes of damage. A pointer
        that is missing though nobody removed the partition is a fault, too.
        """
        if self._seen is None:
            return self._examine(table, partition)
        if (table, partition) not in self._seen:
            self._seen[table, partition] = self._examine(table, partition)
        return self._seen[table, partition]

    def _examine(self, table: str, partition: str) -> tuple[Version | None, Fault | None]:
        folder = self._folder(table, partition)
        while True:
            try:
                written = (folder / POINTER).read_bytes()
            except FileNotFoundError:
                held = self._held(table, partition)
                if held is not None and (folder / POINTER).exists():
                    # It was removed and built again in the meantime.
                    continue
                return None, held
            known, version = self._pointers.get((table, partition), (b"", None))
            fault = None
            if known != written or version is None:
                version, fault = _read_pointer(written, table, partition, folder)
                if version is not None:
                    self._pointers[table, partition] = written, version
            if version is not None:
                marked = read_note(note_path(self.root, MARK, table, partition))
                if marked is not None and marked.version in ("", version.version):
                    fault = marked
                else:
                    fault = version.size_fault()
            if fault is None or _is_still(folder / POINTER, written):
                return version, fault
            # It was replaced in the meantime, and the version that it named may be deleted.

    def faults(self, table: str) -> list[Fault]:
        """Return the faults of a table's damaged partitions in pointers, sizes and side files, sorted by key."""
        found = []
        for key in self.keys(table):
            version, fault = self.examine(table, key)
            if fault is None and version is not None:
                fault = version.first_fault(sums=False)
            if fault is not None:
                found.append(fault)
        return found

    def lost(self, table: str) -> list[str]:
        """Return the keys of partitions that were found damaged and are not completely built again yet, sorted."""
        noted = {
            path.name
            for kind in (LOST, MARK)
            for path in (self.root / NOTES / kind / table).glob("*")
            if not path.name.endswith(".draft")
        }
        owed = {path.parent.name for path in (self.root / NOTES / OWED / table).glob("*/*")}
        unpointed = {key for key in self._held_keys(table) if not (self.root / table / key / POINTER).exists()}
        gone = {key for key in unpointed if self.examine(table, key)[1] is not None}
        return sorted(owed | gone | {key for key in noted if self.current(table, key) is None})

    def owe(self, table: str, partition: str, keys: Iterable[str]) -> None:
        """Note what must be added to a lost partition; it counts as lost until all of this is settled.

        Args:
            keys: slugs of the builds that filled it, such as windows.
        """
        folder = self._note(OWED, table, partition)
        folder.mkdir(parents=True, exist_ok=True)
        for key in keys:
            (folder / key).touch()
        _sync(folder)

    def owed(self, table: str, partition: str) -> set[str]:
        """Return what must still be added to a lost partition; see `owe`."""
        return {path.name for path in note_path(self.root, OWED, table, partition).glob("*")}

    def settle(self, table: str, partition: str, keys: Iterable[str]) -> None:
        """Remove the notes of `owe` for what was added."""
        for key in keys:
            (self._note(OWED, table, partition) / key).unlink(missing_ok=True)

    def lost_version(self, table: str, partition: str) -> str:
        """Return the version that a lost partition had; empty if its pointer could not be read."""
        noted = [read_note(note_path(self.root, kind, table, partition)) for kind in (LOST, MARK)]
        noted.append(self._held(table, partition))
        return next((note.version for note in noted if note is not None), "")

    def keys(self, table: str) -> list[str]:
        """Return the keys of partitions that have a pointer, damaged or not, or have lost it; sorted."""
        folder = self.root / table
        names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - thousands of names, and only these
        there = {name for name in names if os.path.exists(f"{folder}/{name}/{POINTER}")}  # noqa: PTH110 - see above
        return sorted(there | self._held_keys(table))

    def partitions(self, table: str) -> list[str]:
        """Return the keys of all built partitions, sorted."""
        return [key for key in self.keys(table) if self.current(table, key) is not None]

    def versions(self, table: str, partitions: Sequence[str] | None = None) -> list[Version]:
        """Return the current versions of `partitions` (default: all built ones), sorted by key."""
        keys = self.keys(table) if partitions is None else sorted(partitions)
        return [version for key in keys if (version := self.current(table, key)) is not None]

    def files(self, table: str, partitions: Sequence[str] | None = None) -> list[Path]:
        """Return the data files of `partitions` (default: all), for a reader to open by name."""
        return [path for version in self.versions(table, partitions) for path in version.paths()]

    def remove(self, table: str, partition: str) -> None:
        """Forget a partition and the notes of damage to it; its files are kept until `collect_garbage`."""
        with locked(self._swap_lock):
            # The copy first: a pointer without a copy is valid, a copy without a pointer would restore the partition.
            self._forget_note(HELD, table, partition)
            (self.own_folder(table, partition) / POINTER).unlink(missing_ok=True)
        self._forget_note(MARK, table, partition)
        self._forget_note(LOST, table, partition)
        self.settle(table, partition, self.owed(table, partition))

    def lose_again(self, table: str, partition: str, version: str) -> None:
        """Forget a partition that was built in place of one that was lost to damage; that one counts as lost again."""
        with locked(self._swap_lock):
            fault = Fault(table, partition, POINTER, "no version", f"version {version or 'unknown'}", version)
            write_note(self._note(LOST, table, partition), fault)
            self._forget_note(MARK, table, partition)
            self._forget_note(HELD, table, partition)
            (self.own_folder(table, partition) / POINTER).unlink(missing_ok=True)

    def mend(self, fault: Fault) -> Mended | None:
        """Write a lost or damaged pointer again, or set a damaged partition aside, so that it is built again.

        No file is deleted.

        Returns:
            what was done; None if the partition was replaced or repaired in the meantime.
        """
        with locked(self._swap_lock):
            version, found = self.examine(fault.table, fault.partition)
            if version is not None and found is None:
                found = version.first_fault(sums=True)
            if found is None:
                return None
            is_pointed = version is None and self._point_again(fault.table, fault.partition)
            if not is_pointed:
                self._set_aside(found, version)
            return Mended(found, is_pointed)

    def _point_again(self, table: str, partition: str) -> bool:
        """Make the version in the pointer's copy current, if the checksums of all its files are right."""
        version = self._held_version(table, partition)
        if version is None or version.first_fault(sums=True) is not None:
            return False
        self._point_to(version)
        return True

    def _set_aside(self, fault: Fault, version: Version | None) -> None:
        """Move a damaged version aside or, if it is unknown which one was current, all versions."""
        folder = self.own_folder(fault.table, fault.partition)
        moved = filter(_is_version, real_folders(folder)) if version is None else [own(self.root, version.folder)]
        write_note(self._note(LOST, fault.table, fault.partition), fault)
        there = [path for path in (folder / POINTER, *moved) if path.exists()]
        if there:
            target = self._make_place_aside(fault, version.version if version is not None else "unknown")
            for path in there:
                path.rename(target / path.name)
        self._forget_note(MARK, fault.table, fault.partition)
        # Last: if we are killed before, the copy keeps the files without a pointer from the garbage collector.
        self._forget_note(HELD, fault.table, fault.partition)

    def keep_pointers(self, table: str) -> None:
        """Copy the pointers of partitions without a copy, which a kill left behind."""
        copied = self._held_keys(table)
        if all(key in copied for key in self.keys(table)):
            return
        with locked(self._swap_lock):
            for key in self.keys(table):
                if key not in copied and self.examine(table, key)[1] is None:
                    self._copy_pointer(table, key)

    def _copy_pointer(self, table: str, partition: str) -> None:
        written = (self._folder(table, partition) / POINTER).read_bytes()
        replace_whole(self._note(HELD, table, partition), written)

    def _held_keys(self, table: str) -> set[str]:
        """Return the keys of partitions that have a copy of their pointer, so were built and not removed."""
        folder = self.root / NOTES / HELD / table
        names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - thousands of names, and only these
        return {name for name in names if is_slug(name) and not name.endswith(".draft")}

    def _held(self, table: str, partition: str) -> Fault | None:
        """Return the fault of a partition without a pointer; None if it was never built, or was removed."""
        path = note_path(self.root, HELD, table, partition)
        if not path.exists():
            return None
        version = self._held_version(table, partition)
        name = version.version if version is not None else ""
        return Fault(table, partition, POINTER, "no such file", f"the pointer to version {name or 'unknown'}", name)

    def _held_version(self, table: str, partition: str) -> Version | None:
        """Return the version in the copy of a pointer, if it can be read."""
        try:
            written = note_path(self.root, HELD, table, partition).read_bytes()
        except FileNotFoundError:
            return None
        return _read_pointer(written, table, partition, self._folder(table, partition))[0]

    def _make_place_aside(self, fault: Fault, name: str) -> Path:
        """Make a folder for damaged files, with a note of the reason."""
        place = own(self.root, self.root / _DAMAGED / fault.table / fault.partition)
        place.mkdir(parents=True, exist_ok=True)
        target = next(path for n in itertools.count(1) if not (path := place / f"{name}-{n}").exists())
        target.mkdir()
        write_note(target / _WHY, fault)
        return target

    def confirm(self, version: Version) -> None:
        """Remove the notes of damage to a version whose files were found good."""
        if read_note(note_path(self.root, MARK, version.table, version.partition)) is not None:
            self._forget_note(MARK, version.table, version.partition)

    def set_aside_folders(self) -> list[Path]:
        """Return the folders of damaged files that were set aside, sorted by table and partition."""
        return sorted((self.root / _DAMAGED).glob("*/*/*"))

    @contextlib.contextmanager
    def partition_lock(self, table: str, partition: str, work: str = "") -> Iterator[None]:
        """Hold the lock of a partition for a read-modify-write, or for some work that ends with one."""
        with locked(self.own_folder(table, partition) / f".{work or 'lock'}"):
            yield

    @contextlib.contextmanager
    def staging(self, run: str | None = None) -> Iterator[Path]:
        """Give a folder for drafts that is deleted at the end, or by the garbage collector if we are killed."""
        folder = own(self.root, self.root / "_staging" / (run or uuid.uuid4().hex))
        with _hold(folder, "the same"):
            try:
                yield folder
            finally:
                remove_tree(self.root, folder, ".alive", may_fail=True)

    @contextlib.contextmanager
    def resumable(self, run: str, what: str = "the same") -> Iterator["Resumable"]:
        """Give a folder for drafts with which a later run of the same name continues, unless this run finishes.

        Args:
            run: slug that names everything on which the drafts depend.

        Raises:
            LockTimeoutError: another process uses it.
        """
        folder = own_tree(self.root, self.root / "_staging" / run)
        with _hold(folder, what):
            drafts = Resumable(folder)
            yield drafts
            if drafts.is_finished:
                remove_tree(self.root, folder, ".alive", may_fail=True)

    def unfinished(self) -> list[Path]:
        """Return the folders of runs that ended without finishing; a run of the same name continues with them."""
        return [
            folder for folder in self._staging_folders() if folder.name.startswith(RESUMABLE) and not _is_alive(folder)
        ]

    def swap(
        self, table: Table, partition: str, draft: Path, files: Sequence[DataFile], sides: Sequence[Path]
    ) -> Version:
        """Make a finished draft folder the current version of a partition.

        Args:
            draft: folder with the data files and side files, on the lake's file system.
            files: the data files in key order.
            sides: side files whose content is part of the version's identity.
        """
        name = _content_hash(table, files, sides)
        described = tuple(_describe_side(path) for path in sorted(draft.glob("*.jsonl")))
        folder = own(self.root, self._folder(table.name, partition) / name).parent
        folder.mkdir(parents=True, exist_ok=True)
        for path in [*draft.iterdir(), draft]:
            _sync(path)
        rows = sum(file.rows for file in files)
        record = digest_of(self.root.parent)
        version = Version(
            table.name, partition, name, rows, table.fingerprint, tuple(files), folder / name, described, record
        )
        # The lock protects a folder that is in place but not yet pointed to from the garbage collector.
        with locked(self._swap_lock):
            current, fault = self.examine(table.name, partition)
            # A version without a pointer need not be moved for another one.
            if fault is not None and (folder / POINTER).exists():
                self._set_aside(fault, current)
            version = self._move_into_place(draft, version)
            self._point_to(version)
        return version

    def restore(self, version: Version) -> None:
        """Make an earlier version of a partition, whose files still exist, the current one again.

        Raises:
            StoredDamageError: the files are missing, or were changed since they were written.
        """
        with locked(self._swap_lock):
            fault = version.first_fault(sums=True)
            if fault is not None:
                raise StoredDamageError(f"{fault}. The earlier version cannot be restored; build it again")
            self._point_to(version)

    def collect_garbage(self, keep: set[tuple[str, str, str]], seconds: float = DAY) -> tuple[list[Path], int]:
        """Delete versions that were replaced some time ago and are not in `keep`, and drafts of dead runs.

        Args:
            keep: (table, partition, version) that DuckDB still shows.
            seconds: since the last change of a partition.

        Returns:
            the folders that were deleted, and how many stay because it is not so long ago.
        """
        kept: dict[tuple[str, str], set[str]] = {}
        for name, key, version in keep:
            kept.setdefault((name, key), set()).add(version)
        removed, n_young = [folder for folder in self._staging_folders() if _remove_dead(folder)], 0
        for partition in self._partition_folders():
            with locked(self._swap_lock):
                shown = kept.get((partition.parent.name, partition.name), set())
                old = self._old_versions(partition.parent.name, partition, shown)
                # Whoever has opened a DuckDB file before the last change here may use what it replaced or removed.
                if time.time() - partition.stat().st_mtime < seconds:
                    n_young += len(old)
                    continue
                # Backwards, so that what a killed deletion has left gives its name free.
                for folder in reversed(old):
                    remove_tree(self.root, folder.rename(folder.with_suffix(_GONE)))
                removed += old
        return removed, n_young

    def strangers(self) -> list[Path]:
        """Return what lies among drafts or versions and is not tempkb's by name and content, and all links; sorted."""
        versions = (folder for partition in self._partition_folders() for folder in real_folders(partition))
        drafts = (one for one in self._staging_folders() if not (one / ".alive").exists() and any(one.glob("*")))
        return sorted([*links_in(self.root), *drafts, *(one for one in versions if not _is_version(one))])

    def _old_versions(self, table: str, partition: Path, shown: set[str]) -> list[Path]:
        current, fault = self.examine(table, partition.name)
        if fault is not None:
            # It is unknown which version may be deleted, or it is all that is left of a partition that was not removed.
            return []
        kept = shown | ({current.version} if current is not None else set())
        if current is not None and not current.folder.is_symlink():
            _remove_old_sides(current)
        return [path for path in real_folders(partition) if path.name not in kept and _is_version(path)]

    def _partition_folders(self) -> list[Path]:
        tables = [path for path in real_folders(self.root) if is_slug(path.name) and not path.name.startswith("_")]
        return [path for table in tables for path in real_folders(table) if is_slug(path.name)]

    def _staging_folders(self) -> list[Path]:
        folder = self.root / "_staging"
        return [] if folder.is_symlink() else real_folders(folder)

    def _move_into_place(self, draft: Path, version: Version) -> Version:
        """Rename a draft to its version folder; return the version to which the pointer must point.

        If equal content exists there already, only the draft's manifest is needed, which is put beside the existing
        one. If the existing files are damaged, they are set aside and the draft takes their place.
        """
        folder = version.folder
        if folder.is_dir():
            fault = replace(version, sides=()).first_fault(sums=True)
            if fault is None:
                version = replace(version, sides=tuple(_adopt_side(draft, folder, side) for side in version.sides))
                remove_tree(self.root, draft)
                return version
            # Left by a process that was killed while deleting it, or damaged since it was written.
            folder.rename(self._make_place_aside(fault, folder.name) / folder.name)
        draft.rename(folder)
        for name in (*(file.name for file in version.files), *(side.name for side in version.sides)):
            carry_sum(draft / name, folder / name)
        return version

    def _point_to(self, version: Version) -> None:
        """Make a version the current one, under the swap lock, and remove the notes of damage."""
        own(self.root, version.folder)
        # Before the pointer moves: an equal version may have been damaged, and be good again.
        self._forget_note(MARK, version.table, version.partition)
        if (version.folder.parent / POINTER).exists():
            # A process that is killed in between leaves no copy rather than an old one, which must never count again.
            self._forget_note(HELD, version.table, version.partition)
        _replace_pointer(version)
        self._copy_pointer(version.table, version.partition)
        self._forget_note(LOST, version.table, version.partition)

    def _forget_note(self, kind: str, table: str, partition: str) -> None:
        self._note(kind, table, partition).unlink(missing_ok=True)

    def _note(self, kind: str, table: str, partition: str) -> Path:
        """Return the path of a note for writing or deleting it."""
        return own(self.root, note_path(self.root, kind, table, partition))

    def own_folder(self, table: str, partition: str) -> Path:
        """Return the folder of a partition for a change in it; raise a LinkError if it, or its table's, is a link."""
        return own(self.root, self._folder(table, partition))

    def _folder(self, table: str, partition: str) -> Path:
        for slug in (table, partition):
            if not is_slug(slug):
                raise ContractError(f"{slug!r} cannot name a table or partition; allowed: a-z, 0-9, '.', '_' and '-'")
        # Joined at once: status asks for each partition several times, where every join of paths is felt.
        return self.root.joinpath(table, partition)


def is_slug(name: str) -> bool:
    """Return whether a table or a partition, and so whatever people name, may have this name."""
    return _SLUG.fullmatch(name) is not None


def describe_file(path: Path, rows: int) -> DataFile:
    """Return name, size, checksum and rows of a Parquet file that was written."""
    return DataFile(path.name, sum_of(path), path.stat().st_size, rows)


def write_side_file(folder: Path, table: Table, rows: Sequence[dict[str, Any]]) -> Path:
    """Write the rows of a side table beside a version's data, one JSON object per line, and return the path.

    Without rows there is no file.
    """
    path = folder / f"{table.name}.jsonl"
    ordered = ({name: row[name] for name in table.column_names()} for row in rows)
    if rows:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered), "utf-8")
    return path


def _content_hash(table: Table, files: Sequence[DataFile], sides: Sequence[Path]) -> str:
    parts: list[Any] = [str(table.schema), *(file.sha256 for file in files)]
    parts += [hashlib.sha256(side.read_bytes()).hexdigest() if side.exists() else "" for side in sides]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _describe_side(path: Path) -> SideFile:
    return SideFile(path.stem, path.name, sum_of(path), path.stat().st_size)


def _adopt_side(draft: Path, folder: Path, side: SideFile) -> SideFile:
    """Move a side file of a draft into the folder of an equal version, under a name that no other content has.

    The existing file is kept: until the pointer has moved, it is the valid one.
    """
    held = folder / side.name
    if held.is_file() and sum_of(held, anew=True) == side.sha256:
        return side
    if held.exists():
        side = replace(side, name=f"{side.table}-{side.sha256[:8]}.jsonl")
    (draft / f"{side.table}.jsonl").replace(folder / side.name)
    _sync(folder)
    return side


def _remove_old_sides(version: Version) -> None:
    """Remove manifests of earlier writings of equal rows."""
    named = {side.name for side in version.sides}
    for path in version.folder.glob("*.jsonl"):
        if path.name not in named and _FILE.fullmatch(path.name):
            path.unlink()


def _replace_pointer(version: Version) -> None:
    content: dict[str, Any] = {
        "table": version.table,
        "partition": version.partition,
        "version": version.version,
        "rows": version.rows,
        "schema": version.schema,
        "files": [asdict(file) for file in version.files],
        "sides": [asdict(side) for side in version.sides],
        "record": version.record,
    }
    body = json.dumps(content, indent=1).encode()
    folder = version.folder.parent
    pointer = folder / f"{POINTER}.draft"
    pointer.unlink(missing_ok=True)
    pointer.write_bytes(body.removesuffix(b"\n}") + _last_line(body))
    _sync(pointer)
    pointer.replace(folder / POINTER)
    _sync(folder)


def _last_line(body: bytes) -> bytes:
    """Return the last line of a pointer, with the checksum of the pointer without this line."""
    return b',\n "sum": "' + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'


_LAST_LINE_BYTES = len(_last_line(b""))


def _read_pointer(written: bytes, table: str, partition: str, folder: Path) -> tuple[Version | None, Fault | None]:
    """Read a pointer, and compare it with the checksum at its end."""

    def bad(found: str) -> tuple[None, Fault]:
        return None, Fault(table, partition, POINTER, found, "what tempkb has written there")

    try:
        content = json.loads(written)
    except ValueError:
        return bad("an empty file" if not written.strip() else "invalid JSON")
    body, line = written[:-_LAST_LINE_BYTES] + b"\n}", written[-_LAST_LINE_BYTES:]
    if line != _last_line(body):
        return bad(f"{len(written):,} bytes that do not match their checksum")
    try:
        files = tuple(DataFile(**file) for file in content["files"])
        sides = tuple(SideFile(**side) for side in content["sides"])
        version = Version(
            table,
            partition,
            content["version"],
            content["rows"],
            content["schema"],
            files,
            folder / content["version"],
            sides,
            content.get("record", ""),
        )
    except (TypeError, KeyError, AttributeError):
        return bad("JSON of another shape")
    if (content.get("table"), content.get("partition")) != (table, partition):
        return bad(f"the pointer of {content.get('table')} {content.get('partition')}")
    names = [version.version, *(file.name for file in files), *(side.name for side in sides)]
    for name in names:
        if not isinstance(name, str) or not _SLUG.fullmatch(name):
            return bad(f"the file name {name!r}")
    numbers = [version.rows, *(number for file in files for number in (file.bytes, file.rows))]
    if not all(isinstance(number, int) for number in [*numbers, *(side.bytes for side in sides)]):
        return bad("JSON of another shape")
    return version, None


def _is_still(pointer: Path, written: bytes) -> bool:
    """Does a pointer still have the content that was just read?"""
    try:
        return pointer.read_bytes() == written
    except FileNotFoundError:
        return False


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_version(folder: Path) -> bool:
    """Is a folder one of a version by its name and by what is in it?"""
    return _VERSION.fullmatch(folder.name) is not None and all(
        _FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink() for path in folder.iterdir()
    )


def _is_alive(folder: Path) -> bool:
    try:
        with (folder / ".alive").open("r+") as handle:
            return not try_lock(handle.fileno())
    except FileNotFoundError:
        # Just made and not yet locked, or left without its lock file long ago.
        return time.time() - folder.stat().st_mtime < _MOMENT


def _remove_dead(folder: Path) -> bool:
    """Delete the drafts of a dead run under its lock, so that no other run continues with them meanwhile."""
    try:
        with (folder / ".alive").open("r+") as handle:
            if not try_lock(handle.fileno()):
                return False
            remove_tree(folder.parent, folder, ".alive")
            return True
    except FileNotFoundError:
        if _is_alive(folder) or any(folder.iterdir()):
            return False
        remove_tree(folder.parent, folder)
        return True


def _hold(folder: Path, what: str) -> TextIO:
    """Hold a folder of drafts, made if it is missing, until the returned file is closed.

    Raises:
        LockTimeoutError: another process holds it for longer than a check takes.
    """
    patience = Patience(_LOOK)
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            alive = (folder / ".alive").open("a")
        except FileNotFoundError:
            continue
        while not try_lock(alive.fileno()):
            if not patience.wait():
                alive.close()
                raise LockTimeoutError(
                    f"another program builds {what} in this home now (staging folder {folder.name}). Wait until it has "
                    "finished, then type the same command again; what is built then is kept"
                )
        # The garbage collector may have deleted the folder while we waited for it.
        if is_same(folder / ".alive", alive):
            return alive
        alive.close()
