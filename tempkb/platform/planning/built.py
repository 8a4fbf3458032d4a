"""Which windows are built, which dumps are registered, and why dumps are not taken though windows are missing."""

import math
from collections.abc import Container, Sequence
from datetime import date
from typing import TYPE_CHECKING

from tempkb.core.settings import Home
from tempkb.core.windows import Window, epoch_seconds, windows_until
from tempkb.engine.steps import Look
from tempkb.store.store import Store
from tempkb.wiki.dumps.catalogue import Dump, serving_dump
from tempkb.wiki.dumps.offers import ENTITIES, HISTORY, FolderMirror, Offer, Shown, near_wikis, wiki_and_day
from tempkb.wiki.dumps.steps import STEPS as DUMPS_STEPS
from tempkb.wiki.dumps.tables import DUMP_FILES, NAMESPACES, PAGES
from tempkb.wiki.mentions.steps import BY_WINDOW, look
from tempkb.wiki.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.losses import tables_built_with
from tempkb.wiki.revisions.tables import ALL, PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.wiki.revisions.windows import read_windows

if TYPE_CHECKING:
    from tempkb.wiki.dumps.http import HttpMirror


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


# `tempkb status` asks no mirror.

_NO_HISTORY = "it has no history of pages"


def untaken(shown: Shown, wiki: str | None, missing: Sequence[Window], taken: Container[str], held: date) -> list[str]:
    """Say of each dump that the mirror shows why it is not taken, if it would serve a missing window or is newer.

    Args:
        missing: windows, oldest first; at least one.
        taken: ids of the dumps that are due.
        held: day of the newest dump that lies here or was read.
    """
    first = missing[0]
    too_old = [
        f"{wiki}-{day:%Y%m%d}: ends before {first.cut}, where {first.label} ends, the first window that is missing"
        for day in shown.older
        if day > held
    ]
    others = [one for one in shown.offers if one.dump_id not in taken]
    reasons = [(one, why_unfit(one) or (_why_not_needed(one, missing) if one.date > held else "")) for one in others]
    return [*too_old, *(f"{one.dump_id}: {why}" for one, why in reasons if why), *shown.misnamed]


def untaken_here(here: Sequence[Dump], wiki: str | None, missing: Sequence[Window], taken: Sequence[Dump]) -> list[str]:
    """Say of each dump in the home's own folder why it is not taken, if it would serve a missing window."""
    serving = {window: serving_dump(taken, window) for window in missing}
    would_serve = [
        one
        for one in here
        if (one.history or one.flaws) and not (one.is_named or one.entities) and wiki in (None, one.wiki)
        if any(
            epoch_seconds(window.cut) <= one.horizon < (other.horizon if other else math.inf)
            for window, other in serving.items()
        )
    ]
    return [f"{one.dump_id}: lies here, but {why}" for one in would_serve if (why := why_unfit(one))]


def newest_held(store: Store, own: Sequence[Dump]) -> date:
    """Return the day of the newest dump of the wiki that lies here or was read; without one, `date.min`."""
    read = (wiki_and_day(key) for key in store.lake.partitions(DUMP_FILES.name))
    days = [day for wiki, day in filter(None, read) if wiki == store.home.wiki]
    return max([*days, *(dump.date for dump in own if dump.date)], default=date.min)


def nothing_shown(home: Home, mirror: "HttpMirror | FolderMirror", shown: Shown) -> str:
    """Say that a mirror shows nothing of the home's wiki, where it was looked for, and which wikis it has."""
    near = near_wikis(mirror, home.wiki or "")
    there = f"it has {', '.join(near)}" if near else "it shows no other wiki either"
    places = " and ".join(f"{mirror.where}/{place}" for place in shown.places)
    return (
        f"mirror {mirror.where}: shows no dump of {home.wiki!r}, looked for at {places}; {there}. "
        "Correct the wiki (TEMPKB_WIKI) or the mirror (TEMPKB_MIRROR)."
    )


def why_unfit(one: Offer | Dump) -> str:
    """Say why a dump that is offered, or lies here, is not taken as it is; empty if it can be."""
    if one.flaws:
        return "; ".join(one.flaws)
    if not one.files:
        return "; ".join(one.lacks if isinstance(one, Offer) else ()) or "no file of it is listed"
    if not one.is_listed:
        if not any(file.kind in (HISTORY, ENTITIES) for file in one.files):
            return _NO_HISTORY
        if isinstance(one, Offer):
            by_hand = "; add the list, or name its files: tempkb build --dump FILE"
        else:
            by_hand = ", and the automation leaves it alone; add the list, or build from it: tempkb build"
        return (
            "no list of its publisher says what belongs to it (dumpstatus.json, or SHA256SUMS and _SUCCESS), so nobody "
            f"can tell whether it is whole{by_hand}"
        )
    return ""


def _why_not_needed(offer: Offer, missing: Sequence[Window]) -> str:
    if not any(file.kind == HISTORY for file in offer.files):
        return "; ".join([*offer.lacks, _NO_HISTORY])
    reached = [window for window in missing if window.cut <= offer.date]
    return f"an earlier dump reaches the same missing windows, up to {reached[-1].label}"
