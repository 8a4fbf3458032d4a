"""Finds spans to mask near a mention, noun phrases and random spans, by the paper's rules. Pure.

Section 2.2: a span (a) does not overlap the mention, (b) lies after it, and
(c) begins no more than ten words from it. All lengths and distances are in words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.chunking import Chunk
from tempkb.benchmarks.ecbd.forms import gives_away
from tempkb.benchmarks.ecbd.sentence_filters import holds_half_pair, parts_quotation, quotations
from tempkb.benchmarks.sentences import Place, Word, covered, is_balanced, says_nothing, words_of

NP, RANDOM = "np", "random"
_WORDS_OF_PRONOUNS = """
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs this that these
    those which who whom whose what there himself herself itself themselves each other one another such
"""
_PRONOUNS = frozenset(_WORDS_OF_PRONOUNS.split())
_ARTICLES = frozenset(("the", "a", "an"))


class Span(NamedTuple):
    """A span of a sentence that may be masked: code points, half-open.

    Attributes:
        kind: np or random.
        np_type: PROPER or COMMON; None for random spans.
        distance: words from the mention to its first word, 1 for the next word; negative before the mention.
    """

    kind: str
    start: int
    end: int
    np_type: str | None
    n_words: int
    distance: int


@dataclass(frozen=True)
class Limits:
    """The limits of spans.

    Attributes:
        max_words: the largest number of words of a span.
        max_distance: the largest number of words from the mention to the first word of a span.
        after: whether a span must be after the mention.
        n_random: the largest number of random spans of a sentence.
        strict: whether answers are refused that contain the mention or half a pair of quotation marks, consist of
            function words, or look like a part that was cut out of a noun phrase.
    """

    max_words: int = 5
    max_distance: int = 10
    after: bool = True
    n_random: int = 5
    strict: bool = True


class Reach:
    """The words of a sentence, with their distances from the mention."""

    def __init__(self, sentence: str, mention: Place, limits: Limits, language: str = "en") -> None:
        self.sentence, self.words, self.limits, self._language = sentence, words_of(sentence), limits, language
        self._quotations, self._mention = quotations(sentence), sentence[mention.start : mention.end]
        inside = [at for at, word in enumerate(self.words) if word.start < mention.end and word.end > mention.start]
        self._first, self._last = (inside[0], inside[-1]) if inside else (0, -1)

    def distance(self, first: int, last: int) -> int | None:
        """Return the distance of words [first, last] from the mention; None if too far, on the wrong side, or in it."""
        if first > self._last:
            distance = first - self._last
        elif last < self._first and not self.limits.after:
            distance = first - self._first
        else:
            return None
        return distance if abs(distance) <= self.limits.max_distance else None

    def starts(self) -> list[int]:
        """Return the words at which a span may begin."""
        return [at for at in range(len(self.words)) if self.distance(at, at) is not None]

    def fit(self, first: int, last: int) -> int | None:
        """Return the distance of words [first, last] from the mention; None if they may not be masked.

        They may not if they are beyond the sentence, too far away, or contain half a pair of brackets. With strict
        limits, also if they contain the mention or half a pair of quotation marks, or consist of function words.
        """
        distance = self.distance(first, last) if last < len(self.words) else None
        if distance is None:
            return None
        start, end = self.words[first].start, self.words[last].end
        if not is_balanced(self.sentence[start:end]) or (self.limits.strict and self._is_refused(first, last)):
            return None
        return distance

    def _is_refused(self, first: int, last: int) -> bool:
        words = self.words[first : last + 1]
        start, end = words[0].start, words[-1].end
        answer = self.sentence[start:end]
        if parts_quotation(self._quotations, start, end) or holds_half_pair(answer):
            return True
        if says_nothing((self.text(word) for word in words), self._language):
            return True
        return gives_away(answer, self._mention)

    def text(self, word: Word) -> str:
        """Return a word's text."""
        return self.sentence[word.start : word.end]


def noun_spans(reach: Reach, chunks: Sequence[Chunk]) -> Iterator[Span]:
    """Yield the noun phrases that may be masked.

    They have at most `max_words` words, begin and end at word boundaries, do not consist of pronouns, and have no
    bracket without its partner. With strict limits, the conditions in `Limits` are added.
    """
    seen = set()
    for chunk in chunks:
        if reach.limits.strict and chunk.is_cut:
            continue
        at = covered(reach.words, chunk.start, chunk.end)
        if at is None or at in seen or at[1] - at[0] >= reach.limits.max_words:
            continue
        seen.add(at)
        words = [reach.text(word).lower() for word in reach.words[at[0] : at[1] + 1]]
        distance = reach.fit(*at)
        if distance is not None and not all(word in _PRONOUNS or word in _ARTICLES for word in words):
            start, end = reach.words[at[0]].start, reach.words[at[1]].end
            yield Span(NP, start, end, "PROPER" if chunk.is_proper else "COMMON", len(words), distance)


def random_spans(reach: Reach, seed: int, *key: object) -> Iterator[Span]:
    """Yield random spans, each once: a length is drawn uniformly, then a first word among those where it fits.

    If a length fits nowhere, no other is drawn in its place, because short spans
    would become more frequent. The draw depends only on the seed and the key (page
    and sentence), so other sentences do not change it.
    """
    starts = reach.starts()
    found: set[tuple[int, int]] = set()
    for number in range(reach.limits.n_random):
        chance = draw(seed, *key, number)
        length = 1 + chance % reach.limits.max_words
        fitting = [
            (first, distance)
            for first in starts
            if (first, length) not in found and (distance := reach.fit(first, first + length - 1)) is not None
        ]
        if fitting:
            first, distance = fitting[chance // reach.limits.max_words % len(fitting)]
            found.add((first, length))
            start, end = reach.words[first].start, reach.words[first + length - 1].end
            yield Span(RANDOM, start, end, None, length, distance)
