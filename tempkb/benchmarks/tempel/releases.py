"""A TempEL release as it was asked for: it may grow by snapshots, and a balanced view is a release of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tempkb.benchmarks import releases
from tempkb.benchmarks.register import built_entry
from tempkb.benchmarks.tempel.design import Design, from_json
from tempkb.errors import DesignError
from tempkb.settings import Home


@dataclass(frozen=True)
class Release(releases.Release[Design]):
    """A release of TempEL.

    Attributes:
        added: snapshots it was extended by, oldest first; all later than the base, which the design has.
        made_from: release that this one is a balanced view of; empty for a release of its own.
    """

    added: tuple[date, ...] = ()
    made_from: str = ""

    @property
    def cuts(self) -> tuple[date, ...]:
        """All snapshots, oldest first."""
        return (*self.design.snapshots, *self.added)

    def before(self, cut: date) -> date:
        """The snapshot before an added one."""
        return self.cuts[self.cuts.index(cut) - 1]

    def to_entry(self) -> dict[str, Any]:
        """Return what the register keeps of it, beside its name and its benchmark."""
        added = [day.isoformat() for day in self.added]
        return {**super().to_entry(), "added": added, "made_from": self.made_from}


def extended(release: Release, cuts: Sequence[date]) -> Release:
    """Return a release as it is with further snapshots.

    Raises:
        DesignError: a snapshot is not later than all that the release has.
    """
    if release.made_from:
        raise DesignError(f"release {release.name!r}: is a balanced view of {release.made_from!r}; extend that one")
    fresh = [cut for cut in sorted(set(cuts)) if cut not in release.cuts]
    if fresh and fresh[0] <= release.cuts[-1]:
        raise DesignError(
            f"release {release.name!r}: snapshot {fresh[0]} is not later than its last one, {release.cuts[-1]}; "
            "a release grows at its end"
        )
    added = (*release.added, *fresh)
    return Release(release.name, release.benchmark, release.preset, release.design, added, release.made_from)


def balanced(release: Release) -> Release:
    """Return the balanced view of an extended release, which has a name of its own.

    Raises:
        DesignError: the release was never extended.
    """
    if not release.added:
        raise DesignError(f"release {release.name!r}: was never extended, so it is balanced as it is")
    name = f"{release.name}-balanced-{release.cuts[-1]:%Y%m%d}"
    return Release(name, release.benchmark, release.preset, release.design, release.added, release.name)


def read_entry(said: Mapping[str, Any]) -> Release:
    """Read a release that the register holds; what was asked for the first time was never extended."""
    added = tuple(date.fromisoformat(day) for day in said.get("added", ()))
    design = from_json(said["design"])
    return Release(said["name"], said["benchmark"], said["preset"], design, added, said.get("made_from", ""))


def built_cuts(home: Home, name: str) -> tuple[date, ...]:
    """Return the snapshots of a release as it was last built whole; none if it never was."""
    said = built_entry(home, name)
    return read_entry(said).cuts if said else ()
