"""The lake: immutable version folders that describe themselves, and one checked word per partition.

    lake/<table>/<partition>/<version>/part-*.parquet, version.json   written once; version.json last, with its own sum
    lake/<table>/<partition>/CURRENT                                  the version's name, or `-` if it was removed
    lake/_staging/<run>/...                                           drafts; a lock file shows whether their run lives

`<version>` is a hash of the content, so writing equal rows again changes nothing. Only `CURRENT` and `version.json` are
ever replaced: a partition is complete or absent at every instant, for any number of writers and readers.

What `CURRENT` names and is not whole is *lost*: it counts as absent, is named, and is made again like anything else
that is not there. Sizes are compared whenever a version is looked up, checksums before its files are read. A `CURRENT`
that is lost itself is found: the newest whole version counts.
"""

import contextlib
import hashlib
import os
import re
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from tempkb.core.errors import ContractError, StoredDamageError
from tempkb.core.files import (
    NO_ROOM,
    LinkError,
    carry_sum,
    links_in,
    own,
    own_tree,
    real_folders,
    remove_tree,
    replace_whole,
    sync,
)
from tempkb.core.locks import LockTimeoutError, Patience, is_same, locked, try_lock
from tempkb.core.record import digest_of
from tempkb.store.versions import DESCRIPTION, PART, SWAP_LOCK, Fault, Version, describe, read_version

POINTER = "CURRENT"
REMOVED = "-"
DAY = 86_400.0  # seconds
_LOOK = 2.0  # seconds for which another process may hold a folder of drafts to check whether its run is alive
RESUMABLE = "resumable-"
_SLUG = re.compile(r"[a-z0-9_][a-z0-9._-]*")
# Added to the name of a version whose deletion begins, so that a kill leaves no half version; it needs no room.
_GONE = ".gone"
_VERSION = re.compile(r"[0-9a-f]{16}(\.gone|\.damaged-[0-9a-f]{8})?")
_FILE = re.compile(rf"{PART.pattern}|{re.escape(DESCRIPTION)}(\.\d+\.draft)?")


@dataclass
class Resumable:
    """A folder of drafts that is kept if its run fails; `is_finished` is set once nothing in it is needed any more."""

    folder: Path
    is_finished: bool = False


