"""What `tempkb build` does: which tasks run over which partitions, in the order of the data.

The web UI and the sensors run the same tasks, as jobs.
"""

from collections.abc import Sequence, Set
from typing import Any

from tempkb.commands.runs.jobs import Summary, past_damage, run_of
from tempkb.commands.runs.removal import of_dump, remove
from tempkb.core.locks import LockTimeoutError
from tempkb.core.record import copy_fault, copy_record
from tempkb.core.settings import load_home
from tempkb.core.windows import Window
from tempkb.core.wording import counted
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import FOLLOWING, is_built, stale_windows
from tempkb.platform.planning.declaration import Request
from tempkb.platform.planning.requests import OF_HISTORY, Work, claimed, dumps_for, windows_to_read, work_of
from tempkb.store.store import Store
from tempkb.store.tables import Family
from tempkb.wiki.dumps.catalogue import Dump, find_dumps, remember
from tempkb.wiki.dumps.tables import DUMP_FILES
from tempkb.wiki.mentions.steps import look
from tempkb.wiki.revisions.losses import is_of_other_files, setting_of
from tempkb.wiki.revisions.sitelinks import unlinked_windows
from tempkb.wiki.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.steps import bring_late_edits, is_read


def build(request: Request) -> Summary:
    """Build what is asked for, in the order of the data; what is found damaged is built again.

    Raises:
        SettingsError: an asset, window or setting is unknown or does not fit.
        SourceError: there is no dump to build from.
        LockTimeoutError: another program builds the same windows.
    """
    home = load_home().path
    mended = copy_fault(home)
    if mended:
        copy_record(home)
    summary = past_damage(lambda: _build(claimed(work_of(request))))
    summary.notes[:0] = [f"put right: {mended}"] if mended else []
    return summary


def _build(work: Work) -> Summary:
    dumps_read = [dump.dump_id for dump in work.entities] if work.tables_of(Family.ENTITIES) else []
    summary, store = Summary([window.key for window in work.windows], entity_dumps=dumps_read), open_store()
    unread = windows_to_read(store, work.request, work.windows, work.tables)
    _run(work, unread, _used(store, work, unread), summary)
    if work.tables_of(Family.ENTITIES):
        # Also where a dump was withdrawn: to those after it, it may have been the first that reached a window.
        bring_late_edits(open_store(), lambda _line: None)
    summary.notes += _kept(store, work, unread)
    return summary


def _run(work: Work, unread: Sequence[Window], used: Sequence[Dump], summary: Summary) -> None:
    """Write down dumps, read histories, then Wikidata; give snapshots their items, and make what follows from all."""
    new = [dump for dump in used if dump.is_named and not _is_known(open_store(), dump)]
    for dump in used:
        run_of(Family.DUMP, [dump.dump_id], summary)
    if summary.failures:
        _forget(new)
        return
    how = {"dump_id": work.named.dump_id if work.named else "", "rebuild": work.request.rebuild}
    read = _of_windows(unread, summary, work.tables & OF_HISTORY, **how)
    if summary.is_held:
        # The rest is the other program's as well, and so are the files that were named.
        raise LockTimeoutError(summary.failures[-1])
    is_history_bad = bool(summary.failures)
    if work.is_naming_entities:
        _read_named(work.entities[0], work, summary)
    else:
        _read_wikidata(work.entities, work, summary)
    linked = _link_items(work, summary)
    _make_following(work, [*(one for one in work.windows if one not in unread), *read], linked, summary)
    if is_history_bad:
        _forget(new)


def _used(store: Store, work: Work, unread: Sequence[Window]) -> list[Dump]:
    """The dumps that are to be written down before anything is read."""
    if not work.tables_of(Family.WINDOW):
        return [one for one in work.dumps if not one.flaws]
    named = work.named if work.named is None or unread or not _is_known(store, work.named) else None
    return dumps_for(unread, named, work.dumps)


def _kept(store: Store, work: Work, unread: Sequence[Window]) -> list[str]:
    """Say which windows stay though another dump was named for them."""
    return [
        f"window {one.key} stays as it is: built before from another dump; --rebuild would replace it"
        for one in work.windows
        if work.named is not None and one not in unread
        if is_of_other_files(store, work.named, one, work.tables)
    ]


