"""The screens of `tempkb publish`, `gc` and `rm`: what was published or removed, what would go, what is damaged."""

import contextlib
import shlex

import click

from tempkb.benchmarks.register import LOOK, alone, frozen_versions
from tempkb.commands.runs.removal import BY_NAME, Removal, of_dump, of_windows, remove
from tempkb.commands.screens.console import say, show
from tempkb.commands.screens.failure import fail, tell
from tempkb.core.errors import SettingsError
from tempkb.core.files import own
from tempkb.core.locks import Patience, nobody_at_work
from tempkb.core.windows import parse_range, window_of_key, windows_between
from tempkb.core.wording import counted
from tempkb.engine.tasks import works_on
from tempkb.models.again import command_for
from tempkb.platform.api import open_store
from tempkb.store.listings import Listing, in_order
from tempkb.store.store import Store
from tempkb.store.tables import Family
from tempkb.wiki.dumps.verification import empty_bin

_PATIENCE = 60.0  # seconds for which readers may delay a publication


def publish_all() -> None:
    """Publish what is pending to the DuckDB file, and print how much that was.

    Raises:
        SettingsError: there is no home.
    """
    store = _existing(Patience(_PATIENCE))
    publication = store.publish()
    for line in filter(None, (publication.set_aside, *publication.damaged)):
        tell(line)
    _tell_lost(store)
    if publication.reason:
        fail(f"not everything is published: {publication.reason}")
    say(f"Published: {counted(publication.done, 'partition')}. Nothing is pending.")


def collect_garbage() -> None:
    """Remove folders of the lake that are no longer used, and print how many.

    Raises:
        SettingsError: there is no home.
    """
    store = _existing()
    removed, n_young = store.collect_garbage(frozen_versions(store))
    empty_bin(store.home.dumps)
    _tell_lost(store)
    tell_strangers(store)
    young = f" Kept for a day, for open readers: {counted(n_young, 'folder')}." if n_young else ""
    say(f"{counted(len(removed), 'folder')} removed.{young}")
    aside = [folder for table in store.costly() for folder in store.lake.damaged_folders(table)]
    if aside:
        n_bytes = sum(path.stat().st_size for folder in aside for path in folder.iterdir())
        say(
            f"Damaged versions of what costs most: {len(aside):,} ({counted(n_bytes, 'byte')}). tempkb never removes "
            f"them; when you no longer need them: rm -r {shlex.join(map(str, aside))}"
        )


def tell_strangers(store: Store) -> None:
    """Print what lies in the lake and is not tempkb's, which nobody deletes."""
    for path in store.lake.strangers():
        what = f"a link to {path.readlink()}" if path.is_symlink() else "a folder of other content"
        tell(f"left as it is: {path}: found {what}; expected only what tempkb wrote")


def _existing(patience: Patience | None = None) -> Store:
    """Open the home; refuse one that does not exist."""
    store = open_store(patience)
    if not store.home.path.exists():
        raise SettingsError(
            f"home {store.home.path}: there is no such folder, so there is nothing to do; name a home that was built "
            "(TEMPKB_HOME=...), or build this one: tempkb build"
        )
    return store


def _tell_lost(store: Store) -> None:
    """Print the partitions that are missing because they were damaged, with the command that builds them again."""
    for name in store.tables:
        for partition in store.lake.lost(name):
            again = command_for(store, name, partition)
            tell(f"missing, since it was damaged: {name} {partition}; build it again: {again}")


def remove_what(*, force: bool, ask: bool, **named: str) -> None:
    """Remove one thing after saying what it comes to.

    Args:
        force: also a dump that something waits for.
        ask: before anything is removed.
        named: a release, dump, model, linker or corpus; or windows, by a key or a range of days. All others are empty.

    Raises:
        SettingsError: not exactly one thing is named, or there is no such thing.
    """
    kinds = [kind for kind, name in named.items() if name]
    if len(kinds) != 1:
        raise SettingsError("rm: expected one of --window, --release, --dump, --model, --linker and --corpus")
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
    if kind in ("release", "model", "linker"):
        # Takes longer to import than what removes the rest.
        from tempkb.results.steps import are_due
        from tempkb.results.tables import TABLES

        say(are_due(store, [table.name for table in TABLES if store.lake.partitions(table.name)]))


def _find(store: Store, kind: str, name: str, *, force: bool) -> Removal:
    if kind == "dump":
        return of_dump(store, name, force=force)
    if kind == "windows":
        granularity = store.home.settings.granularity
        is_range = ".." in name
        windows = windows_between(*parse_range(name), granularity) if is_range else [window_of_key(name, granularity)]
        return of_windows(store, list(windows))
    return BY_NAME[kind](store, name)