class Lake:
    """All partitions below one folder, the home's `lake`, which is made when first written to."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._swap_lock = self.root / SWAP_LOCK
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
        """Return the current version; None if the partition was never built, was removed, or is lost."""
        version, fault = self.examine(table, partition)
        return version if fault is None else None

    def version(self, table: str, partition: str, name: str) -> Version | None:
        """Return a version by its name, current or not; None if it is not there, or not whole."""
        found = read_version(self._folder(table, partition) / name)
        return found if found is not None and _is_whole(found) else None

    def written_at(self, table: str, partition: str) -> int | None:
        """Return when a partition was written last, in nanoseconds since 1970; None if it is not there."""
        folder = self._folder(table, partition)
        place = folder / POINTER if (folder / POINTER).exists() else folder
        return place.stat().st_mtime_ns if _is_built(folder) else None

    def examine(self, table: str, partition: str) -> tuple[Version | None, Fault | None]:
        """Return a partition's version, as far as it is known, and the fault for which it counts as absent, if any."""
        if self._seen is None:
            return self._examine(table, partition)
        if (table, partition) not in self._seen:
            self._seen[table, partition] = self._examine(table, partition)
        return self._seen[table, partition]

    def _examine(self, table: str, partition: str) -> tuple[Version | None, Fault | None]:
        folder = self._folder(table, partition)
        written = _pointer_in(folder)
        name = _named(written)
        if name == REMOVED or (written is None and not _has_versions(folder)):
            return None, None
        version = read_version(folder / name) if name else _newest(folder)
        fault = version.damage or version.fault(sums=False) if version else None
        if version is None:
            file = f"{name}/{DESCRIPTION}" if name else POINTER
            found = "other content" if (folder / file).exists() else "no such file"
            fault = Fault(table, partition, file, found, "what tempkb has written there", name)
        if fault is None or _pointer_in(folder) == written:
            return version, fault
        # It was replaced in the meantime, and the version that it named may be deleted.
        return self._examine(table, partition)

    def pointer_fault(self, table: str, partition: str) -> Fault | None:
        """Return the fault of a pointer that is lost or altered, in whose place the newest whole version counts."""
        written = _pointer_in(self._folder(table, partition))
        version = self.current(table, partition)
        if _named(written) or version is None:
            return None
        found = "no such file" if written is None else f"{len(written):,} bytes that do not match their checksum"
        return Fault(table, partition, POINTER, found, f"the name of a version, such as {version.version}")

    def faults(self, table: str) -> list[Fault]:
        """Return the faults for which partitions of a table count as absent, sorted by key."""
        return [fault for key in self.keys(table) if (fault := self.examine(table, key)[1]) is not None]

    def lost(self, table: str) -> list[str]:
        """Return the keys of partitions that were built and not removed, and are not whole; sorted."""
        return [fault.partition for fault in self.faults(table)]

    def verify(self, table: str, partition: str) -> tuple[Version | None, Fault | None]:
        """Read all files of a partition, and return the same as `examine`; what was repaired by hand counts again."""
        version, fault = self.examine(table, partition)
        if version is None:
            return version, fault
        fault = version.fault(sums=True, anew=True)
        if self.examine(table, partition)[0] != version:
            # It was replaced while it was read.
            return self.verify(table, partition)
        if fault != version.damage:
            version.note_damage()
        return version, fault

    def keys(self, table: str) -> list[str]:
        """Return the keys of partitions that were built, lost ones included; sorted."""
        folder = self.root / table
        names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - thousands of names, and only these
        there = (name for name in names if is_slug(name))
        return sorted(name for name in there if _is_built(folder / name))

    def partitions(self, table: str) -> list[str]:
        """Return the keys of all whole partitions, sorted."""
        return [version.partition for version in self.versions(table)]

    def versions(self, table: str, partitions: Sequence[str] | None = None) -> list[Version]:
        """Return the current versions of `partitions` (default: all whole ones), sorted by key."""
        keys = self.keys(table) if partitions is None else sorted(partitions)
        return [version for key in keys if (version := self.current(table, key)) is not None]

    def files(self, table: str, partitions: Sequence[str] | None = None) -> list[Path]:
        """Return the data files of `partitions` (default: all), for a reader to open by name."""
        return [path for version in self.versions(table, partitions) for path in version.paths()]

    def remove(self, table: str, partition: str) -> None:
        """Forget a partition; its files are kept until `collect_garbage`."""
        with locked(self._swap_lock):
            if not _is_built(folder := self.own_folder(table, partition)):
                return
            try:
                _point(folder, REMOVED)
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                # The old pointer's room is enough for the new one.
                (folder / POINTER).unlink(missing_ok=True)
                _point(folder, REMOVED)

    @contextlib.contextmanager
    def partition_lock(self, table: str, partition: str, work: str = "") -> Iterator[None]:
        """Hold the lock of a partition for a read-modify-write, or for some work that ends with one."""
        with locked(self.own_folder(table, partition) / f".{work or 'lock'}"):
            yield

    @contextlib.contextmanager
    def staging(self, run: str | None = None) -> Iterator[Path]:
        """Give a folder for drafts that is deleted at the end, or by the garbage collector if we are killed."""
        with self.resumable(run or uuid.uuid4().hex) as drafts:
            try:
                yield drafts.folder
            finally:
                drafts.is_finished = True

    @contextlib.contextmanager
    def resumable(self, run: str, what: str = "the same") -> Iterator["Resumable"]:
        """Give a folder for drafts with which a later run of the same name continues, unless this run finishes.

        Args:
            run: slug that names everything on which the drafts depend; a LockTimeoutError if another process uses it.
        """
        folder = own_tree(self.root, self.root / "_staging" / run)
        with _hold(folder, what):
            drafts = Resumable(folder)
            try:
                yield drafts
            finally:
                if drafts.is_finished:
                    remove_tree(self.root, folder, ".alive", may_fail=True)

    def unfinished(self) -> list[Path]:
        """Return the folders of runs that ended without finishing; a run of the same name continues with them."""
        return [one for one in self._staging_folders() if one.name.startswith(RESUMABLE) and not _is_alive(one)]

    def commit(self, version: Version, draft: Path) -> Version:
        """Make a finished draft, a folder with data files on the lake's disk, the current version of a partition."""
        folder = own(self.root, self._folder(version.table, version.partition) / version.version)
        folder.parent.mkdir(parents=True, exist_ok=True)
        for path in [*draft.iterdir(), draft]:
            sync(path)
        # The lock protects a folder that is in place but not yet pointed to from the garbage collector.
        with locked(self._swap_lock):
            record = digest_of(self.root.parent)
            version = replace(version, folder=folder, serial=_next_serial(folder.parent), record=record)
            if not _is_built(folder.parent) and _pointer_in(folder.parent) is None:
                # So that a kill leaves no first version to which nothing points; what is pointed to is made again.
                _point(folder.parent, version.version)
            self._move_into_place(draft, version)
            _point(folder.parent, version.version)
        return version

    def miss(self, table: str, partition: str, version: str) -> None:
        """Point to a version that was there if all is gone of a partition that nobody removed, so that it is lost."""
        with contextlib.suppress(OSError, LinkError), locked(self._swap_lock):
            folder = self.own_folder(table, partition)
            if _pointer_in(folder) is None and not _has_versions(folder):
                _point(folder, version)

    def restore(self, version: Version) -> None:
        """Make an earlier version of a partition the current one again; a StoredDamageError if it is not whole."""
        with locked(self._swap_lock):
            if fault := version.fault(sums=True):
                raise StoredDamageError(f"{fault}. The earlier version cannot be restored; build it again")
            folder = own(self.root, version.folder).parent
            # Whoever finds no pointer goes by the serial.
            describe(replace(version, serial=_next_serial(folder), damage=None))
            _point(folder, version.version)

    def collect_garbage(
        self, keep: set[tuple[str, str, str]], seconds: float = DAY, costly: Collection[str] = ()
    ) -> tuple[list[Path], int]:
        """Delete versions that were replaced some time ago and are not in use, and drafts of dead runs.

        Args:
            keep: (table, partition, version) that are in use.
            seconds: since the last change of a partition.
            costly: tables of which damaged versions stay, too.

        Returns:
            the folders that were deleted, and how many stay because it is not so long ago.
        """
        removed, n_young = [folder for folder in self._staging_folders() if _remove_dead(folder)], 0
        for partition in self._partition_folders():
            with locked(self._swap_lock):
                old = self._old_versions(partition, keep, spares_damaged=partition.parent.name in costly)
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

    def damaged_folders(self, table: str) -> list[Path]:
        """Return the folders of a table's versions that are not whole, sorted."""
        partitions = (one for one in self._partition_folders() if one.parent.name == table)
        return [one for partition in partitions for one in real_folders(partition) if _is_damaged(one)]

    def _old_versions(self, folder: Path, keep: set[tuple[str, str, str]], *, spares_damaged: bool) -> list[Path]:
        """Return the versions of a partition that are not in use; its pointer, if it is lost, is written again."""
        place = folder.parent.name, folder.name
        current, fault = self.examine(*place)
        if fault is not None:
            # It is unknown which version may be deleted, or it is all that is left of a partition that was not removed.
            return []
        if current is not None and self.pointer_fault(*place) is not None:
            _point(own(self.root, folder), current.version)
        old = [path for path in real_folders(folder) if (*place, path.name) not in keep and _is_version(path)]
        old = [path for path in old if current is None or path.name != current.version]
        return [path for path in old if not (spares_damaged and _is_damaged(path))]

    def _partition_folders(self) -> list[Path]:
        tables = [path for path in real_folders(self.root) if is_slug(path.name) and not path.name.startswith("_")]
        return [path for table in tables for path in real_folders(table) if is_slug(path.name)]

    def _staging_folders(self) -> list[Path]:
        folder = self.root / "_staging"
        return [] if folder.is_symlink() else real_folders(folder)

    def _move_into_place(self, draft: Path, version: Version) -> None:
        """Rename a draft to its version folder; if equal content is there, only what is said of it is new."""
        folder = version.folder
        held = read_version(folder)
        if held is not None and held.files == version.files and held.fault(sums=True) is None:
            remove_tree(self.root, draft)
            describe(version)
            return
        describe(replace(version, folder=draft))
        if folder.exists():
            # Left by a process that was killed while deleting it, or damaged since it was written.
            folder.rename(folder.with_name(f"{folder.name}.damaged-{uuid.uuid4().hex[:8]}"))
        draft.rename(folder)
        sync(folder.parent)
        for file in version.files:
            carry_sum(draft / file.name, folder / file.name)

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


