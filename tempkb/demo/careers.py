"""Ordinary facts of the demo world, half of which change between two models' cuts, and districts of a large world.

Numbers are those of the list of what the demo world must contain (28 and 29). At both cuts every object of a relation
is an answer equally often; so a model that prefers the newer answer has learnt of whom it is true, and not merely
that it has become frequent.

A district is more of the entities of entries 15, 17 and 31, so that linking can be measured. It has four entities that
exist from the beginning, and each year brings eight new ones: inns, bridges, this year's editions of two events that
recur, and in two of the years an outbreak and what it brings. All are mentioned in verses, by surfaces that they share
with others, beside words that are peculiar to them. The editions of an event have one of these words in common; the
words of an outbreak are made of parts that no earlier word has.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice, product, zip_longest

from tempkb.demo.facts import CLUB, FIRM, PARTY, PERSON, TOWN, Bound, FactMaker, When, month, year
from tempkb.demo.linking import PARTS, WORDS, Kind, Parts, entity, invented, write_book
from tempkb.demo.pages import DAY, FIRST_CUT, SECOND_CUT, Clock, Pages
from tempkb.demo.words import chance_of, words_of

# Quarters, counted from 0, in which something changes: before the first cut, between the cuts, and after the second.
_EARLY, _BETWEEN, _LATE = (1, 2, 3), (4, 5, 6, 7, 8, 9), (10, 11)
_MOST_SUBJECTS, _FEWEST_SUBJECTS, _FEWEST_OBJECTS, _SUBJECTS_OF_AN_OBJECT = 200, 4, 4, 5
# The pages that a world has beside those of ordinary facts, and the kinds of subjects.
_OTHER_PAGES, _KINDS_OF_SUBJECTS = 387, 4

_WORDS = words_of("careers")


class Cast:
    """The items of ordinary facts, by kind.

    Args:
        pages: number of pages of the world, on which the number of subjects and of objects of a relation depends.
    """

    def __init__(self, make: FactMaker, pages: int) -> None:
        n = min(_MOST_SUBJECTS, max(_FEWEST_SUBJECTS, (pages - _OTHER_PAGES) // _KINDS_OF_SUBJECTS // 2 * 2))
        m = max(_FEWEST_OBJECTS, n // _SUBJECTS_OF_AN_OBJECT)
        self._make = make
        self._names = {PERSON: _people(), CLUB: _names("clubs"), TOWN: _names("towns"), FIRM: _names("firms")}
        # Some are more popular than others, as Wikidata counts it.
        people = [make.add(next(self._names[PERSON]), PERSON, n_more=at % 16) for at in range(max(n, 3 * m))]
        # The stories need all clubs that are known by name.
        clubs, towns = self._several(CLUB, max(n, len(_WORDS["clubs"]["known"]))), self._several(TOWN, n)
        firms = self._several(FIRM, max(n, 2 * m))
        parties = [make.add(f"{word} Party", PARTY) for word in _WORDS["parties"].split()[:m]]
        self.relations = (
            ("P54", people[:n], clubs[:m]),
            ("P102", people[:n], parties),
            ("P108", people[:n], firms[:m]),
            ("P6", towns, people[:m]),
            ("P286", clubs[:n], people[m : 2 * m]),
            ("P488", firms[:n], people[2 * m : 3 * m]),
            ("P127", clubs[:n], firms[m : 2 * m]),
        )
        """Each relation with its subjects and its objects."""

    def one_more(self, relation: str) -> str:
        """Add one more subject of a relation, and return its item."""
        kind = {"P6": TOWN, "P286": CLUB, "P127": CLUB, "P488": FIRM}.get(relation, PERSON)
        return self._make.add(next(self._names[kind]), kind)

    def _several(self, kind: str, n: int) -> list[str]:
        return [self._make.add(label, kind) for label in islice(self._names[kind], n)]


def write_careers(make: FactMaker, cast: Cast, seed: int) -> None:
    """Add the facts of all ordinary subjects: as many that change between the cuts as that are kept."""
    for relation, subjects, objects in cast.relations:
        chance = chance_of(f"{seed}/{relation}")
        among = chance.sample(subjects, len(subjects))
        half = len(among) // 2
        old = _dealt(objects, half, chance)
        for at, (subject, before, after) in enumerate(zip(among, old, _passed_on(old, chance), strict=False)):
            # A year may hold both, wherever in it the change was; by quarter such a change has no date.
            is_vague = at % 8 == 7
            quarter = chance.choice(_BETWEEN[:4] if is_vague else _BETWEEN)
            _life(make, relation, subject, (before, after), quarter, year if is_vague else _shape(chance), chance)
        kept = _dealt(objects, half, chance)
        for at, (subject, same, other) in enumerate(zip(among[half:], kept, _passed_on(kept, chance), strict=True)):
            if at % 2:
                _life(make, relation, subject, (other, same), chance.choice(_EARLY), _shape(chance), chance)
            else:
                _life(make, relation, subject, (same, other), chance.choice(_LATE), _shape(chance), chance)


def balance(make: FactMaker, cast: Cast) -> None:
    """Add subjects to which those objects pass that the stories make rarer or more frequent between the cuts."""
    first, second = (_answers(make, cut.date() - DAY) for cut in (FIRST_CUT, SECOND_CUT))
    for relation in sorted({*first, *second}):
        rarer = sorted((first[relation] - second[relation]).elements())
        more_frequent = sorted((second[relation] - first[relation]).elements())
        chance = chance_of(f"balance/{relation}")
        for before, after in zip_longest(more_frequent, rarer):
            subject, quarter = cast.one_more(relation), chance.choice(_BETWEEN[:5])
            spare = next(one for one in sorted(first[relation]) if one not in (before, after))
            if before and after:
                _life(make, relation, subject, (before, after), quarter, When, chance)
            elif after:
                # Nothing is known of it at the first cut; what follows is after the second, so that there is a change.
                _tenures(make, relation, subject, ((after, quarter), (spare, _LATE[0])))
            else:
                _tenures(make, relation, subject, ((spare, -8), (before, _EARLY[0]), ("", quarter)))


def _answers(make: FactMaker, day: date) -> dict[str, Counter[str]]:
    """Return how often each object is an answer on a day, by relation."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in make.facts.told_on(day):
        found[one.relation][one.object] += 1
    return found


