"""Recognises redirects, disambiguation pages and titles of lists, by the words of a wiki's language."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from tempkb.core.files import toml_beside
from tempkb.core.titles import Site, Title

_PROJECT = re.compile(r"(?<=.)(wik(tionary|ibooks|inews|iquote|isource|iversity|ivoyage)|wiki)$")
_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")


def words_table() -> dict[str, Any]:
    """Return the table of language words that is part of the package."""
    return toml_beside(__file__, "words.toml")


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


# MediaWiki expects the word at the very start; nobody writes kilobytes of space before it.
_HEAD_CHARACTERS = 1000
_LINK = re.compile(r"\s*:?\s*\[\[\s*:?([^\[\]|]*)(?:\|[^\[\]]*)?\]\]")


@dataclass(frozen=True)
class Redirect:
    """The target of a redirect.

    Attributes:
        section: the named part of it, with entities and percent signs decoded and underscores as blanks; None if the
            redirect is to the page as a whole.
    """

    target: Title
    section: str | None


def read_redirect(wikitext: str, site: Site) -> Redirect | None:
    """Return the target of a redirect; None if the text is not a redirect.

    As in MediaWiki, the word is the English one, or one of the wiki's language or
    of a language that this one falls back to (`words.toml`).

    >>> read_redirect("#REDIRECT [[United_states#After_1776]]", Site())
    Redirect(target=Title(namespace=0, title='United states'), section='After 1776')
    >>> read_redirect("#WEITERLEITUNG [[Regen]]", Site("barwiki")).target.title
    'Regen'
    >>> read_redirect("#WEITERLEITUNG [[Regen]]", Site("enwiki")) is None
    True
    >>> read_redirect("#REDIRECT [[United states#]]", Site()).section is None
    True
    """
    head = wikitext[:_HEAD_CHARACTERS].lstrip()
    if head[:1] not in ("#", "＃"):  # noqa: RUF001 - the full-width sign is Japanese
        return None
    word = redirect_word(language_of(site) if site.dbname else "").match(head)
    link = _LINK.match(head, word.end()) if word else None
    if link is None:
        return None
    target = site.read_target(link[1])
    return Redirect(Title(target.namespace, target.title), target.section) if target.title else None


def redirect_target(wikitext: str, site: Site) -> Title | None:
    """Return the page that a redirect points to; None if the text is not a redirect.

    >>> redirect_target("#REDIRECT [[United_states#History]]", Site())
    Title(namespace=0, title='United states')
    >>> redirect_target("No #REDIRECT [[here]]", Site()) is None
    True
    """
    redirect = read_redirect(wikitext, site)
    return redirect.target if redirect else None


def starts_like_redirect(text: bytes) -> bool:
    """Test cheaply whether raw bytes may be a redirect; never false for a redirect."""
    return text[:64].lstrip()[:1] in (b"#", b"\xef") or not text[:64].strip()


@cache
def redirect_word(language: str) -> re.Pattern[str]:
    """Return a pattern that matches a redirect word at the start of a text, in lower case or not.

    Args:
        language: as `language_of` returns it. Of one that is not in the table, the words of all languages match.
    """
    table = words_table()
    by_language, also_of = table["redirect_words"], table["redirect_words_also_of"]
    counting = {language, *(one for one, others in also_of.items() if language in others)}
    is_known = counting & by_language.keys() or len(counting) > 1 or language in table["languages"]
    words = {word for one, own in by_language.items() if one in counting or not is_known for word in own}
    longest_first = sorted({"#redirect", *words}, key=len, reverse=True)
    return re.compile("(?:" + "|".join(map(re.escape, longest_first)) + ")", re.IGNORECASE)


def is_disambiguation(wikitext: str) -> bool:
    r"""Does the text contain a disambiguation template or magic word (`words.toml`)?

    >>> is_disambiguation("'''Mercury''' may refer to:\n* [[Mercury (planet)]]\n{{disambiguation|geo}}")
    True
    >>> is_disambiguation("{{about|the planet|other uses|Mercury (disambiguation)}}")
    False
    """
    names = _template_names()
    if any(_plain(match[1]) in names for match in _TEMPLATE.finditer(wikitext)):
        return True
    return any(word in wikitext for word in words_table()["disambiguation_magic_words"])


# The name of a template ends at its first pipe or at its end; names hold no brackets.
_TEMPLATE = re.compile(r"\{\{([^{}|\[\]<>]{1,80})(?=\||\}\})")


def _plain(name: str) -> str:
    plain = name.replace("_", " ").strip().casefold()
    return plain.removeprefix("template:").strip()


@cache
def _template_names() -> frozenset[str]:
    return frozenset(name.casefold() for name in words_table()["disambiguation_templates"])


_NONE = "$."


def list_title_pattern(language: str) -> str:
    """Return a pattern that titles of lists match, for Python and DuckDB; for an unknown language it matches none.

    >>> import re
    >>> [bool(re.search(list_title_pattern(code), "日本の作家一覧")) for code in ("ja", "en")]
    [True, False]
    """
    patterns = toml_beside(__file__, "list_titles.toml").get(language, ())
    return "|".join(f"(?:{one})" for one in patterns) or _NONE
