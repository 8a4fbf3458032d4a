"""Splits paragraphs into sentences, recognises complete ones, cleans definitions, and dates sentences. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

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
