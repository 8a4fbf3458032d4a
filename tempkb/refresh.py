"""What there is to do: windows that are missing, the dumps that would serve them, and where those are.

Asked by the command line, by the sensors and by `tempkb plan`, so that all of
them mean the same. Knows nothing of Dagster.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tempkb.dumps.catalogue import Dump, dump_of, find_dumps, serving_dump, tables_dump
from tempkb.dumps.fetching import mirror_of
from tempkb.dumps.http import HttpMirror
from tempkb.dumps.mirrors import FolderMirror
from tempkb.dumps.offers import WIKIDATA, Offer, offers_of
from tempkb.dumps.retention import superfluous
from tempkb.dumps.tables import DUMP_FILES, PAGES
from tempkb.errors import SettingsError
from tempkb.mentions.building import WRITERS, are_current
from tempkb.revisions.building import ALL
from tempkb.revisions.origins import tables_built_with
from tempkb.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.settings import Home
from tempkb.store.store import Store
from tempkb.wikidata.late import dump_dates
from tempkb.windows import Window, window_of_key, windows_until


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


def due_dumps(
    store: Store,
    today: date | None = None,
    *,
    from_mirror: bool = True,
    only_told: bool = True,
    hurried: bool = False,
    tell: Callable[[str], None] = lambda _line: None,
) -> list[Due]:
    """Return the dumps by which missing windows could be built, those first whose tables others need.

    Args:
        store: of the home.
        today: the last day that a window may end; by default the clock's.
        from_mirror: also those that are still to be fetched.
        only_told: leave out what somebody has put into the folder without its publisher's list.
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
    complete = [dump for dump in find_dumps(home.dumps) if not dump.is_named and not dump.flaws]
    local = [dump for dump in complete if dump.is_told or not only_told]
    _refuse_several_wikis(home, local)
    missing = missing_windows(store, day)
    own = [dump for dump in local if home.wiki in (None, dump.wiki) and dump.holds_pages]
    offers = _offers(home, mirror, missing[0].cut) if missing and mirror else {}
    return [*_of_windows(home, missing, own, offers), *_of_wikidata(store, mirror, local, day)]


def missing_windows(store: Store, until: date) -> list[Window]:
    """Return the windows of the home that have ended by a day and for which no dump was read, oldest first.

    What only rests on tables that stand is none of them: that needs no dump.
    """
    settings = store.home.settings
    every = windows_until(settings.first_window, until, settings.granularity)
    read = (set(store.lake.partitions(table.name)) for table in (REVISION_LOG, STABLE_SNAPSHOTS))
    held = set.intersection(*read)
    return [window for window in every if window.key not in held]


def stale_windows(store: Store) -> list[Window]:
    """Return the windows whose texts lie in the lake but whose mentions do not follow from them, oldest first."""
    windows = read_windows(store)
    return [window for window in windows if is_built(store, window, sorted(ALL)) and not is_built(store, window)]


def read_windows(store: Store) -> list[Window]:
    """Return the windows of which there is a snapshot, oldest first."""
    granularity = store.home.settings.granularity
    return [window_of_key(key, granularity) for key in store.lake.partitions(STABLE_SNAPSHOTS.name)]


def is_built(store: Store, window: Window, select: Sequence[str] = ()) -> bool:
    """Does every selected table hold the window? Texts lie by quarter, so the window's other tables tell of them."""
    wanted = set(select) or ALL | WRITERS.keys()
    if wanted & {STABLE_SNAPSHOTS.name, PAGE_WIKITEXTS.name}:
        snapshot = store.lake.current(STABLE_SNAPSHOTS.name, window.key)
        # A snapshot of an earlier declaration lacks columns that later tables are made from.
        if snapshot is None or snapshot.schema != STABLE_SNAPSHOTS.fingerprint:
            return False
        if PAGE_WIKITEXTS.name in wanted and PAGE_WIKITEXTS.name not in tables_built_with(snapshot):
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
    if pages is not None and dump.table("page") and pages.schema != PAGES.fingerprint:
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
    told = [dump for dump in find_dumps(store.home.dumps) if dump.is_told and not dump.is_named]
    beside = tables_dump(told, due.dump) if due.windows else None
    return beside is None or beside.dump_id == due.dump.dump_id or is_registered(store, beside)


def unregistered(store: Store) -> list[Dump]:
    """Return the complete dumps in the home's folder that are not written down yet, oldest first."""
    home = store.home
    return [
        dump
        for dump in find_dumps(home.dumps)
        if not dump.is_named and not dump.flaws and dump.is_told and not is_registered(store, dump)
        and (dump.entities or home.wiki in (None, dump.wiki))
    ]  # fmt: skip


def retirable(store: Store, today: date | None = None) -> list[Dump]:
    """Return the dumps that nobody needs any more, as the setting `keep_dumps` says, oldest first."""
    home = store.home
    due = due_dumps(store, today, from_mirror=False, only_told=False)
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


def _offers(home: Home, mirror: HttpMirror | FolderMirror, since: date) -> dict[str, Offer]:
    if home.wiki is None:
        raise SettingsError(
            f"wiki: not known yet, and {mirror.where} has many; set whose dumps are wanted: TEMPKB_WIKI=simplewiki"
        )
    return {offer.dump_id: offer for offer in offers_of(mirror, home.wiki, since) if not offer.flaws and offer.is_told}


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
) -> list[Due]:
    days = store.home.settings.wikidata_days
    if not days:
        return []
    last = max(dump_dates(store.lake).values(), default=date.min)
    wanted_from = last + timedelta(days=days) if last > date.min else date.min
    here = {dump.dump_id: dump for dump in local if dump.entities}
    found = {name: Due(dump, None, purpose="its entities") for name, dump in here.items()}
    if mirror is not None and today >= wanted_from:
        entities_only = store.home.wiki != WIKIDATA
        for offer in offers_of(mirror, WIKIDATA, wanted_from, entities_only=entities_only):
            if not offer.flaws and offer.is_told and offer.dump_id not in here:
                found[offer.dump_id] = Due(dump_of(store.home.dumps, offer), offer, purpose="its entities")
    dated = [due for due in found.values() if due.dump.entities and (due.dump.date or date.min) >= wanted_from]
    return [max(dated, key=lambda due: due.dump.horizon)] if dated else []
