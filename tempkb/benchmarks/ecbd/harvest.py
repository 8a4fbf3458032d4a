"""From an article to its definition and the sentences that mention its entity once. Pure.

By the rules of tempkb, or by those of the released code (`ecbd_compat`).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tempkb.benchmarks.ecbd.matching import Match, NameFinder, longest
from tempkb.benchmarks.ecbd.names import Name
from tempkb.benchmarks.ecbd.released_mentions import released_mention
from tempkb.benchmarks.ecbd.sentences import Place, Splitter, clean_definition, split_paragraph, why_not
from tempkb.wikitext.counting import count_words
from tempkb.wikitext.holes import count_inside

# The definition's paragraph has more words than this, as in the released code.
_MORE_WORDS_THAN = 5


@dataclass(frozen=True)
class Article:
    """An article as it is harvested.

    Attributes:
        page_id: its number.
        title: its title.
        text: clean text.
        paragraphs: (kind, start, end), prose or list.
        links: (start, end, target title) of those to other articles.
        own_titles: titles that lead to it.
        names: what its entity may be called.
        holes: offsets at which something that readers see was left out of the text.
    """

    page_id: int
    title: str
    text: str
    paragraphs: Sequence[tuple[str, int, int]]
    links: Sequence[tuple[int, int, str]]
    own_titles: frozenset[str]
    names: Mapping[str, Name]
    holes: Sequence[int] = ()


@dataclass(frozen=True)
class Kept:
    """A sentence that is asked about.

    Attributes:
        place: in the article's text.
        text: its own.
        mention: in the sentence.
        kind: of the name that mentions.
    """

    place: Place
    text: str
    mention: Place
    kind: str


@dataclass
class Harvest:
    """What an article gives.

    Attributes:
        definition: sentences of its first paragraph; empty if it has none that is whole.
        kept: sentences to ask about.
        left_out: reason -> how many sentences.
        examples: reason -> one of them.
        seen: texts of what is kept.
    """

    definition: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def leave_out(self, reason: str, sentence: str) -> None:
        """Count a sentence that is not asked about."""
        self.left_out[reason] += 1
        self.examples.setdefault(reason, sentence)


@dataclass(frozen=True)
class Harvester:
    """The rules of a release.

    Attributes:
        finder: of the names of all entities.
        split: parts paragraphs.
        min_words: of a sentence.
        lists: are items of lists sentences, too?
        rules: `tempkb` or `released`.
        language: of the articles.
        strict: does the mention in another form (plural, possessive, other capitals) count as a second one?
    """

    finder: NameFinder
    split: Splitter
    min_words: int
    lists: bool
    rules: str
    language: str
    strict: bool

    def harvest(self, article: Article) -> Harvest:
        """Return an article's definition and sentences."""
        found = Harvest()
        prose = [Place(start, end) for kind, start, end in article.paragraphs if kind == "prose" or self.lists]
        first = next((at for at, one in enumerate(prose) if _is_long(article.text, one)), len(prose))
        if first == len(prose):
            return found
        found.definition = self._definition(article.text, prose[first])
        matches = sorted(self.finder.find(article.text))
        starts = [one.start for one in matches]
        for paragraph in prose[first + 1 :]:
            inside = _within(matches, starts, paragraph)
            if self._may_mention(article, paragraph, inside):
                for place in split_paragraph(article.text, paragraph, self.split):
                    within = [one for one in inside if one.start >= place.start and one.end <= place.end]
                    if self._may_mention(article, place, within):
                        self._judge(article, place, within, found)
        return found

    def _may_mention(self, article: Article, place: Place, matches: Sequence[Match]) -> bool:
        """Is there a name? The released code takes one inside a compound, too, which matches are not."""
        if self.rules == "released":
            text = article.text[place.start : place.end]
            return any(name in text for name in article.names)
        return bool(self._names(article, matches))

    def _definition(self, text: str, paragraph: Place) -> list[str]:
        places = split_paragraph(text, paragraph, self.split)
        said = [clean_definition(text[place.start : place.end]) for place in places]
        return [sentence for sentence in said if sentence]

    def _names(self, article: Article, matches: Iterable[Match]) -> list[Match]:
        return [one for one in matches if self.finder.names[one.name] in article.names]

    def _judge(self, article: Article, place: Place, matches: Sequence[Match], found: Harvest) -> None:
        sentence = article.text[place.start : place.end]
        if self.rules == "released":
            mention, reason = released_mention(sentence, list(article.names), self.min_words)
        else:
            mention, reason = self._mention(article, place, matches)
            if not reason and count_inside(article.text, article.holes, *place):
                reason = "a template, formula or picture was left out of it"
        if not reason and sentence in found.seen:
            reason = "stands more than once in the article"
        if reason or mention is None:
            found.leave_out(reason, sentence)
        else:
            found.seen.add(sentence)
            kind = article.names[sentence[mention.start : mention.end]].kind
            found.kept.append(Kept(place, sentence, mention, kind))

    def _mention(self, article: Article, place: Place, matches: Sequence[Match]) -> tuple[Place | None, str]:
        """The one mention of a sentence, or why there is none."""
        sentence = article.text[place.start : place.end]
        own = longest(self._names(article, matches))
        mentions = [Place(one.start - place.start, one.end - place.start) for one in own]
        reason = why_not(sentence, mentions, self.min_words, self.language, forms=self.strict)
        if not reason and own[0] not in longest(matches):
            reason = "inside a longer name"
        if not reason and self._leads_elsewhere(article, own[0]):
            reason = "inside a link to another article"
        return (None, reason) if reason else (mentions[0], "")

    def _leads_elsewhere(self, article: Article, match: Match) -> bool:
        return any(
            start < match.end and match.start < end and target not in article.own_titles
            for start, end, target in article.links
        )


def _within(matches: Sequence[Match], starts: Sequence[int], place: Place) -> list[Match]:
    """Matches inside a stretch of the text, which is found by halving."""
    some = matches[bisect_left(starts, place.start) : bisect_left(starts, place.end)]
    return [one for one in some if one.end <= place.end]


def _is_long(text: str, paragraph: Place) -> bool:
    return count_words(text[paragraph.start : paragraph.end]) > _MORE_WORDS_THAN


def first_seen(sentences: Sequence[str], earlier: Iterable[tuple[Any, str]]) -> list[Any]:
    """Return, for each sentence, the label of the first text that holds it; None if none does.

    Args:
        sentences: any, repeats too.
        earlier: labelled texts, the oldest first.
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
