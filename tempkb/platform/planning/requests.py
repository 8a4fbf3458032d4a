"""What a person's request means: which tables and windows, read from which dumps. Writes nothing; no Dagster here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.options import nearest
from tempkb.core.settings import Home, Settings, load_home
from tempkb.core.windows import (
    Window,
    in_the_future,
    parse_day,
    parse_range,
    refuse_unended,
    window_of_key,
    windows_between,
    windows_until,
)
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import is_built, stale_windows
from tempkb.platform.planning.declaration import Request
from tempkb.platform.rooms import TABLES
from tempkb.store.store import Store
from tempkb.store.tables import Family
from tempkb.wiki.dumps.catalogue import Dump, find_dumps, horizon_day, name_dump, remember, serving_dump, tables_dump
from tempkb.wiki.dumps.entities import holds_entities, name_entities
from tempkb.wiki.mentions.steps import look
from tempkb.wiki.revisions.sitelinks import unlinked_windows
from tempkb.wiki.revisions.tables import REBUILD_CHANGES
from tempkb.wiki.revisions.tables import TABLES as REVISIONS
from tempkb.wiki.revisions.windows import read_windows


def named_dump(home: Home, files: Sequence[Path]) -> Dump | None:
    """Return the dump of the history files that were named; None if there are none.

    Raises:
        SettingsError: the home's folder holds other files of the same dump, the home holds another wiki, or the dump
            is from the future.
    """
    if not files:
        return None
    dump = name_dump(files, home.chosen_wiki)
    _refuse_odd(home, dump, lambda there: not {*dump.history} <= {*there.history})
    home.refuse_other(dump.wiki)
    return dump


def named_entities(home: Home, files: Sequence[Path], day: str) -> Dump:
    """Return the dump of the files of Wikidata's entities that were named.

    Args:
        files: at least one.
        day: of the files, as a person typed it; empty if their names tell it.

    Raises:
        SettingsError: the home's folder holds other files of the same dump, or the dump is from the future.
    """
    dump = name_entities(files, parse_day(day) if day else None)
    _refuse_odd(home, dump, lambda there: bool(there.entities) and _sums(there) != _sums(dump))
    return dump


def entity_dumps(home: Home) -> list[Dump]:
    """Return the complete dumps of Wikidata's entities in the home's folder, oldest first."""
    there = (one for one in find_dumps(home.dumps) if one.entities and not one.flaws)
    return sorted(there, key=lambda one: (one.horizon, one.dump_id))


def _sums(dump: Dump) -> set[str]:
    return {file.sha256 for file in dump.entities}


def _refuse_odd(home: Home, dump: Dump, is_other: Callable[[Dump], bool]) -> None:
    """Refuse a dump from the future, or of which other files lie in the home's folder."""
    if flaw := in_the_future(horizon_day(dump), datetime.now(UTC).date()):
        raise SettingsError(f"--dump: {dump.dump_id} {flaw}")
    there = (one for one in find_dumps(home.dumps) if one.dump_id == dump.dump_id and not one.is_named)
    if any(map(is_other, there)):
        raise SettingsError(
            f"--dump: the files are of {dump.dump_id}, and {home.dumps} holds other files of that dump; "
            "leave out --dump to use those, or take another home for these"
        )


OF_HISTORY = frozenset(table.name for table in REVISIONS)
"""Tables for which a dump's history is read; other tables of windows follow from these."""

_FAMILIES = {table.name: table.family for table in TABLES}
# What a build may make; all else is made by commands of its own.
_BUILT = (Family.DUMP, Family.ENTITIES, Family.WINDOW)


@dataclass(frozen=True)
class Work:
    """What a request is about in a home, before anything is written.

    Attributes:
        request: of its files, those of a history only.
        windows: oldest first.
        named: the dump of the history files that were named, if any were.
        dumps: of the home's wiki in its folder.
        entities: dumps of Wikidata's entities, oldest first.
        is_naming_entities: were the files of that one dump named?
    """

    home: Home
    request: Request
    tables: frozenset[str]
    windows: list[Window]
    named: Dump | None
    dumps: list[Dump]
    entities: list[Dump]
    is_naming_entities: bool

    def tables_of(self, family: Family) -> frozenset[str]:
        """Return the names of a family's tables that are to be made."""
        return self.tables & _names(family)


