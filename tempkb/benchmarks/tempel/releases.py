"""Releases by name: what was asked for is written down before anything is built, and never changed after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tempkb.benchmarks.register import built_entry, is_registered, read_entry, write_entry
from tempkb.benchmarks.tempel.design import Design, from_json
from tempkb.errors import DesignError
from tempkb.settings import Home

BENCHMARK = "tempel"


@dataclass(frozen=True)
class Release:
    """A release as it was asked for.

    Attributes:
        name: also the partition key.
        preset: preset the design began with.
        design: of the base snapshots.
        added: snapshots it was extended by, oldest first; all later than the base.
        made_from: release that this one is a balanced view of; empty for a release of its own.
    """

    name: str
    preset: str
    design: Design
    added: tuple[date, ...] = ()
    made_from: str = ""

    @property
    def cuts(self) -> tuple[date, ...]:
        """All snapshots, oldest first."""
        return (*self.design.snapshots, *self.added)

    def before(self, cut: date) -> date:
        """The snapshot before an added one."""
        return self.cuts[self.cuts.index(cut) - 1]


def create(home: Home, preset: str, design: Design, name: str = "") -> Release:
    """Return a new release, or the one of that name if it is of the same design.

    Raises:
        DesignError: the name is taken by a release of another design.
    """
    release = Release(name or design.name(), preset, design)
    if is_registered(home, release.name):
        held = load(home, release.name)
        if held.design != design:
            raise DesignError(f"release {release.name!r}: exists with another design; choose another --name")
        return held
    return release


def extend(home: Home, name: str, cuts: Sequence[date]) -> Release:
    """Return a release as it is with further snapshots.

    Raises:
        DesignError: a snapshot is not later than all that the release has.
    """
    held = load(home, name)
    if held.made_from:
        raise DesignError(f"release {name!r}: is a balanced view of {held.made_from!r}; extend that one")
    fresh = [cut for cut in sorted(set(cuts)) if cut not in held.cuts]
    if fresh and fresh[0] <= held.cuts[-1]:
        raise DesignError(
            f"release {name!r}: snapshot {fresh[0]} is not later than its last one, {held.cuts[-1]}; "
            "a release grows at its end"
        )
    return Release(held.name, held.preset, held.design, (*held.added, *fresh), held.made_from)


def keep(home: Home, release: Release) -> None:
    """Write a release down; the run that builds it reads it from there.

    Raises:
        DesignError: another program has extended the release since it was looked at.
    """
    held = load(home, release.name).added if is_registered(home, release.name) else ()
    if held != release.added[: len(held)]:
        raise DesignError(f"release {release.name!r}: was extended by another program meanwhile; type the same again")
    said = {
        "preset": release.preset,
        "design": release.design.to_json(),
        "added": [day.isoformat() for day in release.added],
        "made_from": release.made_from,
    }
    write_entry(home, BENCHMARK, release.name, said)


def balanced(home: Home, name: str) -> Release:
    """Return the balanced view of an extended release, which has a name of its own."""
    held = load(home, name)
    if not held.added:
        raise DesignError(f"release {name!r}: was never extended, so it is balanced as it is")
    return Release(f"{name}-balanced-{held.cuts[-1]:%Y%m%d}", held.preset, held.design, held.added, name)


def load(home: Home, name: str) -> Release:
    """Read a release.

    Raises:
        DesignError: there is none of that name; the message lists those there are.
    """
    return _release_of(read_entry(home, BENCHMARK, name))


def built_cuts(home: Home, name: str) -> tuple[date, ...]:
    """Return the snapshots of a release as it was last built whole; none if it never was."""
    said = built_entry(home, name)
    return _release_of(said).cuts if said else ()


def _release_of(said: Mapping[str, Any]) -> Release:
    added = tuple(date.fromisoformat(day) for day in said["added"])
    return Release(said["name"], said["preset"], from_json(said["design"]), added, said["made_from"])
