"""Recognises disambiguation pages, which list what a name may mean."""

import re
from functools import cache

from tempkb.wikitext.wikis import words_table


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
