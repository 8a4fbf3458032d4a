"""What a home wants of Wikidata, and whether a table was made for that. Apart from the readers, which builds need."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from tempkb.errors import SettingsError
from tempkb.settings import Home, Settings
from tempkb.store.drafts import Provenance
from tempkb.store.lake import Version
from tempkb.store.tables import MANIFEST
from tempkb.titles import Site
from tempkb.wikitext.wikis import language_of, words_of

ANY_LANGUAGE = "mul"


@dataclass(frozen=True)
class Scope:
    """What is wanted of the entities.

    Attributes:
        wiki: database name of the wiki whose pages count.
        languages: of labels, the wiki's own first; `mul` is among them.
        all_items: also items without a page there?
    """

    wiki: str
    languages: tuple[str, ...]
    all_items: bool = False


def scope_of(home: Home) -> Scope:
    """Return what a home wants of Wikidata.

    Raises:
        SettingsError: if its wiki is not known.
    """
    if home.wiki is None:
        raise SettingsError(
            "wiki: not known yet, and Wikidata serves many; set whose pages count: TEMPKB_WIKI=enwiki tempkb build ..."
        )
    own = home.settings.languages or (language_of_wiki(home.wiki),)
    return Scope(home.wiki, tuple(dict.fromkeys((*own, ANY_LANGUAGE))), home.settings.wikidata_items == "all")


def settings_of(home: Home) -> dict[str, Any]:
    """What the room's tables depend on besides the dump; a table made with other settings is stale."""
    scope = scope_of(home)
    return {
        "wiki": scope.wiki,
        "languages": list(scope.languages),
        "wikidata_items": home.settings.wikidata_items,
        "classes": list(home.settings.classes),
    }


def settings_mark(settings: Settings) -> str:
    """A short mark of the settings that the room's tables depend on, as far as they are known without a dump."""
    # The wiki's own language is meant where none is set, and is written down once Wikidata was read.
    languages = () if settings.languages == (language_of_wiki(settings.wiki),) else settings.languages
    said = json.dumps([languages, settings.wikidata_items, settings.classes])
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def is_made_with(version: Version, settings: dict[str, Any]) -> bool:
    """Does the manifest of a version say that these settings were in force?"""
    manifest = version.side_rows(MANIFEST.name)
    return bool(manifest) and manifest[0]["settings"] == Provenance({}, settings).settings_json()


def language_of_wiki(wiki: str | None) -> str:
    """The language of a wiki's texts and names; English for simplewiki and those of many languages."""
    return words_of(language_of(Site(wiki or "")))
