"""Splits paragraphs into sentences and these into words, cleans definitions, recognises and dates sentences. Pure.

A word has no white space, and no punctuation around it, so that no answer begins with a bracket or ends with a comma.
In scripts that are written without spaces each character is a word, as in `counting.py`. An answer that consists of
function words alone, such as articles and prepositions, measures nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from tempkb.core.files import toml_beside
from tempkb.wiki.wikitext.counting import UNSPACED, UNSPACED_MARKS
from tempkb.wiki.wikitext.holes import CLOSING_SIGNS, SENTENCE_ENDS

Splitter = Callable[[str], list[tuple[int, int]]]
"""A function from a paragraph to the spans of its sentences."""

MASK = "<extra_id_0>"
_OPENING = "\"'\u201c\u2018\u00ab\u2039([\u201e\u300c\u300e\uff08"
_BRACKET_PAIRS = {"(": ")", "[": "]", "\uff08": "\uff09", "\u300a": "\u300b", "\u3010": "\u3011", "\u3014": "\u3015"}
_CLOSING_BRACKETS = frozenset(_BRACKET_PAIRS.values())
_BRACKETS = re.compile(r"(?P<blank>\s*)(?P<opening>[(\[])(?P<inside>[^()\[\]]*)(?P<closing>[)\]])")
# A piece between commas that is left over: no word, words that introduce something that is gone, or a label alone.
_LEFTOVER = re.compile(
    r"[^\w]*(?:(?:or|also|and|pronounced|listen|lit|tr|romanized|pinyin|IPA|born|died)\b[^\w]*)*|[A-Z]\w+(?: \w+)?:",
    re.IGNORECASE,
)
# Modern Georgian has no capitals, although Unicode has some for headlines.
_GEORGIAN = re.compile("[\u10d0-\u10ff]")
# The second of two dates, whose first was removed.
_HALF = re.compile(r"\s*[\u2013\u2014-]\s")


class Place(NamedTuple):
    """A part of a text: half-open range of code points."""

    start: int
    end: int


def sentencex_splitter(language: str) -> Splitter:
    """Return a splitter by Wikimedia's sentencex.

    Args:
        language: its code, such as en; for a language without rules, sentencex uses those of a related one.
    """
    from sentencex import get_sentence_boundaries

    def split(paragraph: str) -> list[tuple[int, int]]:
        found = get_sentence_boundaries(language, paragraph)
        return [(one["start_index"], one["end_index"]) for one in found]

    return split


def split_paragraph(text: str, paragraph: Place, split: Splitter) -> list[Place]:
    """Return the sentences of a paragraph as places in the whole text, without white space around them."""
    places = []
    for start, end in split(text[paragraph.start : paragraph.end]):
        start, end = paragraph.start + start, paragraph.start + end
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            places.append(Place(start, end))
    return places


def clean_definition(text: str) -> str:
    """Return a text without the remains of removed pronunciations and dates in its brackets.

    >>> clean_definition("Lund (; ) is a town (, Latin: Londinum Gothorum, or ; pronounced), and old.")
    'Lund is a town (Latin: Londinum Gothorum), and old.'
    """
    before = None
    while before != text:
        before, text = text, _BRACKETS.sub(_without_debris, text)
    return re.sub(r"\s+([,;])", r"\1", " ".join(text.split()))


def _without_debris(brackets: re.Match[str]) -> str:
    """The brackets without left-over pieces; empty brackets are removed with the space before them."""
    parts = [
        ", ".join(piece.strip() for piece in part.split(",") if not _LEFTOVER.fullmatch(piece.strip()))
        for part in brackets["inside"].split(";")
        if not _HALF.match(part)
    ]
    kept = "; ".join(part for part in parts if part)
    return f"{brackets['blank']}{brackets['opening']}{kept}{brackets['closing']}" if kept else ""


def is_whole(sentence: str, mention: Place) -> bool:
    """Return whether a sentence is complete; one that begins with the mention may begin in lower case (iPhone)."""
    first = sentence.lstrip(_OPENING)[:1]
    begins = first.isupper() or first.isdigit() or mention.start == 0 or not _has_case(first)
    return begins and sentence.rstrip(CLOSING_SIGNS)[-1:] in SENTENCE_ENDS and is_balanced(sentence)


def _has_case(sign: str) -> bool:
    return sign.lower() != sign.upper() and not _GEORGIAN.match(sign)


def is_balanced(sentence: str) -> bool:
    """Return whether every bracket of a text has its partner."""
    depth = 0
    for sign in sentence:
        depth += (sign in _BRACKET_PAIRS) - (sign in _CLOSING_BRACKETS)
        if depth < 0:
            return False
    return depth == 0


def first_seen(sentences: Sequence[str], earlier: Iterable[tuple[Any, str]]) -> list[Any]:
    """Return, for each sentence, the label of the first text that contains it; None if none does.

    Args:
        sentences: the sentences; they may repeat.
        earlier: (label, text), the oldest first.
    """
    import ahocorasick_rs

    distinct = list(dict.fromkeys(sentences))
    automaton = ahocorasick_rs.AhoCorasick(distinct, ahocorasick_rs.MatchKind.Standard, False)
    seen: dict[int, Any] = {}
    for label, text in earlier:
        for at, _, _ in automaton.find_matches_as_indexes(text, overlapping=True):
            seen.setdefault(at, label)
        if len(seen) == len(distinct):
            break
    by_text = {sentence: seen.get(at) for at, sentence in enumerate(distinct)}
    return [by_text[sentence] for sentence in sentences]


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
    kinds = toml_beside(__file__, "function_words.toml").get(language, {})
    return frozenset(word for kind, words in kinds.items() if kind != _NAMES for word in words.split())


def says_nothing(words: Iterable[str], language: str) -> bool:
    """Return whether all words are function words; a possessive or an abbreviation's full stop makes no difference."""
    known, kinds = function_words(language), toml_beside(__file__, "function_words.toml").get(language, {})
    names = kinds.get(_NAMES, "").split()
    for word in words:
        plain = word.casefold().replace("\u2019", "'").rstrip(".")
        if plain not in known or (plain in names and word[:1].isupper()):
            return False
    return True
