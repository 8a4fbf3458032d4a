"""Which entities and languages a home keeps of Wikidata, and of which tables and days that holds.

Separate from the readers, so that commands that only read do not import them.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import date
from typing import Any

from tempkb.core.errors import SettingsError
from tempkb.core.settings import Home, Settings
from tempkb.core.titles import Site
from tempkb.store.lake import Lake
from tempkb.wiki.wikidata.tables import FACTS, WIKIDATA_ENTITIES
from tempkb.wiki.wikitext.page_kinds import label_language

ANY_LANGUAGE = "mul"


@dataclass(frozen=True)
class Scope:
    """What is kept of Wikidata's entities.

    Attributes:
        wiki: database name of the wiki whose pages decide which items are kept.
        languages: codes of the languages of labels; the wiki's own comes first, and `mul` is included.
        all_items: whether items without a page in the wiki are kept too.
    """

    wiki: str
    languages: tuple[str, ...]
    all_items: bool = False


def scope_of(home: Home) -> Scope:
    """Return what a home keeps of Wikidata.

    Raises:
        SettingsError: the home's wiki is not known yet.
    """
    if home.wiki is None:
        raise SettingsError(
            "wiki: not known yet; expected the wiki whose items are kept from Wikidata; set it: "
            "TEMPKB_WIKI=enwiki tempkb build ..."
        )
    own = home.settings.languages or (language_of_wiki(home.settings),)
    return Scope(home.wiki, tuple(dict.fromkeys((*own, ANY_LANGUAGE))), home.settings.wikidata_items == "all")


def settings_of(home: Home) -> dict[str, Any]:
    """Return the settings on which the room's tables depend; a table that was made with others is stale."""
    scope = scope_of(home)
    return {
        "wiki": scope.wiki,
        "languages": list(scope.languages),
        "wikidata_items": home.settings.wikidata_items,
        "classes": list(home.settings.classes),
    }


def settings_mark(settings: Settings) -> str:
    """Return a short hash of the settings on which the room's tables depend, without the wiki."""
    # No language means the wiki's own, which is recorded once Wikidata was read. Both give the same hash.
    languages = () if settings.languages == (language_of_wiki(settings),) else settings.languages
    text = json.dumps([languages, settings.wikidata_items, settings.classes])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def language_of_wiki(settings: Settings) -> str:
    """Return the language of a wiki's texts and names; if its name tells none, the first in which names are kept."""
    return label_language(Site(settings.wiki or "", language=(*settings.languages, "")[0]))


PROVISIONAL_DAYS = 90
"""Days past its end after which what a dump says of a window is taken as final."""


def dump_dates(lake: Lake) -> dict[str, date]:
    """Return the days of the Wikidata dumps that were read and describe an item of the home, by dump."""
    read = [one for table in (FACTS, WIKIDATA_ENTITIES) for one in lake.versions(table.name)]
    return {one.partition: date.fromisoformat(one.day) for one in read if one.rows and one.day}


def day_of(lake: Lake, dump_id: str) -> date:
    """Return the day of a dump that was read; the first of all days if it is not known."""
    version = lake.current(WIKIDATA_ENTITIES.name, dump_id)
    return date.fromisoformat(version.day) if version is not None and version.day else date.min
