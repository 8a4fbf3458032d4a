"""A version of a partition, which describes itself: `version.json`, written last, with its own sum."""

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tempkb.core.errors import StoredDamageError
from tempkb.core.files import LinkError, fault_of, own, read_summed, sum_of, write_summed
from tempkb.core.locks import locked
from tempkb.store.memory import has_columns_of
from tempkb.store.tables import EXCLUSIONS, Table

DESCRIPTION = "version.json"
PART = re.compile(r"part-\d+\.parquet")
SWAP_LOCK = ".swap"
"""The lock of a lake under which versions come and go."""

# Whether versions with the first fingerprint fit the declaration with the second one.
_FITS: dict[tuple[str, str], bool] = {}
# Versions by their folder, with the state of the description from which they were read.
_READ: dict[Path, tuple[tuple[int, int, int], "Version | None"]] = {}


@dataclass(frozen=True)
class DataFile:
    """One Parquet file of a version: its name in the version folder, size, checksum and rows."""

    name: str
    sha256: str
    bytes: int
    rows: int


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
class Version:
    """A version of a partition, as its folder describes it.

    Attributes:
        serial: grows with each writing in the partition, so that the newest version is known without a pointer.
        code: version of tempkb, and code version of the table.
        inputs: name of a file or table that was read -> its checksum or version.
        settings: with which it was made, as JSON has them.
        exclusions: its rows of `exclusions`.
        fills: keys of the growing tables' partitions to which what was made with it belongs, by table.
        filled_by: keys of what has filled it, if it grows; neither part of its name nor of what it depends on.
        stamp: digest of what its rows depend on, if a step made it.
        day: of the dump from which it was read, if that is known.
        record: digest of the home's record under which it was written; empty if there was none.
        damage: the fault of a file of which a reader found that its bytes were changed.
        verdicts: on what its table promises, by the name of the promise: `passed`, `is_warning`, `facts`.
    """

    table: str
    partition: str
    version: str
    serial: int = field(compare=False)
    rows: int
    schema: str
    files: tuple[DataFile, ...]
    code: str = ""
    inputs: dict[str, str] = field(default_factory=dict, hash=False)
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    exclusions: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    fills: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    filled_by: tuple[str, ...] = ()
    stamp: str = ""
    day: str = ""
    record: str = ""
    damage: Fault | None = None
    verdicts: dict[str, Any] = field(default_factory=dict, compare=False)
    folder: Path = Path()

    def paths(self) -> list[Path]:
        """Return the absolute paths of the data files, in key order, for reading.

        Raises:
            StoredDamageError: a file has another checksum than it had; the partition counts as absent from now on.
        """
        if fault := self.fault(sums=True):
            self.note_damage()
            advice = "The partition counts as absent until it is built again; for the command to type: tempkb status"
            raise StoredDamageError(f"{fault}. {advice}")
        return self.places()

    def places(self) -> list[Path]:
        """Return the absolute paths of the data files, in key order, without verifying them."""
        return [self.folder / file.name for file in self.files]

    def fits(self, table: Table) -> bool:
        """Does the version have the columns of a declaration, in name, type and order? See `paths` for damage."""
        if self.schema == table.fingerprint:
            return True
        # Versions with equal fingerprints have equal columns, so one file is read for all of them.
        known = self.schema, table.fingerprint
        if known not in _FITS:
            _FITS[known] = has_columns_of(self.paths()[0], table)
        return _FITS[known]

    @property
    def rules(self) -> str:
        """The table and its code version, by which it was made."""
        return self.code.partition(", ")[2]

    def is_of_present_code(self, table: Table) -> bool:
        """Was it written by the code version that its table has now?"""
        return self.rules == f"{table.name} {table.code_version}"

    def was_made_with(self, settings: Mapping[str, Any]) -> bool:
        """Was it made with these settings, and no others?"""
        return bool(self.settings == json.loads(json.dumps(settings, default=str)))

    def side_rows(self, name: str) -> list[dict[str, Any]]:
        """Return its rows of the side table `exclusions` or `manifest`, in the order of the table's columns."""
        if name == EXCLUSIONS.name:
            return [dict(row) for row in self.exclusions]
        shared = {"table_name": self.table, "partition": self.partition, "version": self.version}
        made = {"settings": json.dumps(self.settings, sort_keys=True), "code_version": self.code}
        named = [("input", *one) for one in sorted(self.inputs.items())]
        named += [("output", file.name, file.sha256) for file in self.files]
        return [shared | {"role": role, "name": name, "sha256": digest} | made for role, name, digest in named]

    def n_bytes(self) -> int:
        """Return the size of all data files."""
        return sum(file.bytes for file in self.files)

    def sum_of_sides(self) -> str:
        """Return a hash of exclusions and manifest, which may differ for equal rows."""
        said = [list(self.exclusions), self.inputs, self.settings, self.code]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    def fault(self, *, sums: bool, anew: bool = False) -> Fault | None:
        """Return the fault of the first changed file by its size, and by its sum if `sums`, `anew` if that is known."""
        folder = str(self.folder)
        for file in self.files:
            digest = file.sha256 if sums else ""
            if found := fault_of(f"{folder}/{file.name}", file.bytes, digest, anew=anew):
                return Fault(self.table, self.partition, file.name, *found, self.version)
        return None

    def note_damage(self) -> None:
        """Note in the description that the bytes of a file were changed, or cannot be read; or that they are right.

        They are read once more if they could not be read. Sizes are never noted: whoever looks it up compares them.
        """
        self._note(lambda held: replace(held, damage=held.fault(sums=True)))

    def keep_verdicts(self, verdicts: Mapping[str, Any]) -> None:
        """Note in the description what checks have found, by their names."""
        said = json.loads(json.dumps(verdicts, default=str))
        if any(self.verdicts.get(name) != one for name, one in said.items()):
            self._note(lambda held: replace(held, verdicts={**held.verdicts, **said}))

    def _note(self, noted: Callable[["Version"], "Version"]) -> None:
        root = self.folder.parents[2]
        # A user who may not write here gets an error all the same; others will find a fault by themselves.
        with contextlib.suppress(OSError, LinkError), locked(own(root, root / SWAP_LOCK)):
            # A reader may hold a version that was replaced or built again in the meantime.
            held = read_version(own(root, self.folder))
            if held is not None and held.fault(sums=False) is None:
                describe(noted(held))


