"""Words that hold a sentence together and say nothing of its subject: an answer of these alone tells nothing. Pure."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_NAMES = "names_when_capital"


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language in lower case (`function_words.toml`); empty if it has no row there."""
    kinds = _table().get(language, {})
    return frozenset(word for kind, words in kinds.items() if kind != _NAMES for word in words.split())


def says_nothing(words: Iterable[str], language: str) -> bool:
    """Are all of some words function words? A genitive or an abbreviation's point makes no other word of one."""
    known, names = function_words(language), _table().get(language, {}).get(_NAMES, "").split()
    for word in words:
        said = word.casefold().replace("\u2019", "'").rstrip(".")
        if said not in known or (said in names and word[:1].isupper()):
            return False
    return True


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(Path(__file__).with_name("function_words.toml").read_text("utf-8"))
