"""Opens homes, and reads their tables so that what was never made is an error and not a table without rows."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.errors import SettingsError
from tempkb.core.locks import Patience
from tempkb.core.options import nearest
from tempkb.core.settings import load_home
from tempkb.core.windows import nearest_days, parse_day, window_of_key
from tempkb.platform.rooms import TABLES, VIEWS
from tempkb.store.store import Store
from tempkb.store.tables import SIDE_TABLES, Family, Table, by_name
from tempkb.store.versions import Version
from tempkb.wiki.revisions.tables import REBUILD_CHANGES, STABLE_SNAPSHOTS

if TYPE_CHECKING:
    import pyarrow as pa

_MADE_FOR = frozenset(("release", "model", "linker", "corpus", "dump_id", "window_start"))
_PARTS = re.compile(r"--|\.(?=\d{4}-\d\d-\d\d$)")
_SHOWN = 10
_SIDE = by_name(SIDE_TABLES)
_COMMANDS = {Family.RESULT: "results"} | {
    one: f"{one.value} --help" for one in (Family.RELEASE, Family.MODEL, Family.LINKER, Family.CORPUS)
}
_COMMANDS_OF = {
    **{table.name: f"release {one.command} --help" for one in BENCHMARKS for table in one.room.tables},
    **{measured.table.name: f"release {measured.name} --help" for one in BENCHMARKS for measured in one.measurements},
}


def open_store(patience: Patience | None = None, home: Path | None = None) -> Store:
    """Open a home.

    Args:
        patience: what may be spent waiting for the DuckDB file; by default ten seconds.
        home: its folder; by default the one that `TEMPKB_HOME` names.
    """
    return Store(load_home(home), TABLES, patience, VIEWS)


def read(
    store: Store, table: str, columns: Sequence[str] | None, partition: str | None, equal: Mapping[str, Any]
) -> "pa.Table":
    """Return rows of a table or view, as `KnowledgeBase.read` says; of the lake, so that no open file is in the way."""
    version = _version_of(store, table, partition) if partition is not None else None
    rows = store.read(table, columns, version, **equal)
    if not rows.num_rows and version is None:
        _refuse_other_names(store, table, equal) if table in _SIDE else _refuse_absent(store, table, equal)
    return rows


def _refuse_other_names(store: Store, table: str, equal: Mapping[str, Any]) -> None:
    """Raise an error if there is no table or partition beside which a side table was written."""
    keys = sorted({key for name in store.tables for key in store.lake.partitions(name)})
    for column, there in (("table_name", [*store.tables]), ("partition", keys)):
        if column in equal and equal[column] not in there:
            raise SettingsError(
                f"{column} {equal[column]}: {table} has nothing of it{_near(str(equal[column]), there)}"
            )


def _version_of(store: Store, table: str, partition: str) -> Version:
    if table in store.views:
        raise SettingsError(f"partition {partition!r}: {table} is a view, which has none; name values of its columns")
    keys = store.lake.partitions(store.declaration(table).name)
    if (version := store.lake.current(table, partition)) is None:
        _refuse_unbuilt(store, table)
        raise SettingsError(f"partition {partition!r}: {table} has none of that name{_near(partition, keys)}")
    return version


def _near(name: str, there: Sequence[str]) -> str:
    """The name that is most like another, or the last that are there, as the end of a message."""
    return nearest(name, [*there], f"the last that it has: {', '.join(there[-_SHOWN:]) or 'none'}")


def _refuse_unbuilt(store: Store, table: str) -> None:
    declared = store.tables.get(table)
    if declared and not declared.tells_of_a_run and not store.lake.partitions(table):
        command = _COMMANDS_OF.get(table) or _COMMANDS.get(declared.family, "build")
        raise SettingsError(f"{table}: nothing of it is built yet; build it: tempkb {command}")


def _refuse_absent(store: Store, table: str, equal: Mapping[str, Any]) -> None:
    """Raise an error if there is no row because what is asked for was never made."""
    for need in store.views[table].needs if table in store.views else (table,):
        _refuse_absent(store, need, {}) if need in store.views else _refuse_unbuilt(store, need)
    if "cut" in equal and table in store.tables:
        asked = equal["cut"] if isinstance(equal["cut"], date) else parse_day(str(equal["cut"]))
        built = built_cuts(store, table)
        if asked not in built:
            raise unbuilt_cut(table, asked, built)
    for column in sorted(_MADE_FOR & equal.keys()):
        held, parts = dict[str, None](), set[str]()
        for name in (one.name for one in _tables_behind(store, table) if column in one.column_names()):
            rows = store.ask(f"SELECT DISTINCT {column} FROM {name} WHERE {column} IS NOT NULL ORDER BY ALL", name)
            held |= dict.fromkeys(str(row[column]) for row in rows)
            # What was made and has no rows is in the partitions' names only.
            parts |= {part for key in store.lake.partitions(name) for part in _PARTS.split(key)}
        if str(equal[column]) not in {*held, *parts}:
            near = _near(str(equal[column]), list(held))
            raise SettingsError(f"{column} {equal[column]}: {table} has nothing of it{near}")


def _tables_behind(store: Store, name: str) -> list[Table]:
    """The tables of which rows are made: a table itself, those that a view reads."""
    if name in store.tables:
        return [store.tables[name]]
    needs = (*store.views[name].needs, *store.views[name].optional)
    return [table for need in needs for table in _tables_behind(store, need)]


def built_cuts(store: Store, table: str) -> list[date]:
    """Return the cuts at which a table with the column `cut` is built, also those without a row, oldest first."""
    declared = store.declaration(table)
    if declared.partitioned_by == "window":
        # A window that was never rebuilt has no partition there, and is built all the same.
        source = STABLE_SNAPSHOTS.name if table == REBUILD_CHANGES.name else table
        granularity = store.home.settings.granularity
        return [window_of_key(key, granularity).cut for key in store.lake.partitions(source)]
    return [row["cut"] for row in store.ask(f"SELECT DISTINCT cut FROM {table} ORDER BY cut", table)]


def unbuilt_cut(table: str, asked: date, built: Sequence[date]) -> SettingsError:
    """The error of whoever asks for a cut that is not built; it names the nearest that are."""
    if not built:
        return SettingsError(f"{table}: nothing of it is built yet; build it: tempkb build")
    near = ", ".join(str(day) for day in nearest_days(built, asked))
    return SettingsError(f"cut {asked}: {table} is not built at that cut; the nearest are {near}")
