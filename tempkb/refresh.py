"""What there is to do: windows that are missing, the dumps that would serve them, and where those are.

Asked by the command line, by the sensors and by `tempkb plan`, so that all of
them mean the same. Knows nothing of Dagster.
"""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tempkb.dumps.catalogue import Dump, dump_of, find_dumps, serving_dump, tables_dump
from tempkb.dumps.fetching import mirror_of
from tempkb.dumps.http import HttpMirror
from tempkb.dumps.mirrors import FolderMirror
from tempkb.dumps.offers import ENTITIES, HISTORY, WIKIDATA, Offer, Shown, near_wikis, shown_of
from tempkb.dumps.retention import superfluous
from tempkb.dumps.tables import DUMP_FILES, PAGES
from tempkb.errors import SettingsError
from tempkb.mentions.building import WRITERS, are_current
from tempkb.revisions.building import ALL
from tempkb.revisions.losses import rests_on_lost
from tempkb.revisions.origins import tables_built_with
from tempkb.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.revisions.windows import read_windows
from tempkb.settings import Home
from tempkb.store.store import Store
from tempkb.wikidata.late import dump_dates
from tempkb.windows import Window, windows_until

_NO_HISTORY = "it has no history of pages"
_DATED = re.compile(r"(?P<wiki>[a-z][a-z0-9_]*)-(?P<day>\d{8})")


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
        passed: a line for each newer dump that is not taken, which dump and why.
        nothing: what the mirror was asked for and does not show at all, in words; empty when it shows something.
    """

    due: list[Due]
    passed: list[str]
    nothing: str = ""


def due_dumps(
    store: Store, today: date | None = None, *, from_mirror: bool = True, only_listed: bool = True
) -> list[Due]:
    """Return the dumps that are worth having; the arguments are those of `look_out`."""
    return look_out(store, today, from_mirror=from_mirror, only_listed=only_listed).due


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
        store: of the home.
        today: the last day that a window may end; by default the clock's.
        from_mirror: also those that are still to be fetched.
        only_listed: leave out what somebody has put into the folder without its publisher's list.
        wikidata: also Wikidata's entities.
        hurried: give a server up after some seconds.
        tell: takes a line when a server makes us wait.

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
    offers = {one.dump_id: one for one in shown.offers if one.files and not _why_unfit(one)} if shown else {}
    of_windows = _of_windows(home, missing, own, offers)
    of_wikidata, unfit = _of_wikidata(store, mirror, local, day) if wikidata else ([], [])
    due = [*of_windows, *of_wikidata]
    if missing:
        held = _newest_held(store, own)
        unfit += _broken_here(here, home.wiki, held, {one.dump.dump_id for one in due})
        unfit = [*(_passed(shown, home.wiki, missing, of_windows, held) if shown else []), *unfit]
    nothing = _nothing_of(home, mirror, shown) if shown and mirror and shown.is_nothing else ""
    return Outlook(due, unfit, nothing)


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
    """Are the dump's files written down as they are now, and its pages, if any, by today's declaration?"""
    if store.lake.current(DUMP_FILES.name, dump.dump_id) is None:
        return False
    pages = store.lake.current(PAGES.name, dump.dump_id)
    if pages is not None and dump.table("page") and not pages.fits(PAGES):
        return False
    written = store.read(DUMP_FILES.name, dump_id=dump.dump_id).to_pylist()
    return {row["file_name"]: row["size_bytes"] for row in written} == {
        file.path.name: file.path.stat().st_size for file in dump.files
    }


def is_ready(store: Store, due: Due) -> bool:
    """Is a dump here and written down, and so are the SQL tables that go with it?"""
    if due.offer is not None or not is_registered(store, due.dump):
        return False
    # As the run will choose: what lies there without its publisher's list is not taken.
    told = [dump for dump in find_dumps(store.home.dumps) if dump.is_listed and not dump.is_named]
    beside = tables_dump(told, due.dump) if due.windows else None
    return beside is None or beside.dump_id == due.dump.dump_id or is_registered(store, beside)


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
    """Return the dumps that nobody needs any more, as the setting `keep_dumps` says, oldest first."""
    home = store.home
    due = due_dumps(store, today, from_mirror=False, only_listed=False)
    needed = {one.dump.dump_id for one in due} | {dump.dump_id for dump in unregistered(store)}
    return superfluous(find_dumps(home.dumps), home.settings.keep_dumps, needed)


def stretches(windows: Sequence[Window]) -> list[list[Window]]:
    """Cut a row of windows where one is left out: Dagster runs a range of partitions at a time."""
    rows: list[list[Window]] = []
    for window in windows:
        if rows and rows[-1][-1].end == window.start:
            rows[-1].append(window)
        else:
            rows.append([window])
    return rows


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


def _nothing_of(home: Home, mirror: HttpMirror | FolderMirror, shown: Shown) -> str:
    near = near_wikis(mirror, home.wiki or "")
    there = f"it has {', '.join(near)}" if near else "it shows no other wiki either"
    places = " and ".join(f"{mirror.where}/{place}" for place in shown.places)
    return (
        f"mirror {mirror.where}: shows no dump of {home.wiki!r}, looked for at {places}; {there}. "
        "Correct the wiki (TEMPKB_WIKI) or the mirror (TEMPKB_MIRROR)."
    )


def _newest_held(store: Store, own: Sequence[Dump]) -> date:
    """Day of the newest dump of the wiki that lies here or was read; the first of all days when there is none."""
    wiki = store.home.wiki
    read = (_DATED.fullmatch(key) for key in store.lake.partitions(DUMP_FILES.name))
    days = [
        datetime.strptime(one["day"], "%Y%m%d").replace(tzinfo=UTC).date()
        for one in read
        if one and one["wiki"] == wiki
    ]
    return max([*days, *(dump.date for dump in own if dump.date)], default=date.min)


def _why_unfit(offer: Offer) -> str:
    """Why an offered dump cannot be read whole, in words; empty when it can."""
    if offer.flaws:
        return "; ".join(offer.flaws)
    if not offer.files:
        return "; ".join(offer.lacks) or "no file of it is listed"
    if not offer.is_listed:
        if not any(file.kind in (HISTORY, ENTITIES) for file in offer.files):
            return _NO_HISTORY
        return (
            "no list of its publisher says what belongs to it (dumpstatus.json, or SHA256SUMS and _SUCCESS), so nobody "
            "can tell whether it is whole; add the list, or name its files: tempkb build --dump FILE"
        )
    return ""


def _broken_here(here: Sequence[Dump], wiki: str | None, held: date, due: Container[str]) -> list[str]:
    """Say of each newer dump in the home's own folder why it is not complete."""
    newer = (dump for dump in here if dump.flaws and wiki in (None, dump.wiki) and (dump.date or held) > held)
    return [f"{one.dump_id}: lies here, but {'; '.join(one.flaws)}" for one in newer if one.dump_id not in due]


