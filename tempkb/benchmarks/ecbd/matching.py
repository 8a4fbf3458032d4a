"""Where names stand in texts: all names of all entities in one automaton (Aho and Corasick). Pure."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tempkb.wikitext.counting import may_part

# Signs that, with a letter or digit behind them, make one word of what is on both sides: GPT-2, R&D, v1.2.
_JOINING = frozenset("-./@&+#_'\u2019\u2011")
# What makes another name of a letter: C++, C#.
_SUFFIXES = frozenset("+#")


class Match(NamedTuple):
    """A name in a text: code points, half-open, and which name."""

    start: int
    end: int
    name: int


class NameFinder:
    """Finds names, bounded by the edges of words.

    Args:
        names: distinct texts; matches give their places in this list.
        language: of the texts; it says where words end in scripts without blanks.
    """

    def __init__(self, names: Sequence[str], language: str = "") -> None:
        import ahocorasick_rs

        self.names, self._language = names, language
        self._automaton = ahocorasick_rs.AhoCorasick(
            names, ahocorasick_rs.MatchKind.Standard, False, ahocorasick_rs.Implementation.ContiguousNFA
        )

    def find(self, text: str) -> list[Match]:
        """Return all matches, those inside others too, in the order of their ends."""
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return [Match(start, end, name) for name, start, end in found if is_bounded(text, start, end, self._language)]


def is_bounded(text: str, start: int, end: int, language: str = "") -> bool:
    """Do words begin and end where a stretch of text does?

    >>> is_bounded("C++ and GPT-2", 0, 1), is_bounded("C++ and GPT-2", 0, 3), is_bounded("C++ and GPT-2", 8, 11)
    (False, True, False)
    """
    return _begins(text, start, language) and _ends(text, end, language)


def _begins(text: str, start: int, language: str) -> bool:
    before = text[start - 1 : start] if start else ""
    if not before:
        return True
    first = text[start]
    if may_part(before, first, language):
        return True
    if not first.isalnum():
        return not _is_of_word(before) and before != first
    return not _is_of_word(before) and not (before in _JOINING and start > 1 and _is_of_word(text[start - 2]))


def _ends(text: str, end: int, language: str) -> bool:
    after = text[end : end + 1]
    if not after:
        return True
    last = text[end - 1]
    if may_part(last, after, language):
        return True
    if not last.isalnum():
        # A name that ends with a full stop may end its sentence.
        return not _is_of_word(after) and (after != last or last == ".")
    if _is_of_word(after) or after == "_" or after in _SUFFIXES:
        return False
    behind = text[end + 1 : end + 2]
    if after in "'\u2019":
        return not behind.isalnum() or behind in "sS" and not text[end + 2 : end + 3].isalnum()
    return not (after in _JOINING and behind.isalnum())


def _is_of_word(sign: str) -> bool:
    """Letters, digits, and the marks that many scripts put on and around letters."""
    return sign.isalnum() or unicodedata.category(sign).startswith("M")


def holds(text: str, name: str) -> bool:
    """Does a text hold a name, alone or in a compound (GPT in GPT-2), but not inside a word? Case counts."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if _is_edge(text, start, start - 1) and _is_edge(text, end, end):
            return True
        start = text.find(name, start + 1)
    return False


def _is_edge(text: str, at: int, outside: int) -> bool:
    """Does no word go on at a place of a text, on whose outer side a character is, or none?"""
    if outside < 0 or outside >= len(text) or not text[outside].isalnum():
        return True
    return may_part(text[at - 1], text[at])


def longest(matches: Iterable[Match]) -> list[Match]:
    """Drop what overlaps a longer match; of equally long ones the first stays. In the order of the text."""
    kept: list[Match] = []
    for match in sorted(matches, key=lambda one: (one.start - one.end, one.start, one.name)):
        if all(match.end <= other.start or match.start >= other.end for other in kept):
            kept.append(match)
    return sorted(kept)
