"""Which dumps are worth having, those by which missing windows could be built and Wikidata's newest, and fetching them.

Asked by the command line, by the sensors and by `tempkb plan`, so that all of them mean the same. Knows nothing of
Dagster.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.settings import Home, load_home
from tempkb.core.windows import Window
from tempkb.engine import progress
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import (
    is_registered,
    missing_windows,
    newest_held,
    nothing_shown,
    untaken,
    untaken_here,
    why_unfit,
)
from tempkb.store.store import Store
from tempkb.wiki.dumps.catalogue import Dump, dump_of, find_dumps, serving_dump, tables_dump
from tempkb.wiki.dumps.download import fetch_offer, mirror_of
from tempkb.wiki.dumps.http import HttpMirror
from tempkb.wiki.dumps.offers import WIKIDATA, FolderMirror, Offer, Shown, shown_of
from tempkb.wiki.dumps.verification import superfluous
from tempkb.wiki.wikidata.scope import dump_dates


@dataclass(frozen=True)
class Due:
    """A dump that is worth having, and for what.

    Attributes:
        dump: with its files where they lie, or will lie, in the home.
        offer: what the mirror has of it; None when it is here already.
        windows: that it would newly serve, oldest first.
        purpose: why it is wanted, when not for windows: its SQL tables, or its entities.
    """

    dump: Dump
    offer: Offer | None
    windows: tuple[Window, ...] = ()
    purpose: str = ""


@dataclass(frozen=True)
class Outlook:
    """What is worth having, and why nothing else is.

    Attributes:
        due: the dumps by which missing windows could be built, those first whose tables others need.
        passed: a line for each dump that is not taken though windows are missing, which dump and why.
        nothing: what the mirror was asked for and does not show at all, in words; empty when it shows something.
    """

    due: list[Due]
    passed: list[str]
    nothing: str = ""


def look_out(
    store: Store,
    today: date | None = None,
    *,
    from_mirror: bool = True,
    only_listed: bool = True,
    wikidata: bool = True,
    hurried: bool = False,
    tell: Callable[[str], None] = lambda _line: None,
) -> Outlook:
    """Return the dumps that are worth having, and why newer ones that are shown are not.

    Args:
        today: the last day that a window may end; by default the clock's.
        from_mirror: also those that are still to be fetched.
        only_listed: leave out what somebody has put into the folder without its publisher's list.

    Of a window the earliest complete dump at or after its cut is wanted,
    wherever it is; of Wikidata the newest, once it is so much newer than what
    was read (`wikidata_days`).

    Raises:
        SettingsError: a mirror is set but not whose dumps are wanted, or the folder has those of several wikis.
        SourceError: the mirror cannot be asked.
    """
    home, day = store.home, today or datetime.now(UTC).date()
    mirror = mirror_of(home, tell, hurried=hurried) if from_mirror else None
    here = [dump for dump in find_dumps(home.dumps) if not dump.is_named]
    complete = [dump for dump in here if not dump.flaws]
    local = [dump for dump in complete if dump.is_listed or not only_listed]
    _refuse_several_wikis(home, local)
    missing = missing_windows(store, day)
    own = [dump for dump in local if home.wiki in (None, dump.wiki) and dump.holds_pages]
    shown = _shown(home, mirror, missing[0].cut) if missing and mirror else None
    offers = {one.dump_id: one for one in shown.offers if one.files and not why_unfit(one)} if shown else {}
    of_windows = _of_windows(home, missing, own, offers)
    of_wikidata, unfit = _of_wikidata(store, mirror, local, day) if wikidata else ([], [])
    due = [*of_windows, *of_wikidata]
    if missing:
        held = newest_held(store, own)
        unfit += untaken_here(here, home.wiki, missing, [one.dump for one in of_windows])
        taken = {one.dump.dump_id for one in of_windows}
        unfit = [*(untaken(shown, home.wiki, missing, taken, held) if shown else []), *unfit]
    nothing = nothing_shown(home, mirror, shown) if shown and mirror and shown.is_nothing else ""
    return Outlook(due, unfit, nothing)


def is_ready(store: Store, due: Due) -> bool:
    """Is a dump here and written down, and so are the SQL tables that go with it?"""
    if due.offer is not None:
        return False
    # As the run will choose: what lies there without its publisher's list is not taken.
    listed = [dump for dump in find_dumps(store.home.dumps) if dump.is_listed and not dump.is_named]
    beside = tables_dump(listed, due.dump) if due.windows else None
    return all(is_registered(store, one) for one in {due.dump, beside or due.dump})


def unregistered(store: Store) -> list[Dump]:
    """Return the complete dumps in the home's folder that are not written down yet, oldest first."""
    home = store.home
    return [
        dump
        for dump in find_dumps(home.dumps)
        if not dump.is_named
        and not dump.flaws
        and dump.is_listed
        and not is_registered(store, dump)
        and (dump.entities or home.wiki in (None, dump.wiki))
    ]


