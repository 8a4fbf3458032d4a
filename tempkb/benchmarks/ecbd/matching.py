"""The names of entities, and where they occur: all names of all entities in one Aho-Corasick automaton. Pure."""

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from tempkb.benchmarks.sentences import Place
from tempkb.core.titles import in_small
from tempkb.wiki.wikitext.counting import may_part

# Characters that join both sides to one word if a letter or digit follows: GPT-2, R&D, v1.2.
_JOINING = frozenset("-./@&+#_'\u2019\u2011")
# Characters that make another name of a letter: C++, C#.
_SUFFIXES = frozenset("+#")


class Match(NamedTuple):
    """A name in a text: its half-open range of code points, and the position of the name in the finder's list."""

    start: int
    end: int
    name: int


class NameFinder:
    """Finds names that begin and end at word boundaries.

    Args:
        names: distinct texts; matches have their positions in this list.
        language: code of the texts' language, which decides where words end in scripts without spaces.
    """

    def __init__(self, names: Sequence[str], language: str = "") -> None:
        import ahocorasick_rs

        self.names, self._language = names, language
        self._automaton = ahocorasick_rs.AhoCorasick(
            names, ahocorasick_rs.MatchKind.Standard, False, ahocorasick_rs.Implementation.ContiguousNFA
        )

    def find(self, text: str) -> list[Match]:
        """Return all matches, also nested ones, in the order of their ends."""
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return [Match(start, end, name) for name, start, end in found if is_bounded(text, start, end, self._language)]


def is_bounded(text: str, start: int, end: int, language: str = "") -> bool:
    """Return whether a part of a text begins and ends at word boundaries.

    >>> is_bounded("C++ and GPT-2", 0, 1), is_bounded("C++ and GPT-2", 0, 3), is_bounded("C++ and GPT-2", 8, 11)
    (False, True, False)
    """
    return _begins(text, start, language) and _ends(text, end, language)


def _begins(text: str, start: int, language: str) -> bool:
    before = text[start - 1 : start] if start else ""
    if not before:
        return True
    first = text[start]
    if may_part(before, first, language):
        return True
    if not first.isalnum():
        return not _is_of_word(before) and before != first
    return not _is_of_word(before) and not (before in _JOINING and start > 1 and _is_of_word(text[start - 2]))


def _ends(text: str, end: int, language: str) -> bool:
    after = text[end : end + 1]
    if not after:
        return True
    last = text[end - 1]
    if may_part(last, after, language):
        return True
    if not last.isalnum():
        # A name that ends with a full stop may end its sentence.
        return not _is_of_word(after) and (after != last or last == ".")
    if _is_of_word(after) or after == "_" or after in _SUFFIXES:
        return False
    behind = text[end + 1 : end + 2]
    if after in "'\u2019":
        return not behind.isalnum() or behind in "sS" and not text[end + 2 : end + 3].isalnum()
    return not (after in _JOINING and behind.isalnum())


def _is_of_word(sign: str) -> bool:
    """Return whether a character is a letter, a digit, or a combining mark."""
    return sign.isalnum() or unicodedata.category(sign).startswith("M")


def folded(text: str) -> str:
    """Return a text in lower case; the dotted capital of Turkish becomes an i, not an i with a mark.

    >>> folded("İKİ Katlı")
    'iki katlı'
    """
    return text.lower().replace("i\u0307", "i")


def holds(text: str, name: str) -> bool:
    """Return whether a text contains a name, alone or in a compound (GPT in GPT-2), but not in a word; with case."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if _is_edge(text, start, start - 1) and _is_edge(text, end, end):
            return True
        start = text.find(name, start + 1)
    return False


def _is_edge(text: str, at: int, outside: int) -> bool:
    """Return whether no word continues across a position; `outside` is the character on its outer side, if any."""
    if outside < 0 or outside >= len(text) or not text[outside].isalnum():
        return True
    return may_part(text[at - 1], text[at])


def longest(matches: Iterable[Match]) -> list[Match]:
    """Return the matches that overlap no longer one, in the order of the text; the first of equally long ones stays."""
    kept: list[Match] = []
    for match in sorted(matches, key=lambda one: (one.start - one.end, one.start, one.name)):
        if all(match.end <= other.start or match.start >= other.end for other in kept):
            kept.append(match)
    return sorted(kept)


KINDS = frozenset(("title", "lower", "base", "label", "alias", "redirect"))
RELEASED_KINDS = frozenset(("title", "label", "alias", "redirect"))
"""The kinds of names that the released code uses: a title with a qualifier in brackets is searched for as it is."""
_QUALIFIER = re.compile(r"\s+\([^()]*\)\Z")


class Name(NamedTuple):
    """A name of an entity.

    Attributes:
        text: the text that is searched for.
        kind: title; lower (the title with a lower-case first letter); base (the title without its qualifier in
            brackets); label or alias (from Wikidata); redirect (a title that redirects to the article).
    """

    text: str
    kind: str


def names_of(
    title: str,
    label: str | None,
    aliases: Iterable[str],
    redirects: Iterable[str],
    kinds: Container[str] = KINDS,
    language: str = "en",
) -> list[Name]:
    """Return the names of an entity, each once, the title first; a single character is not a name.

    A title with a qualifier in brackets does not occur in texts as it is. Another title
    may occur with a lower-case letter ("the Beatles"), because every title begins
    with a capital one.

    >>> [name.text for name in names_of("The Lamp (film)", "The Lamp", ["Lamp"], [])]
    ['The Lamp (film)', 'The Lamp', 'Lamp']
    """
    found = [Name(title, "title")]
    base = _QUALIFIER.sub("", title)
    if base != title:
        found.append(Name(base, "base"))
    elif _may_be_small(title):
        found.append(Name(in_small(title[0], language) + title[1:], "lower"))
    found += [Name(label, "label")] if label else []
    found += [Name(alias, "alias") for alias in aliases]
    found += [Name(redirect, "redirect") for redirect in redirects]
    kept: dict[str, Name] = {}
    for name in found:
        text = " ".join(name.text.split())
        if name.kind in kinds and len(text) > 1 and any(sign.isalnum() for sign in text):
            kept.setdefault(text, Name(text, name.kind))
    return list(kept.values())


def _may_be_small(title: str) -> bool:
    """Return whether the first letter may be lower case; not in names such as NATO, C++ and iPhone."""
    return title[:1].isupper() and (title[1:2].islower() or title[1:2].isspace())


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
