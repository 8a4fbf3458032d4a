"""The dialogue of `tempkb rm`: what would go, a question, what went."""

import contextlib

import click

from tempkb.api import open_store
from tempkb.benchmarks.register import LOOK, alone
from tempkb.engine.tasks import works_on
from tempkb.errors import SettingsError
from tempkb.listings import Listing, in_order
from tempkb.removal import Removal, of_dump, of_linker, of_model, of_release, of_windows, remove
from tempkb.screens.console import say, show
from tempkb.screens.upkeep import tell_strangers
from tempkb.store.locks import Patience, nobody_at_work
from tempkb.store.owned import own
from tempkb.store.store import Store
from tempkb.store.tables import Family
from tempkb.windows import parse_range, window_of_key, windows_between
from tempkb.wording import counted


def remove_what(
    windows: str = "", release: str = "", dump: str = "", model: str = "", linker: str = "", *, force: bool, ask: bool
) -> None:
    """Remove one thing after saying what it comes to.

    Args:
        windows: a window's key, or a range of days.
        force: also a dump that something waits for.
        ask: before anything is removed.

    Raises:
        SettingsError: not exactly one thing is named, or there is no such thing.
    """
    if sum(map(bool, (windows, release, dump, model, linker))) != 1:
        raise SettingsError("rm: expected one of --window, --release, --dump, --model and --linker")
    store = open_store()
    tell_strangers(store)
    removal = _find(store, windows, release, dump, model, linker, force=force)
    keys: dict[str, list[str]] = {}
    for table, key in removal.partitions:
        keys.setdefault(table, []).append(key)
    rows = [
        (table, len(some), sum(one.rows for one in store.lake.versions(table, some))) for table, some in keys.items()
    ]
    show(Listing(in_order("table", "partitions", "rows"), "to be removed"), rows)
    for one in removal.dumps:
        sizes = sum(file.path.stat().st_size for file in one.files if file.path.exists())
        say(f"{counted(len(one.files), 'file')} of {one.dump_id}, {counted(sizes, 'byte')}")
    for note in removal.notes:
        say(note)
    if ask and not click.confirm("Remove that?"):
        say("Nothing was removed.")
        return
    named = {Family.DUMP: dump, Family.MODEL: model, Family.LINKER: linker}
    names = [name for family, key in named.items() if key for name in works_on(family, [key])]
    with contextlib.ExitStack() as stack:
        for name in removal.releases:
            stack.enter_context(alone(store.home, name, Patience(LOOK)))
        stack.enter_context(nobody_at_work(own(store.home.path, store.home.working), names))
        freed = remove(store, removal)
    said = f" and {counted(freed, 'byte')} of dumps" if removal.dumps else ""
    say(f"Removed {counted(len(removal.partitions), 'partition')}{said}. Their files go with: tempkb gc")


def _find(store: Store, windows: str, release: str, dump: str, model: str, linker: str, *, force: bool) -> Removal:
    if release:
        return of_release(store, release)
    if dump:
        return of_dump(store, dump, force=force)
    if model:
        return of_model(store, model)
    if linker:
        return of_linker(store, linker)
    granularity = store.home.settings.granularity
    if ".." in windows:
        return of_windows(store, list(windows_between(*parse_range(windows), granularity)))
    return of_windows(store, [window_of_key(windows, granularity)])
