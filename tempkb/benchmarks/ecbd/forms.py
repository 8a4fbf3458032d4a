"""Recognises forms in which a mention gives itself away, and noun phrases that are none or parts of larger ones. Pure.

Chunkers split phrases at conjunctions and take verbs for nouns: "breathing" of "breathing or decompression mix", "the
Teacher" of "Teacher in Space program", "lives" of "he hides and lives there". Nobody could guess such an answer. The
rules also remove some good phrases.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from tempkb.benchmarks.ecbd.matching import folded
from tempkb.benchmarks.ecbd.sentences import function_words
from tempkb.wiki.wikitext.counting import UNSPACED, has_unspaced, is_unspaced

_POSSESSIVE = "(?:['\u2019]s?)?"
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_VOWELS = frozenset("aeiou")
# Where a letter that is a word by itself and one that is not are neighbours: a word begins and ends there.
_OF_LONGER_WORD = rf"[^\W_{UNSPACED}]"
_BORDER = re.compile(f"(?<=[{UNSPACED}])(?={_OF_LONGER_WORD})|(?<={_OF_LONGER_WORD})(?=[{UNSPACED}])")
_BORDER_MARK = "\ue000"
_BETWEEN_WORDS = re.compile(r"[\W_]+")
# "US" is not "us": names of so few characters are compared with case.
_SHORT = 3


def count_text(sentence: str, mention: str) -> int:
    """Return how often a sentence contains a mention's very text as a word, also in compounds (GPT in GPT-2).

    In scripts without blanks a word may begin and end beside any letter.

    >>> count_text("The Ferry of the Ferry-men, not of Ferrymen.", "Ferry"), count_text("他在Ferry上。", "Ferry")
    (2, 1)
    """
    return len(_exactly(_parted(mention)).findall(_parted(sentence)))


def count_forms(sentence: str, mention: str, language: str = "en") -> int:
    """Return how often a sentence contains a mention as a word in any form, also in compounds.

    Args:
        mention: a name; an article at its beginning is ignored.
        language: code of their language; plurals follow English spelling in all languages.

    >>> count_forms("The Ferry of all ferries: the ferry-master's FERRY.", "Ferry")
    4
    """
    return len(_in_any_form(_parted(mention), language).findall(_parted(sentence)))


def gives_away(answer: str, mention: str) -> bool:
    """Return whether an answer contains a mention or its plural, whatever punctuation is between their words.

    >>> gives_away("a spider man legend", "Spider-Man"), gives_away("a manly legend", "Man")
    (True, False)
    """
    answer, mention = (answer, mention) if len(mention) <= _SHORT else (folded(answer), folded(mention))
    words, name = (_BETWEEN_WORDS.sub(" ", one).strip() for one in (answer, mention))
    return any(count_text(words, one) for one in (name, f"{name}s"))


def _parted(text: str) -> str:
    """The text with marks on its borders. So patterns need not have the large class, which takes long to compile."""
    return _BORDER.sub(_BORDER_MARK, text) if has_unspaced(text) else text


@lru_cache(maxsize=1024)
def _exactly(mention: str) -> re.Pattern[str]:
    return _as_word(re.escape(mention), mention)


@lru_cache(maxsize=1024)
def _in_any_form(mention: str, language: str) -> re.Pattern[str]:
    """A pattern for the mention in any case, and for its plural or singular unless that is a function word ("as")."""
    known = function_words(language)
    bare = mention[found.end() :] if (found := _ARTICLE.match(mention)) else mention
    mention = mention if bare.casefold() in known or not bare else bare
    folded = mention.casefold()
    others = {form for form in _numbers(folded) if form not in known}
    # "US" and "us" are different words.
    exact = [re.escape(mention)] if folded in known else [f"(?i:{re.escape(mention)})"]
    forms = [*exact, *(f"(?i:{re.escape(one)})" for one in sorted(others, key=lambda one: (-len(one), one)))]
    return _as_word(f"(?:{'|'.join(forms)}){_POSSESSIVE}", mention)


def _as_word(pattern: str, mention: str) -> re.Pattern[str]:
    """Compile the pattern of a mention so that no word goes on around it."""
    before = "" if is_unspaced(mention[0]) else r"(?<![^\W_])"
    behind = "" if is_unspaced(mention[-1]) else r"(?![^\W_])"
    return re.compile(f"{before}{pattern}{behind}")


def _numbers(text: str) -> set[str]:
    """The possible plurals and singulars of a text, by English spelling."""
    if not text[-1:].isalpha() or is_unspaced(text[-1]):
        return set()
    found = {f"{text}s", f"{text}es"}
    if text.endswith("y") and text[-2:-1] not in _VOWELS:
        found.add(f"{text[:-1]}ies")
    if text.endswith("ies"):
        found.add(f"{text[:-3]}y")
    if text.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        found.add(text[:-2])
    if text.endswith("s") and not text.endswith(("ss", "us", "is")):
        found.add(text[:-1])
    return {form for form in found if len(form) > 1}


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
