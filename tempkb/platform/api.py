"""tempkb for Python: read any table of a home as Arrow."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from tempkb.core.errors import SettingsError
from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.core.windows import nearest_days, parse_day, window_of_key
from tempkb.platform.rooms import TABLES, VIEWS
from tempkb.store.store import Store
from tempkb.store.tables import Family
from tempkb.wiki.revisions.tables import REBUILD_CHANGES, STABLE_SNAPSHOTS

if TYPE_CHECKING:
    import pyarrow as pa

_MADE_FOR = frozenset(("release", "model", "linker", "corpus", "dump_id", "window_start"))
_PARTS = re.compile(r"--|\.(?=\d{4}-\d\d-\d\d$)")
_SHOWN = 10
_COMMANDS = {Family.RESULT: "results"} | {
    one: f"{one.value} --help" for one in (Family.RELEASE, Family.MODEL, Family.LINKER, Family.CORPUS)
}


def open_store(patience: Patience | None = None) -> Store:
    """Open the home that `TEMPKB_HOME` names.

    Args:
        patience: what may be spent waiting for the DuckDB file; by default ten seconds.
    """
    return Store(load_home(), TABLES, patience, VIEWS)


def read(table: str, **equal: Any) -> "pa.Table":
    """Return the rows of a table, optionally those where columns equal values.

    Reads the lake, so neither a running build nor somebody's open database
    is in the way.

    Args:
        table: the name of a table, such as `stable_snapshots`, or of a named question, such as `fact_versions`.
        equal: column name -> value, such as `cut="2021-01-01"`.

    Raises:
        SettingsError: if there is no such home, table, column or comparable value, nothing of the table is built, or
            nothing of the named cut, window, release, model, linker, corpus or dump.
    """
    store = open_store()
    if not store.home.path.exists():
        raise SettingsError(f"TEMPKB_HOME: {store.home.path}: no such folder; expected a home; build one: tempkb build")
    rows = store.read(table, **equal)
    if not rows.num_rows and (table in store.tables or table in store.views):
        _refuse_absent(store, table, equal)
    return rows


def _refuse_absent(store: Store, table: str, equal: Mapping[str, Any]) -> None:
    """Raise an error if there is no row because what is asked for was never made."""
    for need in store.views[table].needs if table in store.views else ():
        _refuse_absent(store, need, {})
    declared, keys = store.tables.get(table), store.lake.partitions(table)
    if declared and not keys and not declared.tells_of_a_run:
        command = _COMMANDS.get(declared.family, "build")
        raise SettingsError(f"{table}: nothing of it is built yet; build it: tempkb {command}")
    if declared and "cut" in equal:
        asked = equal["cut"] if isinstance(equal["cut"], date) else parse_day(str(equal["cut"]))
        built = built_cuts(store, table)
        if asked not in built:
            raise unbuilt_cut(table, asked, built)
    for column in _MADE_FOR & equal.keys():
        rows = store.ask(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY ALL", table)
        held = [str(row[column]) for row in rows]
        # What was made and has no rows is in the partitions' names only.
        if str(equal[column]) not in {*held, *(part for key in keys for part in _PARTS.split(key))}:
            there = ", ".join(held[-_SHOWN:]) or "none"
            raise SettingsError(f"{column} {equal[column]}: {table} has nothing of it; the last that it has: {there}")


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
