"""What a step of building a release is given: its sources as views, what is recorded of them, and what it writes.

A release is frozen: what stands of it is not made again, though code, texts or dumps are others by now. Only what was
made from a table of the release itself follows if that table was lost, and then made again with other rows.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.benchmarks.register import keys_of_release, release_versions, to_build_again
from tempkb.benchmarks.sources import with_files
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import window_of_key
from tempkb.engine.steps import Log, Look, lacking_source
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Version
from tempkb.wiki.mentions.steps import STEPS as MENTIONS_STEPS
from tempkb.wiki.revisions.steps import STEPS as REVISIONS_STEPS
from tempkb.wiki.revisions.windows import how_to_build
from tempkb.wiki.wikidata.steps import STEPS as WIKIDATA_STEPS

_BATCH_ROWS = 1 << 14
_OF_HOME = (*REVISIONS_STEPS, *MENTIONS_STEPS, *WIKIDATA_STEPS)
Keys = str | Sequence[str]


@dataclass(frozen=True)
class ReleaseWork:
    """The work of one step for one release.

    Attributes:
        folder: for drafts, on the lake's file system; the connection spills there.
        options: of a measurement; otherwise empty.
        settings: on which rows depend, besides the design.
        warnings: for people.
    """

    store: Store
    release: Any
    log: Log
    folder: Path
    connection: duckdb.DuckDBPyConnection
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _sources: dict[Version, None] = field(default_factory=dict)

    def branch(self) -> "ReleaseWork":
        """Return the same work; what it reads from now on is recorded with what it writes alone."""
        return replace(self, settings=dict(self.settings), _sources=dict(self._sources))

    def note(self, *versions: Version) -> None:
        """Record versions from which rows are made, besides those that `read` gives."""
        self._sources.update(dict.fromkeys(versions))

    def read(self, table: Table, keys: Keys, name: str = "", of: str = "", *, current: bool = False) -> list[Version]:
        """Return the present versions of some partitions, make a view of them, and record them as sources.

        Args:
            name: of the view; by default that of the table.
            of: the release of which they are, if not of this one.
            current: whether what is older than its own sources, or of another pass over its dump, is refused too.

        Raises:
            ContractError: one is not there, or not current; the message has the command that makes it.
        """
        wanted = [keys] if isinstance(keys, str) else sorted(keys)
        if table.family is Family.RELEASE:
            found = release_versions(self.store, table, of or self.release.name, wanted)
        else:
            found = self.store.lake.versions(table.name, wanted)
        stale = Look(self.store, _OF_HOME).stale(table.name, wanted) if current else ()
        lacking = sorted({*wanted} - {one.partition for one in found} | {*stale})
        if lacking:
            how = dict.fromkeys(self._how_to_build(table, key) for key in lacking)
            raise lacking_source(f"release {self.release.name!r}", table, lacking, "; ".join(how))
        view_files(self.connection, name or table.name, [path for one in found for path in one.paths()], table.schema)
        self.note(*found)
        return found

    def rows(self, query: str, **params: Any) -> pa.RecordBatchReader:
        """Return the rows of a query over the connection, a batch at a time."""
        return self.connection.sql(query, params=params or None).to_arrow_reader(_BATCH_ROWS)

    def held(self, table: Table, key: str) -> Version | None:
        """Return the version of a partition that this work has written or found; None if there is none."""
        return self.store.lake.current(table.name, key)

    def stands(self, table: Table, key: str) -> bool:
        """Return whether a partition of the release is there, and made from the release's tables as they are now."""
        version = self.held(table, key)
        return version is not None and all(self._is_present(*one) for one in version.inputs.items())

    def write(self, table: Table, key: str, rows: Iterable[Any], left_out: LeftOut | None = None) -> Version:
        """Write a partition of the release, with what was read, the design, and counts of what was left out.

        Args:
            rows: in key order: a table, tables or batches, or a list of rows by the names of columns.
            left_out: read after the last of the rows, with which it may be counted.
        """
        began = time.monotonic()
        counted = (Exclusion(*row) for row in (left_out or LeftOut()).rows())
        if isinstance(rows, list):
            rows = pa.Table.from_pylist(rows, table.schema)
        tables = [rows] if isinstance(rows, pa.Table) else rows
        version = self.store.write(table, key, tables, self.provenance(), counted, self.folder)
        self.log(f"{table.name} {key}: {version.rows:,} rows in {time.monotonic() - began:.1f} s")
        return version

    def provenance(self, **files: str) -> Provenance:
        """Return what rows are made from and with, besides some files by their names."""
        inputs = {**with_files(self.store, self._sources), **files}
        return Provenance(inputs, {**self.release.design.to_json(), **self.settings})

    def _is_present(self, name: str, made_from: str) -> bool:
        """Is an input the present version of a table of the release, or of none?"""
        table, _, key = name.partition(" ")
        source = self.store.tables.get(table)
        if source is None or not keys_of_release([key], source, self.release.name):
            return True
        now = self.held(source, key)
        return now is not None and now.version == made_from

    def _how_to_build(self, table: Table, key: str) -> str:
        if table.partitioned_by == "window":
            return how_to_build(self.store, window_of_key(key, self.store.home.settings.granularity))
        return f"build it first: {to_build_again(table, key)}"


@contextmanager
def working(
    store: Store, release: Any, log: Log = lambda _line: None, options: Mapping[str, Any] | None = None
) -> Iterator[ReleaseWork]:
    """Give the work of one step for a release, with a connection and a folder of its own."""
    with store.lake.staging() as folder, spilling_to(folder) as connection:
        yield ReleaseWork(store, release, log, folder, connection, options or {})


def make_table(connection: duckdb.DuckDBPyConnection, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Make a temporary table, or replace one.

    Args:
        columns: SQL of their names and types.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({columns})")
    if rows:
        arrays = [pa.array(values) for values in zip(*rows, strict=True)]
        connection.register(
            "rows_given", pa.Table.from_arrays(arrays, names=[f"column_{at}" for at in range(len(arrays))])
        )
        connection.execute(f"INSERT INTO {name} FROM rows_given")
        connection.unregister("rows_given")
