"""The districts of a large demo world: more of the entities of entries 15, 17 and 31, so that linking can be measured.

A district has four entities that exist from the beginning, and each year brings eight new ones: inns, bridges, this
year's editions of two events that recur, and in two of the years an outbreak and what it brings. All are mentioned in
verses, by surfaces that they share with others, beside words that are peculiar to them. The editions of an event have
one of these words in common; the words of an outbreak are made of parts that no earlier word has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product

from tempkb.demo.pages import DAY, Clock, Pages
from tempkb.demo.verses import PARTS, WORDS, Kind, Parts, entity, invented, write_book
from tempkb.demo.words import words_of

_WORDS = words_of("districts")


def _joined(heads: str, tails: str) -> tuple[str, ...]:
    """Return each head with each tail; neighbours begin differently."""
    return tuple(head + tail for tail, head in product(tails.split(), heads.split()))


DISTRICTS = _joined(_WORDS["heads"], _WORDS["tails"])
"""Names of districts; a world has at most so many."""
_NEWCOMERS = _joined(_WORDS["newcomer_heads"], _WORDS["newcomer_tails"])
_KINDS = tuple(Kind(**one) for one in _WORDS["newcomers"])
# Two middles, for there are thousands of words.
_PARTS = replace(PARTS, n_middles=2)
_OF_A_YEAR = 6  # beside the editions of events


@dataclass(frozen=True)
class Outbreak:
    """What a quarter brings that has no precedent, with the vocabulary in which it is told.

    Attributes:
        parts: of its words; no word that is older has any of them.
        surfaces: of an entity in each district, by its title.
    """

    parts: Parts
    surfaces: Mapping[str, Sequence[str]]


OUTBREAKS: Mapping[int, Outbreak] = {
    one["quarter"]: Outbreak(Parts(**one["parts"], n_middles=2), one["surfaces"]) for one in _WORDS["outbreaks"]
}
"""By quarter, counted from 0. In the first of them more is new than in any other quarter."""


@dataclass(frozen=True)
class _Entity:
    """An entity of a district: its words, what its article says from when on, and how often a surface means it."""

    title: str
    words: list[str]
    lines: Mapping[datetime, str]
    surfaces: Mapping[str, int]


def write_districts(pages: Pages, n: int, seed: int) -> None:
    """Add the pages of the first `n` districts, at most of all; the words depend on the seed."""
    clock = pages.clock
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
    write_book(pages, book, told, {one.title: one.surfaces for one in entities}, words.__getitem__)


class _District:
    def __init__(self, name: str, number: int, seed: int, clock: Clock) -> None:
        self._name, self._seed, self._clock = name, seed, clock
        adjectives = _WORDS["adjectives"]
        self._adjective = adjectives[number % len(adjectives)]
        # Three districts share the surfaces of their outbreaks.
        self._of_outbreaks = adjectives[number // 3 % len(adjectives)]

    def old(self) -> Iterator[_Entity]:
        """15 and 31: each surface means three entities; one of the articles grows later."""
        line = WORDS["praise"]
        surfaces = [one.format(self._adjective) for one in _WORDS["of_old"]]
        for at, noun in enumerate(_WORDS["old"]):
            title = f"{self._name} {noun}"
            lines = {self._clock.start(0) - 300 * DAY: line}
            if at == 0:
                lines[self._clock.start(6) + 2 * DAY] = f"{line} {_WORDS['wing']}"
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
                lines = {saved: WORDS["outbreak"]}
                yield _Entity(title, self._words(title, outbreak.parts), lines, dict.fromkeys(used, 3))

    def _newcomers(self, year: int, n: int) -> Iterator[_Entity]:
        for at, name in enumerate(_NEWCOMERS[_OF_A_YEAR * year :][:n]):
            kind = _KINDS[at % 2]
            title = f"{name} {kind.noun} of {self._name}"
            # Not in the quarters of outbreaks.
            saved = self._clock.start(4 * year + (0, 2, 3)[at // 2]) + (12 + at) * DAY
            used = {one.format(self._adjective): 2 + ((at // 2 + n) % 2) for n, one in enumerate(kind.surfaces)}
            yield _Entity(title, self._words(title), {saved: kind.line}, used)

    def _editions(self, year: int) -> Iterator[_Entity]:
        for one in _WORDS["events"]:
            event, saved = f"{self._name} {one['noun']}", self._clock.start(4 * year + one["quarter"]) + 40 * DAY
            title = f"{saved.year} {event}"
            words = [self._words(event)[0], *self._words(title)[1:]]
            used = [surface.format(self._adjective, saved.year) for surface in one["surfaces"]]
            yield _Entity(title, words, {saved: one["line"]}, dict(zip(used, (3, 3, 2), strict=True)))

    def _words(self, name: str, parts: Parts = _PARTS) -> list[str]:
        return invented(f"{self._seed}/{name}", parts)
