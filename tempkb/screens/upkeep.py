"""The screens of `tempkb publish` and `tempkb gc`: what was published or removed, and what is damaged."""

import shlex

from tempkb.again import command_for
from tempkb.api import open_store
from tempkb.benchmarks.register import frozen_versions
from tempkb.dumps.retention import empty_bin
from tempkb.errors import SettingsError
from tempkb.screens.console import say
from tempkb.screens.failure import fail, tell
from tempkb.store.locks import Patience
from tempkb.store.store import Store
from tempkb.wording import counted

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