def describe_file(path: Path, rows: int) -> DataFile:
    """Return name, size, checksum and rows of a Parquet file that was written."""
    return DataFile(path.name, sum_of(path), path.stat().st_size, rows)


def content_hash(table: Table, files: Sequence[DataFile], exclusions: Sequence[Mapping[str, Any]]) -> str:
    """Return the name of a version: equal rows and exclusions have an equal one."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in exclusions)
    left_out = hashlib.sha256(lines.encode()).hexdigest() if lines else ""
    parts = [str(table.schema), *(file.sha256 for file in files), left_out]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def describe(version: Version) -> None:
    """Write the description of a version into its folder, in one step."""
    said = asdict(version)
    del said["folder"]
    write_summed(version.folder / DESCRIPTION, said)


def read_version(folder: Path) -> Version | None:
    """Return the version in a folder; None if its description is missing, or not as it was written."""
    path = folder / DESCRIPTION
    try:
        state = path.stat()
        seen = (state.st_size, state.st_mtime_ns, state.st_ino)
        known = _READ.get(folder)
        if known is None or known[0] != seen:
            known = _READ[folder] = seen, _parsed(read_summed(path), folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return known[1]


def _parsed(said: dict[str, Any] | None, folder: Path) -> Version | None:
    """Return what a description says; None if it is of another folder."""
    if said is None:
        return None
    is_of_folder = (said["table"], said["partition"], said["version"]) == (*folder.parts[-3:-1], folder.name)
    if not is_of_folder or not all(PART.fullmatch(one["name"]) for one in said["files"]):
        return None
    said |= {"files": tuple(DataFile(**one) for one in said["files"]), "exclusions": tuple(said["exclusions"])}
    said |= {"filled_by": tuple(said["filled_by"]), "damage": Fault(**said["damage"]) if said["damage"] else None}
    return Version(**said, folder=folder)
