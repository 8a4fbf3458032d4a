"""Releases of facts in time by name: what was asked for is written down before anything is built."""

from dataclasses import dataclass

from tempkb.benchmarks.fact_queries.design import Design, from_json
from tempkb.benchmarks.register import benchmark_of, is_registered, read_entry, write_entry
from tempkb.errors import DesignError
from tempkb.settings import Home


@dataclass(frozen=True)
class Release:
    """A release as it was asked for.

    Attributes:
        name: also the partition key.
        benchmark: `templama` or `dynamic_templama`.
        preset: preset the design began with.
        design: what defines it.
    """

    name: str
    benchmark: str
    preset: str
    design: Design


def create(home: Home, benchmark: str, preset: str, design: Design, name: str = "") -> Release:
    """Return a new release, or the one of that name if it is of the same design.

    Raises:
        DesignError: the name is taken by a release of another design or benchmark.
    """
    release = Release(name or design.name(benchmark), benchmark, preset, design)
    if is_registered(home, release.name):
        if benchmark_of(home, release.name) != benchmark or load(home, release.name).design != design:
            raise DesignError(f"release {release.name!r}: exists with another design; choose another --name")
        return load(home, release.name)
    return release


def keep(home: Home, release: Release) -> None:
    """Write a release down; the run that builds it reads it from there."""
    said = {"preset": release.preset, "design": release.design.to_json()}
    write_entry(home, release.benchmark, release.name, said)


def load(home: Home, name: str) -> Release:
    """Read a release.

    Raises:
        DesignError: there is none of that name, or it is no release of facts.
    """
    benchmark = benchmark_of(home, name)
    said = read_entry(home, benchmark, name)
    if benchmark == "tempel":
        raise DesignError(f"release {name!r}: is one of tempel; expected one of templama or dynamic_templama")
    return Release(name, benchmark, said["preset"], from_json(said["design"]))
