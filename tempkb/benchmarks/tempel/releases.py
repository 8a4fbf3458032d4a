"""A requested TempEL release. It can be extended by snapshots, and balanced into a release of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tempkb.benchmarks import releases
from tempkb.benchmarks.tempel.design import Design
from tempkb.errors import DesignError


@dataclass(frozen=True)
class Release(releases.Release[Design]):
    """A release of TempEL.

    Attributes:
        added: snapshots added by extensions, oldest first; all are later than the base snapshots in the design.
        made_from: the release from which this one was balanced; empty if it was planned by itself.
    """

    added: tuple[date, ...] = ()
    made_from: str = ""

    @property
    def cuts(self) -> tuple[date, ...]:
        """All snapshots, oldest first."""
        return (*self.design.snapshots, *self.added)

    def before(self, cut: date) -> date:
        """Return the snapshot before an added one."""
        return self.cuts[self.cuts.index(cut) - 1]

    def to_entry(self) -> dict[str, Any]:
        """Return the values for the register, without name and benchmark."""
        added = [day.isoformat() for day in self.added]
        return {**super().to_entry(), "added": added, "made_from": self.made_from}


def extended(release: Release, cuts: Sequence[date]) -> Release:
    """Return a release with further snapshots.

    Raises:
        DesignError: a snapshot is not later than the release's last one, or the release is a balanced one.
    """
    if release.made_from:
        raise DesignError(f"release {release.name!r}: is a balanced view of {release.made_from!r}; extend that one")
    fresh = [cut for cut in sorted(set(cuts)) if cut not in release.cuts]
    if fresh and fresh[0] <= release.cuts[-1]:
        raise DesignError(
            f"release {release.name!r}: snapshot {fresh[0]} is not later than its last one, {release.cuts[-1]}; "
            "only later snapshots can be added"
        )
    added = (*release.added, *fresh)
    return Release(release.name, release.benchmark, release.preset, release.design, added, release.made_from)


def balanced(release: Release) -> Release:
    """Return the balanced release of an extended one, with a name of its own.

    Raises:
        DesignError: the release was never extended.
    """
    if not release.added:
        raise DesignError(f"release {release.name!r}: was never extended, so it is balanced as it is")
    name = f"{release.name}-balanced-{release.cuts[-1]:%Y%m%d}"
    return Release(name, release.benchmark, release.preset, release.design, release.added, release.name)


def read_entry(entry: Mapping[str, Any]) -> Release:
    """Return a release from its entry in the register, or from a new entry without added snapshots."""
    added = tuple(date.fromisoformat(day) for day in entry.get("added", ()))
    design = Design.from_json(entry["design"])
    return Release(entry["name"], entry["benchmark"], entry["preset"], design, added, entry.get("made_from", ""))
