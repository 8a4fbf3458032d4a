"""Makes the names under which an entity is searched for in texts. Pure."""

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

from tempkb.titles import in_small

KINDS = frozenset(("title", "lower", "base", "label", "alias", "redirect"))
RELEASED_KINDS = frozenset(("title", "label", "alias", "redirect"))
"""The kinds of names that the released code uses: a title with a qualifier in brackets is searched for as it is."""
_QUALIFIER = re.compile(r"\s+\([^()]*\)\Z")


class Name(NamedTuple):
    """A name of an entity.

    Attributes:
        text: the text that is searched for.
        kind: title; lower (the title with a lower-case first letter); base (the title without its qualifier in
            brackets); label or alias (from Wikidata); redirect (a title that redirects to the article).
    """

    text: str
    kind: str


def names_of(
    title: str,
    label: str | None,
    aliases: Iterable[str],
    redirects: Iterable[str],
    kinds: Container[str] = KINDS,
    language: str = "en",
) -> list[Name]:
    """Return the names of an entity, each once, the title first; a single character is not a name.

    A title with a qualifier in brackets does not occur in texts as it is. Another title
    may occur with a lower-case letter ("the Beatles"), because every title begins
    with a capital one.

    >>> [name.text for name in names_of("The Lamp (film)", "The Lamp", ["Lamp"], [])]
    ['The Lamp (film)', 'The Lamp', 'Lamp']
    """
    found = [Name(title, "title")]
    base = _QUALIFIER.sub("", title)
    if base != title:
        found.append(Name(base, "base"))
    elif _may_be_small(title):
        found.append(Name(in_small(title[0], language) + title[1:], "lower"))
    found += [Name(label, "label")] if label else []
    found += [Name(alias, "alias") for alias in aliases]
    found += [Name(redirect, "redirect") for redirect in redirects]
    kept: dict[str, Name] = {}
    for name in found:
        text = " ".join(name.text.split())
        if name.kind in kinds and len(text) > 1 and any(sign.isalnum() for sign in text):
            kept.setdefault(text, Name(text, name.kind))
    return list(kept.values())


def _may_be_small(title: str) -> bool:
    """Return whether the first letter may be lower case; not in names such as NATO, C++ and iPhone."""
    return title[:1].isupper() and (title[1:2].islower() or title[1:2].isspace())
