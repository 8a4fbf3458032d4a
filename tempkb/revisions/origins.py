"""What a built window was made from and with, as its manifests tell."""

import json
from typing import Any

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.tables import PAGES
from tempkb.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.lake import Version
from tempkb.store.store import Store
from tempkb.store.tables import MANIFEST
from tempkb.windows import Window


def tables_built_with(version: Version) -> set[str]:
    """Return the tables that the run wrote which built this version."""
    return set(setting_of(version, "tables") or ())


def is_of_other_files(store: Store, dump: Dump, window: Window, wanted: frozenset[str]) -> bool:
    """Was a wanted table of the window built from other files than the dump has now?"""
    ours = {file.path.name: file.sha256 for file in dump.history}
    for table in sorted(wanted & {REVISION_LOG.name, STABLE_SNAPSHOTS.name}):
        version = store.lake.current(table, window.key)
        if version is not None and _history_of(version) != ours:
            return True
    return False


def inputs_of(version: Version) -> dict[str, str]:
    """The files and tables that a version was made from, with their hashes or versions."""
    return {row["name"]: row["sha256"] for row in version.side_rows(MANIFEST.name) if row["role"] == "input"}


def pages_of(version: Version) -> tuple[str, str] | None:
    """The dump whose `pages` told the items of a snapshot, and the version of them; None when none did."""
    for name, told in inputs_of(version).items():
        if name.startswith(_PAGES):
            return name.removeprefix(_PAGES), told
    return None


def settings_of(version: Version) -> dict[str, Any]:
    """The settings that the manifest of a version gives."""
    for row in version.side_rows(MANIFEST.name):
        said: dict[str, Any] = json.loads(row["settings"])
        return said
    return {}


def setting_of(version: Version, name: str) -> Any:
    """What the manifest of a version says of a setting."""
    return settings_of(version).get(name)


def pages_input(pages: Version) -> dict[str, str]:
    """How a manifest names `pages` as what the items were taken from."""
    return {f"{_PAGES}{pages.partition}": pages.version}


_PAGES = f"{PAGES.name} "


def _history_of(version: Version) -> dict[str, str]:
    """The history files that a version was built from, with their hashes."""
    return {name: told for name, told in inputs_of(version).items() if not name.startswith(_PAGES)}
