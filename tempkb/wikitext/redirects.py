"""Redirects: does a wikitext point elsewhere, and where to?"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.titles import Site, Title

# MediaWiki looks for the word at the very start; nobody writes kilobytes of space before it.
_HEAD_CHARACTERS = 1000
_LINK = re.compile(r"\s*:?\s*\[\[\s*:?([^\[\]|#]*)(?:#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")


def redirect_target(wikitext: str, site: Site) -> Title | None:
    """Return the page a redirect points to; None when the text is no redirect.

    The word may be any language's (`words.toml`): wikis honour the English one
    and their own.

    >>> redirect_target("#REDIRECT [[United_states#History]]", Site())
    Title(namespace=0, title='United states')
    >>> redirect_target("No #REDIRECT [[here]]", Site()) is None
    True
    """
    head = wikitext[:_HEAD_CHARACTERS].lstrip()
    if head[:1] not in ("#", "＃"):  # noqa: RUF001 - the full-width sign is Japanese
        return None
    word = redirect_word().match(head)
    link = _LINK.match(head, word.end()) if word else None
    if link is None or not link[1].strip():
        return None
    return site.normalize(link[1])


def starts_like_redirect(text: bytes) -> bool:
    """Cheap test on raw bytes: could this be a redirect? Never says no wrongly."""
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
