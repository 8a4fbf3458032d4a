"""Pages about links and mentions: redirects, surfaces that mean several things, markup, and what TempEL filters.

Numbers are those of the list of what the demo world must contain (10 to 17 and 31). Ordinary articles do not link
here, so every count is known. Books of verses mention articles with words that are peculiar to them by other names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tempkb.demo.pages import DAY, Pages, write_pages
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


CONTINUAL: Surfaces = WORDS["continual"]
THRESHOLDS: Surfaces = WORDS["thresholds"]
KINDS = tuple(Kind(**one) for one in WORDS["kinds"])
NEWCOMERS: list[str] = WORDS["newcomers"]
_LATER: Surfaces = WORDS["later"]


def write_newcomers(pages: Pages, each: int) -> None:
    """31: up to ten new entities in each of three years, half inns and half bridges; a kind shares its surfaces."""
    clock = pages.clock
    for year, names in enumerate(NEWCOMERS):
        if not each or 4 * year + 3 >= len(clock.windows) - 1:
            return
        mentioned: dict[str, Mapping[str, int]] = {}
        for at, name in enumerate(names.split()[:each]):
            kind = KINDS[at % len(KINDS)]
            title = f"{name} {kind.noun}"
            saved = clock.start(4 * year + at % 3) + (12 + at) * DAY
            pages.new(f"newcomer {title}", title).edit(saved, entity(title, kind.line), "new page", user="Emil")
            mentioned[title] = {one: 2 + ((at // 2 + n) % 5 == 0) for n, one in enumerate(kind.surfaces)}
        told = clock.start(4 * year + 3) + 10 * DAY
        write_book(pages, f"Travels of {clock.start(4 * year).year}", told, mentioned, n_parts=BOOKS // 2)
    _bind_anew(pages, told)


def _bind_anew(pages: Pages, told: datetime) -> None:
    """31: old books and the last new one exchange verses: new entities in old articles, old entities in new ones."""
    for number in range(BOOKS):
        old, new = pages.story(f"book {number + 1}"), pages.made[number % (BOOKS // 2) - BOOKS // 2]
        songs, travels = (page.edits[-1].text.split("\n\n") for page in (old, new))
        # Each part of the new book exchanges verses with two old ones.
        places = range(1 + 2 * (number >= BOOKS // 2), len(travels) - 1, 4)
        for here, there in zip(range(1, len(songs) - 1, 2), places, strict=False):
            songs[here], travels[there] = travels[there], songs[here]
        old.edit(told, "\n\n".join(songs), "bound anew", user="Fay")
        new.edits[-1].text = "\n\n".join(travels)


def write_links(pages: Pages) -> None:
    """Add all pages of entries 10 to 17; needs eight quarters, and has more to show in twelve."""
    write_pages(pages, words_of("links")["pages"], WORDS["place"])
    for story in (_entities, _books, _dies, _years, _burst, _split_off):
        story(pages)


def _entities(pages: Pages) -> None:
    """15 and 31: entities that the books of songs mention from the beginning."""
    for title in (*CONTINUAL, *THRESHOLDS):
        page = pages.new(f"entity {title}", title)
        page.edit(pages.clock.at("0-300"), entity(title, WORDS["praise"]), "new page")
        if title in _LATER:
            text = entity(title, f"{WORDS['praise']} {WORDS['wing']}")
            page.edit(pages.clock.at("5+2"), text, "a new wing", user="Dora")


def _books(pages: Pages) -> None:
    """15: books of songs that mention entities exactly as often as the tables above say."""
    verses = list(verses_of({**CONTINUAL, **THRESHOLDS}))
    later = list(verses_of(_LATER))
    for number in range(BOOKS):
        title = f"Songs of Varland, book {number + 1}"
        page = pages.new(f"book {number + 1}", title)
        page.edit(pages.clock.at("0-200"), book_of(title, verses[number::BOOKS]), "new page")
        if later[number::BOOKS]:
            text = book_of(title, verses[number::BOOKS] + later[number::BOOKS])
            page.edit(pages.clock.at("5+1"), text, "more songs", user="Fay")


def _dies(pages: Pages) -> None:
    """16: an entity that exists from the beginning and is merged away in the tenth quarter."""
    if len(pages.clock.windows) > 10:
        page = pages.story("entity Ember Hill")
        page.edit(pages.clock.at("9+3"), "#REDIRECT [[Glass Garden]]", "merged", user="Cem")


def _years(pages: Pages) -> None:
    """17: an event that recurs every year, described in that year's chronicles."""
    for year, quarter, name in _whole_years(pages):
        title = f"{name} Varland Rowing Cup"
        saved = pages.clock.start(quarter) + 40 * DAY
        pages.new(f"cup {name}", title).edit(saved, entity(title, WORDS["race"]), "new page")
        surfaces = {"the great race": 2, "eight oars": 2, f"that wet day of {name}": 2}
        if year % 2:
            surfaces["rowers' glory"] = 1
        _chronicle(pages, quarter + 1, f"Chronicle of {name}", {title: surfaces})


def _burst(pages: Pages) -> None:
    """17: two quarters with several new entities whose words were never used before."""
    for fever in WORDS["fevers"]:
        quarter, surfaces = fever["quarter"], fever["surfaces"]
        if quarter < len(pages.clock.windows) - 1:
            for title in surfaces:
                saved = pages.clock.start(quarter) + 20 * DAY
                pages.new(f"burst {title}", title).edit(saved, entity(title, WORDS["outbreak"]), "new page")
            _chronicle(pages, quarter, fever["chronicle"], surfaces)


def _split_off(pages: Pages) -> None:
    """17: a page whose text was a part of another page until it was split off; and one new page in each year."""
    for _, quarter, name in _whole_years(pages):
        title = f"Pier {name} of Grand Harbour"
        text = entity(title, WORDS["praise"])
        saved = pages.clock.start(quarter + 1)
        pages.new(f"pier {name}", title).edit(saved, text, "split off from [[Grand Harbour]]", user="Emil")
        surfaces = {"the newest planks": 2, f"mooring {int(name) * 7}": 2, "long wooden finger": 2}
        _chronicle(pages, quarter + 2, f"Harbour news of {name}", {title: surfaces})


def _whole_years(pages: Pages) -> list[tuple[int, int, str]]:
    """The years before the first dump: their place, their first quarter and their name."""
    n = (len(pages.clock.windows) - 1) // 4
    return [(year, 4 * year, str(pages.clock.start(4 * year).year)) for year in range(n)]


def _chronicle(pages: Pages, quarter: int, title: str, surfaces: Surfaces) -> None:
    """Two pages that mention entities; saved thirty days into a quarter."""
    write_book(pages, title, pages.clock.start(quarter) + 30 * DAY, surfaces)
