"""What a release promises of its rows: declared once, asked before it stands and again for the UI. No Dagster here.

A promise looks at the rows of the releases that it is asked about, and at no
others: what is wrong with one release is no affair of another's run.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tempkb.benchmarks.register import is_of_releases, partitions_of_release
from tempkb.benchmarks.samples import Sample
from tempkb.errors import ContractError
from tempkb.store import promises
from tempkb.store.lake import Lake
from tempkb.store.store import Store
from tempkb.store.tables import Table


@dataclass(frozen=True)
class Promise(promises.Promise):
    """A promise of a release; a breach that is no warning withdraws the release.

    Attributes:
        may_fade: does it compare with tables that may change once the release stands, such as texts that a later
            cleaner cleans anew? It must hold when the release is built, and is a warning from then on.
        prepare: gives the connection functions that the query needs.
        sample: chooses the part of a large release that is looked at, from the lake, the table that the promise is
            about and the release's name; None where all is looked at.
    """

    may_fade: bool = False
    prepare: Callable[[duckdb.DuckDBPyConnection], None] | None = None
    sample: Callable[[Lake, Table, str], Sample | None] | None = None

    def sample_of(self, store: Store, release: str) -> Sample | None:
        """The part of a release that is looked at; None: all of it."""
        return self.sample(store.lake, self.about, release) if self.sample else None


def broken(
    store: Store,
    promise: Promise,
    releases: Sequence[str],
    given: Mapping[str, pa.Table] | None = None,
    only: Collection[str] | None = None,
) -> list[tuple[Any, ...]]:
    """Return the rows of some releases that break a promise.

    Args:
        store: where the releases are.
        promise: what is asked.
        releases: whose rows are looked at; tables that are of no release are looked at whole.
        given: rows that are not written yet, by the names that the query uses.
        only: partitions of these releases that are looked at; None: all.

    Raises:
        ContractError: a release was built by an earlier version of tempkb and lacks a column that the promise is about.
    """
    if promise.sample is None:
        return _broken(store, promise, releases, given, only)
    # Each release has a part of its own.
    return [row for name in releases for row in _broken(store, promise, [name], given, only)]


def _broken(
    store: Store,
    promise: Promise,
    releases: Sequence[str],
    given: Mapping[str, pa.Table] | None,
    only: Collection[str] | None,
) -> list[tuple[Any, ...]]:
    sample = promise.sample_of(store, releases[0]) if promise.sample else None

    def partitions(table: Table) -> list[str] | None:
        if not is_of_releases(table):
            return None
        found = [key for name in releases for key in partitions_of_release(store.lake, table, name)]
        if sample and sample.windows is not None and table.partitioned_by != "release":
            found = [key for key in found if key.removeprefix(f"{releases[0]}.") in sample.windows]
        return [key for key in found if only is None or key in only]

    narrowed = sample.narrowed if sample else {}
    try:
        return promises.broken(store, promise.query, promise.tables, partitions, given, promise.prepare, narrowed)
    except duckdb.BinderException:
        for table in promise.tables.values():
            for name in releases:
                refuse_earlier(store, table, name, f"its promise {promise.name} cannot be looked at")
        raise


def refuse_earlier(store: Store, table: Table, release: str, why: str) -> None:
    """Refuse a release whose rows lack columns that the table has by now.

    Args:
        store: where the release is.
        table: one of its tables; others are passed over.
        release: its name.
        why: what cannot be done with it, for the message.

    Raises:
        ContractError: names the columns, and says what to type.
    """
    lacking: set[str] = set()
    for version in store.lake.versions(table.name, partitions_of_release(store.lake, table, release)):
        if version.schema != table.fingerprint:
            lacking |= set(table.column_names()) - set(pq.read_schema(version.paths()[0]).names)
    if lacking:
        raise ContractError(
            f"release {release!r}: was built by an earlier version of tempkb, and its {table.name} has no column "
            f"{', '.join(sorted(lacking))}, so {why}. It can be kept as it is; to have one that can, build the same "
            "under another --name, as `tempkb release --help` shows"
        )


def require(
    store: Store,
    declared: Iterable[Promise],
    release: str,
    given: Mapping[str, pa.Table] | None = None,
    fresh: Collection[str] | None = None,
) -> None:
    """Refuse a release that breaks a promise; warnings are left to the asset checks.

    Args:
        store: where its rows are.
        declared: what it promises.
        release: its name.
        given: rows that are not written yet, by the names that the queries use.
        fresh: its partitions that were written just now; those that stood before are not held to promises that
            may fade. None: all were.

    Raises:
        ContractError: names the check, how many rows break it, and one of them.
    """
    for promise in declared:
        if promise.is_warning:
            continue
        rows = broken(store, promise, [release], given, fresh if promise.may_fade else None)
        if rows:
            raise ContractError(
                f"release {release!r}: fails its own check {promise.about.name}.{promise.name} "
                f"({promise.meaning.rstrip('.')}); rows that break it: {len(rows):,}, the first: {_shown(rows[0])}. "
                "This is a fault of tempkb or of damaged tables, not of the design; please report it"
            )


def _shown(row: tuple[Any, ...]) -> str:
    return ", ".join(str(value) for value in row)