def _passed(shown: Shown, wiki: str | None, missing: Sequence[Window], due: Sequence[Due], held: date) -> list[str]:
    """Say of each dump that is newer than what is held, and that is not due, why not."""
    taken = {one.dump.dump_id for one in due}
    first = missing[0]
    too_old = [
        f"{wiki}-{day:%Y%m%d}: ends before {first.cut}, where {first.label} ends, the first window that is missing"
        for day in shown.older
        if day > held
    ]
    others = [one for one in shown.offers if one.date > held and one.dump_id not in taken]
    return [
        *too_old,
        *(f"{one.dump_id}: {_why_unfit(one) or _why_not_needed(one, missing)}" for one in others),
        *shown.misnamed,
    ]


def _why_not_needed(offer: Offer, missing: Sequence[Window]) -> str:
    if not any(file.kind == HISTORY for file in offer.files):
        return "; ".join([*offer.lacks, _NO_HISTORY])
    reached = [window for window in missing if window.cut <= offer.date]
    return f"an earlier dump reaches the same missing windows, up to {reached[-1].label}"


def _of_windows(home: Home, missing: Sequence[Window], own: Sequence[Dump], offers: dict[str, Offer]) -> list[Due]:
    here = {dump.dump_id for dump in own}
    away = [dump_of(home.dumps, offer) for name, offer in offers.items() if name not in here]
    every = [*own, *away]
    served: dict[str, list[Window]] = {}
    tables: dict[str, Dump] = {}
    by_id = {dump.dump_id: dump for dump in every}
    for window in missing:
        dump = serving_dump(every, window)
        if dump is None:
            continue
        served.setdefault(dump.dump_id, []).append(window)
        beside = tables_dump(every, dump)
        if beside is not None and beside.dump_id not in served:
            tables[beside.dump_id] = beside
    due = [
        Due(dump, None if name in here else offers[name], purpose="its SQL tables")
        for name, dump in tables.items()
        if name not in served
    ]
    for name, windows in served.items():
        due.append(Due(by_id[name], None if name in here else offers[name], tuple(windows)))
    return due


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
            why = _why_unfit(offer)
            if why and offer.dump_id not in here:
                unfit[offer.dump_id] = (offer.date, f"{offer.dump_id}: {why}")
            elif offer.dump_id not in here:
                found[offer.dump_id] = Due(dump_of(store.home.dumps, offer), offer, purpose="its entities")
    dated = [due for due in found.values() if due.dump.entities and (due.dump.date or date.min) >= wanted_from]
    best = [max(dated, key=lambda due: due.dump.horizon)] if dated else []
    held = max([last, *(due.dump.date or date.min for due in best)])
    return best, [line for day, line in unfit.values() if day > held]
