"""What is built of windows, and which dumps are registered, by what lies in the lake."""

from collections.abc import Sequence
from datetime import date

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.steps import STEPS as DUMPS_STEPS
from tempkb.dumps.tables import DUMP_FILES, NAMESPACES, PAGES
from tempkb.engine.steps import Look
from tempkb.mentions.steps import BY_WINDOW, look
from tempkb.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.revisions.origins import tables_built_with
from tempkb.revisions.tables import ALL, PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.revisions.windows import read_windows
from tempkb.store.store import Store
from tempkb.windows import Window, windows_until

OF_WINDOW = frozenset(table.name for step in BY_WINDOW for table in step.makes)
"""Tables of a window that follow from texts and snapshot."""
FOLLOWING = OF_WINDOW | {PAGE_TEXTS.name, PAGE_LINKS.name}
"""All that follows from texts and snapshots, for which no dump is read."""
_OF_QUARTER = frozenset({PAGE_WIKITEXTS.name, PAGE_TEXTS.name, PAGE_LINKS.name})


def missing_windows(store: Store, until: date) -> list[Window]:
    """Return the windows of the home that have ended by a day and for which a dump is to be read, oldest first.

    These are the ones that no dump was read for, and the ones of which texts, or tables of their dump, were lost to
    damage. What only rests on tables that stand is none of them: that needs no dump.
    """
    settings, seen = store.home.settings, look(store)
    every = windows_until(settings.first_window, until, settings.granularity)
    return [window for window in every if not is_built(seen, window, [STABLE_SNAPSHOTS.name])]


def stale_windows(store: Store) -> list[Window]:
    """Return the windows whose texts lie in the lake but whose mentions do not follow from them, oldest first."""
    seen = look(store)
    return [one for one in read_windows(store) if is_built(seen, one, sorted(ALL)) and not is_built(seen, one)]


def is_built(seen: Look, window: Window, select: Sequence[str] = ()) -> bool:
    """Is every selected table of a window current? Texts lie by quarter: those of the revisions that it chose."""
    wanted = set(select) or ALL | OF_WINDOW
    snapshot = seen.store.lake.current(STABLE_SNAPSHOTS.name, window.key)
    of_texts = sorted(wanted & _OF_QUARTER)
    if of_texts:
        if snapshot is None or PAGE_WIKITEXTS.name not in tables_built_with(snapshot):
            return False
        quarters = snapshot.fills.get(PAGE_WIKITEXTS.name, ())
        if not all(seen.is_current(name, quarter) for name in of_texts for quarter in quarters):
            return False
        wanted |= {STABLE_SNAPSHOTS.name}
    logged = {REVISION_LOG.name} if STABLE_SNAPSHOTS.name in wanted else set()
    of_window = (wanted | logged) & seen.steps.keys() - _OF_QUARTER
    return all(seen.is_current(name, window.key) for name in sorted(of_window))


def is_registered(store: Store, dump: Dump) -> bool:
    """Are the dump's files written down as they are now, with its namespaces, and its pages by today's declaration?

    The run that registers it may have been killed between any two of these.
    """
    needed = [DUMP_FILES, *([NAMESPACES] if dump.history else ()), *([PAGES] if dump.table("page") else ())]
    seen = Look(store, DUMPS_STEPS)
    if not all(seen.is_current(table.name, dump.dump_id) for table in needed):
        return False
    written = store.read(DUMP_FILES.name, dump_id=dump.dump_id).to_pylist()
    return {row["file_name"]: row["size_bytes"] for row in written} == {
        file.path.name: file.path.stat().st_size for file in dump.files
    }
