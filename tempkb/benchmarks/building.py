"""Builds releases of any benchmark, step by step. Does not use Dagster.

A step that fails removes everything that it has written of a release. The release is built when all of its partitions
exist and keep their promises.
"""

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.methods import Built, Log, Methods, Step
from tempkb.benchmarks.promises import require
from tempkb.benchmarks.register import partitions_of_release
from tempkb.benchmarks.releases import AnyRelease
from tempkb.benchmarks.withdrawal import finish, whole_or_nothing
from tempkb.store.store import Store
from tempkb.store.versions import Version


def build_release(store: Store, benchmark: Benchmark, release: AnyRelease, log: Log) -> list[str]:
    """Build what is missing of a release, and return warnings for people.

    Raises:
        DesignError: the design does not fit the home, or the data does not suffice for it.
        ContractError: a source is not built, or the rows break a promise; the release is then as it was before.
    """
    methods = benchmark.loaded()
    return [line for step in methods.steps for line in build_step(store, methods, step, release, log).warnings]


def build_step(store: Store, methods: Methods, step: Step, release: AnyRelease, log: Log) -> Built:
    """Run one step for a release; it raises the errors of `build_release`."""
    with whole_or_nothing(store, release.name):
        built = step.run(store, release, log, {})
        require(store, step.promises, release.name, fresh=built.fresh)
        places = methods.partitions(release)
        # Only the last step: the promises of those behind an earlier one may not have been checked, although a run that
        # was killed has written their tables. In the UI the last step may run while tables of others are missing.
        if step is methods.steps[-1] and all(
            store.lake.current(table, key) for table, keys in places.items() for key in keys
        ):
            finish(store, release.name)
    return built


def versions_of(store: Store, step: Step, methods: Methods, release: AnyRelease) -> dict[str, list[Version]]:
    """Return the versions of the tables that a step makes, by table, in the order of the release's partitions."""
    places = methods.partitions(release)
    return {
        made.table.name: store.lake.versions(
            made.table.name,
            places.get(made.table.name) or partitions_of_release(store.lake, made.table, release.name),
        )
        for made in step.makes
    }
