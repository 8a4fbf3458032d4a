"""Takes the definition of an article and the sentences that mention its entity once. Pure.

Mentions are found by the rules of tempkb, or by those of the released code. Filters decide which sentences are kept,
and what they leave out is counted.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from tempkb.benchmarks.ecbd.matching import Article, Match, NameFinder, Sighting, longest
from tempkb.benchmarks.ecbd.released import released_mentions
from tempkb.benchmarks.sentences import Place, Splitter, clean_definition, split_paragraph
from tempkb.core.filtering import Chain, LeftOut
from tempkb.wiki.wikitext.counting import count_words

# The definition's paragraph has more words than this, as in the released code.
_MORE_WORDS_THAN = 5


@dataclass(frozen=True)
class Kept:
    """A sentence that is kept.

    Attributes:
        mention: place of the mention in the sentence.
        kind: kind of the name that is used as mention.
    """

    place: Place
    text: str
    mention: Place
    kind: str


@dataclass
class Harvest:
    """What was taken from an article.

    Attributes:
        definition: sentences of its first paragraph; empty if there is none.
        left_out: counts of the other sentences, by reason.
    """

    definition: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True)
class Harvester:
    """The rules of a release.

    Attributes:
        rules: `tempkb` or `released`: how mentions are found.
    """

    finder: NameFinder
    split: Splitter
    filters: Chain[Sighting]
    lists: bool
    rules: str

    def harvest(self, article: Article) -> Harvest:
        """Return an article's definition and sentences."""
        found = Harvest()
        prose = [Place(start, end) for kind, start, end in article.paragraphs if kind == "prose" or self.lists]
        first = next((at for at, one in enumerate(prose) if _is_long(article.text, one)), len(prose))
        if first == len(prose):
            return found
        found.definition = self._definition(article.text, prose[first])
        texts: set[str] = set()
        matches = sorted(self.finder.find(article.text))
        starts = [one.start for one in matches]
        for paragraph in prose[first + 1 :]:
            inside = _within(matches, starts, paragraph)
            if self._may_mention(article, paragraph, inside):
                for place in split_paragraph(article.text, paragraph, self.split):
                    within = [one for one in inside if one.start >= place.start and one.end <= place.end]
                    if self._may_mention(article, place, within):
                        self._judge(self._sighting(article, place, within, texts), texts, found)
        return found

    def _may_mention(self, article: Article, place: Place, matches: Sequence[Match]) -> bool:
        """Return whether a text has a name; the released code also takes names in compounds, which are not matches."""
        if self.rules == "released":
            text = article.text[place.start : place.end]
            return any(name in text for name in article.names)
        return bool(self._names(article, matches))

    def _definition(self, text: str, paragraph: Place) -> list[str]:
        places = split_paragraph(text, paragraph, self.split)
        sentences = [clean_definition(text[place.start : place.end]) for place in places]
        return [sentence for sentence in sentences if sentence]

    def _names(self, article: Article, matches: Iterable[Match]) -> list[Match]:
        return [one for one in matches if self.finder.names[one.name] in article.names]

    def _sighting(self, article: Article, place: Place, matches: Sequence[Match], kept: Set[str]) -> Sighting:
        """A sentence with the mentions of its entity."""
        sentence = article.text[place.start : place.end]
        if self.rules == "released":
            mentions = released_mentions(sentence, article.names)
        else:
            own = longest(self._names(article, matches))
            mentions = [Place(one.start - place.start, one.end - place.start) for one in own]
        return Sighting(article, place, sentence, mentions, matches, kept)

    def _judge(self, sighting: Sighting, texts: set[str], found: Harvest) -> None:
        """Keep a sentence, or count why it is left out."""
        if reason := self.filters.reason(sighting):
            found.left_out.add(reason, sighting.sentence)
        else:
            texts.add(sighting.sentence)
            kind = sighting.article.names[sighting.surface].kind
            found.kept.append(Kept(sighting.place, sighting.sentence, sighting.mention, kind))


def _within(matches: Sequence[Match], starts: Sequence[int], place: Place) -> list[Match]:
    """The matches inside a place of the text, found by binary search."""
    some = matches[bisect_left(starts, place.start) : bisect_left(starts, place.end)]
    return [one for one in some if one.end <= place.end]


def _is_long(text: str, paragraph: Place) -> bool:
    return count_words(text[paragraph.start : paragraph.end]) > _MORE_WORDS_THAN
