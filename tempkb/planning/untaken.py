"""Why dumps are not taken though windows are missing, in words."""

import math
from collections.abc import Container, Sequence
from datetime import date
from typing import TYPE_CHECKING

from tempkb.dumps.catalogue import Dump, serving_dump
from tempkb.dumps.mirrors import FolderMirror
from tempkb.dumps.offers import ENTITIES, HISTORY, Offer, Shown, near_wikis, wiki_and_day
from tempkb.dumps.tables import DUMP_FILES
from tempkb.settings import Home
from tempkb.store.store import Store
from tempkb.windows import Window, epoch_seconds

# `tempkb status` asks no mirror.
if TYPE_CHECKING:
    from tempkb.dumps.http import HttpMirror

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