def _pointer_in(folder: Path) -> bytes | None:
    """Return what stands in a pointer; None if there is none."""
    try:
        with open(f"{folder}/{POINTER}", "rb") as handle:  # noqa: PTH123 - of each partition, where paths are felt
            return handle.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _named(written: bytes | None) -> str:
    """Return the word in a pointer; empty if there is none, or it is not as it was written."""
    written, removal = written or b"", _pointing_at(REMOVED)
    # A flipped bit must not bring back what was removed.
    if written[:1] == removal[:1] or written[1:] == removal[1:]:
        return REMOVED
    name = written.partition(b" ")[0].decode("ascii", "replace")
    return name if _VERSION.fullmatch(name) and written == _pointing_at(name) else ""


def _pointing_at(name: str) -> bytes:
    return f"{name} {hashlib.sha256(name.encode()).hexdigest()[:16]}\n".encode()


def _point(folder: Path, name: str) -> None:
    replace_whole(folder / POINTER, _pointing_at(name))


def _has_versions(folder: Path) -> bool:
    return any(_VERSION.fullmatch(one.name) and not one.name.endswith(_GONE) for one in real_folders(folder))


def _is_built(folder: Path) -> bool:
    """Was something built in the folder of a partition, and is there or lost?"""
    written = _pointer_in(folder)
    return _has_versions(folder) if written is None else _named(written) != REMOVED


