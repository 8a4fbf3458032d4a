"""Compares the DuckDB file with the lake: the versions that it shows, their rows, and the files that its views name."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tempkb.store.database import Database, Pending, shown_in
from tempkb.store.lake import Version
from tempkb.store.plain import plain_rows
from tempkb.store.quoting import file_names, identifier, literal
from tempkb.store.tables import SIDE_TABLES, Table

_FILES = re.compile(r"'((?:[^']|'')*\.parquet)'")
# Independent of the order of rows, and as exact as 64 bits per row allow.
_HASH = "count(*), sum(CAST(hash({columns}) AS HUGEINT))"


@dataclass(frozen=True)
class Difference:
    """A difference between the DuckDB file and the lake.

    Attributes:
        thing: table and partition, or a view.
        is_pending: does the next publication correct it?
    """

    thing: str
    found: str
    expected: str
    is_pending: bool = False


def compare(
    database: Database, tables: Mapping[str, Table], whole: Mapping[str, Sequence[Version]]
) -> list[Difference]:
    """Return where the DuckDB file differs from the lake.

    Args:
        whole: versions of the lake whose files are known to be good, by table; others are not compared.

    Raises:
        DamagedDatabaseError: DuckDB cannot read the file.
        LockTimeoutError: another program writes to it.
    """
    with database.reading() as connection:
        found: list[Difference] = []
        pending = {(one.table.name, one.partition): one for one in database.pending(connection)}
        shown = shown_in(connection)
        forms = dict(connection.execute("SELECT table_name, form FROM declared").fetchall())
        for table in tables.values():
            for (name, partition), one in pending.items():
                if name == table.name:
                    found.append(_not_shown(one, shown.get((name, partition), ("", None))[0]))
            # What was replaced and published since the lake was read is not what is shown.
            versions = [
                one
                for one in whole.get(table.name, ())
                if shown.get((table.name, one.partition)) == (one.version, one.sum_of_sides())
            ]
            found += _of_table(connection, database, table, versions, forms.get(table.name) == "view", set(pending))
        _read_the_rest(connection, set(tables))
        return found


def _of_table(
    connection: duckdb.DuckDBPyConnection,
    database: Database,
    table: Table,
    versions: Sequence[Version],
    is_view: bool,
    pending: set[tuple[str, str]],
) -> list[Difference]:
    """Compare what is not pending. A build may replace partitions in the lake meanwhile; this is not a difference."""
    while True:
        settled = [one for one in versions if (table.name, one.partition) not in pending]
        found: list[Difference] = []
        if is_view:
            # A view is made again with the first partition that is published.
            found += [] if table.name in {name for name, _ in pending} else _of_view(connection, database, table)
        elif settled:
            found += _of_rows(connection, table, settled)
        found += _of_sides(connection, settled)
        if not found:
            return []
        replaced = {(one.table.name, one.partition) for one in database.pending(connection)} - pending
        if not any(name == table.name for name, _ in replaced):
            return found
        pending = pending | replaced


def _not_shown(one: Pending, shown: str) -> Difference:
    thing = f"{one.table.name} {one.partition}"
    if one.version is None:
        return Difference(thing, "rows of a partition that the lake does not have", "none", is_pending=True)
    found = f"version {shown}" if shown else "no rows"
    expected = f"version {one.version.version}"
    if found == expected:
        found = "the table as it was declared or located before, or the manifest of an earlier writing of equal rows"
        expected = "the table as it is declared and located now, and the manifest that the lake has"
    return Difference(thing, found, expected, is_pending=True)


def _of_view(connection: duckdb.DuckDBPyConnection, database: Database, table: Table) -> Iterator[Difference]:
    query = "SELECT sql FROM duckdb_views() WHERE view_name = ?"
    named = {path for (sql,) in connection.execute(query, [table.name]).fetchall() for path in _FILES.findall(sql)}
    wanted = {literal(name)[1:-1] for name in file_names(database.files_of_view(table))}
    if named != wanted:
        yield Difference(
            f"view {table.name}",
            f"{len(named - wanted)} files that it should not name, and {len(wanted - named)} not named",
            f"the {len(wanted)} files of the versions that are shown",
        )


def _of_rows(connection: duckdb.DuckDBPyConnection, table: Table, versions: Sequence[Version]) -> Iterator[Difference]:
    """Compare counts and sums of hashes of the rows of each partition, in one pass over either side."""
    typed = ", ".join(f"CAST({identifier(column.name)} AS {column.sql_type})" for column in table.columns)
    query = (
        f"SELECT lake_partition, {_HASH.format(columns=typed)} FROM {identifier(table.name)} GROUP BY lake_partition"
    )
    shown = {key: (n, hashes) for key, n, hashes in connection.execute(query).fetchall()}
    for version in versions:
        found, expected = shown.get(version.partition, (0, None)), _hash_of(connection, table, version)
        if found != expected:
            what = "rows that are not those of the lake" if found[0] == expected[0] else "rows"
            yield Difference(
                f"{table.name} {version.partition}",
                f"{found[0]:,} {what}",
                f"the {expected[0]:,} rows of version {version.version}",
            )


def _hash_of(connection: duckdb.DuckDBPyConnection, table: Table, version: Version) -> tuple[int, int | None]:
    paths = file_names(version.places())
    described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [paths[0]]).fetchall()
    held = {row[0] for row in described}
    # Files of an earlier declaration lack later columns; these read as null.
    values = (identifier(one.name) if one.name in held else "NULL" for one in table.columns)
    typed = ", ".join(f"CAST({value} AS {one.sql_type})" for value, one in zip(values, table.columns, strict=True))
    n, hashes = connection.execute(
        f"SELECT {_HASH.format(columns=typed)} FROM read_parquet(?, union_by_name = true)", [paths]
    ).fetchall()[0]
    return n, hashes


def _of_sides(connection: duckdb.DuckDBPyConnection, versions: Sequence[Version]) -> Iterator[Difference]:
    """Compare the rows of `exclusions` and `manifest` that belong to versions of a table."""
    if not versions:
        return
    for side in SIDE_TABLES:
        owner = "recorded_in" if "recorded_in" in side.column_names() else "table_name"
        rows = connection.sql(
            f"FROM {identifier(side.name)} WHERE {owner} = ?", params=[versions[0].table]
        ).to_arrow_table()
        shown: dict[str, Counter[tuple[object, ...]]] = defaultdict(Counter)
        for row in plain_rows(rows):
            shown[row["partition"]][tuple(row.values())] += 1
        for version in versions:
            expected = Counter(tuple(row.values()) for row in version.side_rows(side.name))
            if shown[version.partition] != expected:
                yield Difference(
                    f"{side.name} of {version.table} {version.partition}",
                    f"{shown[version.partition].total():,} rows that are not those of the lake",
                    f"the {expected.total():,} rows of version {version.version}",
                )


def _read_the_rest(connection: duckdb.DuckDBPyConnection, ours: set[str]) -> None:
    """Read the user's own tables in the file: DuckDB verifies the checksum of each block that it reads."""
    query = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
    for schema, name in connection.execute(query).fetchall():
        if name not in ours:
            place = f"{identifier(schema)}.{identifier(name)}"
            connection.execute(f"SELECT sum(CAST(hash(one) AS HUGEINT)) FROM {place} AS one").fetchall()