def work_of(request: Request) -> Work:
    """Work out what a request is about; what can be refused is refused here, before anything is written.

    Raises:
        SettingsError: an asset, window or setting is unknown or does not fit.
        SourceError: there is no dump to build from.
    """
    home = load_home()
    files = [path for path in request.dump_files if holds_entities(path)]
    asked = replace(request, dump_files=tuple(path for path in request.dump_files if path not in files))
    entities, tables = _entities(home, request, files), selected_tables(request.select)
    # What can be refused is refused before a named dump decides what the home is of.
    named = named_dump(home, asked.dump_files)
    dumps = _dumps_of(home, named.wiki if named else home.wiki)
    store = open_store()
    is_about_windows = named is not None or _asks_for_windows(request, store, dumps, entities)
    windows = windows_of(store, request, named, dumps) if is_about_windows else []
    return Work(home, asked, tables, windows, named, dumps, entities, bool(files))


def claimed(work: Work) -> Work:
    """Write down that the home is of the named dump's wiki, and where its files lie; return the work in that home."""
    if work.named is None:
        return work
    home = work.home.claim(work.named.wiki)
    remember(home.dumps, work.named)
    return replace(work, home=home, dumps=_dumps_of(home, home.wiki))


def selected_tables(names: Sequence[str]) -> frozenset[str]:
    """Return the tables that are asked for by name; of none, all that a build may make.

    Raises:
        SettingsError: there is no such table, or another command makes it.
    """
    for name in names:
        if name not in _FAMILIES:
            raise SettingsError(f"--select {name}: no such asset{nearest(name, sorted(_FAMILIES))}")
        if _FAMILIES[name] is Family.RESULT:
            raise SettingsError(f"--select {name}: follows from the scores of models; compute it: tempkb results")
        if _FAMILIES[name] not in _BUILT:
            family = _FAMILIES[name].value
            raise SettingsError(
                f"--select {name}: belongs to a {family}, not to a window; make one: tempkb {family} --help"
            )
    return frozenset(names) or frozenset(name for name, family in _FAMILIES.items() if family in _BUILT)


def windows_of(store: Store, request: Request, named: Dump | None, dumps: Sequence[Dump]) -> list[Window]:
    """The windows that a request is about, oldest first.

    Args:
        named: the dump of the files that were named, if any were.
        dumps: of the home's folder, and of its wiki.

    Raises:
        SettingsError: the windows are no windows of the home.
        SourceError: nothing serves any of them.
    """
    home, settings = store.home, store.home.settings
    if request.windows and request.all_windows:
        raise SettingsError("--windows and --all exclude one another; give one of them")
    needs_dump = not request.select or bool(set(request.select) & (OF_HISTORY | _names(Family.DUMP)))
    serving = [named] if named else [dump for dump in dumps if dump.history and not dump.is_named and not dump.flaws]
    if not needs_dump or (not serving and not request.rebuild and (stale_windows(store) or unlinked_windows(store))):
        return _read_windows_in(request, store)
    _refuse_no_dump(home, serving, dumps)
    horizon = max(horizon_day(dump) for dump in serving)
    every = windows_until(settings.first_window, horizon, settings.granularity)
    if request.windows:
        return _windows_in(request.windows, settings)
    if not every:
        raise SourceError(
            f"no window ends before {horizon}, where the newest dump ends, and begins on or after "
            f"{settings.first_window} (first_window); nothing can be built"
        )
    if request.all_windows or request.rebuild:
        return every
    seen = look(store)
    return [window for window in every if not is_built(seen, window, request.select)]


def _read_windows_in(request: Request, store: Store) -> list[Window]:
    """Windows whose texts stand, so that what follows from them can be made without a dump."""
    read = read_windows(store)
    if not read:
        raise SourceError("no window is built yet, so nothing follows from any; build from a dump first: tempkb build")
    today = datetime.now(UTC).date()
    if read[-1].cut > today:
        raise SourceError(
            f"window {read[-1].label} is built, which ends on {read[-1].cut}, and today is {today}; set the clock of "
            "this machine"
        )
    if request.windows:
        wanted = _windows_in(request.windows, store.home.settings)
        return [window for window in wanted if window in read]
    seen = look(store)
    return read if request.all_windows else [one for one in read if not is_built(seen, one, request.select)]


