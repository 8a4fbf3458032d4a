"""What a built window was made from, and which windows must be read again since something written with them was lost.

Texts are partitioned by quarter and pages by dump, so the partitions of the windows that wrote them are not damaged
themselves.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.core.windows import Window
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.dumps.catalogue import Dump
from tempkb.wiki.dumps.tables import DUMP_FILES, NAMESPACES, PAGES
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS

if TYPE_CHECKING:
    import pyarrow as pa


def tables_built_with(version: Version) -> set[str]:
    """Return the tables that were written by the run that built this version."""
    return set(setting_of(version, "tables") or ())


def is_of_other_files(store: Store, dump: Dump, window: Window, wanted: frozenset[str]) -> bool:
    """Was a wanted table of the window built from other files than the dump has now?"""
    ours = {file.path.name: file.sha256 for file in dump.history}
    for table in sorted(wanted & {REVISION_LOG.name, STABLE_SNAPSHOTS.name}):
        version = store.lake.current(table, window.key)
        if version is not None and _history_of(version) != ours:
            return True
    return False


def pages_of(version: Version) -> tuple[str, str] | None:
    """Return the dump and version of the `pages` that gave a snapshot its items; None if there are none."""
    for name, version_name in version.inputs.items():
        if name.startswith(_PAGES):
            return name.removeprefix(_PAGES), version_name
    return None


def setting_of(version: Version, name: str) -> Any:
    """Return the value of a setting in the manifest of a version."""
    return version.settings.get(name)


def pages_input(pages: Version) -> dict[str, str]:
    """Return `pages` in the form in which a manifest names it as the source of items."""
    return {f"{_PAGES}{pages.partition}": pages.version}


_PAGES = f"{PAGES.name} "


def _history_of(version: Version) -> dict[str, str]:
    """Return the history files that a version was built from, with their hashes."""
    return {name: digest for name, digest in version.inputs.items() if not name.startswith(_PAGES)}


def rests_on_lost(store: Store, snapshot: Version) -> bool:
    """Is a table of the snapshot's dumps, or a quarter with texts chosen in it, damaged and not built again yet?"""
    lost = {dump_id for table in (DUMP_FILES, PAGES, NAMESPACES) for dump_id in store.lake.lost(table.name)}
    if lost:
        items_from = pages_of(snapshot)
        if lost & {setting_of(snapshot, "dump_id"), items_from[0] if items_from else None}:
            return True
    return bool(lacking_quarters(store, [snapshot]))


def lacking_quarters(store: Store, snapshots: Iterable[Version]) -> set[str]:
    """Return the quarters that lack texts which some snapshots chose, since they were lost and not all read again."""
    wanted = [(quarter, one.partition) for one in snapshots for quarter in one.fills.get(PAGE_WIKITEXTS.name, ())]
    texts = store.lake.versions(PAGE_WIKITEXTS.name, sorted({quarter for quarter, _ in wanted}))
    filled_by = {one.partition: one.filled_by for one in texts}
    return {quarter for quarter, window in wanted if window not in filled_by.get(quarter, ())}


def noting_quarters(pieces: "Iterator[pa.Table]", with_texts: Set[str], found: set[str]) -> "Iterator[pa.Table]":
    """Pass the rows of a snapshot on, and add the quarters in which its revisions were saved to `found`.

    Args:
        with_texts: quarters of which the dump has texts; others are not noted.
    """
    import pyarrow.compute as pc

    for rows in pieces:
        quarters = pc.floor_temporal(rows["revision_timestamp"], unit="quarter")
        found |= with_texts & {f"{one:%Y-%m-%d}" for one in pc.unique(quarters).to_pylist()}
        yield rows


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
