"""Runs that make releases: written down first, built whole, or left as they were."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tempkb.benchmarks.benchmark import Benchmark, Measurement, benchmark_named
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.methods import begin, is_whole
from tempkb.benchmarks.register import (
    LOOK,
    AnyRelease,
    alone,
    as_listed,
    create,
    entry_if_any,
    entry_of,
    load,
    require_whole,
)
from tempkb.benchmarks.tasks import tasks_of
from tempkb.commands.runs.jobs import Summary, past_damage, run
from tempkb.commands.runs.results import bring_results
from tempkb.core.errors import DesignError
from tempkb.core.locks import Patience
from tempkb.core.settings import Home
from tempkb.engine.tasks import Task
from tempkb.platform.api import open_store
from tempkb.results.tables import KNOWS


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
        require_whole(store, name)
    return release, build(benchmark, release)


def finish_release(name: str) -> Summary:
    """Build what a release lacks, whatever it is of, as it was asked for.

    Raises:
        DesignError: there is none of that name, its entry is missing or altered, or another program builds it.
    """
    store = open_store()
    benchmark = _benchmark_among(store.home, name, BENCHMARKS)
    return build(benchmark, load(store.home, benchmark, name))


def measure_release(measurement: Measurement, name: str, asked: Mapping[str, Any]) -> Summary:
    """Add a measurement's table to a release that is built.

    Raises:
        DesignError: there is no such release, it is not built, or its benchmark has no such measurement.
    """
    store = open_store()
    benchmark = _benchmark_among(store.home, name, [one for one in BENCHMARKS if measurement in one.measurements])
    require_whole(store, name)
    chosen = [task for task in tasks_of(benchmark) if measurement.table in task.makes]
    return past_damage(lambda: _run(chosen, name, asked))


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
    """Build a release, or what it lacks; the summary names what is not as before though nothing was added.

    Args:
        release: as it is to be; it is written down first, since the run reads it.

    Raises:
        DesignError: another program builds it at this moment.
    """
    store, name = open_store(), release.name

    measured = {one.table for one in benchmark.measurements}
    chosen = [task for task in tasks_of(benchmark) if not measured & {*task.makes}]

    def work() -> Summary:
        if is_whole(store, benchmark.loaded(), release):
            return Summary()
        # In each round, since a round that fails leaves no entry of a new release.
        begin(store, release)
        try:
            summary = _run(chosen, name, {})
        finally:
            # Undoes what is not whole, where no step could do so.
            as_listed(store, name)
        # Its prompts may be among those that models were asked for another release.
        return bring_results(summary) if store.lake.partitions(KNOWS.name) else summary

    with alone(store.home, name, Patience(LOOK)):
        before = entry_if_any(store.home, name)
        summary = past_damage(work)
        now = entry_if_any(store.home, name)
    for (table, partition), version in sorted(before.versions.items()):
        # A table with one partition for a release changes with every snapshot that is added.
        may_differ = now.built != before.built and store.tables[table].partitioned_by == "release"
        if now.versions[table, partition] != version and not may_differ:
            summary.notes.append(
                f"built again, but not as it was: {table} {partition} was version {version} and is "
                f"{now.versions[table, partition]} now. If that is not only another form of the file, its sources have "
                f"changed since; to have all of the release from one state: tempkb rm --release {name}, then make it "
                "anew"
            )
    return summary


def _run(chosen: Sequence[Task], name: str, words: Mapping[str, Any]) -> Summary:
    summary = Summary()
    run(chosen, [name], summary, words=words)
    return summary


def _benchmark_among(home: Home, name: str, able: Sequence[Benchmark], how: str = "") -> Benchmark:
    """The benchmark of a release, which must be one of some.

    Raises:
        DesignError: there is no release of that name, or it is of another benchmark.
    """
    benchmark = benchmark_named(BENCHMARKS, entry_of(home, name).asked["benchmark"])
    if benchmark not in able:
        expected = " or ".join(one.title for one in able)
        raise DesignError(f"release {name!r}: is one of {benchmark.title}; expected one of {expected}{how}")
    return benchmark
