"""Which windows must be read again because something that was written with them was lost to damage.

Texts are partitioned by quarter and pages by dump, so the partitions of the windows that wrote them are not damaged
themselves.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tempkb.dumps.tables import DUMP_FILES, NAMESPACES, PAGES
from tempkb.revisions.origins import pages_of, setting_of
from tempkb.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.lake import Version
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store, read_files
from tempkb.windows import Granularity, window_of_key


def rests_on_lost(store: Store, snapshot: Version) -> bool:
    """Is a table of the snapshot's dumps, or a quarter with texts chosen in it, damaged and not built again yet?"""
    lost = {dump_id for table in (DUMP_FILES, PAGES, NAMESPACES) for dump_id in store.lake.lost(table.name)}
    if lost:
        items_from = pages_of(snapshot)
        if lost & {setting_of(snapshot, "dump_id"), items_from[0] if items_from else None}:
            return True
    return any(_lacks_texts(store, snapshot, quarter) for quarter in store.lake.lost(PAGE_WIKITEXTS.name))


def owe_texts(store: Store, quarter: str) -> None:
    """Before texts are added to a quarter that was lost, note the windows that had texts in it."""
    if quarter not in store.lake.lost(PAGE_WIKITEXTS.name):
        return
    if store.lake.current(PAGE_WIKITEXTS.name, quarter) is None:
        snapshots = store.lake.versions(STABLE_SNAPSHOTS.name)
        windows = [one.partition for one in snapshots if has_winners(one, quarter)]
        store.lake.owe(PAGE_WIKITEXTS.name, quarter, windows)


def settle_texts(store: Store, windows: Iterable[str]) -> None:
    """Note that the texts of some windows were read again, or are no longer wanted."""
    keys = list(windows)
    for quarter in store.lake.lost(PAGE_WIKITEXTS.name):
        store.lake.settle(PAGE_WIKITEXTS.name, quarter, keys)


def lacking_texts(
    snapshots: Sequence[Version], texts: Sequence[Version], logs: Sequence[Version], folder: Path
) -> dict[str, dict[str, int]]:
    """Return how many revisions chosen in a window lack their text, by quarter of the text and key of the window.

    Texts that the log marks as suppressed, and windows that were built without texts, are left out.
    """
    named = [one for one in snapshots if PAGE_WIKITEXTS.name in (setting_of(one, "tables") or [PAGE_WIKITEXTS.name])]
    missing: dict[str, dict[str, int]] = {}
    with spilling_to(folder) as memory:
        for table, versions in ((STABLE_SNAPSHOTS, named), (PAGE_WIKITEXTS, texts), (REVISION_LOG, logs)):
            view_files(memory, table.name, [path for one in versions for path in one.places()], table.schema)
        for quarter, window, n in memory.execute(_LACKING).fetchall():
            missing.setdefault(quarter, {})[window] = n
    return missing


_LACKING = f"""
    WITH lacking AS (
        SELECT window_start, revision_id, revision_timestamp FROM {STABLE_SNAPSHOTS.name}
        ANTI JOIN {PAGE_WIKITEXTS.name} USING (page_id, revision_id) WHERE has_text
    )
    SELECT CAST(CAST(date_trunc('quarter', revision_timestamp AT TIME ZONE 'UTC') AS DATE) AS VARCHAR) AS quarter,
           CAST(window_start AS VARCHAR) AS window_key, count(*)
    FROM lacking ANTI JOIN (SELECT revision_id FROM {REVISION_LOG.name} WHERE is_suppressed) USING (revision_id)
    GROUP BY ALL ORDER BY ALL
"""


def _lacks_texts(store: Store, snapshot: Version, quarter: str) -> bool:
    """Are texts of the snapshot in a lost quarter still to be read again?"""
    if store.lake.current(PAGE_WIKITEXTS.name, quarter) is not None:
        return snapshot.partition in store.lake.owed(PAGE_WIKITEXTS.name, quarter)
    return has_winners(snapshot, quarter)


def has_winners(snapshot: Version, quarter: str) -> bool:
    """Was a revision that the snapshot chose saved in a quarter? The quarter is named by its first day."""
    window = window_of_key(quarter, Granularity.QUARTER)
    first, last = (pa.scalar(_midnight(day), pa.timestamp("us", tz="UTC")) for day in (window.start, window.end))
    for rows in read_files(snapshot.paths(), ["revision_timestamp"]):
        saved = rows["revision_timestamp"]
        if pc.any(pc.and_(pc.greater_equal(saved, first), pc.less(saved, last))).as_py():
            return True
    return False


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
