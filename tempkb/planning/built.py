"""What is built of windows, and which dumps are registered, by what lies in the lake."""

from collections.abc import Sequence
from datetime import date

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.tables import DUMP_FILES, NAMESPACES, PAGES
from tempkb.mentions.building import WRITERS, are_current
from tempkb.revisions.building import ALL
from tempkb.revisions.losses import rests_on_lost
from tempkb.revisions.origins import tables_built_with
from tempkb.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.revisions.windows import read_windows
from tempkb.store.store import Store
from tempkb.windows import Window, windows_until


def missing_windows(store: Store, until: date) -> list[Window]:
    """Return the windows of the home that have ended by a day and for which a dump is to be read, oldest first.

    These are the ones that no dump was read for, and the ones of which texts, or tables of their dump, were lost to
    damage. What only rests on tables that stand is none of them: that needs no dump.
    """
    settings = store.home.settings
    every = windows_until(settings.first_window, until, settings.granularity)
    read = (set(store.lake.partitions(table.name)) for table in (REVISION_LOG, STABLE_SNAPSHOTS))
    held = set.intersection(*read)
    held -= {one.partition for one in store.lake.versions(STABLE_SNAPSHOTS.name) if rests_on_lost(store, one)}
    return [window for window in every if window.key not in held]


def stale_windows(store: Store) -> list[Window]:
    """Return the windows whose texts lie in the lake but whose mentions do not follow from them, oldest first."""
    windows = read_windows(store)
    return [window for window in windows if is_built(store, window, sorted(ALL)) and not is_built(store, window)]


def is_built(store: Store, window: Window, select: Sequence[str] = ()) -> bool:
    """Does every selected table hold the window? Texts lie by quarter, so the window's other tables tell of them."""
    wanted = set(select) or ALL | WRITERS.keys()
    if wanted & {STABLE_SNAPSHOTS.name, PAGE_WIKITEXTS.name}:
        snapshot = store.lake.current(STABLE_SNAPSHOTS.name, window.key)
        # A snapshot of an earlier declaration may lack columns that later tables are made from.
        if snapshot is None or not snapshot.fits(STABLE_SNAPSHOTS):
            return False
        if PAGE_WIKITEXTS.name in wanted and PAGE_WIKITEXTS.name not in tables_built_with(snapshot):
            return False
        if rests_on_lost(store, snapshot):
            return False
    logged = wanted & {REVISION_LOG.name, STABLE_SNAPSHOTS.name}
    derived = set(wanted & WRITERS.keys())
    if wanted & {"page_texts", "page_links"}:
        derived.add("mentions")
    return all(store.lake.current(name, window.key) for name in logged) and are_current(store, sorted(derived), window)


def is_registered(store: Store, dump: Dump) -> bool:
    """Are the dump's files written down as they are now, with its namespaces, and its pages by today's declaration?

    The run that registers it may have been killed between any two of these.
    """
    files, pages, names = (store.lake.current(one.name, dump.dump_id) for one in (DUMP_FILES, PAGES, NAMESPACES))
    if files is None or (dump.history and names is None):
        return False
    if dump.table("page") and (pages is None or not pages.fits(PAGES)):
        return False
    written = store.read(DUMP_FILES.name, dump_id=dump.dump_id).to_pylist()
    return {row["file_name"]: row["size_bytes"] for row in written} == {
        file.path.name: file.path.stat().st_size for file in dump.files
    }
