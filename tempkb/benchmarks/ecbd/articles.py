"""An article as it is harvested, and a sentence of it that may mention its entity. Pure."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from tempkb.benchmarks.ecbd.matching import Match
from tempkb.benchmarks.ecbd.names import Name
from tempkb.benchmarks.ecbd.sentences import Place


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


class Sighting(NamedTuple):
    """A sentence that holds a name of its article's entity: what filters of sentences look at.

    Attributes:
        article: the sentence is in it.
        place: of the sentence, in the article's text.
        sentence: its text.
        mentions: of the article's entity, in the sentence.
        matches: names of any entity inside the sentence, in the article's text.
        kept: sentences of the article that are kept so far.
    """

    article: Article
    place: Place
    sentence: str
    mentions: Sequence[Place]
    matches: Sequence[Match] = ()
    kept: Set[str] = frozenset()

    @property
    def mention(self) -> Place:
        """The first mention in the sentence; there is one only where a filter has made sure of it."""
        return self.mentions[0]

    @property
    def surface(self) -> str:
        """The text of the first mention."""
        start, end = self.mentions[0]
        return self.sentence[start:end]

    @property
    def mention_in_article(self) -> Place:
        """The first mention, in the article's text."""
        start, end = self.mentions[0]
        return Place(self.place.start + start, self.place.start + end)
