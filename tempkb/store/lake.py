"""The lake: immutable version folders and one pointer file per partition.

    lake/<table>/<partition>/CURRENT              which version counts: files, sha256, rows
    lake/<table>/<partition>/<version>/part-*.parquet
    lake/<table>/<partition>/<version>/exclusions.jsonl, manifest.jsonl
    lake/_staging/<run>/...                       drafts; a lock file tells whether their run lives

`<version>` is a hash of the content, so writing equal rows again changes
nothing. Only `CURRENT` is ever replaced, by `os.replace`: a partition is whole
or absent at every instant, for any number of writers and readers. Readers ask
the lake for explicit file lists and never glob.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from tempkb.errors import ContractError
from tempkb.store.locks import Patience, locked, try_lock
from tempkb.store.tables import Table

_MOMENT = 60.0  # seconds
_LOOK = 2.0  # seconds for which others may hold a folder of drafts just to see whether its run lives
RESUMABLE = "resumable-"
_SLUG = re.compile(r"[a-z0-9_][a-z0-9._-]*")


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a version: its name in the version folder and what is in it."""

    name: str
    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True)
class Version:
    """What `CURRENT` says about a partition."""

    table: str
    partition: str
    version: str
    rows: int
    schema: str
    files: tuple[DataFile, ...]
    folder: Path

    def paths(self) -> list[Path]:
        """Absolute paths of the data files, in key order."""
        return [self.folder / file.name for file in self.files]

    def side_rows(self, name: str) -> list[dict[str, Any]]:
        """Rows of the side file `exclusions` or `manifest`, in the order of the table's columns."""
        path = self.folder / f"{name}.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        # A manifest lies inside the folder that its content helps to name, so it cannot hold the name itself.
        return [row | ({"version": self.version} if "version" in row else {}) for row in map(json.loads, lines)]


@dataclass
class Resumable:
    """A folder of drafts that outlives a run that fails.

    Attributes:
        folder: where they are.
        is_finished: set once nothing of it is needed any more.
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

    def current(self, table: str, partition: str) -> Version | None:
        """Return the version that counts, or None when the partition was never built."""
        folder = self._folder(table, partition)
        try:
            said = json.loads((folder / "CURRENT").read_text("utf-8"))
        except FileNotFoundError:
            return None
        files = tuple(DataFile(**file) for file in said["files"])
        return Version(table, partition, said["version"], said["rows"], said["schema"], files, folder / said["version"])

    def partitions(self, table: str) -> list[str]:
        """Return the keys of all built partitions, sorted."""
        folder = self.root / table
        if not folder.exists():
            return []
        return sorted(entry.name for entry in folder.iterdir() if (entry / "CURRENT").exists())

    def versions(self, table: str, partitions: Sequence[str] | None = None) -> list[Version]:
        """Return the current versions of `partitions` (default: all that are built), sorted by key."""
        keys = self.partitions(table) if partitions is None else sorted(partitions)
        return [version for key in keys if (version := self.current(table, key)) is not None]

    def files(self, table: str, partitions: Sequence[str] | None = None) -> list[Path]:
        """Return the data files of `partitions` (default: all), for a reader to open by name."""
        return [path for version in self.versions(table, partitions) for path in version.paths()]

    def remove(self, table: str, partition: str) -> None:
        """Forget a partition; its files stay until `collect_garbage`."""
        (self._folder(table, partition) / "CURRENT").unlink(missing_ok=True)

    @contextlib.contextmanager
    def partition_lock(self, table: str, partition: str) -> Iterator[None]:
        """Hold a partition for a read-modify-write."""
        with locked(self._folder(table, partition) / ".lock"):
            yield

    @contextlib.contextmanager
    def staging(self, run: str | None = None) -> Iterator[Path]:
        """Give a folder for drafts that is removed at the end, or by the garbage collector if we are killed."""
        folder = self.root / "_staging" / (run or uuid.uuid4().hex)
        folder.mkdir(parents=True)
        with (folder / ".alive").open("w") as alive:
            _mark_alive(alive)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def resumable(self, run: str) -> Iterator["Resumable"]:
        """Give a folder for drafts that a later run of the same name takes up, unless this one is finished.

        Args:
            run: slug that names all that the drafts depend on.

        Raises:
            ContractError: another process works in it.
        """
        folder = self.root / "_staging" / run
        with _hold(folder):
            drafts = Resumable(folder)
            yield drafts
            if drafts.is_finished:
                shutil.rmtree(folder, ignore_errors=True)

    def unfinished(self) -> list[Path]:
        """Return the folders of runs that have ended without finishing; a run of the same name goes on with one."""
        return [
            folder for folder in self._staging_folders()
            if folder.name.startswith(RESUMABLE) and not _is_alive(folder)
        ]  # fmt: skip

    def swap(
        self, table: Table, partition: str, draft: Path, files: Sequence[DataFile], sides: Sequence[Path]
    ) -> Version:
        """Make a finished draft folder the current version of a partition.

        Args:
            table: the declaration.
            partition: slug key.
            draft: folder with the data files and side files, on the lake's file system.
            files: the data files in key order.
            sides: side files whose content is part of the version's identity.
        """
        name = _content_hash(table, files, sides)
        folder = self._folder(table.name, partition)
        folder.mkdir(parents=True, exist_ok=True)
        for path in [*draft.iterdir(), draft]:
            _sync(path)
        rows = sum(file.rows for file in files)
        version = Version(table.name, partition, name, rows, table.fingerprint, tuple(files), folder / name)
        # The lock keeps the garbage collector from a folder that is in place but not yet pointed to.
        with locked(self._swap_lock):
            _move_into_place(draft, folder / name, files)
            _point_to(version)
        return version

    def restore(self, version: Version) -> None:
        """Make an earlier version of a partition, whose files are still there, the current one again.

        Raises:
            ContractError: the files are gone.
        """
        with locked(self._swap_lock):
            missing = [path for path in version.paths() if not path.is_file()]
            if missing:
                raise ContractError(f"{version.table} of {version.partition}: {missing[0]} is gone; build it again")
            _point_to(version)

    def collect_garbage(self, keep: set[tuple[str, str, str]]) -> list[Path]:
        """Remove versions that are neither current nor in `keep`, and drafts of dead runs.

        Args:
            keep: (table, partition, version) that DuckDB still shows.

        Returns:
            the folders that were removed.
        """
        kept: dict[tuple[str, str], set[str]] = {}
        for name, key, version in keep:
            kept.setdefault((name, key), set()).add(version)
        removed = [folder for folder in self._staging_folders() if _remove_dead(folder)]
        for table in self._table_folders():
            for partition in sorted(path for path in table.iterdir() if path.is_dir()):
                with locked(self._swap_lock):
                    shown = kept.get((table.name, partition.name), set())
                    removed += self._remove_old_versions(table.name, partition, shown)
        return removed

    def _remove_old_versions(self, table: str, partition: Path, shown: set[str]) -> list[Path]:
        current = self.current(table, partition.name)
        kept = shown | ({current.version} if current is not None else set())
        old = [path for path in sorted(partition.iterdir()) if path.is_dir() and path.name not in kept]
        for folder in old:
            # Out of the way in one step first: a removal that is killed must not leave half a version behind.
            with self.staging() as bin_folder:
                folder.rename(bin_folder / folder.name)
        return old

    def _table_folders(self) -> list[Path]:
        if not self.root.exists():
            return []
        return sorted(path for path in self.root.iterdir() if path.is_dir() and path.name != "_staging")

    def _staging_folders(self) -> list[Path]:
        folder = self.root / "_staging"
        return sorted(folder.iterdir()) if folder.exists() else []

    def _folder(self, table: str, partition: str) -> Path:
        for slug in (table, partition):
            if not _SLUG.fullmatch(slug):
                raise ContractError(f"{slug!r} cannot name a table or partition; allowed: a-z, 0-9, '.', '_' and '-'")
        return self.root / table / partition


def describe_file(path: Path, rows: int) -> DataFile:
    """Hash and measure one written Parquet file of so many rows."""
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    return DataFile(path.name, digest, path.stat().st_size, rows)


def write_side_file(folder: Path, table: Table, rows: Sequence[dict[str, Any]]) -> Path:
    """Write the rows of a side table beside a version's data, one JSON object a line, and return the path.

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