def _described(folder: Path) -> Iterator[Version]:
    """Yield the versions of a partition whose descriptions are whole."""
    return (found for path in real_folders(folder) if (found := read_version(path)) is not None)


def _next_serial(folder: Path) -> int:
    return 1 + max((one.serial for one in _described(folder)), default=0)


def _newest(folder: Path) -> Version | None:
    """Return the newest whole version of a partition; of those that are not whole, if there is no other."""
    return max(_described(folder), key=lambda one: (_is_whole(one), one.serial), default=None)


def _is_whole(version: Version) -> bool:
    return version.damage is None and version.fault(sums=False) is None


def _is_damaged(folder: Path) -> bool:
    version = read_version(folder)
    return _is_version(folder) and not folder.name.endswith(_GONE) and (version is None or not _is_whole(version))


def _is_version(folder: Path) -> bool:
    """Is a folder one of a version by its name and by what is in it?"""
    return _VERSION.fullmatch(folder.name) is not None and all(
        _FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink() for path in folder.iterdir()
    )


def _is_alive(folder: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), (folder / ".alive").open("r+") as handle:
        return not try_lock(handle.fileno())
    # Just made and not yet locked.
    return True


def _remove_dead(folder: Path) -> bool:
    """Delete the drafts of a dead run under its lock, so that no other run continues with them meanwhile."""
    try:
        with (folder / ".alive").open("r+") as handle:
            if not try_lock(handle.fileno()):
                return False
            remove_tree(folder.parent, folder, ".alive")
    except FileNotFoundError:
        try:
            # A run that has just made it makes it again.
            folder.rmdir()
        except OSError:
            return False
    return True


def _hold(folder: Path, what: str) -> TextIO:
    """Hold a folder of drafts, made if it is missing, until the returned file is closed; see `Lake.resumable`."""
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
