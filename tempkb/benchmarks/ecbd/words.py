"""Splits a sentence into words, the unit of spans and distances, and tells function words. Pure.

A word has no white space, and no punctuation around it, so that no answer begins with a bracket or ends with a comma.
In scripts that are written without spaces each character is a word, as in `counting.py`. An answer that consists of
function words alone, such as articles and prepositions, measures nothing.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tempkb.wiki.wikitext.counting import UNSPACED, UNSPACED_MARKS


class Word(NamedTuple):
    """A word's place: code points, half-open.

    Attributes:
        bare_end: its end without the full stop of an abbreviation, which chunkers may leave out.
    """

    start: int
    end: int
    bare_end: int


# An em dash separates words, a hyphen does not.
_STRETCH = re.compile(rf"[{UNSPACED}][{UNSPACED_MARKS}]*|[^\s\u2014{UNSPACED}]+")
_AROUND = (
    "!\"'()*,-./:;?[]_{}`\u2010\u2011\u2012\u2013\u2015\u2018\u2019\u201a\u201c\u201d\u201e\u2026\u2039\u203a"
    "\u00a1\u00ab\u00b7\u00bb\u00bf"
    # The same in Chinese and Japanese, and in full width.
    "\u3001\u3002\u3008\u3009\u300a\u300b\u300c\u300d\u300e\u300f\u3010\u3011\u3014\u3015\u30fb"
    "\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff5e"
    # Those of Arabic, Urdu, Hindi, Armenian, Amharic, Burmese, Khmer, Tibetan and Hebrew.
    "\u060c\u061b\u061f\u06d4\u0964\u0965\u055d\u0589\u1361\u1362\u1363\u1364\u1365\u1366\u1367"
    "\u104a\u104b\u17d4\u0f0d\u05f4"
)
# Abbreviations whose full stop belongs to the word: those with full stops inside, and a few others.
_WITH_POINT = re.compile(r"(?:(?:\w\.)+\w|Inc|Jr|Sr|Co|Corp|Ltd|St|Dr|Mr|Mrs|Ms|No|vs|etc)\Z", re.IGNORECASE)


def words_of(sentence: str) -> list[Word]:
    """Return the words of a sentence; punctuation alone is not a word.

    >>> sentence = "It (the U.S. one) cost $5.5, or 2%."
    >>> [sentence[word.start : word.end] for word in words_of(sentence)]
    ['It', 'the', 'U.S.', 'one', 'cost', '$5.5', 'or', '2%']
    """
    words = []
    for stretch in _STRETCH.finditer(sentence):
        text = stretch[0]
        left = text.lstrip(_AROUND)
        core = left.rstrip(_AROUND)
        if not any(sign.isalnum() for sign in core):
            continue
        start = stretch.start() + len(text) - len(left)
        end = start + len(core)
        has_point = sentence[end : end + 1] == "." and _WITH_POINT.search(core) and end + 1 < len(sentence)
        words.append(Word(start, end + 1 if has_point else end, end))
    return words


def covered(words: Sequence[Word], start: int, end: int) -> tuple[int, int] | None:
    """Return the words [first, last] of a part of the text; None if it cuts a word or has none.

    It makes no difference whether punctuation around the words is included.
    """
    inside = [at for at, word in enumerate(words) if word.start < end and word.end > start]
    if not inside or words[inside[0]].start < start or words[inside[-1]].bare_end > end:
        return None
    return inside[0], inside[-1]


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
