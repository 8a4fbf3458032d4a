"""Finds mentions and spans by the rules of the released code (rules = released), with their mixed units. Pure.

Names are tried in their order, and the first one that occurs once in the sentence is the mention. It must not be
between two straight quotation marks, which are paired from the left, and it must begin and end at boundaries of
spaCy's tokens.

Lengths of spans are in tokens and one too large. A distance is the number of words before the mask less the mention's
end in tokens, and a distance of zero is never accepted. See the room's README.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.chunking import Chunk
from tempkb.benchmarks.ecbd.matching import Sighting
from tempkb.benchmarks.ecbd.sentence_filters import holds_mask, repeated
from tempkb.benchmarks.ecbd.spans import NP, RANDOM, Span
from tempkb.benchmarks.sentences import Place
from tempkb.core.filtering import Chain, Filter

MAX_TOKENS = 5
MAX_DISTANCE = 10
N_RANDOM = 5
_MOST_TRIES = 5_000
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


class Tokens:
    """A sentence in spaCy's tokens, without a model."""

    def __init__(self, sentence: str, language: str = "en") -> None:
        self.sentence = sentence
        self.places = [Place(token.idx, token.idx + len(token)) for token in _tokenizer(language)(sentence)]
        self._starts = {place.start: at for at, place in enumerate(self.places)}
        self._ends = {place.end: at + 1 for at, place in enumerate(self.places)}

    def of(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the half-open range of tokens of a part of the text; None if it cuts a token."""
        first, behind = self._starts.get(start), self._ends.get(end)
        return None if first is None or behind is None else (first, behind)

    def around(self, start: int, end: int) -> tuple[int, int]:
        """Return the half-open range of tokens that overlap a part of the text."""
        touched = [at for at, place in enumerate(self.places) if place.start < end and place.end > start]
        return touched[0], touched[-1] + 1


@cache
def _tokenizer(language: str) -> Callable[[str], Any]:
    import spacy

    try:
        return spacy.blank(language).tokenizer
    except ImportError:  # a language without rules of its own
        return spacy.blank("xx").tokenizer


def released_distance(tokens: Tokens, mention: tuple[int, int], start: int) -> int:
    """Return the released code's distance: words before the mask, less the mention's end in tokens."""
    left = tokens.sentence[:start]
    return len(left.split()) - mention[1]


def released_noun_spans(tokens: Tokens, mention: Place, chunks: Sequence[Chunk]) -> Iterator[Span]:
    """Yield the noun phrases that the released code would mask, also nested ones."""
    own = tokens.of(*mention)
    if own is None:
        return
    kept = [(chunk, at) for chunk in chunks if (at := tokens.of(chunk.start, chunk.end)) and _is_acceptable(tokens, at)]
    ends = {(at[0], at[1]) for _, at in kept}
    for chunk, at in kept:
        # Of two phrases that differ only in an article at the beginning, the one without it is dropped.
        with_article = (at[0] - 1, at[1])
        if with_article in ends and _text(tokens, at[0] - 1).lower() in ("the", "a", "an"):
            continue
        touches = at[0] <= own[1] and own[0] <= at[1]
        distance = released_distance(tokens, own, chunk.start)
        if touches or chunk.is_pronoun or not 1 <= distance <= MAX_DISTANCE:
            continue
        np_type = "PROPER" if chunk.is_proper else "COMMON"
        yield Span(NP, chunk.start, chunk.end, np_type, _n_words(tokens, chunk.start, chunk.end), distance)


def released_random_spans(tokens: Tokens, mention: Place, seed: int, *key: object) -> Iterator[Span]:
    """Yield random spans by the rules of the released code, where a length of 1 to 5 gives 2 to 6 tokens.

    The first token is drawn from ten tokens before the mention to nine after it. Spans
    before the mention are dropped later, by their distance.
    """
    own = tokens.of(*mention)
    if own is None:
        return
    n = len(tokens.places)
    choices = [at for at in range(max(0, own[0] - 10), own[1] + 9) if not own[0] <= at < own[1]]
    found: set[tuple[int, int]] = set()
    for number in range(_MOST_TRIES):
        if len(found) == N_RANDOM:
            break
        chance = draw(seed, *key, number)
        first = choices[chance // 5 % len(choices)]
        last = first + 1 + chance % 5
        if last > n - 1 or any(own[0] <= at < own[1] for at in range(first, last + 1)) or (first, last) in found:
            continue
        found.add((first, last))
    for first, last in sorted(found):
        start, end = tokens.places[first].start, tokens.places[last].end
        distance = released_distance(tokens, own, start)
        if first >= own[1] and 1 <= distance <= MAX_DISTANCE:
            yield Span(RANDOM, start, end, None, _n_words(tokens, start, end), distance)


def _is_acceptable(tokens: Tokens, at: tuple[int, int]) -> bool:
    words = [_text(tokens, number) for number in range(*at)]
    marks = [all(sign in _PUNCTUATION for sign in word) for word in words]
    at_edge = sum(marks) == 1 and (marks[0] or marks[-1])
    return len(words) <= MAX_TOKENS and not at_edge and not all(word in _PUNCTUATION for word in words)


def _text(tokens: Tokens, at: int) -> str:
    place = tokens.places[at]
    return tokens.sentence[place.start : place.end]


def _n_words(tokens: Tokens, start: int, end: int) -> int:
    return len(tokens.sentence[start:end].split())


_QUOTED = re.compile(r'"([^"]*)"')


def released_mentions(sentence: str, names: Iterable[str]) -> list[Place]:
    """Return the mention of an entity in a sentence: the first of its names that occurs once; empty if none does.

    Args:
        names: the entity's names, the title first. Unlike in the released code they
            are not patterns, so "C++" is searched for as it is.
    """
    for name in names:
        found = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))
        if len(found) == 1 and sentence.count(name) == 1:
            return [Place(*found[0].span())]
    return []


def released_filters(min_words: int) -> Chain[Sighting]:
    """Return the released code's filters of sentences, in their order.

    Args:
        min_words: number of words, separated by white space, that a sentence must have (the released code: 6).
    """
    return Chain(shorter_than(min_words), holds_mask, not_mentioned, between_straight_quotes, cuts_token, repeated)


def shorter_than(min_words: int) -> Filter[Sighting]:
    """Return a filter of sentences with fewer words, separated by white space."""
    reason = f"fewer than {min_words} words"
    return lambda sighting: reason if len(sighting.sentence.split()) < min_words else ""


def not_mentioned(sighting: Sighting) -> str:
    """The sentence must contain some name of the entity exactly once."""
    return "" if sighting.mentions else "no name stands in it once"


def between_straight_quotes(sighting: Sighting) -> str:
    """The mention must not be between straight quotation marks, paired from the left."""
    mention = sighting.mention
    quotes = _QUOTED.finditer(sighting.sentence)
    is_quoted = any(one.start() < mention.end and mention.start < one.end() for one in quotes)
    return "mention in quotation marks" if is_quoted else ""


def cuts_token(sighting: Sighting) -> str:
    """The mention must begin and end at boundaries of spaCy's tokens."""
    return "mention cuts a token" if Tokens(sighting.sentence).of(*sighting.mention) is None else ""
