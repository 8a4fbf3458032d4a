"""Recognises noun phrases that are parts of larger ones, or not noun phrases, by the words and tags around them. Pure.

Chunkers split phrases at conjunctions and take verbs for nouns: "breathing" of "breathing or decompression mix", "the
Teacher" of "Teacher in Space program", "lives" of "he hides and lives there". Nobody could guess such an answer. The
rules also remove some good phrases.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Token(NamedTuple):
    """A word or punctuation mark of a sentence.

    Attributes:
        tag: universal part of speech (NOUN, PROPN, ADJ, CCONJ, ...).
        start: offset of its first code point in the sentence.
    """

    text: str
    tag: str
    start: int

    @property
    def end(self) -> int:
        """Offset of the first code point after it."""
        return self.start + len(self.text)


NOUNS = frozenset(("NOUN", "PROPN"))
_HEADS = frozenset(("NOUN", "PROPN", "NUM", "PRON", "SYM"))
_BEFORE_NOUN = frozenset(("ADJ", "NUM", "DET"))
_NO_NAME = frozenset(("ADP", "CCONJ", "DET", "PRON", "SCONJ", "VERB", "AUX"))
_BEGINS = frozenset(("DET", "PRON"))
_IN_NAMES = frozenset(("of", "in", "for", "on", "the", "to", "de", "du", "la"))
_RELATIVES = frozenset(("which", "who", "whom", "what"))
_MAY_FOLLOW = frozenset(",.;:)]}!?'\"\u2019\u201d\u00bb\u203a\u2026\u2013\u2014%") | {"'s", "\u2019s"}
_TO_BE = frozenset(("is", "are", "was", "were", "be", "been"))
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_YEAR = re.compile(r"\d{4}")
_NOTHING = Token("", "PUNCT", -1)


def is_cut(tokens: Sequence[Token], first: int, behind: int) -> bool:
    """Return whether tokens [first, behind) look like a part of a larger phrase, or not like a noun phrase."""
    own = tokens[first:behind]
    before, after = tokens[max(first - 3, 0) : first], tokens[behind : behind + 4]
    return (
        _is_no_phrase(own)
        or _is_idiom(before, own, after)
        or _lacks_its_beginning(before, own, first)
        or _lacks_its_end(own, after)
        or _is_left_of_coordination(own, after)
        or _is_right_of_coordination(before, own)
        or _is_cut_of_name(own, after)
    )


def _is_no_phrase(own: Sequence[Token]) -> bool:
    """Return whether it begins with a verb, ends without a noun or with an ordinal, or has an article inside."""
    if own[-1].tag not in _HEADS or own[0].tag == "VERB" or _ORDINAL.fullmatch(own[-1].text):
        return True
    if own[0].text.lower() in _RELATIVES and len(own) > 1:
        return True
    return any(one.tag == "DET" and before.tag not in ("ADP", "DET", "CCONJ", "PUNCT") for before, one in pairwise(own))


def _is_idiom(before: Sequence[Token], own: Sequence[Token], after: Sequence[Token]) -> bool:
    """Return whether it is a part of "at least seven", or the adjective of "is equivalent to"."""
    left, right = before[-1].text.lower() if before else "", after[0].text if after else ""
    if left == "at" and own[0].text in ("least", "most"):
        return True
    return len(own) == 1 and own[0].tag == "NOUN" and left in _TO_BE and right == "to" and not _is_plural(own[0])


def _lacks_its_beginning(before: Sequence[Token], own: Sequence[Token], first: int) -> bool:
    """Return whether an adjective, number, article, participle or the first part of a name precedes it."""
    left = before[-1] if before else _NOTHING
    if own[0].tag in _BEGINS or not _touch(left, own[0]):
        return False
    if left.tag in _BEFORE_NOUN or left.text.lower() in ("most", "more", "many", "such"):
        return not _YEAR.fullmatch(left.text)
    if left.tag == "VERB" and left.text.endswith("ed") and len(before) > 1 and _is_before_participle(before[-2]):
        return True
    return first > 1 and left.tag not in _NO_NAME and _is_capital(left) and _is_capital(own[0])


def _is_before_participle(token: Token) -> bool:
    """Return whether a participle after a token is an adjective: "of planned", "a planned", "centrally planned"."""
    return token.tag in ("ADJ", "ADP", "DET", "NUM") or (token.tag == "ADV" and token.text.endswith("ly"))


def _lacks_its_end(own: Sequence[Token], after: Sequence[Token]) -> bool:
    """Return whether its noun, the year of its date, or a part joined by a hyphen or another sign follows it."""
    right = after[0] if after else _NOTHING
    if right.start == own[-1].end and right.text not in _MAY_FOLLOW:
        return True
    if right.text == "," and own[-1].text.isdigit() and len(after) > 1 and _YEAR.fullmatch(after[1].text):
        return True
    if right.text == "\u00d7":
        return True
    return _touch(own[-1], right) and (right.tag in NOUNS or right.tag == "NUM")


def _is_left_of_coordination(own: Sequence[Token], after: Sequence[Token]) -> bool:
    """Return whether it shares the noun after a conjunction: "heart" in "a heart and lung transplant"."""
    if len(after) > 1 and after[0].text == "(" and after[1].tag == "CCONJ":
        return True
    if len(after) < 3 or after[0].tag != "CCONJ" or _is_plural(own[-1]) or after[2].tag not in NOUNS:
        return False
    return after[1].tag in NOUNS or (after[1].tag == "ADJ" and len(own) == 1 and own[0].tag == "NOUN")


def _is_right_of_coordination(before: Sequence[Token], own: Sequence[Token]) -> bool:
    """Return whether a word before a conjunction belongs to its noun: "social" in "social and communication skills"."""
    if len(before) < 2 or own[0].tag in _BEGINS:
        return False
    if before[-1].tag != "CCONJ":
        return before[-1].text == "," and before[-2].tag == "ADJ" and len(own) == 1
    shared = before[-3] if before[-2].text == "," and len(before) > 2 else before[-2]
    if shared.tag == "ADJ":
        return True
    return shared.tag in NOUNS and not _is_plural(shared) and len(own) > 1 and own[0].tag in NOUNS


def _is_cut_of_name(own: Sequence[Token], after: Sequence[Token]) -> bool:
    """Return whether a name continues after it: "the Teacher" of "Teacher in Space", "University" of "... of X"."""
    if not _is_capital(own[-1]) or own[-1].tag not in NOUNS or not after:
        return False
    if _touch(own[-1], after[0]) and _is_capital(after[0]):
        return True
    behind = 0
    while behind < len(after) and after[behind].text in _IN_NAMES:
        behind += 1
    goes_on = 0 < behind < len(after) and _is_capital(after[behind])
    return goes_on and (after[0].text == "of" or (own[0].tag == "DET" and len(own) == 2))


def _touch(left: Token, right: Token) -> bool:
    """Return whether two words are separated by a single space."""
    return left.start >= 0 and right.start == left.end + 1 and left.text[-1:].isalnum() and right.text[:1].isalnum()


def _is_capital(token: Token) -> bool:
    return token.text[:1].isupper()


def _is_plural(token: Token) -> bool:
    return token.text.endswith("s") and not token.text.endswith(("ss", "us", "is"))
