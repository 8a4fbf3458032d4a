"""Function words, such as articles and prepositions; an answer that consists only of these measures nothing. Pure."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_NAMES = "names_when_capital"


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language in lower case; empty if `function_words.toml` does not have it."""
    kinds = _table().get(language, {})
    return frozenset(word for kind, words in kinds.items() if kind != _NAMES for word in words.split())


def says_nothing(words: Iterable[str], language: str) -> bool:
    """Return whether all words are function words; a possessive or an abbreviation's full stop makes no difference."""
    known, names = function_words(language), _table().get(language, {}).get(_NAMES, "").split()
    for word in words:
        plain = word.casefold().replace("\u2019", "'").rstrip(".")
        if plain not in known or (plain in names and word[:1].isupper()):
            return False
    return True


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(Path(__file__).with_name("function_words.toml").read_text("utf-8"))
