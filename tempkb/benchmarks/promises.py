"""Promises of a release about its rows, checked before it counts as built, and again for the UI. Without Dagster.

Only the rows of the given releases are checked, so that a fault of one release does not fail the run of another.
"""

from collections.abc import Iterable
from typing import Any

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.register import is_registered, release_versions, releases_of
from tempkb.core.errors import ContractError
from tempkb.store import promises
from tempkb.store.promises import Promise, Subject, Verdict
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Version


def broken(store: Store, promise: Promise, releases: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return the rows of some releases that break a promise, release by release.

    Args:
        releases: names of the releases whose rows are checked; tables without releases are read completely.
    """
    return [row for name in releases for row in _broken(store, promise, name)]


def _broken(store: Store, promise: Promise, release: str) -> list[tuple[Any, ...]]:
    def versions(table: Table) -> list[Version]:
        is_of_release = table.family is Family.RELEASE
        return release_versions(store, table, release) if is_of_release else store.lake.versions(table.name)

    return promises.broken(store, promise.query, (promise.about, *promise.others), versions)


def require(store: Store, declared: Iterable[Promise], release: str) -> None:
    """Refuse a release that breaks a promise; warnings are left to the asset checks.

    Raises:
        ContractError: a promise is broken; the message names it, the number of rows that break it, and one of them.
    """
    for promise in declared:
        rows = [] if promise.is_warning else broken(store, promise, [release])
        if rows:
            raise ContractError(
                f"release {release!r}: fails its own check {promise.about.name}.{promise.name} "
                f"({promise.meaning.rstrip('.')}); rows that break it: {len(rows):,}, the first: "
                f"{', '.join(map(str, rows[0]))}. "
                "This is a fault of tempkb or of damaged tables, not of the design; please report it"
            )


def judged(benchmark: Benchmark, promise: Promise, store: Store, subject: Subject) -> Verdict:
    """Return whether releases keep a promise; all releases of the benchmark if the subject names none."""
    names = list(releases_of(store.home, benchmark.name) if subject.partitions is None else subject.partitions)
    gone = [name for name in names if not is_registered(store.home, name)]
    if gone:
        # The step that has failed says why nothing of the release was kept; there are no rows to check.
        return Verdict(False, {"not_checked": f"not built: {', '.join(gone)}"}, is_warning=True)
    return promise.verdict(broken(store, promise, names))
