"""The districts of a large demo world: more of the entities of entries 15, 17 and 31, so that linking can be measured.

A district has four entities that exist from the beginning, and each year brings eight new ones: inns, bridges, this
year's editions of two events that recur, and in two of the years an outbreak and what it brings. All are mentioned in
verses, by surfaces that they share with others, beside words that are peculiar to them. The editions of an event have
one of these words in common; the words of an outbreak are made of parts that no earlier word has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from tempkb.demo.model import Clock
from tempkb.demo.stories import DAY, Pages
from tempkb.demo.verses import PARTS, Parts, book_of, entity, invented, verses_of

_HEADS = "Vask Olm Trell Ganz Pirr Hult Wemb Skol Jarn Dolv"
_TAILS = "ery adel imar oth undel eska ovar itz"
DISTRICTS = tuple(head + tail for tail, head in product(_TAILS.split(), _HEADS.split()))
"""Names of districts; a world has at most so many."""
_OF_NEWCOMERS = "Bab Cren Dur Fisk Gow Harl Kip Lurm"
_ENDS = "ick ump azz ord ell irn oss ugh"
_NEWCOMERS = tuple(head + tail for tail, head in product(_ENDS.split(), _OF_NEWCOMERS.split()))
_ADJECTIVES = ("amber", "crooked", "drowned", "early", "frosted", "gilded", "hollow", "idle", "leaning", "mossy")
# Two middles, for there are thousands of words.
_PARTS = Parts(PARTS.heads, PARTS.middles, PARTS.tails, 2)

_OLD = ("Quay", "Court", "Mound", "Arcade")
_OF_OLD = ("the {} stones", "that {} view", "two {} gates", "{} steps")
_INNS = (
    "Inn",
    "Its doors were opened with a feast.",
    ("the {} taproom", "{} beds", "that {} kitchen", "stables of {} oak"),
)
_BRIDGES = ("Bridge", "An ox tried its planks.", ("the {} crossing", "{} arches", "that {} toll", "guards in {} coats"))
_EVENTS = (
    ("Cup", 0, "Eight boats rowed in it until dark.", ("the {} race", "{} oars", "that {} day of {}")),
    ("Election", 2, "Votes were counted in it until dawn.", ("the {} count", "{} ballots", "that {} night of {}")),
)
_OF_A_YEAR = 6  # beside the editions of events


@dataclass(frozen=True)
class Outbreak:
    """What a quarter brings that has no precedent, with the vocabulary in which it is told.

    Attributes:
        parts: of its words; no word that is older has any of them.
        surfaces: of an entity in each district, by its title.
    """

    parts: Parts
    surfaces: Mapping[str, tuple[str, ...]]


OUTBREAKS: Mapping[int, Outbreak] = {
    5: Outbreak(
        Parts(
            "yevv ixol uxum ghaz pwill djor tsug aev", "ai uo eia oiu yy aoa", "quay dzi xet wuh khoo psi fyo vlu", 2
        ),
        {
            "Ixoll fever in {}": ("the {} ixolling", "{} sweats", "a plague of {} sighs"),
            "Ixollavac of {}": ("the {} needle", "first {} drops", "vials of {} glass"),
            "Ixoll ward of {}": ("the {} cots", "rows of {} lamps", "that {} silence"),
            "Ixoll curfew of {}": ("the {} bell at six", "{} empty lanes", "shut {} doors"),
            "Ixoll veil of {}": ("the {} gauze", "second {} faces", "those {} ribbons"),
            "Ixoll fund of {}": ("the {} coin box", "alms in {} sacks", "debts of {} grain"),
        },
    ),
    9: Outbreak(
        Parts("ohm eelk zyg cwyd bhul ngar hvit uib", "oy ee uu iou ayo ieu", "xing thoo ghee zu qos pfel mbu aph", 2),
        {
            "Undurr wave in {}": ("the {} undurring", "{} weeks", "a winter of {} soup"),
            "Undurrmeter of {}": ("the {} box", "first {} beeps", "that {} wand"),
        },
    ),
}
"""By quarter, counted from 0. In the first of them more is new than in any other quarter."""


@dataclass(frozen=True)
class _Entity:
    """An entity of a district: its words, what its article says from when on, and how often a surface means it."""

    title: str
    words: list[str]
    lines: Mapping[datetime, str]
    surfaces: Mapping[str, int]


def write_districts(pages: Pages, clock: Clock, n: int, seed: int) -> None:
    """Add the pages of the first `n` districts, at most of all; the words depend on the seed."""
    for number, name in enumerate(DISTRICTS[:n]):
        district = _District(name, number, seed, clock)
        _write(pages, f"Songs of {name}", list(district.old()), clock.start(0) - 200 * DAY)
        for year in range(min((len(clock.windows) - 1) // 4, len(_NEWCOMERS) // _OF_A_YEAR)):
            told = clock.start(4 * year + 3) + 40 * DAY
            _write(pages, f"Travels in {name}, {told.year}", list(district.new(year)), told)


def _write(pages: Pages, book: str, entities: Sequence[_Entity], told: datetime) -> None:
    """The articles of entities, and a book in two parts whose verses mention them; saved when they are told."""
    for one in entities:
        page = pages.new(f"district {one.title}", one.title)
        for time, line in one.lines.items():
            page.edit(time, entity(one.title, line, one.words), "more" if page.edits else "new page", user="Emil")
    words = {one.title: one.words for one in entities}
    verses = list(verses_of({one.title: one.surfaces for one in entities}, words.__getitem__))
    for half in (0, 1):
        title = f"{book}, part {half + 1}"
        pages.new(f"told in {title}", title).edit(told, book_of(title, verses[half::2]), "new page")


class _District:
    def __init__(self, name: str, number: int, seed: int, clock: Clock) -> None:
        self._name, self._seed, self._clock = name, seed, clock
        self._adjective = _ADJECTIVES[number % len(_ADJECTIVES)]
        # Three districts share the surfaces of their outbreaks.
        self._of_outbreaks = _ADJECTIVES[number // 3 % len(_ADJECTIVES)]

    def old(self) -> Iterator[_Entity]:
        """15 and 31: each surface means three entities; one of the articles grows later."""
        line = "People come from far away to see it, and poets have praised it in many verses."
        surfaces = [one.format(self._adjective) for one in _OF_OLD]
        for at, noun in enumerate(_OLD):
            title = f"{self._name} {noun}"
            lines = {self._clock.start(0) - 300 * DAY: line}
            if at == 0:
                lines[self._clock.start(6) + 2 * DAY] = f"{line} A new wing was built for those who came by rail."
            used = {surfaces[(at + n) % len(surfaces)]: times for n, times in enumerate((4, 3, 3))}
            yield _Entity(title, self._words(title), lines, used)

    def new(self, year: int) -> Iterator[_Entity]:
        """17 and 31: the new entities of a year; what an outbreak brings is in place of inns and bridges."""
        outbreak = OUTBREAKS.get(4 * year + 1)
        yield from self._newcomers(year, _OF_A_YEAR - len(outbreak.surfaces if outbreak else ()))
        yield from self._editions(year)
        if outbreak:
            saved = self._clock.start(4 * year + 1) + 20 * DAY
            for titled, surfaces in outbreak.surfaces.items():
                title, used = titled.format(self._name), [one.format(self._of_outbreaks) for one in surfaces]
                lines = {saved: "It was on every tongue in that spring."}
                yield _Entity(title, self._words(title, outbreak.parts), lines, dict.fromkeys(used, 3))

    def _newcomers(self, year: int, n: int) -> Iterator[_Entity]:
        for at, name in enumerate(_NEWCOMERS[_OF_A_YEAR * year :][:n]):
            noun, line, surfaces = (_INNS, _BRIDGES)[at % 2]
            title = f"{name} {noun} of {self._name}"
            # Not in the quarters of outbreaks.
            saved = self._clock.start(4 * year + (0, 2, 3)[at // 2]) + (12 + at) * DAY
            used = {one.format(self._adjective): 2 + ((at // 2 + n) % 2) for n, one in enumerate(surfaces)}
            yield _Entity(title, self._words(title), {saved: line}, used)

    def _editions(self, year: int) -> Iterator[_Entity]:
        for noun, quarter, line, surfaces in _EVENTS:
            event, saved = f"{self._name} {noun}", self._clock.start(4 * year + quarter) + 40 * DAY
            title = f"{saved.year} {event}"
            words = [self._words(event)[0], *self._words(title)[1:]]
            used = [one.format(self._adjective, saved.year) for one in surfaces]
            yield _Entity(title, words, {saved: line}, dict(zip(used, (3, 3, 2), strict=True)))

    def _words(self, name: str, parts: Parts = _PARTS) -> list[str]:
        return invented(f"{self._seed}/{name}", parts)
