"""Releases by name. A requested release is registered before anything is built, and does not change afterwards."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.designs import Design
from tempkb.benchmarks.register import entry_of, is_registered, read_entry, write_entry
from tempkb.errors import DesignError
from tempkb.settings import Home

OfDesign_co = TypeVar("OfDesign_co", bound=Design, covariant=True)


@dataclass(frozen=True)
class Release(Generic[OfDesign_co]):
    """A requested release.

    Attributes:
        name: its name, which is also the key of its partition.
        preset: the preset from which the design was made.
    """

    name: str
    benchmark: str
    preset: str
    design: OfDesign_co

    def to_entry(self) -> dict[str, Any]:
        """Return the values for the register, without name and benchmark."""
        return {"preset": self.preset, "design": self.design.to_json()}


AnyRelease = Release[Design]


def reader(design: type[OfDesign_co]) -> Callable[[Mapping[str, Any]], Release[OfDesign_co]]:
    """Return what reads an entry of the register, for a benchmark whose releases are no more than their designs."""

    def read_entry(entry: Mapping[str, Any]) -> Release[OfDesign_co]:
        return Release(entry["name"], entry["benchmark"], entry["preset"], design.from_json(entry["design"]))

    return read_entry


def default_name(benchmark: str, design: Design) -> str:
    """Return the name of a release for which none was given: benchmark, days, and a hash of the design."""
    digest = hashlib.sha256(json.dumps(design.to_json(), sort_keys=True).encode()).hexdigest()[:8]
    return "-".join([benchmark.replace("_", "-"), *(f"{day:%Y%m%d}" for day in design.days()), digest])


def create(home: Home, benchmark: Benchmark, preset: str, design: Design, name: str = "") -> AnyRelease:
    """Return a new release, or the existing one with this name if it has the same design.

    Args:
        name: the release's name; empty for `default_name`.

    Raises:
        DesignError: a release of another design or benchmark has this name.
    """
    name = name or default_name(benchmark.name, design)
    if is_registered(home, name):
        if entry_of(home, name).asked["benchmark"] != benchmark.name or load(home, benchmark, name).design != design:
            raise DesignError(f"release {name!r}: exists with another design; choose another --name")
        return load(home, benchmark, name)
    entry = {"name": name, "benchmark": benchmark.name, "preset": preset, "design": design.to_json()}
    return benchmark.loaded().read_entry(entry)


def keep(home: Home, release: AnyRelease) -> None:
    """Write a release to the register, from which the run that builds it reads it.

    Raises:
        DesignError: another program has changed the release since it was read.
    """
    entry = release.to_entry()
    if is_registered(home, release.name):
        _refuse_lost(read_entry(home, release.benchmark, release.name), entry, release.name)
    write_entry(home, release.benchmark, release.name, entry)


def load(home: Home, benchmark: Benchmark, name: str) -> AnyRelease:
    """Return a release of a benchmark from the register.

    Raises:
        DesignError: there is no such release, or it is a release of another benchmark.
    """
    return benchmark.loaded().read_entry(read_entry(home, benchmark.name, name))


def _refuse_lost(held: Mapping[str, Any], entry: Mapping[str, Any], name: str) -> None:
    """Refuse an entry without snapshots that another program has added in the meantime."""
    added = held.get("added", [])
    if added != entry.get("added", [])[: len(added)]:
        raise DesignError(f"release {name!r}: was extended by another program meanwhile; type the same again")
