"""What a built window was made from and with, as its manifests tell."""

import json
from typing import Any

from tempkb.dumps.catalogue import Dump
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


def _history_of(version: Version) -> dict[str, str]:
    """The history files that a version was built from, with their hashes."""
    rows = version.side_rows(MANIFEST.name)
    return {
        row["name"]: row["sha256"] for row in rows if row["role"] == "input" and not row["name"].startswith("pages ")
    }


def setting_of(version: Version, name: str) -> Any:
    """What the manifest of a version says of a setting."""
    for row in version.side_rows(MANIFEST.name):
        return json.loads(row["settings"]).get(name)
    return None