def _of_windows(windows: Sequence[Window], summary: Summary, tables: Set[str], **how: Any) -> list[Window]:
    """Make tables of some windows, each of what it is read from once for all; return the windows that have all."""
    made = run_of(Family.WINDOW, [one.key for one in windows], summary, tables, **how) if windows else ()
    return [one for one in windows if one.key in made]


def _make_following(work: Work, windows: Sequence[Window], linked: Sequence[Window], summary: Summary) -> None:
    """Make what follows from texts and snapshots: of some windows, and of those with new items what followed before."""
    store, wanted = open_store(), work.tables & FOLLOWING
    if wanted:
        seen = look(store)
        behind = {one for one in windows if not is_built(seen, one, sorted(wanted))}
        _of_windows(sorted(behind | {*linked} & {*stale_windows(store)}), summary, wanted)


def _is_known(store: Store, dump: Dump) -> bool:
    return store.lake.current(DUMP_FILES.name, dump.dump_id) is not None


def _forget(dumps: Sequence[Dump]) -> None:
    """Forget named files that were new to the home and of which nothing was built, so that good ones may come."""
    store = open_store()
    windows = [*store.lake.versions(REVISION_LOG.name), *store.lake.versions(STABLE_SNAPSHOTS.name)]
    used = {setting_of(version, "dump_id") for version in windows}
    for dump in dumps:
        if dump.dump_id not in used:
            _withdraw(dump)


def _read_wikidata(dumps: Sequence[Dump], work: Work, summary: Summary) -> None:
    """Read each dump of entities that does not stand as it is."""
    for dump in dumps:
        if work.tables_of(Family.DUMP) and not work.tables_of(Family.ENTITIES):
            run_of(Family.DUMP, [dump.dump_id], summary)
        elif work.tables_of(Family.ENTITIES) and not is_read(open_store(), dump):
            run_of(Family.DUMP, [dump.dump_id], summary, [DUMP_FILES.name])
            run_of(Family.ENTITIES, [dump.dump_id], summary)


def _read_named(dump: Dump, work: Work, summary: Summary) -> None:
    """Read a dump of entities that was just named; what was read of its files under another day is withdrawn.

    If it cannot be read, nothing of it is remembered, and what was read before stays.
    """
    root = load_home().dumps
    there = find_dumps(root)
    named = {one.dump_id: one for one in there if one.is_named and one.entities}
    before, described = named.pop(dump.dump_id, None), open_store().lake.current(DUMP_FILES.name, dump.dump_id)
    is_in_folder = any(one.dump_id == dump.dump_id and not one.is_named for one in there)
    remember(root, dump)
    _read_wikidata([dump], work, summary)
    if not work.tables_of(Family.ENTITIES):
        return
    if is_read(open_store(), dump):
        same = {file.sha256 for file in dump.entities}
        for other in named.values():
            if {file.sha256 for file in other.entities if file.path.is_file()} == same:
                _withdraw(other)
                summary.notes.append(f"{other.dump_id}, the same files as of {other.date}, was withdrawn")
    elif before is not None:
        remember(root, before)
        if described is not None:
            open_store().lake.restore(described)
    elif is_in_folder:
        from tempkb.wiki.dumps.verification import remove_dump

        remove_dump(root, dump)
    else:
        _withdraw(dump)


def _withdraw(dump: Dump) -> None:
    """Take a named dump, and what was read of it, out of the home; its files stay."""
    store = open_store()
    remove(store, of_dump(store, dump.dump_id, force=True))


def _link_items(work: Work, summary: Summary) -> list[Window]:
    """Give windows that stand the Wikidata items that are known by now; return those that have got some."""
    unlinked = unlinked_windows(open_store()) if STABLE_SNAPSHOTS.name in work.tables else []
    _of_windows(unlinked, summary, {STABLE_SNAPSHOTS.name}, only_items=True)
    left = unlinked_windows(open_store()) if unlinked else []
    linked = [window for window in unlinked if window not in left]
    if linked:
        summary.notes.append(
            f"{counted(len(linked), 'built window')} {'was' if len(linked) == 1 else 'were'} given the Wikidata items "
            "that are known by now; nothing else of them has changed, and no dump was read for it"
        )
    return linked
