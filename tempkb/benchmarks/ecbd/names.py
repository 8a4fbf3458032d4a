"""What an entity may be called in a text. Pure."""

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

KINDS = frozenset(("title", "lower", "base", "label", "alias", "redirect"))
RELEASED_KINDS = frozenset(("title", "label", "alias", "redirect"))
"""Names as the released code had them: a title with brackets is looked for as it stands."""
_QUALIFIER = re.compile(r"\s+\([^()]*\)\Z")


class Name(NamedTuple):
    """A name of an entity.

    Attributes:
        text: as it stands in texts.
        kind: title; lower (the title with a small first letter); base (without what stands in brackets behind it);
            label or alias (Wikidata's); redirect (a title that leads to the article).
    """

    text: str
    kind: str


def names_of(
    title: str,
    label: str | None,
    aliases: Iterable[str],
    redirects: Iterable[str],
    kinds: Container[str] = KINDS,
) -> list[Name]:
    """Return the names of an entity, each once, the title first; one sign alone is no name.

    A title that says in brackets what it is never stands in a text as it is; one
    without may stand there with a small letter, since every title begins with a
    capital one ("the Beatles").

    >>> [name.text for name in names_of("The Lamp (film)", "The Lamp", ["Lamp"], [])]
    ['The Lamp (film)', 'The Lamp', 'Lamp']
    """
    found = [Name(title, "title")]
    base = _QUALIFIER.sub("", title)
    if base != title:
        found.append(Name(base, "base"))
    elif _may_be_small(title):
        found.append(Name(title[0].lower() + title[1:], "lower"))
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
    """Not with names such as NATO, C++ and iPhone, whose letters are as they are."""
    return title[:1].isupper() and (title[1:2].islower() or title[1:2].isspace())
