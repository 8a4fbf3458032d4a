"""The life of a release between being asked for and being exported. Knows nothing of Dagster.

Each step either leaves all that it has written of a release, or takes all of it back; the release is built once all of
its partitions are there and keep their promises.
"""

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.methods import Built, Log, Methods, Step
from tempkb.benchmarks.promises import require
from tempkb.benchmarks.register import partitions_of_release
from tempkb.benchmarks.releases import AnyRelease
from tempkb.benchmarks.withdrawal import finish, whole_or_nothing
from tempkb.store.lake import Version
from tempkb.store.store import Store


def build_release(store: Store, benchmark: Benchmark, release: AnyRelease, log: Log) -> list[str]:
    """Build what a release lacks, and return what a person should know.

    Args:
        store: of the home, in whose register the release is.
        benchmark: that it is of.
        release: as it was asked for.
        log: takes lines about the progress.

    Raises:
        DesignError: the design does not fit the home, or the data falls short of it.
        ContractError: a source is not built, or the rows break a promise; then the release is as it was before.
    """
    methods = benchmark.loaded()
    return [line for step in methods.steps for line in build_step(store, methods, step, release, log).warnings]


def build_step(store: Store, methods: Methods, step: Step, release: AnyRelease, log: Log) -> Built:
    """Run one step for a release; the errors are those of `build_release`."""
    with whole_or_nothing(store, release.name):
        built = step.run(store, release, log, {})
        require(store, step.promises, release.name, fresh=built.fresh)
        places = methods.partitions(release)
        # Whoever builds single tables by hand may run the last step while others are missing.
        if all(store.lake.current(table, key) for table, keys in places.items() for key in keys):
            finish(store, release.name)
    return built


def versions_of(store: Store, step: Step, methods: Methods, release: AnyRelease) -> dict[str, list[Version]]:
    """Return what there is of the tables that a step makes, by table, in the order of the release's partitions."""
    places = methods.partitions(release)
    return {
        made.table.name: store.lake.versions(
            made.table.name,
            places.get(made.table.name) or partitions_of_release(store.lake, made.table, release.name),
        )
        for made in step.makes
    }