def _dealt(objects: Sequence[str], n: int, chance: random.Random) -> list[str]:
    """Return `n` objects in any order, each as often as any other, or once more."""
    dealt = [objects[at % len(objects)] for at in range(n)]
    chance.shuffle(dealt)
    return dealt


def _passed_on(old: Sequence[str], chance: random.Random) -> list[str]:
    """Return the same objects in another order, such that none stays where it is."""
    new = chance.sample(old, len(old))
    while same := [at for at, one in enumerate(new) if one == old[at]]:
        other = chance.randrange(len(new))
        new[same[0]], new[other] = new[other], new[same[0]]
    return new


def _shape(chance: random.Random) -> Callable[[date], When]:
    """A change is known to the day or to the month."""
    return chance.choice((When, When, month))


def _life(
    make: FactMaker,
    relation: str,
    subject: str,
    objects: tuple[str, str],
    quarter: int,
    shape: Callable[[date], When],
    chance: random.Random,
) -> None:
    """Add two tenures, of which the second begins early in a quarter, when the first has ended."""
    begun = date(chance.randint(2012, 2019), chance.randint(1, 12), chance.randint(1, 28))
    is_over = quarter < len(make.clock.windows) - 1
    # All days between the two are in the first month of the quarter.
    change = make.clock.day(quarter, chance.randint(3, 24)) if is_over else None
    first = chance.choice((When, month, year))(begun)
    make.say(subject, relation, objects[0], first, shape(change - DAY) if change else None)
    if change:
        make.say(subject, relation, objects[1], shape(change))


