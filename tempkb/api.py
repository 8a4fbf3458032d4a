"""tempkb for Python: read any table of a home as Arrow."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from tempkb.errors import SettingsError
from tempkb.revisions.tables import REBUILD_CHANGES, STABLE_SNAPSHOTS
from tempkb.rooms import TABLES, VIEWS
from tempkb.settings import load_home
from tempkb.store.locks import Patience
from tempkb.store.store import Store, read_files
from tempkb.windows import nearest_days, parse_day, window_of_key

if TYPE_CHECKING:
    import pyarrow as pa


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
        SettingsError: if there is no such table, column or comparable value, or nothing is built at the cut.
    """
    store = open_store()
    rows = store.read(table, **equal)
    if not rows.num_rows and "cut" in equal and table in store.tables:
        asked = equal["cut"] if isinstance(equal["cut"], date) else parse_day(str(equal["cut"]))
        built = built_cuts(store, table)
        if asked not in built:
            raise unbuilt_cut(table, asked, built)
    return rows


def built_cuts(store: Store, table: str) -> list[date]:
    """Return the cuts at which a table with the column `cut` is built, also those without a row, oldest first."""
    declared = store.declaration(table)
    if declared.partitioned_by == "window":
        # A window that was never rebuilt has no partition there, and is built all the same.
        source = STABLE_SNAPSHOTS.name if table == REBUILD_CHANGES.name else table
        granularity = store.home.settings.granularity
        return [window_of_key(key, granularity).cut for key in store.lake.partitions(source)]
    import pyarrow.compute as pc

    rows = read_files(store.lake.files(table), ["cut"])
    return sorted({day for some in rows for day in pc.unique(some["cut"]).to_pylist()})


def unbuilt_cut(table: str, asked: date, built: Sequence[date]) -> SettingsError:
    """The error of whoever asks for a cut that is not built; it names the nearest that are."""
    if not built:
        return SettingsError(f"{table}: nothing of it is built yet; build it: tempkb build")
    near = ", ".join(str(day) for day in nearest_days(built, asked))
    return SettingsError(f"cut {asked}: {table} is not built at that cut; the nearest are {near}")
