"""Verifies a lake against its checksums: reads every file of every partition."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from tempkb.store.damage import HELD, POINTER, Fault, note_path, refuse
from tempkb.store.lake import Lake, Version


@dataclass
class Verified:
    """Result of a verification of the lake.

    Attributes:
        whole: versions whose files all have the right checksums, in order, by table.
        files: number of files that were read, pointers and side files included.
    """

    whole: dict[str, list[Version]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    files: int = 0
    bytes: int = 0


def verify_lake(
    lake: Lake, tables: Iterable[str], since: date | None, at: Callable[[float], None] = lambda _done: None
) -> Verified:
    """Read every file of the current versions; damage is noted, so that the partition counts as absent.

    Args:
        since: only partitions whose pointer was written on that day (UTC) or later; None: all.
    """
    verified = Verified()
    for table in tables:
        whole = verified.whole.setdefault(table, [])
        for key in _keys_since(lake, table, since):
            fault, version = _verify(lake, table, key, verified)
            at(verified.bytes)
            if fault is not None:
                verified.faults.append(fault)
            elif version is not None:
                whole.append(version)
    return verified


def bytes_of(lake: Lake, tables: Iterable[str], since: date | None) -> int:
    """Return the number of bytes that a verification reads."""
    versions = (lake.examine(table, key)[0] for table in tables for key in _keys_since(lake, table, since))
    return sum(version.n_bytes() for version in versions if version is not None)


def _verify(lake: Lake, table: str, key: str, verified: Verified) -> tuple[Fault | None, Version | None]:
    while True:
        version, fault = lake.examine(table, key)
        if version is None:
            verified.files += 1
            return fault, None
        # A partition that was noted as damaged may have been repaired by hand.
        fault = version.first_fault(sums=True, anew=True)
        again, _ = lake.examine(table, key)
        if again is not None and again.version == version.version:
            break
        # It was replaced while it was read.
    verified.files += 1 + len(version.files) + len(version.sides)
    verified.bytes += version.n_bytes()
    if fault is not None:
        refuse(version.folder, fault)
        return fault, None
    lake.confirm(version)
    return None, version


def _keys_since(lake: Lake, table: str, since: date | None) -> Iterator[str]:
    for key in lake.keys(table):
        # If a pointer is missing, its copy shows when it was written.
        for path in (lake.root / table / key / POINTER, note_path(lake.root, HELD, table, key)):
            try:
                written = path.stat().st_mtime
            except FileNotFoundError:
                continue
            if since is None or datetime.fromtimestamp(written, UTC).date() >= since:
                yield key
            break
