"""The object through which rooms write and read the tables of a home."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.core.errors import SettingsError
from tempkb.core.files import open_parquet
from tempkb.core.locks import Patience, locked
from tempkb.core.options import nearest
from tempkb.core.record import digest_of
from tempkb.core.settings import Home
from tempkb.store.drafts import Draft, Exclusion, Provenance
from tempkb.store.lake import DAY, Lake
from tempkb.store.memory import asking, view_files
from tempkb.store.quoting import identifier, parquet
from tempkb.store.tables import SIDE_TABLES, Family, Table, View, by_name
from tempkb.store.versions import Fault, Version

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tempkb.store.database import Database, Publication


class Store:
    """A home's lake and its DuckDB file, under one set of declarations; each view may use those before it.

    Args:
        patience: how long one run may wait for the DuckDB file.
    """

    def __init__(
        self, home: Home, tables: Sequence[Table], patience: Patience | None = None, views: Sequence[View] = ()
    ) -> None:
        self.home = home
        self.tables: Mapping[str, Table] = by_name(tables)
        self.lake = Lake(home.lake)
        self.views: Mapping[str, View] = by_name(views)
        self._patience = patience or Patience()
        self.require_own_record()

    @cached_property
    def database(self) -> "Database":
        """The DuckDB file; DuckDB is imported with it, which those who only look at the lake do without."""
        from tempkb.store.database import Database

        views = tuple(self.views.values())
        return Database(self.home.database, self.lake, self.tables, self.home.settings.duckdb_max_rows, views)

    def claim(self, wiki: str) -> None:
        """Make the home permanently one of `wiki`, if it is not yet."""
        self.home = self.home.claim(wiki)

    def require_own_record(self, versions: "Iterable[Version] | None" = None) -> None:
        """Raise a SettingsError if versions (of dumps, or all) were written under another record than the home's."""
        digest, record = digest_of(self.home.path), self.home.path / "home.toml"
        if versions is None:
            tables = [table.name for table in self.tables.values() if not digest or table.family is Family.DUMP]
            versions = (version for name in tables for version in self.lake.versions(name))
        for version in versions:
            if version.record not in ("", digest):
                found = f"the digest {digest}" if digest else "neither it nor a copy in the lake"
                raise SettingsError(
                    f"{record}: found {found}; expected the digest {version.record}, under which {version.table} "
                    f"{version.partition} was written. Restore that file from a copy of your own, or build anew with "
                    "another salt in another folder (TEMPKB_HOME=...)"
                )

    def write(
        self,
        table: Table,
        partition: str,
        rows: "Iterable[pa.Table]",
        provenance: Provenance,
        exclusions: Iterable[Exclusion] = (),
        staging: Path | None = None,
    ) -> Version:
        """Replace a partition with `rows`, which are in key order.

        Args:
            rows: tables or batches of the declared schema.
            staging: a folder from `lake.staging`; None makes a new one.

        Raises:
            ContractError: the rows break the table's promises; the old version is kept.
        """
        if staging is None:
            with self.lake.staging() as folder:
                return self.write(table, partition, rows, provenance, exclusions, folder)
        draft = Draft(self.lake, table, partition, staging / uuid.uuid4().hex)
        for batch in rows:
            draft.write(batch)
        return draft.commit(provenance, exclusions)

    def add(
        self,
        table: Table,
        partition: str,
        rows: "Iterator[pa.Table]",
        provenance: Provenance,
        *,
        prefer: str = "old",
        exclusions: Sequence[Exclusion] = (),
        staging: Path | None = None,
    ) -> Version:
        """Replace a partition with the union of its rows and `rows`, by key, under the partition's lock.

        Args:
            rows: in key order, each key once.
            provenance: of the new rows; inputs of the old ones are kept beside them.
            prefer: `old` or `new`, whose row is kept if both have the key.
            exclusions: of the new rows; they are added to those of the old ones.
            staging: as for `write`.
        """
        with self.lake.partition_lock(table.name, partition):
            current = self.lake.current(table.name, partition)
            if current is None:
                return self.write(table, partition, rows, provenance, exclusions, staging)
            # Arrow comes with it, which those who only read do without.
            from tempkb.store.merge import union_by_key

            filled_by = sorted({*current.filled_by, *provenance.filled_by})
            both = replace(provenance, inputs={**current.inputs, **provenance.inputs}, filled_by=filled_by)
            merged = union_by_key(read_files(current.paths()), rows, table.key, prefer)
            return self.write(table, partition, merged, both, self._summed(current, exclusions), staging)

    def forget(self, table: Table, partition: str, column: str, values: "pa.Array", provenance: Provenance) -> bool:
        """Remove the rows from a partition whose `column` is among `values`; False if there are none."""
        import pyarrow.compute as pc

        with self.lake.partition_lock(table.name, partition):
            current = self.lake.current(table.name, partition)
            pieces = read_files(current.paths() if current else (), [column])
            if not any(pc.any(pc.is_in(rows[column], values)).as_py() for rows in pieces) or current is None:
                return False
            kept = (rows.filter(pc.invert(pc.is_in(rows[column], values))) for rows in read_files(current.paths()))
            kept_by = replace(provenance, filled_by=current.filled_by)
            self.write(table, partition, kept, kept_by, self._summed(current, ()))
            return True

    def faults(self) -> list[Fault]:
        """Return the faults of lost partitions, found in descriptions and sizes or by earlier readers."""
        return [fault for name in self.tables for fault in self.lake.faults(name)]

    def publish(self) -> "Publication":
        """Let the DuckDB file show the lake as it is now, as commands and runs do once, at their end."""
        return self.database.publish(self._patience)

    def read(
        self, table: str, columns: Sequence[str] | None = None, version: Version | None = None, /, **equal: object
    ) -> "pa.Table":
        """Return the rows of a table or view from the lake, by partition and key; optionally only some.

        Args:
            table: name of a declared table or view, or `exclusions` or `manifest`.
            columns: names of the columns that are wanted, in this order; None for all.
            version: of the table; only its rows are read.
            equal: column name -> value of the rows that are wanted, such as `cut="2021-01-01"`.

        Raises:
            SettingsError: there is no such table or column, no column is named, or a value does not fit its column.
        """
        import duckdb
        import pyarrow as pa

        declared = None if table in self.views else self.declaration(table)
        with asking() as memory:
            if declared and version:
                _view_versions(memory, declared, [version])
            else:
                self._view_needs(memory, [table])
            found = memory.execute(f"DESCRIBE {identifier(table)}").fetchall()
            kinds = {name: kind for name, kind, *_ in found if not declared or name in declared.column_names()}
            names = list(kinds) if columns is None else list(columns)
            if odd := [name for name in (*names, *equal) if name not in kinds]:
                kind = "table" if declared else "view"
                raise SettingsError(f"{kind} {table!r} has no column {odd[0]!r}{nearest(odd[0], list(kinds))}")
            if not names:
                raise SettingsError(f"table {table!r}: found no column; expected names, such as {next(iter(kinds))}")
            where = " AND ".join(f"{identifier(name)} = CAST(${name} AS {kinds[name]})" for name in equal) or "true"
            query = f"SELECT {', '.join(map(identifier, names))} FROM {identifier(table)} WHERE {where}"
            if declared:
                order = dict.fromkeys([*declared.partition_columns, *declared.key])
                query += f" ORDER BY {', '.join(map(identifier, order))}"
            try:
                rows = memory.sql(query, params=dict(equal)).to_arrow_table()
            except (duckdb.ConversionException, duckdb.NotImplementedException, duckdb.InvalidInputException) as error:
                raise SettingsError(f"table {table!r}: a value does not fit its column ({error})") from None
        return rows.cast(pa.schema([declared.schema.field(name) for name in names])) if declared else rows

    def declaration(self, table: str) -> Table:
        """Return the declaration of `table`; a SettingsError names the nearest that exists, if it does not."""
        known = {**self.tables, **by_name(SIDE_TABLES)}
        if table not in known:
            raise SettingsError(f"no table {table!r}{nearest(table, sorted({*known, *self.views}))}")
        return known[table]

    def collect_garbage(self, frozen: Iterable[tuple[str, str, str]] = ()) -> tuple[list[Path], int]:
        """Publish what is pending, then remove all versions and drafts that nothing uses any more.

        What the DuckDB file shows is in use. Who has opened one that was replaced since may use what was replaced in
        the last day. Only on a full disk, where no view can be changed, what is no longer current goes at once.

        Args:
            frozen: table, partition and version of what is in use besides, as versions of releases are.

        Returns:
            the folders that were deleted, and how many stay because they were replaced less than a day ago.
        """
        for table in self.tables.values():
            # Nothing can build again what told of a run, so nothing must wait for it.
            for key in self.lake.lost(table.name) if table.tells_of_a_run else ():
                self.lake.remove(table.name, key)
        no_room, costly, frozen = self.publish().no_room, self.costly(), set(frozen)
        with locked(self.home.database.with_name(self.home.database.name + ".lock"), Patience()):
            in_use = frozen | self.database.shown_versions()
            found, n_young = self.lake.collect_garbage(in_use, 0 if no_room else DAY, costly)
            if no_room and not found:
                # What the file shows goes only if nothing else is to be had.
                found, n_young = self.lake.collect_garbage(frozen, 0, costly)
        if no_room:
            self.publish()
        return found, n_young

    def costly(self) -> list[str]:
        """Return the names of tables of which damaged versions are never deleted."""
        return [one.name for one in self.tables.values() if one.family in (Family.MODEL, Family.LINKER)]

    def ask(self, query: str, *names: str) -> list[dict[str, Any]]:
        """Return the rows of a query over the lake's files."""
        rows: list[dict[str, Any]] = self.query(query, *names).to_pylist()
        return rows

    def query(self, query: str, *names: str) -> "pa.Table":
        """Return the same as `ask`, as one Arrow table."""
        with self.asking(*names) as answer:
            return answer(query)

    @contextmanager
    def asking(self, *names: str) -> "Iterator[Callable[[str], pa.Table]]":
        """Give what answers several queries over the same tables and views, which are made once."""
        with asking() as memory:
            self._view_needs(memory, names)
            yield lambda query: memory.sql(query).to_arrow_table()

    def columns_of(self, view: View) -> list[tuple[str, str]]:
        """Return the names and DuckDB's types of a view's columns, whether or not anything is built."""
        with asking() as memory:
            self._view_needs(memory, [view.name])
            return [(name, kind) for name, kind, *_ in memory.execute(f"DESCRIBE {identifier(view.name)}").fetchall()]

    def _view_needs(
        self, memory: "duckdb.DuckDBPyConnection", names: Iterable[str], made: set[str] | None = None
    ) -> None:
        """Let tables and views, and what these need, be found by their names; `made` are there already."""
        made = set() if made is None else made
        for name in names:
            if name in made:
                continue
            made.add(name)
            if view := self.views.get(name):
                self._view_needs(memory, (*view.needs, *view.optional), made)
                memory.execute(f"CREATE OR REPLACE TEMP VIEW {identifier(name)} AS {view.query}")
            elif table := self.tables.get(name):
                _view_versions(memory, table, self.lake.versions(name))
            else:
                import pyarrow as pa

                versions = (version for one in self.tables for version in self.lake.versions(one))
                rows = [row for version in versions for row in version.side_rows(name)]
                memory.register(name, pa.Table.from_pylist(rows, self.declaration(name).schema))

    def _summed(self, version: Version, new: Sequence[Exclusion]) -> list[Exclusion]:
        """Add up the exclusions of a version and of new rows, by reason; the older example is kept."""
        summed: dict[tuple[str, str], Exclusion] = {}
        old = (Exclusion(one["reason"], one["n"], one["example"], one["table_name"]) for one in version.exclusions)
        for one in (*old, *new):
            key = (one.reason, one.table_name or version.table)
            before = summed.get(key, replace(one, n=0, table_name=key[1]))
            summed[key] = replace(before, n=before.n + one.n)
        return list(summed.values())


def _view_versions(memory: "duckdb.DuckDBPyConnection", table: Table, versions: Sequence[Version]) -> None:
    """Let versions of a table be found by its name."""
    paths = [path for one in versions for path in one.paths()]
    view_files(memory, table.name, paths, table.schema)
    if any(one.schema != table.fingerprint for one in versions):
        # As in the DuckDB file, columns that files of an earlier declaration lack are null.
        both = f"FROM {parquet(paths)} UNION ALL BY NAME ({table.empty_query})"
        memory.execute(f"CREATE OR REPLACE TEMP VIEW {identifier(table.name)} AS {both}")


def read_files(paths: Iterable[Path], columns: Sequence[str] | None = None) -> "Iterator[pa.Table]":
    """Yield the row groups of Parquet files one after another."""
    for path in paths:
        with open_parquet(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns)
