"""Releases by name: what is asked for is written down before anything is built, and does not change afterwards."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, Protocol, TypeVar

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.register import benchmark_of, is_registered, read_entry, write_entry
from tempkb.errors import DesignError
from tempkb.settings import Home


class Design(Protocol):
    """What defines a release: dates, sources, rules and numbers. Two equal designs give equal releases."""

    def days(self) -> tuple[date, ...]:
        """Return the days that belong into a release's name, such as the first and the last of its study."""

    def to_json(self) -> dict[str, Any]:
        """Return the design as plain values, for files and for the release's row."""


OfDesign_co = TypeVar("OfDesign_co", bound=Design, covariant=True)


@dataclass(frozen=True)
class Release(Generic[OfDesign_co]):
    """A release as it was asked for.

    Attributes:
        name: also the key of its partition.
        benchmark: name of the benchmark.
        preset: preset that the design began with.
        design: what defines it.
    """

    name: str
    benchmark: str
    preset: str
    design: OfDesign_co

    def to_entry(self) -> dict[str, Any]:
        """Return what the register keeps of it, beside its name and its benchmark."""
        return {"preset": self.preset, "design": self.design.to_json()}


AnyRelease = Release[Design]


def default_name(benchmark: str, design: Design) -> str:
    """Return the name of a release that nobody named: benchmark, days, and a hash of the whole design."""
    digest = hashlib.sha256(json.dumps(design.to_json(), sort_keys=True).encode()).hexdigest()[:8]
    return "-".join([benchmark.replace("_", "-"), *(f"{day:%Y%m%d}" for day in design.days()), digest])


def create(home: Home, benchmark: Benchmark, preset: str, design: Design, name: str = "") -> AnyRelease:
    """Return a new release, or the one of that name if it is of the same design.

    Args:
        home: of the register.
        benchmark: that it is to be of.
        preset: preset that the design began with.
        design: what defines it.
        name: of the release; empty for `default_name`.

    Raises:
        DesignError: the name is taken by a release of another design or benchmark.
    """
    name = name or default_name(benchmark.name, design)
    if is_registered(home, name):
        if benchmark_of(home, name) != benchmark.name or load(home, benchmark, name).design != design:
            raise DesignError(f"release {name!r}: exists with another design; choose another --name")
        return load(home, benchmark, name)
    asked = {"name": name, "benchmark": benchmark.name, "preset": preset, "design": design.to_json()}
    return benchmark.loaded().read_entry(asked)


def keep(home: Home, release: AnyRelease) -> None:
    """Write a release down; the run that builds it reads it from there.

    Raises:
        DesignError: another program has changed the release since it was looked at.
    """
    said = release.to_entry()
    if is_registered(home, release.name):
        _refuse_lost(read_entry(home, release.benchmark, release.name), said, release.name)
    write_entry(home, release.benchmark, release.name, said)


def load(home: Home, benchmark: Benchmark, name: str) -> AnyRelease:
    """Read a release of a benchmark.

    Raises:
        DesignError: there is none of that name, or it is of another benchmark.
    """
    return benchmark.loaded().read_entry(read_entry(home, benchmark.name, name))


def _refuse_lost(held: Mapping[str, Any], asked: Mapping[str, Any], name: str) -> None:
    """Refuse an entry that would take away snapshots which another program has added meanwhile."""
    added = held.get("added", [])
    if added != asked.get("added", [])[: len(added)]:
        raise DesignError(f"release {name!r}: was extended by another program meanwhile; type the same again")
