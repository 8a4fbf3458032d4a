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


def remove_what(*, force: bool, ask: bool, **named: str) -> None:
    """Remove one thing after saying what it comes to.

    Args:
        force: also a dump that something waits for.
        ask: before anything is removed.
        named: a release, dump, model or linker; or windows, by a key or a range of days. All others are empty.

    Raises:
        SettingsError: not exactly one thing is named, or there is no such thing.
    """
    kinds = [kind for kind, name in named.items() if name]
    if len(kinds) != 1:
        raise SettingsError("rm: expected one of --window, --release, --dump, --model and --linker")
    (kind,), store = kinds, open_store()
    name = named[kind]
    tell_strangers(store)
    removal = _find(store, kind, name, force=force)
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
    works = [] if kind == "windows" else works_on(Family(kind), [name])
    with contextlib.ExitStack() as stack:
        for release in removal.releases:
            stack.enter_context(alone(store.home, release, Patience(LOOK)))
        stack.enter_context(nobody_at_work(own(store.home.path, store.home.working), works))
        freed = remove(store, removal)
    said = f" and {counted(freed, 'byte')} of dumps" if removal.dumps else ""
    say(f"Removed {counted(len(removal.partitions), 'partition')}{said}. Their files go with: tempkb gc")


def _find(store: Store, kind: str, name: str, *, force: bool) -> Removal:
    if kind == "dump":
        return of_dump(store, name, force=force)
    if kind == "windows":
        granularity = store.home.settings.granularity
        is_range = ".." in name
        windows = windows_between(*parse_range(name), granularity) if is_range else [window_of_key(name, granularity)]
        return of_windows(store, list(windows))
    return {"release": of_release, "model": of_model, "linker": of_linker}[kind](store, name)
