"""In which language a wiki is written. Pure."""

from tempkb.titles import Site
from tempkb.wikitext.redirects import words_table


def language_of(site: Site) -> str:
    """The language of a wiki, by its database name: dewiki is de, simplewiki simple, commonswiki commons."""
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
    """Whose words a wiki writes: English on those of many languages (commons) and of none that we know, too."""
    return language if language != "simple" and language in words_table()["languages"] else "en"
