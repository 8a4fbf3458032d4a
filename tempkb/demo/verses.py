"""Articles with words that are peculiar to them, and books of verses that mention these articles by other names."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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


PARTS = Parts(
    "zhem vorl quib drax plov snur thrag yolk grimp fland skwee bront wozz krell mibb truv hesp jund clomb nizz",
    "a e i o u anni elo ivu ommi ura ebbi ilga odra usti arvo enti igle oppa unde achi",
    "mek rup lant dossin vark bith gol zeen ffet nack lorn pid sket mund riff twell jam horth bax coom",
)


def invented(name: str, parts: Parts = PARTS, n: int = 3) -> list[str]:
    """Return invented words, which follow from a name; no two of them begin or end alike."""
    chance = random.Random(f"words of {name}")  # noqa: S311 - reproducible chance, not secrets
    heads, tails = chance.sample(parts.heads.split(), n), chance.sample(parts.tails.split(), n)
    middles = parts.middles.split()
    return [
        head + "".join(chance.choice(middles) for _ in range(parts.n_middles)) + tail
        for head, tail in zip(heads, tails, strict=True)
    ]


def peculiar_words(title: str) -> list[str]:
    """Return three invented words that only the article of an entity has, and the sentences that mention it."""
    return invented(title)


def place(title: str, line: str) -> str:
    """Return a short article that ends with a line of its own."""
    return f"'''{title}''' is a well-known part of Varland, as every child there will tell. {line}\n"


def entity(title: str, line: str, words: Sequence[str] = ()) -> str:
    """Return the article of an entity that verses mention: its words, by default the peculiar ones, come first."""
    first, second, third = words or peculiar_words(title)
    return place(title, f"It is famous for its {first}, its {second} and its {third}. {line}")


def book_of(title: str, verses: Sequence[str]) -> str:
    """Return a page of verses."""
    return f"'''{title}''' is a book of songs.\n\n" + "\n\n".join(verses) + "\n\n[[Category:Books]]"


def verses_of(surfaces: Surfaces, words: Words = peculiar_words) -> Iterator[str]:
    """Yield a verse for each mention, with two of the words that are peculiar to what it mentions."""
    forms = (
        "At dawn they sang of [[{}|{}]] and of the {} that comes with the {}.",
        "Nobody who has slept near [[{}|{}]] forgets the smell of {} or the {} in that valley.",
        "Her grandmother remembered [[{}|{}]] from the year of the {}, when the {} froze.",
        "It was said that [[{}|{}]] with its {} and {} would outlive the king.",
    )
    at = 0
    for title, counts in surfaces.items():
        peculiar = words(title)
        for surface, n in counts.items():
            for _ in range(n):
                two = (peculiar[at % 3], peculiar[(at + 1) % 3])
                # The forms move on by one in each book.
                yield forms[(at + at // BOOKS) % len(forms)].format(title, surface, *two)
                at += 1
