"""With which cleaner texts were made, and whether that is today's. Apart from the cleaner, which only builds need."""

import json
from collections.abc import Mapping
from typing import Any

from tempkb.mentions.tables import CLEANER_VERSION
from tempkb.store.lake import Version
from tempkb.store.store import Store
from tempkb.store.tables import MANIFEST
from tempkb.wikitext.template_tables import table_version


def cleaner_settings(store: Store) -> dict[str, Any]:
    """What decides how texts are cleaned: kept with each version, to tell stale ones."""
    return {
        "dropped_sections": store.home.settings.dropped_sections,
        "cleaner": CLEANER_VERSION,
        "templates": table_version(),
    }


def was_cleaned_with(version: Version, settings: Mapping[str, Any]) -> bool:
    """Does the manifest of a version say that these settings were in force?"""
    same = json.loads(json.dumps(settings))
    # Every row of a manifest repeats them.
    return all(json.loads(said) == same for said in {row["settings"] for row in version.side_rows(MANIFEST.name)})
