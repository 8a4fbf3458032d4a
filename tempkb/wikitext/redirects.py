"""Recognises redirects and reads their targets."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.titles import Site, Title

# MediaWiki expects the word at the very start; nobody writes kilobytes of space before it.
_HEAD_CHARACTERS = 1000
_LINK = re.compile(r"\s*:?\s*\[\[\s*:?([^\[\]|]*)(?:\|[^\[\]]*)?\]\]")


@dataclass(frozen=True)
class Redirect:
    """The target of a redirect.

    Attributes:
        target: the page.
        section: the named part of it, with entities and percent signs decoded and underscores as blanks; None if the
            redirect is to the page as a whole.
    """

    target: Title
    section: str | None


def read_redirect(wikitext: str, site: Site) -> Redirect | None:
    """Return the target of a redirect; None if the text is not a redirect.

    The word may be in any language (`words.toml`): wikis accept the English one
    and their own.

    >>> read_redirect("#REDIRECT [[United_states#After_1776]]", Site())
    Redirect(target=Title(namespace=0, title='United states'), section='After 1776')
    >>> read_redirect("#REDIRECT [[United states#]]", Site()).section is None
    True
    """
    head = wikitext[:_HEAD_CHARACTERS].lstrip()
    if head[:1] not in ("#", "＃"):  # noqa: RUF001 - the full-width sign is Japanese
        return None
    word = redirect_word().match(head)
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
def redirect_word() -> re.Pattern[str]:
    """Return a pattern that matches any known redirect word at the start of a text."""
    words = sorted(set(words_table()["redirect"]), key=len, reverse=True)
    return re.compile("(?:" + "|".join(re.escape(word) for word in words) + ")", re.IGNORECASE)


@cache
def words_table() -> dict[str, Any]:
    """Return the table of language words that is part of the package."""
    return tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
