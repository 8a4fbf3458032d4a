"""The settings of the cleaner, and whether a version was made with them.

Separate from the cleaner, so that commands that only read do not import it.
"""

import json
from collections.abc import Mapping
from typing import Any

from tempkb.mentions.tables import CLEANER_VERSION
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wikitext.template_tables import table_version


def cleaner_settings(store: Store) -> dict[str, Any]:
    """Return what determines the cleaner's output; each version's manifest records it, so that stale ones are found."""
    return {
        "dropped_sections": store.home.settings.dropped_sections,
        "cleaner": CLEANER_VERSION,
        "templates": table_version(),
    }


def was_cleaned_with(version: Version, settings: Mapping[str, Any]) -> bool:
    """Return whether a version was made with these settings."""
    return bool(version.settings == json.loads(json.dumps(settings)))
