"""Promises of a release about its rows, checked before it counts as built, and again for the UI. Without Dagster.

Only the rows of the given releases are checked, so that a fault of one release does
not fail the run of another.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import duckdb

from tempkb.benchmarks.register import release_versions
from tempkb.benchmarks.samples import Sample
from tempkb.errors import ContractError
from tempkb.store import promises
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Version


@dataclass(frozen=True)
class Promise(promises.Promise):
    """A promise of a release; a release that breaks one, but for warnings, is not built.

    Attributes:
        may_fade: whether it compares with tables that may change after the release is built, such as texts that a
            later cleaner cleans again. It must hold when the release is built, and is a warning from then on.
        prepare: adds functions that the query needs to the connection.
        sample: chooses the part of a large release to check, from the store, the table and the release's name; None
            if all rows are checked.
    """

    may_fade: bool = False
    prepare: Callable[[duckdb.DuckDBPyConnection], None] | None = None
    sample: Callable[[Store, Table, str], Sample | None] | None = None

    def sample_of(self, store: Store, release: str) -> Sample | None:
        """Return the part of a release that is checked; None for all of it."""
        return self.sample(store, self.about, release) if self.sample else None


def broken(
    store: Store, promise: Promise, releases: Iterable[str], only: Collection[str] | None = None
) -> list[tuple[Any, ...]]:
    """Return the rows of some releases that break a promise, release by release.

    Args:
        releases: names of the releases whose rows are checked; tables without releases are read completely.
        only: the partitions of these releases that are checked; None for all.
    """
    return [row for name in releases for row in _broken(store, promise, name, only)]


def _broken(store: Store, promise: Promise, release: str, only: Collection[str] | None) -> list[tuple[Any, ...]]:
    sample = promise.sample_of(store, release)

    def versions(table: Table) -> list[Version]:
        if table.family is not Family.RELEASE:
            return store.lake.versions(table.name)
        found = release_versions(store, table, release)
        if sample and sample.windows is not None and table.partitioned_by != "release":
            found = [one for one in found if one.partition.removeprefix(f"{release}.") in sample.windows]
        return [one for one in found if only is None or one.partition in only]

    narrowed = sample.narrowed if sample else {}
    return promises.broken(store, promise.query, promise.tables, versions, promise.prepare, narrowed)


def require(store: Store, declared: Iterable[Promise], release: str, fresh: Collection[str] | None = None) -> None:
    """Refuse a release that breaks a promise; warnings are left to the asset checks.

    Args:
        fresh: its partitions that were just written; for promises that may fade, only these are checked. None for all.

    Raises:
        ContractError: a promise is broken; the message names it, the number of rows that break it, and one of them.
    """
    for promise in declared:
        if promise.is_warning:
            continue
        rows = broken(store, promise, [release], fresh if promise.may_fade else None)
        if rows:
            raise ContractError(
                f"release {release!r}: fails its own check {promise.about.name}.{promise.name} "
                f"({promise.meaning.rstrip('.')}); rows that break it: {len(rows):,}, the first: {_shown(rows[0])}. "
                "This is a fault of tempkb or of damaged tables, not of the design; please report it"
            )


def _shown(row: tuple[Any, ...]) -> str:
    return ", ".join(str(value) for value in row)
