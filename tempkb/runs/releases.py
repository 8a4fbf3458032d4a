"""Runs that make releases: written down first, built whole, or taken back."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tempkb.api import open_store
from tempkb.benchmarks.benchmark import Benchmark, Measurement, benchmark_named
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.register import (
    COMMAND,
    LOOK,
    alone,
    benchmark_of,
    built_entry,
    entry_path,
    held_places,
    is_registered,
    lost_of_release,
    require_whole,
    strike,
    told_by_table,
)
from tempkb.benchmarks.releases import AnyRelease, create, keep, load
from tempkb.benchmarks.withdrawal import finish, withdraw_unbuilt
from tempkb.errors import DesignError
from tempkb.runs.jobs import Summary, Task, past_damage
from tempkb.settings import Home, load_home
from tempkb.store.locks import Patience
from tempkb.store.store import Store


def make(benchmark: Benchmark, name: str, asked: Mapping[str, Any]) -> tuple[AnyRelease, Summary]:
    """Make a release, or build what it lacks if it was asked for before.

    Args:
        benchmark: that it is to be of.
        name: of the release; empty for one that its design gives.
        asked: the benchmark's options by name, and `changes`, parts of the design as people type them.

    Raises:
        DesignError: the design cannot be meant, or the name is taken by another release.
        SourceError: there is nothing to make it from.
    """
    store = open_store()
    design = benchmark.loaded().design(store, asked)
    release = create(store.home, benchmark, asked["preset"], design, name)
    return release, build(benchmark, release)


def act(name: str, action: str, asked: Mapping[str, Any]) -> tuple[AnyRelease, Summary]:
    """Make a release from one that exists, such as the same with another snapshot.

    Raises:
        DesignError: there is no such release, its benchmark has no such action, or it cannot be done.
    """
    store = open_store()
    able = [one for one in BENCHMARKS if action in (known.name for known in one.actions)]
    benchmark = _benchmark_among(store.home, name, able)
    release = benchmark.loaded().acts[action](store, load(store.home, benchmark, name), asked)
    if release.name != name:
        require_whole(store.home, store.lake, name)
    return release, build(benchmark, release)


def finish_release(name: str) -> Summary:
    """Build what a release lacks, whatever it is of, as it was asked for.

    Raises:
        DesignError: there is none of that name, or another program builds it.
    """
    store = open_store()
    restored = _restore(store, name)
    benchmark = _benchmark_among(store.home, name, BENCHMARKS)
    summary = build(benchmark, load(store.home, benchmark, name))
    summary.notes[:0] = restored
    return summary


def _restore(store: Store, name: str) -> list[str]:
    """Write the entry of a release again from its row in the table of releases, unless it is as that says."""
    try:
        benchmark_of(store.home, name)
        return []
    except DesignError:
        told = told_by_table(store.home, name)
        if told is None:
            raise
    with alone(store.home, name, COMMAND, Patience(LOOK)):
        # What a kill leaves behind this is a row without an entry, which is found again.
        strike(store.home, name)
        keep(store.home, benchmark_named(BENCHMARKS, told["benchmark"]).loaded().read_entry(told))
        finish(store, name)
    return [f"{entry_path(store.home, name)} was written again from the table of releases"]


def measure_release(measurement: Measurement, name: str, asked: Mapping[str, Any]) -> Summary:
    """Add a measurement's table to a release that is built.

    Raises:
        DesignError: there is no such release, it is not built, or its benchmark has no such measurement.
    """
    store = open_store()
    _benchmark_among(store.home, name, [one for one in BENCHMARKS if measurement in one.measurements])
    require_whole(store.home, store.lake, name)
    return Task(measurement.job, measurement.table.name).run({name: asked})


def export(name: str, folder: Path, asked: Mapping[str, Any]) -> Path:
    """Write a release below a folder, and return where it lies.

    Args:
        asked: export options by name, those that were given.

    Raises:
        DesignError: there is no such release, it is not built, or its benchmark has no such option.
    """
    store = open_store()
    able = [one for one in BENCHMARKS if set(asked) <= {option.name for option in one.export_options}]
    benchmark = _benchmark_among(
        store.home, name, able, "".join(f" with --{option.replace('_', '-')}" for option in asked)
    )
    return export_release(store, benchmark, load(store.home, benchmark, name), folder, asked)


def build(benchmark: Benchmark, release: AnyRelease) -> Summary:
    """Build a release, or what it lacks.

    Args:
        release: as it is to be; it is written down first, since the run reads it.

    Raises:
        DesignError: another program builds it at this moment.
    """
    home = load_home()
    with alone(home, release.name, COMMAND, Patience(LOOK)):
        return _build(home, benchmark, release)


def _benchmark_among(home: Home, name: str, able: Sequence[Benchmark], how: str = "") -> Benchmark:
    """The benchmark of a release, which must be one of some.

    Raises:
        DesignError: there is no release of that name, or it is of another benchmark.
    """
    benchmark = benchmark_named(BENCHMARKS, benchmark_of(home, name))
    if benchmark not in able:
        expected = " or ".join(one.title for one in able)
        raise DesignError(f"release {name!r}: is one of {benchmark.title}; expected one of {expected}{how}")
    return benchmark


def _build(home: Home, benchmark: Benchmark, release: AnyRelease) -> Summary:
    """Build what a release lacks, damaged partitions included; the summary names those that differ from before."""
    store, name = open_store(), release.name
    asked = built_entry(home, name)
    lost: set[tuple[str, str]] = set()
    before = held_places(home, name)

    def work() -> Summary:
        for table in store.tables.values():
            for key in lost_of_release(store.lake, table, name):
                lost.add((table.name, key))
                before.setdefault((table.name, key), "")
        # In each round, since a round that fails withdraws the entry.
        keep(home, release)
        return Task(benchmark.job, is_kept=_is_kept).run({name: {}})

    summary = past_damage(work)
    is_grown = built_entry(home, name) != asked
    for (table_name, partition), version in sorted(before.items()):
        now = store.lake.current(table_name, partition)
        # A table with one partition for a release changes with every snapshot that is added.
        may_differ = is_grown and store.tables[table_name].partitioned_by == "release"
        if now is not None and now.version == version and (table_name, partition) in lost:
            summary.notes.append(f"built again as it was: {table_name} {partition}")
        elif now is not None and now.version != version and not may_differ:
            summary.notes.append(
                f"built again, but not as it was: {table_name} {partition} was version {version or 'unknown'} and is "
                f"{now.version} now. If that is not only another form of the file, its sources have changed since; to "
                f"have all of the release from one state: tempkb rm --release {name}, then make it anew"
            )
    return summary


def _is_kept(name: str, is_whole: bool) -> bool:
    """Withdraw of a release what no step began; a step that fails withdraws what it wrote. Is it registered still?"""
    if not is_whole:
        withdraw_unbuilt(open_store(), name)
    return is_registered(load_home(), name)