def _point_to(version: Version) -> None:
    """Replace a partition's pointer, under the swap lock."""
    said = {
        "table": version.table,
        "partition": version.partition,
        "version": version.version,
        "rows": version.rows,
        "schema": version.schema,
        "files": [asdict(file) for file in version.files],
    }
    folder = version.folder.parent
    pointer = folder / "CURRENT.draft"
    pointer.write_text(json.dumps(said, indent=1) + "\n", "utf-8")
    _sync(pointer)
    pointer.replace(folder / "CURRENT")
    _sync(folder)


def _move_into_place(draft: Path, folder: Path, files: Sequence[DataFile]) -> None:
    """Rename a draft to its version folder; if equal content is there, only its manifest is brought up to date."""
    if folder.is_dir() and all((folder / file.name).is_file() for file in files):
        manifest = draft / "manifest.jsonl"
        if manifest.exists():
            manifest.replace(folder / manifest.name)
        shutil.rmtree(draft)
        return
    if folder.is_dir():
        # Left by somebody who was killed while removing it.
        shutil.rmtree(folder)
    draft.rename(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mark_alive(alive: TextIO) -> None:
    if not try_lock(alive.fileno()):
        raise ContractError(f"staging folder {alive.name} belongs to a run that is still going")


def _is_alive(folder: Path) -> bool:
    try:
        with (folder / ".alive").open("r+") as handle:
            return not try_lock(handle.fileno())
    except FileNotFoundError:
        # Made a moment ago and not yet locked, or left without its lock file long ago.
        return time.time() - folder.stat().st_mtime < _MOMENT


def _remove_dead(folder: Path) -> bool:
    """Remove the drafts of a run that is dead, under its lock, so that nobody takes them up meanwhile."""
    try:
        with (folder / ".alive").open("r+") as handle:
            if not try_lock(handle.fileno()):
                return False
            shutil.rmtree(folder)
            return True
    except FileNotFoundError:
        if _is_alive(folder):
            return False
        shutil.rmtree(folder)
        return True


def _hold(folder: Path) -> TextIO:
    """Take a folder of drafts, made where it is missing, until the file that is returned is closed.

    Raises:
        ContractError: another process holds it for longer than a look at it takes.
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
                raise ContractError(
                    f"staging folder {folder.name} belongs to a run that is still going: another program builds the "
                    "same; wait for it"
                )
        # The garbage collector may have removed the folder while we waited for it.
        if _is_same(folder / ".alive", alive):
            return alive
        alive.close()


def _is_same(path: Path, handle: TextIO) -> bool:
    try:
        return path.stat().st_ino == os.fstat(handle.fileno()).st_ino
    except FileNotFoundError:
        return False
