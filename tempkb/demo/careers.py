"""Ordinary facts of the demo world: lives of which half change between the cuts of two models, and half do not.

Numbers are those of the list of what the demo world must contain (28 and 29).
At both cuts every object of a relation is an answer equally often; so a model
that prefers the newer answer has learnt of whom it is true, and not merely that
it has become frequent.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import islice, zip_longest

from tempkb.demo.facts import CLUB, FIRM, PARTY, PERSON, TOWN, Bound, FactMaker, When, month, year
from tempkb.demo.pages import DAY, FIRST_CUT, SECOND_CUT
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
