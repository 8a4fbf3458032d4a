"""Releases of ECBD by name: what was asked for is written down before anything is built."""

from dataclasses import dataclass

from tempkb.benchmarks.ecbd.design import BENCHMARK, Design, from_json
from tempkb.benchmarks.register import benchmark_of, is_registered, read_entry, write_entry
from tempkb.errors import DesignError
from tempkb.settings import Home


@dataclass(frozen=True)
class Release:
    """A release as it was asked for.

    Attributes:
        name: also the partition key.
        preset: preset the design began with.
        design: what defines it.
    """

    name: str
    preset: str
    design: Design


def create(home: Home, preset: str, design: Design, name: str = "") -> Release:
    """Return a new release, or the one of that name if it is of the same design.

    Raises:
        DesignError: the name is taken by a release of another design or benchmark.
    """
    release = Release(name or design.name(), preset, design)
    if is_registered(home, release.name):
        if benchmark_of(home, release.name) != BENCHMARK or load(home, release.name).design != design:
            raise DesignError(f"release {release.name!r}: exists with another design; choose another --name")
        return load(home, release.name)
    return release


def keep(home: Home, release: Release) -> None:
    """Write a release down; the run that builds it reads it from there."""
    write_entry(home, BENCHMARK, release.name, {"preset": release.preset, "design": release.design.to_json()})


def load(home: Home, name: str) -> Release:
    """Read a release.

    Raises:
        DesignError: there is none of that name, or it is of another benchmark.
    """
    said = read_entry(home, BENCHMARK, name)
    return Release(name, said["preset"], from_json(said["design"]))