def _refuse_no_dump(home: Home, serving: Sequence[Dump], dumps: Sequence[Dump]) -> None:
    if serving:
        return
    unfinished = [f"{dump.dump_id} ({'; '.join(dump.flaws)})" for dump in dumps if dump.flaws]
    if unfinished:
        raise SourceError(f"no complete dump below {home.dumps}; not complete: {', '.join(unfinished)}; fetch the rest")
    if home.settings.mirror:
        raise SourceError(f"no dump with a history below {home.dumps} yet; fetch what the mirror has: tempkb fetch")
    raise SourceError(
        f"no dump with a history below {home.dumps}; put one there in Wikimedia's layout "
        "(simplewiki/20260101/simplewiki-20260101-pages-meta-history.xml.bz2, ...), or name files: --dump FILE"
    )


def _windows_in(text: str, settings: Settings) -> list[Window]:
    windows = list(windows_between(*parse_range(text), settings.granularity))
    if not windows:
        raise SettingsError(f"--windows {text}: no {settings.granularity} begins in there")
    if windows[0].start < settings.first_window:
        raise SettingsError(
            f"--windows {text}: the home's windows begin on {settings.first_window} (first_window); "
            f"expected A..B from that day on"
        )
    refuse_unended(f"--windows {text}", windows, datetime.now(UTC).date(), "--windows {first}..{end}")
    return windows


def dumps_for(windows: Sequence[Window], named: Dump | None, dumps: Sequence[Dump]) -> list[Dump]:
    """The dumps that serve the windows, and those whose SQL tables go with them; oldest first."""
    serving = [named] if named else [dump for window in windows if (dump := serving_dump(dumps, window))]
    used: dict[str, Dump] = {}
    for dump in serving:
        used[dump.dump_id] = dump
        tables = tables_dump(dumps, dump)
        if tables is not None:
            used[tables.dump_id] = tables
    return sorted(used.values(), key=lambda dump: (dump.horizon, dump.dump_id))


def windows_to_read(store: Store, request: Request, windows: Sequence[Window], tables: frozenset[str]) -> list[Window]:
    """The windows for which a dump is to be read: those that lack something of it, or all if they are to be rebuilt.

    Of the others only what follows from their texts is to be made.
    """
    wanted = sorted(tables & OF_HISTORY - {REBUILD_CHANGES.name})
    if not wanted:
        return []
    if request.rebuild:
        return list(windows)
    seen = look(store)
    unread = {window.key for window in windows if not is_built(seen, window, wanted)}
    # What an interrupted build has written is asked for once more with the rest, since only then it goes on from the
    # items that it has read; the windows that stand already get equal bytes.
    if store.lake.unfinished():
        from tempkb.wiki.revisions.accounts import interrupted_windows

        for together in interrupted_windows(store.lake):
            unread |= together if together & unread else frozenset()
    return [window_of_key(key, store.home.settings.granularity) for key in sorted(unread)]


def _names(family: Family) -> frozenset[str]:
    return frozenset(name for name, its_family in _FAMILIES.items() if its_family is family)


def _dumps_of(home: Home, wiki: str | None) -> list[Dump]:
    """Dumps of pages in the home's folder that are of a wiki; of any while none is known."""
    return [dump for dump in find_dumps(home.dumps) if wiki in (None, dump.wiki) and dump.holds_pages]


def _entities(home: Home, request: Request, files: Sequence[Path]) -> list[Dump]:
    """Dumps of Wikidata's entities that a request is about, oldest first; named files go before what lies there."""
    if files:
        return [named_entities(home, files, request.day)]
    if request.day:
        raise SettingsError("--day: tells the day of files of Wikidata's entities; name them with --dump")
    return [] if request.dump_files else entity_dumps(home)


def _asks_for_windows(request: Request, store: Store, dumps: Sequence[Dump], entities: Sequence[Dump]) -> bool:
    """Is a request about windows as well, or about Wikidata alone?

    It is about Wikidata alone where that is here and no dump in the home's folder serves windows by itself: those that
    were named serve what they were named for.
    """
    of_windows = _names(Family.WINDOW) & set(request.select)
    is_asked = bool(request.windows or of_windows) or request.all_windows or request.rebuild
    is_served = any(dump.history and not dump.is_named for dump in dumps)
    return is_asked or is_served or not entities or bool(stale_windows(store))
