"""An article, and a sentence of it that may mention its entity. Pure."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from tempkb.benchmarks.ecbd.matching import Match
from tempkb.benchmarks.ecbd.names import Name
from tempkb.benchmarks.ecbd.sentences import Place


@dataclass(frozen=True)
class Article:
    """An article with what is needed to find its sentences.

    Attributes:
        paragraphs: (kind, start, end); kind is prose or list.
        links: (start, end, target title) of the links to other articles.
        own_titles: its title and the titles that redirect to it.
        names: the names of its entity, by text.
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
    """A sentence with a name of its article's entity, which the filters of sentences check.

    Attributes:
        place: place of the sentence in the article's text.
        mentions: places of the mentions of the article's entity, in the sentence.
        matches: names of any entity inside the sentence, with places in the article's text.
        kept: sentences of the article that were kept so far.
    """

    article: Article
    place: Place
    sentence: str
    mentions: Sequence[Place]
    matches: Sequence[Match] = ()
    kept: Set[str] = frozenset()

    @property
    def mention(self) -> Place:
        """The first mention in the sentence; there is none unless a filter has checked that there is one."""
        return self.mentions[0]

    @property
    def surface(self) -> str:
        """The text of the first mention."""
        start, end = self.mentions[0]
        return self.sentence[start:end]

    @property
    def mention_in_article(self) -> Place:
        """The place of the first mention in the article's text."""
        start, end = self.mentions[0]
        return Place(self.place.start + start, self.place.start + end)
