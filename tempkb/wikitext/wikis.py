"""The language of a wiki, and the table of words of languages. Pure."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.titles import Site

_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")


@cache
def words_table() -> dict[str, Any]:
    """Return the table of language words that is part of the package."""
    return tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))


def language_of(site: Site) -> str:
    """Return the language of a wiki, by its database name: dewiki is de, simplewiki simple, commonswiki commons."""
    name = site.dbname or "enwiki"
    for ending in (
        "wiktionary",
        "wikibooks",
        "wikinews",
        "wikiquote",
        "wikisource",
        "wikiversity",
        "wikivoyage",
        "wiki",
    ):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending).replace("_", "-")
    return name


def words_of(language: str) -> str:
    """Return the language of a wiki's words: English also on wikis of many languages (commons) or of an unknown one."""
    return language if language != "simple" and language in words_table()["languages"] else "en"


def label_language(site: Site) -> str | None:
    """Return Wikidata's code for the language of one of Wikimedia's wikis, by its database name; None for other names.

    >>> label_language(Site("nowiki")), label_language(Site("dewiktionary")), label_language(Site("mycompany"))
    ('nb', 'de', None)
    """
    code = label_code(language_of(site))
    return code if code in label_languages() else None


@cache
def label_languages() -> tuple[str, ...]:
    """Return Wikidata's codes for the languages of Wikimedia's wikis."""
    table = words_table()
    return tuple(dict.fromkeys(label_code(code) for code in (*table["languages"], *table["newer_languages"])))


def label_code(language: str) -> str:
    """Return Wikidata's code for a language by MediaWiki's code.

    >>> label_code("zh-yue"), label_code("nds-nl")
    ('yue', 'nds-nl')
    """
    code: str = words_table()["label_languages"].get(language, language)
    return code


def guessed_language(site: Site) -> str:
    """Return the code in the name of a wiki that neither Wikimedia nor its dumps tell of; English if it has none.

    >>> guessed_language(Site("xyzwiki")), guessed_language(Site("commonswiki"))
    ('xyz', 'en')
    """
    code = language_of(site)
    return code if _CODE.fullmatch(code) else "en"
