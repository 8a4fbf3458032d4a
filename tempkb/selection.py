"""What a person's request means: which windows, read from which dumps. Knows nothing of Dagster."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tempkb.dumps.catalogue import Dump, horizon_day, serving_dump, tables_dump
from tempkb.dumps.tables import TABLES as DUMPS
from tempkb.errors import SettingsError, SourceError
from tempkb.refresh import is_built, stale_windows
from tempkb.revisions.resuming import interrupted_windows
from tempkb.revisions.sitelinks import unlinked_windows
from tempkb.revisions.tables import REBUILD_CHANGES
from tempkb.revisions.tables import TABLES as REVISIONS
from tempkb.revisions.windows import read_windows
from tempkb.settings import Home, Settings
from tempkb.store.store import Store
from tempkb.wikidata.tables import TABLES as WIKIDATA
from tempkb.windows import Window, parse_range, refuse_unended, window_of_key, windows_between, windows_until

OF_HISTORY = frozenset(table.name for table in REVISIONS)
"""Tables for which a dump's history is read; other tables of windows follow from these."""
OF_DUMPS = frozenset(table.name for table in DUMPS)
"""Tables of a dump's own day."""
OF_ENTITIES = frozenset(table.name for table in WIKIDATA)
"""Tables that are read from Wikidata's entities."""


@dataclass(frozen=True)
class Request:
    """What a person asks of `tempkb build`.

    Attributes:
        select: assets by name; empty means all.
        windows: `A..B`, windows whose start lies in [A, B); empty means those that are served and missing.
        all_windows: every window up to the dumps' horizon.
        dump_files: files named for this build.
        day: day of the named files of Wikidata's entities, if nothing else tells it.
        rebuild: also windows that another dump has built.
    """

    select: tuple[str, ...] = ()
    windows: str = ""
    all_windows: bool = False
    dump_files: tuple[Path, ...] = ()
    day: str = ""
    rebuild: bool = False


def windows_of(store: Store, request: Request, named: Dump | None, dumps: Sequence[Dump]) -> list[Window]:
    """The windows that a request is about, oldest first.

    Args:
        store: of the home.
        request: what is asked.
        named: the dump of the files that were named, if any were.
        dumps: of the home's folder, and of its wiki.

    Raises:
        SettingsError: the windows are no windows of the home.
        SourceError: nothing serves any of them.
    """
    home, settings = store.home, store.home.settings
    if request.windows and request.all_windows:
        raise SettingsError("--windows and --all exclude one another; give one of them")
    needs_dump = not request.select or bool(set(request.select) & (OF_HISTORY | OF_DUMPS))
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
    return [window for window in every if not is_built(store, window, request.select)]


def _read_windows_in(request: Request, store: Store) -> list[Window]:
    """Windows whose texts stand, so that what follows from them can be made without a dump."""
    read = read_windows(store)
    if not read:
        raise SourceError("no window is built yet, so nothing follows from any; build from a dump first: tempkb build")
    if request.windows:
        wanted = _windows_in(request.windows, store.home.settings)
        return [window for window in wanted if window in read]
    return read if request.all_windows else [one for one in read if not is_built(store, one, request.select)]


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


def windows_to_read(store: Store, request: Request, windows: Sequence[Window], tables: set[str]) -> list[Window]:
    """The windows for which a dump is to be read; of the others only what follows from their texts is to be made.

    Args:
        store: of the home.
        request: what is asked.
        windows: that it is about.
        tables: that are to be made.
    """
    wanted = sorted(tables & OF_HISTORY - {REBUILD_CHANGES.name})
    if not wanted:
        return []
    if request.windows or request.all_windows or request.rebuild or request.dump_files:
        return list(windows)
    unread = {window.key for window in windows if not is_built(store, window, wanted)}
    # What an interrupted build has written is asked for once more with the rest, since only then it goes on from the
    # items that it has read; the windows that stand already get equal bytes.
    for together in interrupted_windows(store.lake):
        unread |= together if together & unread else frozenset()
    return [window_of_key(key, store.home.settings.granularity) for key in sorted(unread)]
