"""The language of a wiki, and the table of words of languages. Pure."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.titles import Site

_PROJECT = re.compile(r"(?<=.)(wik(tionary|ibooks|inews|iquote|isource|iversity|ivoyage)|wiki)$")
_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")


@cache
def words_table() -> dict[str, Any]:
    """Return the table of language words that is part of the package."""
    return tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))


def language_of(site: Site) -> str:
    """Return the language of a wiki, by its database name: dewiki is de, simplewiki simple, commonswiki commons."""
    return _PROJECT.sub("", site.dbname or "enwiki").replace("_", "-")


def words_of(language: str) -> str:
    """Return the language of a wiki's words: English also on wikis of many languages (commons) or of an unknown one."""
    return language if language != "simple" and language in words_table()["languages"] else "en"


def label_language(site: Site) -> str:
    """Return Wikidata's code for the language of a wiki.

    The database names of Wikimedia's wikis tell it. Of others it is what the dump states, else a code in the name, else
    English.

    >>> label_language(Site("nowiki")), label_language(Site("xyzwiki")), label_language(Site("commonswiki"))
    ('nb', 'xyz', 'en')
    """
    table, code = words_table(), language_of(site)
    if code not in table["languages"] and code not in table["newer_languages"]:
        code = site.language or (code if _CODE.fullmatch(code) else "en")
    names: dict[str, str] = dict(pair.split() for pair in table["label_languages"])
    return names.get(code, code)
