"""What a built window was made from and with, according to its manifests."""

from typing import Any

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.tables import PAGES
from tempkb.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.windows import Window


def tables_built_with(version: Version) -> set[str]:
    """Return the tables that were written by the run that built this version."""
    return set(setting_of(version, "tables") or ())


def is_of_other_files(store: Store, dump: Dump, window: Window, wanted: frozenset[str]) -> bool:
    """Was a wanted table of the window built from other files than the dump has now?"""
    ours = {file.path.name: file.sha256 for file in dump.history}
    for table in sorted(wanted & {REVISION_LOG.name, STABLE_SNAPSHOTS.name}):
        version = store.lake.current(table, window.key)
        if version is not None and _history_of(version) != ours:
            return True
    return False


def pages_of(version: Version) -> tuple[str, str] | None:
    """Return the dump and version of the `pages` that gave a snapshot its items; None if there are none."""
    for name, version_name in version.inputs.items():
        if name.startswith(_PAGES):
            return name.removeprefix(_PAGES), version_name
    return None


def setting_of(version: Version, name: str) -> Any:
    """Return the value of a setting in the manifest of a version."""
    return version.settings.get(name)


def pages_input(pages: Version) -> dict[str, str]:
    """Return `pages` in the form in which a manifest names it as the source of items."""
    return {f"{_PAGES}{pages.partition}": pages.version}


_PAGES = f"{PAGES.name} "


def _history_of(version: Version) -> dict[str, str]:
    """Return the history files that a version was built from, with their hashes."""
    return {name: digest for name, digest in version.inputs.items() if not name.startswith(_PAGES)}