def _tenures(make: FactMaker, relation: str, subject: str, begun: Sequence[tuple[str, int]]) -> None:
    """Add tenures that follow one another, each from the sixth day of a quarter on; `""` for the end of the last."""
    known = [(value, quarter) for value, quarter in begun if quarter < len(make.clock.windows) - 1]
    for (value, quarter), following in zip_longest(known, known[1:]):
        if value:
            end: Bound = When(make.clock.day(following[1], 4)) if following else None
            make.say(subject, relation, value, When(make.clock.day(quarter, 5)), end)


def _people() -> Iterator[str]:
    known, first, last = _WORDS["people"]["known"], *(_WORDS["people"][one].split() for one in ("first", "last"))
    yield from known
    for at in range(len(first) * len(last)):
        yield f"{first[at % len(first)]} {last[(at + 7 * (at // len(first))) % len(last)]}"


def _names(kind: str) -> Iterator[str]:
    """Yield the known names of a kind, then all pairs of words, such that neighbours differ in both."""
    words = _WORDS[kind]
    first, last = words["first"].split(), words["last"].split()
    yield from words["known"]
    for at in range(len(first) * len(last)):
        yield words["form"].format(first[at % len(first)], last[(at + at // len(first)) % len(last)])


_DISTRICTS = words_of("districts")


def _joined(heads: str, tails: str) -> tuple[str, ...]:
    """Return each head with each tail; neighbours begin differently."""
    return tuple(head + tail for tail, head in product(tails.split(), heads.split()))


DISTRICTS = _joined(_DISTRICTS["heads"], _DISTRICTS["tails"])
"""Names of districts; a world has at most so many."""
_NEWCOMERS = _joined(_DISTRICTS["newcomer_heads"], _DISTRICTS["newcomer_tails"])
_KINDS = tuple(Kind(**one) for one in _DISTRICTS["newcomers"])
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
    one["quarter"]: Outbreak(Parts(**one["parts"], n_middles=2), one["surfaces"]) for one in _DISTRICTS["outbreaks"]
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
        for at in range(min((len(clock.windows) - 1) // 4, len(_NEWCOMERS) // _OF_A_YEAR)):
            told = clock.start(4 * at + 3) + 40 * DAY
            _write(pages, f"Travels in {name}, {told.year}", list(district.new(at)), told)


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
        adjectives = _DISTRICTS["adjectives"]
        self._adjective = adjectives[number % len(adjectives)]
        # Three districts share the surfaces of their outbreaks.
        self._of_outbreaks = adjectives[number // 3 % len(adjectives)]

    def old(self) -> Iterator[_Entity]:
        """15 and 31: each surface means three entities; one of the articles grows later."""
        line = WORDS["praise"]
        surfaces = [one.format(self._adjective) for one in _DISTRICTS["of_old"]]
        for at, noun in enumerate(_DISTRICTS["old"]):
            title = f"{self._name} {noun}"
            lines = {self._clock.start(0) - 300 * DAY: line}
            if at == 0:
                lines[self._clock.start(6) + 2 * DAY] = f"{line} {_DISTRICTS['wing']}"
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
        for one in _DISTRICTS["events"]:
            event, saved = f"{self._name} {one['noun']}", self._clock.start(4 * year + one["quarter"]) + 40 * DAY
            title = f"{saved.year} {event}"
            words = [self._words(event)[0], *self._words(title)[1:]]
            used = [surface.format(self._adjective, saved.year) for surface in one["surfaces"]]
            yield _Entity(title, words, {saved: one["line"]}, dict(zip(used, (3, 3, 2), strict=True)))

    def _words(self, name: str, parts: Parts = _PARTS) -> list[str]:
        return invented(f"{self._seed}/{name}", parts)
