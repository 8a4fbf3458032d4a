"""Recognises redirects and reads their targets."""

import re
from dataclasses import dataclass
from functools import cache

from tempkb.titles import Site, Title
from tempkb.wikitext.wikis import language_of, words_table

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
