"""The language of a wiki, and the table of words of languages. Pure."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.titles import Site


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
