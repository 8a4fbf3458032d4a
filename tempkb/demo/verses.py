"""Articles with words that are peculiar to them, and books of verses that mention these articles by other names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tempkb.demo.pages import Pages
from tempkb.demo.words import chance_of, words_of

WORDS = words_of("mentions")
Surfaces = Mapping[str, Mapping[str, int]]
"""The surfaces by which each article is mentioned, with the number of mentions of each."""
Words = Callable[[str], Sequence[str]]
"""Returns the three words that are peculiar to the article of a title."""
BOOKS = 8
"""Into so many pages the verses of the beginning are bound."""


@dataclass(frozen=True)
class Parts:
    """Parts of words that no language has.

    Attributes:
        heads, middles, tails: how a word begins, goes on and ends.
        n_middles: how many middles a word has; with more of them there are more words.
    """

    heads: str
    middles: str
    tails: str
    n_middles: int = 1


@dataclass(frozen=True)
class Kind:
    """A kind of entities, which have their surfaces in common.

    Attributes:
        noun: the end of their titles.
        line: a sentence of their articles.
        surfaces: by which they are mentioned.
    """

    noun: str
    line: str
    surfaces: Sequence[str]


PARTS = Parts(**WORDS["parts"])


def invented(name: str, parts: Parts = PARTS, n: int = 3) -> list[str]:
    """Return invented words, which follow from a name; no two of them begin or end alike.

    Without other parts, only the article of an entity has them, and the sentences that mention it.
    """
    chance = chance_of(f"words of {name}")
    heads, tails = chance.sample(parts.heads.split(), n), chance.sample(parts.tails.split(), n)
    middles = parts.middles.split()
    return [
        head + "".join(chance.choice(middles) for _ in range(parts.n_middles)) + tail
        for head, tail in zip(heads, tails, strict=True)
    ]


def entity(title: str, line: str, words: Sequence[str] = ()) -> str:
    """Return the article of an entity that verses mention: its words, by default the peculiar ones, come first."""
    famous = WORDS["famous"].format(*(words or invented(title)), line=line)
    return str(WORDS["place"].format(title=title, line=famous))


def book_of(title: str, verses: Sequence[str]) -> str:
    """Return a page of verses."""
    return f"'''{title}''' is a book of songs.\n\n" + "\n\n".join(verses) + "\n\n[[Category:Books]]"


def write_book(
    pages: Pages, title: str, told: datetime, surfaces: Surfaces, words: Words = invented, n_parts: int = 2
) -> None:
    """Add a book in several parts, one page each, whose verses mention entities."""
    verses = list(verses_of(surfaces, words))
    for part in range(n_parts):
        name = f"{title}, part {part + 1}"
        pages.new(f"told in {name}", name).edit(told, book_of(name, verses[part::n_parts]), "new page")


def verses_of(surfaces: Surfaces, words: Words = invented) -> Iterator[str]:
    """Yield a verse for each mention, with two of the words that are peculiar to what it mentions."""
    forms = WORDS["verses"]
    at = 0
    for title, counts in surfaces.items():
        peculiar = words(title)
        for surface, n in counts.items():
            for _ in range(n):
                two = (peculiar[at % 3], peculiar[(at + 1) % 3])
                # The forms move on by one in each book.
                yield forms[(at + at // BOOKS) % len(forms)].format(title, surface, *two)
                at += 1