def retirable(store: Store, today: date | None = None) -> list[Dump]:
    """Return the dumps that nobody needs any more, as the setting `keep_dumps` says, oldest first.

    Pages of other wikis stay, as do those of all wikis as long as the home's wiki is not known.
    """
    home = store.home
    due = look_out(store, today, from_mirror=False, only_listed=False).due
    needed = {one.dump.dump_id for one in due} | {dump.dump_id for dump in unregistered(store)}
    # The folder may be a mirror that homes of other wikis share.
    own = [dump for dump in find_dumps(home.dumps) if dump.wiki == home.wiki or not dump.holds_pages]
    return superfluous(own, home.settings.keep_dumps, needed)


def _refuse_several_wikis(home: Home, local: Sequence[Dump]) -> None:
    wikis = sorted({dump.wiki for dump in local if dump.holds_pages})
    if home.wiki is None and len(wikis) > 1:
        raise SettingsError(
            f"wiki: not known yet, and {home.dumps} has dumps of {', '.join(wikis)}; set whose are wanted: "
            f"TEMPKB_WIKI={wikis[0]}"
        )


def _shown(home: Home, mirror: HttpMirror | FolderMirror, since: date) -> Shown:
    if home.wiki is None:
        raise SettingsError(
            f"wiki: not known yet, and {mirror.where} may hold several; set whose dumps are wanted: "
            "TEMPKB_WIKI=simplewiki"
        )
    return shown_of(mirror, home.wiki, since)


def _of_windows(home: Home, missing: Sequence[Window], own: Sequence[Dump], offers: dict[str, Offer]) -> list[Due]:
    away = {name: offer for name, offer in offers.items() if name not in {dump.dump_id for dump in own}}
    every = [*own, *(dump_of(home.dumps, offer) for offer in away.values())]
    served = defaultdict[Dump, list[Window]](list)
    for window in missing:
        if dump := serving_dump(every, window):
            served[dump].append(window)
    beside = dict.fromkeys(one for dump in served if (one := tables_dump(every, dump)) and one not in served)
    tables = [Due(dump, away.get(dump.dump_id), purpose="its SQL tables") for dump in beside]
    return [*tables, *(Due(dump, away.get(dump.dump_id), tuple(windows)) for dump, windows in served.items())]


def _of_wikidata(
    store: Store, mirror: HttpMirror | FolderMirror | None, local: Sequence[Dump], today: date
) -> tuple[list[Due], list[str]]:
    """The dump of Wikidata that is due, if any, and a line for each newer one that cannot be read."""
    days = store.home.settings.wikidata_days
    if not days:
        return [], []
    last = max(dump_dates(store.lake).values(), default=date.min)
    wanted_from = last + timedelta(days=days) if last > date.min else date.min
    here = {dump.dump_id: dump for dump in local if dump.entities}
    found = {name: Due(dump, None, purpose="its entities") for name, dump in here.items()}
    unfit: dict[str, tuple[date, str]] = {}
    if mirror is not None and today >= wanted_from:
        entities_only = store.home.wiki != WIKIDATA
        for offer in shown_of(mirror, WIKIDATA, wanted_from, entities_only=entities_only).offers:
            why = why_unfit(offer)
            if why and offer.dump_id not in here:
                unfit[offer.dump_id] = (offer.date, f"{offer.dump_id}: {why}")
            elif offer.dump_id not in here:
                found[offer.dump_id] = Due(dump_of(store.home.dumps, offer), offer, purpose="its entities")
    dated = [due for due in found.values() if due.dump.entities and (due.dump.date or date.min) >= wanted_from]
    best = [max(dated, key=lambda due: due.dump.horizon)] if dated else []
    held = max([last, *(due.dump.date or date.min for due in best)])
    return best, [line for day, line in unfit.values() if day > held]


@dataclass(frozen=True)
class Fetched:
    """What a fetch has done.

    Attributes:
        dumps: ids of those that were brought.
        here: ids of those that missing windows or a reading wait for, and that lay here before.
        untaken: a line for each newer dump that was not taken, which and why.
    """

    dumps: list[str]
    here: list[str]
    untaken: list[str]


def fetch(tell: Callable[[str], None], *, only_windows: bool = False) -> Fetched:
    """Bring the dumps by which missing windows could be built, and Wikidata's, from the mirror.

    Raises:
        SettingsError: no mirror is set.
        SourceError: the mirror shows nothing of the wiki, or a dump cannot be had; what has come stays for a later
            try.
    """
    home = load_home()
    mirror = mirror_of(home, tell)
    if mirror is None:
        raise SettingsError(
            "mirror: none is set, so there is nowhere to fetch from; set one: TEMPKB_MIRROR=https://dumps.wikimedia.org"
        )
    outlook = look_out(open_store(), wikidata=not only_windows, tell=tell)
    # Of a wiki that is mistyped not even Wikidata is fetched.
    if outlook.nothing:
        raise SourceError(outlook.nothing)
    here = [due.dump.dump_id for due in outlook.due if due.offer is None]
    fetched = Fetched([], here, outlook.passed)
    with progress.on_terminal():
        for due in outlook.due:
            if due.offer is not None:
                fetch_offer(home, mirror, due.offer, tell)
                fetched.dumps.append(due.dump.dump_id)
    return fetched
