"""Entities that came into being in the demo world, with dates of origin and classes, and articles that name them.

Numbers are those of the list of what the demo world must contain (13, 14 and 25). The articles are long enough for a
benchmark. Ordinary pages do not link to these. What is true of each page is written beside it, by hand or while it is
made, and never computed by the code under test.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import cycle, islice
from typing import Any, NamedTuple

from tempkb.demo.articles import sentences_of
from tempkb.demo.facts import Bound, Facts, Item, Origin, Statement, When, bound, month, year
from tempkb.demo.pages import DAY, FIRST_CUT, SECOND_CUT, USERS, Page, Pages
from tempkb.demo.words import chance_of, words_of

WORDS = words_of("births")
N_TOLD = 10


@dataclass(frozen=True)
class Kind:
    """A class of entities, and the words of their articles.

    Attributes:
        class_id: item of the class.
        category: one of the benchmark's nine.
        noun: what they are, with its article.
        clauses: what they do, for the definition.
        title: pattern of their names, into which an invented word goes; empty if there are no ordinary ones.
        short: pattern of the short form.
        is_typical: do the sentences of its category fit it?
    """

    class_id: str
    category: str
    noun: str
    clauses: Sequence[str]
    title: str = ""
    short: str = ""
    is_typical: bool = True


@dataclass(frozen=True)
class Sentence:
    """A sentence of an article, and what is true of it.

    Attributes:
        mention: the name with which it mentions the entity; empty if there is none, or it is not to be kept.
        kept: empty if it is to be kept, else why not: `in quotes`, `twice`, `none`, `short`, `other name`.
        since: number of the quarter, from 0, whose snapshot first has it.
    """

    wikitext: str
    mention: str = ""
    kept: str = ""
    since: int = 0

    @property
    def text(self) -> str:
        """The sentence as a reader sees it."""
        return re.sub(r"\[\[(?:[^]|]*\|)?([^]]*)\]\]", r"\1", self.wikitext)


KINDS = {kind.noun: kind for kind in (Kind(**one) for one in WORDS["kinds"])}


class Traits(NamedTuple):
    """What only one entity has: its article tells each of them in several sentences, and no other article does.

    Attributes:
        colour: such as pale ochre.
        material: such as smoked larch.
        emblem: an animal, such as blind otter.
    """

    colour: str
    material: str
    founder: str
    number: str
    village: str
    emblem: str


def all_traits(chance: random.Random) -> Iterator[Traits]:
    """Yield the traits of 120 entities; none has a trait of another."""
    surnames, villages = _pairs("surname", "", chance), _pairs("village", "", chance)
    first_names = cycle(WORDS["first_names"].split())
    founders = [f"{first} {last}" for first, last in zip(first_names, surnames, strict=False)]
    # Ordinary pages have smaller numbers, and larger ones that end with a zero.
    numbers = map(str, chance.sample([number for number in range(481, 990) if number % 10], len(surnames)))
    colours, materials, emblems = (_pairs(name, " ", chance) for name in ("colour", "material", "emblem"))
    return map(Traits, colours, materials, founders, numbers, villages, emblems)


def _pairs(name: str, between: str, chance: random.Random) -> list[str]:
    """Return all pairs of a first and a second word, in any order."""
    heads, tails = WORDS["traits"][name]
    made = [f"{head}{between}{tail}" for head in heads.split() for tail in tails.split()]
    return chance.sample(made, len(made))


def aside(chance: random.Random, title: str = "") -> Sentence:
    """Return a sentence that does not name the entity; with a title, one that links to that page."""
    form = chance.choice(WORDS["links"]).format(title) if title else chance.choice(WORDS["asides"])
    return Sentence(form, kept="none")


def body(
    names: Sequence[str], kind: Kind, traits: Traits, chance: random.Random, links: Sequence[str] = ()
) -> list[Sentence]:
    """Write the sentences of an article: ten that name the entity, some that link to `links`, and some others.

    Args:
        names: title and aliases; the title is used most.
    """
    own = WORDS["own"][kind.category] if kind.is_typical else ()
    # One for each trait, and others where there are none of the category.
    first = [chance.choice(pair) for pair in WORDS["any"]]
    others = [form for pair in WORDS["any"] for form in pair if form not in first]
    forms = [*own, *first, *chance.sample(others, N_TOLD - len(own) - len(first))]
    # So that the same name does not always occur with the same form.
    chance.shuffle(forms)
    told = [
        Sentence(form.format(name=name, **traits._asdict()), name)
        for form, name in zip(forms, _in_turn(names), strict=False)
    ]
    lines = [*told, *(aside(chance, title) for title in links)]
    lines += [Sentence(form, kept="none") for form in chance.sample(WORDS["asides"], max(1, 3 - len(links)))]
    chance.shuffle(lines)
    return lines


def in_paragraphs(lines: Sequence[Sentence]) -> list[list[Sentence]]:
    """Split sentences into paragraphs of two to four."""
    parts = max(1, round(len(lines) / 3))
    edges = [len(lines) * at // parts for at in range(parts + 1)]
    return [list(lines[begin:end]) for begin, end in zip(edges, edges[1:], strict=False)]


def definition(title: str, kind: Kind, chance: random.Random) -> str:
    """Return the first paragraph: what it is, and where people talk of it."""
    known_in, clause = chance.choice(WORDS["places"]), chance.choice(kind.clauses)
    return f"'''{title}''' is {kind.noun} in Varland that {clause}. Everybody in {known_in} knows the story."


def article(title: str, kind: Kind, lead: str, paragraphs: Sequence[Sequence[Sentence]], state: int = 0) -> str:
    """Put a page together.

    Args:
        paragraphs: all others, in at most three sections.
        state: a number in the box, which small edits change.
    """
    noun = kind.noun.split(" ", 1)[1]
    parts = [f"{{{{Infobox {noun}\n| name = {title}\n| pictures = {state}\n}}}}\n{lead}"]
    in_section = max(2, -(-len(paragraphs) // len(WORDS["sections"])))
    for at, lines in enumerate(paragraphs):
        if at % in_section == 0:
            parts.append(f"== {WORDS['sections'][at // in_section]} ==")
        parts.append(" ".join(line.wikitext for line in lines))
    return "\n\n".join([*parts, "[[Category:Newcomers of Varland]]"])


def initials(title: str) -> str:
    """Return the capitals of a name: those of Moss Iron Bridge are MIB."""
    return "".join(word[0].upper() for word in re.findall(r"\w+", title))


def _in_turn(names: Sequence[str]) -> Iterator[str]:
    """Yield the title for every other sentence, and the aliases in turn for the others."""
    others = cycle(names[1:] or names)
    for at in range(N_TOLD):
        yield names[0] if at % 2 == 0 else next(islice(others, 1))


_FIRST_ITEM = 60_000
_EACH = 5
_PRECISIONS = {11: "day", 10: "month", 9: "year"}
_RELATIONS = ("P571", "P580", "P585", "P575", "P6949")
_OTHERS = USERS[1:]

Known = tuple[date, date, str, str]
"""First possible day, day after the last, precision, property."""


@dataclass
class Birth:
    """An entity with its page.

    Attributes:
        story: the entry of the list that it is for; empty for ordinary ones.
        names: the title and all aliases.
        category: one of the benchmark's nine.
        origin: what is known of its origin; None: nothing.
        left_out: why benchmarks leave it out; empty: they use it.
        sentences: what is true of the sentences behind the first paragraph; none if there are only lists.
        traits: what only this entity has; an ordinary article tells each in several sentences.
    """

    title: str
    story: str
    entity_id: str
    names: tuple[str, ...]
    category: str
    origin: Known | None
    left_out: str
    sentences: tuple[Sentence, ...]
    page: Page
    traits: Traits


@dataclass
class Births:
    """All entities that came into being.

    Attributes:
        all: the ordinary ones, then those of stories.
        categories: category -> classes that occur in it.
    """

    all: list[Birth] = field(default_factory=list)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def story(self, name: str) -> Birth:
        """Return the entity of a story."""
        return next(one for one in self.all if one.story == name)


def write_births(pages: Pages, facts: Facts, seed: int) -> Births:
    """Add the pages and items of all these entities; needs eight quarters, and has more to show in twelve."""
    for name, (label, *above) in WORDS["classes"].items():
        # Those that the facts use stay as they are.
        facts.items.setdefault(name, Item(name, label, subclass_of=tuple(above)))
    make = _Maker(pages, facts, seed)
    _ordinary(make)
    for told in WORDS["stories"]:
        _write_story(make, **told)
    _write_known_to_all(make, facts)
    make.births.categories = {
        name: tuple(dict.fromkeys(kind.class_id for kind in KINDS.values() if kind.category == name))
        for name in dict.fromkeys(kind.category for kind in KINDS.values())
    }
    return make.births


class _Maker:
    """Adds items with their pages, and writes these."""

    def __init__(self, pages: Pages, facts: Facts, seed: int) -> None:
        self.births, self._pages, self.clock, self._facts, self._seed = Births(), pages, pages.clock, facts, seed
        self._traits = all_traits(self.chance("traits"))

    @property
    def end(self) -> date:
        """The day of the first dump."""
        return self.clock.windows[-1].start

    def chance(self, what: str) -> random.Random:
        """Return reproducible random numbers for one purpose."""
        return chance_of(f"{self._seed}/births/{what}")

    def quarter(self, time: datetime) -> int:
        """Return the quarter whose snapshot first has what is saved at an instant."""
        return next(at for at in range(len(self.clock.windows)) if time < self.clock.cut(at))

    def add(
        self,
        story: str,
        title: str,
        kind: Kind,
        origins: Sequence[Origin],
        known: Known | None,
        *,
        aliases: Sequence[str] = (),
        left_out: str = "",
        label: str = "",
    ) -> Birth:
        """Add an item with its page, which has no text yet; give `label` if it is not the title."""
        entity_id = f"Q{_FIRST_ITEM + len(self.births.all)}"
        page = self._pages.new(f"birth {story or title}", title)
        page.entity_id = entity_id
        self._facts.items[entity_id] = Item(
            entity_id, label or title, title, tuple(aliases), instance_of=(kind.class_id,), origins=tuple(origins)
        )
        names = tuple(dict.fromkeys((title, label or title, *aliases)))
        traits = next(self._traits)
        self.births.all.append(Birth(title, story, entity_id, names, kind.category, known, left_out, (), page, traits))
        return self.births.all[-1]

    def write(
        self, birth: Birth, kind: Kind, saved: datetime, links: Sequence[str] = (), *, grows: bool = False
    ) -> None:
        """Write an ordinary article.

        Args:
            grows: is its last paragraph added in a later quarter, after a small edit?
        """
        chance = self.chance(birth.title)
        lead = definition(birth.title, kind, chance)
        paragraphs = in_paragraphs(body(birth.names, kind, birth.traits, chance, links))
        begun = self.quarter(saved)
        added = begun + 2 if grows and begun + 2 < len(self.clock.windows) - 1 else None
        at_first = paragraphs if added is None else paragraphs[:-1]
        birth.page.edit(saved, article(birth.title, kind, lead, at_first), "new page", user=chance.choice(_OTHERS))
        if added is not None:
            small, large = self.clock.start(added - 1) + 5 * DAY, self.clock.start(added) + 6 * DAY
            user = chance.choice(_OTHERS)
            birth.page.edit(small, article(birth.title, kind, lead, at_first, 1), "a picture", user=user, is_minor=True)
            birth.page.edit(large, article(birth.title, kind, lead, paragraphs, 1), "more", user=user)
        birth.sentences = tuple(
            replace(one, since=begun if added is None or at < len(at_first) else added)
            for at, paragraph in enumerate(paragraphs)
            for one in paragraph
        )


def _known(relation: str, day: When) -> Known:
    return day.day, day.last + DAY, _PRECISIONS[day.precision], relation


def _ordinary(make: _Maker) -> None:
    """25: five entities of each category, known to the day, the month or the year."""
    stems = WORDS["stems"].split()
    stems = make.chance("names").sample(stems, len(stems))
    born: list[tuple[Birth, Kind, Known]] = []
    kinds = [kind for kind in KINDS.values() if kind.title]
    categories = list(dict.fromkeys(kind.category for kind in kinds))
    for number in range(_EACH * len(categories)):
        of_category = [kind for kind in kinds if kind.category == categories[number // _EACH]]
        kind = of_category[number % len(of_category)]
        title, short = kind.title.format(stems[number]), kind.short.format(stems[number])
        day, relation = _birthday(make, number), _RELATIONS[(number + number // _EACH) % len(_RELATIONS)]
        aliases = (short, initials(title)) if number % 3 else (short,)
        known = _known(relation, day)
        born.append((make.add("", title, kind, [Origin(relation, day)], known, aliases=aliases), kind, known))
    for number, (birth, kind, known) in enumerate(born):
        waits = make.chance(f"saved {number}").randint(4, 90)
        saved = make.clock.at(str(min(known[1] + waits * DAY, make.end - 20 * DAY)))
        links = [*_popular_links(number), born[(number + 7) % len(born)][0].title]
        if len(links) < 2:
            links.append(born[(number + 16) % len(born)][0].title)
        make.write(birth, kind, saved, links, grows=number % _EACH in (0, 3))


def _write_known_to_all(make: _Maker, facts: Facts) -> None:
    """15 and 20: the first organisation of the last half year has two heads, and later articles call it other names.

    So one entity is asked about in all benchmarks. What is added is later than all that the demo's models have read.
    """
    begun, counts = make.clock.start(len(make.clock.windows) - 3), WORDS["known_to_all"]["surfaces"]
    surfaces = [surface for surface, n in counts.items() for _ in range(n)]
    saved = {one.title: one.page.edits[0].time for one in make.births.all if not one.story}
    young = sorted(
        (one for one in make.births.all if saved.get(one.title, begun) > begun), key=lambda one: saved[one.title]
    )
    own = next((one for one in young if one.category == "Organizations"), None)
    later = [] if own is None else young[young.index(own) + 1 :]
    if own is None or own.origin is None or len(later) < len(surfaces):
        return
    heads = sorted({one.object for one in facts.statements if one.relation == "P488"})
    changed = saved[own.title].date() - 5 * DAY
    for head, start, ends in ((heads[0], own.origin[0], [When(changed)]), (heads[1], changed + DAY, [])):
        number = len(facts.statements) + 1
        starts: list[Bound] = [When(start)]
        facts.statements.append(
            Statement(own.entity_id, "P488", head, starts, [*ends], story="known to all", number=number)
        )
    told = sentences_of("P488", own.title, facts.items[heads[1]].label, make.chance("known to all"))
    _add(own, " ".join(told))
    own.sentences += tuple(Sentence(one, own.title, since=make.quarter(saved[own.title])) for one in told)
    form = WORDS["known_to_all"]["sentence"]
    for one, surface in zip(later, surfaces, strict=False):
        _add(one, form.format(own.title, surface, **own.traits._asdict()))


def _add(birth: Birth, paragraph: str) -> None:
    """Add a last paragraph to all texts of an article."""
    for edit in birth.page.edits:
        edit.text = edit.text.replace("\n\n[[Category", f"\n\n{paragraph}\n\n[[Category")


def _birthday(make: _Maker, number: int) -> When:
    """Three of five are known to the day, one of each period; one to the month and one to the year."""
    chance = make.chance(f"birthday {number}")
    first, place = make.clock.windows[0].start, number % _EACH
    periods = _periods(make)
    if place < len(periods):
        return When(_day_of(periods[place], chance))
    if place == 3:
        # One of three is of the last period, which is the shortest.
        return month(_day_of(periods[2] if number // _EACH % 3 == 0 else (first, periods[2][1] - 35 * DAY), chance))
    return year(date(chance.randrange(first.year, (make.end - 40 * DAY).year), 1, 1))


def _periods(make: _Maker) -> list[tuple[date, date]]:
    """Days before the first cut of the models, such that the page is there at that cut; between them; after the second.

    A world that ends too early has three periods of the same length instead.
    """
    begin, end = make.clock.windows[0].start, make.end - 40 * DAY
    first, second = FIRST_CUT.date(), SECOND_CUT.date()
    if end > second + 60 * DAY:
        return [(begin, first - 100 * DAY), (first, second), (second, end)]
    third = (end - begin) // 3
    return [(begin + at * third, begin + (at + 1) * third) for at in range(3)]


def _day_of(period: tuple[date, date], chance: random.Random) -> date:
    first, after = period
    return first + chance.randrange((after - first).days) * DAY


def _popular_links(number: int) -> list[str]:
    """Thirty of the articles link to the first popular page, twenty to the second, ten to the third."""
    linked = (number % 3 != 2, number % 9 in (0, 2, 4, 6), number % 9 in (1, 5))
    return [told["title"] for told, is_linked in zip(WORDS["stories"], linked, strict=False) if is_linked]


def _write_story(
    make: _Maker,
    *,
    story: str,
    title: str,
    kind: str,
    saved: str,
    origins: Sequence[Sequence[str]] = (),
    known: int | None = None,
    lines: Sequence[dict[str, Any]] = (),
    **more: Any,
) -> None:
    """Add an entity as the file has it, with its article."""
    dated = [Origin(relation, bound(day, make.clock), *rank) for relation, day, *rank in origins]
    counts = None if known is None else dated[known]
    is_known = _known(counts.relation, counts.when) if counts and isinstance(counts.when, When) else None
    birth = make.add(story, title, KINDS[kind], dated, is_known, **more)
    if story in _OWN_WAYS:
        _OWN_WAYS[story](make, birth, make.clock.at(saved), [Sentence(**one) for one in lines])
    else:
        make.write(birth, KINDS[kind], make.clock.at(saved))
    if story.startswith("popular"):
        _edit_often(make, birth, int(story.split()[1]))


def _edit_often(make: _Maker, birth: Birth, place: int) -> None:
    """The popular pages have many edits, the first of them most."""
    written = birth.page.edits[0]
    written.user = "Ada"
    for at, user in enumerate(_OTHERS[: 6 - place]):
        text = written.text.replace("| pictures = 0", f"| pictures = {at + 1}")
        birth.page.edit(make.clock.start(at + 1) + 4 * DAY, text, "a picture", user=user)


def _write_list(make: _Maker, birth: Birth, saved: datetime, _: Sequence[Sentence]) -> None:
    chance = make.chance("list")
    lamps = [f"* Lamp {number} hangs in the street. {aside(chance).text}" for number in range(1, 13)]
    text = "\n".join(["'''Lamps of Varland''' are many, and this list names those that burn all night.", "", *lamps])
    birth.page.edit(saved, text, "new page", user="Ben")


def _write_disambiguation(make: _Maker, birth: Birth, saved: datetime, _: Sequence[Sentence]) -> None:
    meant = "\n".join(f"* [[{other.title}]], by some" for other in make.births.all[2:5])
    text = f"'''Tassel''' may refer to:\n{meant}\n{{{{disambiguation}}}}"
    birth.page.edit(saved, text, "new page", user="Cem")


def _write_stub(make: _Maker, birth: Birth, saved: datetime, lines: Sequence[Sentence]) -> None:
    text = f"'''Birk Halt''' is a railway station in Varland.\n\n{lines[0].wikitext}"
    birth.page.edit(saved, text, "new page", user="Dora")
    birth.sentences = _since(make.quarter(saved), lines)


def _write_quoted(make: _Maker, birth: Birth, saved: datetime, lines: Sequence[Sentence]) -> None:
    """Each line is a paragraph."""
    text = article(birth.title, KINDS["a film"], WORDS["film"], [[line] for line in lines])
    birth.page.edit(saved, text, "new page", user="Fay")
    birth.sentences = _since(make.quarter(saved), lines)


def _write_odd_title(make: _Maker, birth: Birth, saved: datetime, lines: Sequence[Sentence]) -> None:
    kind, chance = KINDS["a programming language"], make.chance("odd title")
    lines = [*lines, *body(birth.names, kind, birth.traits, chance)]
    text = article(birth.title, kind, definition(birth.title, kind, chance), in_paragraphs(lines))
    birth.page.edit(saved, text, "new page", user="Emil")
    birth.sentences = _since(make.quarter(saved), lines)


def _write_later(make: _Maker, birth: Birth, saved: datetime, lines: Sequence[Sentence]) -> None:
    """The first line is missing from quarter 3 to quarter 5, and the second is added in quarter 6."""
    kind, chance = KINDS["a company"], make.chance("written later")
    lead, others = definition(birth.title, kind, chance), body(birth.names, kind, birth.traits, chance)
    restored, added = lines
    without = in_paragraphs(others)
    for time, paragraphs, comment, user in (
        (saved, [*without, [restored]], "new page", "Ada"),
        (make.clock.at("3+5"), without, "who says so?", "Ben"),
        (make.clock.at("5+5"), [*without, [restored]], "the mayor does", "Ada"),
        (make.clock.at("6+5"), [*without, [restored, added]], "a fire", "Ada"),
    ):
        birth.page.edit(time, article(birth.title, kind, lead, paragraphs), comment, user=user)
    birth.sentences = (*_since(0, [*others, restored]), replace(added, since=6))


def _since(quarter: int, lines: Sequence[Sentence]) -> tuple[Sentence, ...]:
    return tuple(replace(line, since=quarter) for line in lines)


_OWN_WAYS = {
    "list": _write_list,
    "ambiguous": _write_disambiguation,
    "stub": _write_stub,
    "quoted": _write_quoted,
    "odd title": _write_odd_title,
    "written later": _write_later,
}
"""Stories whose articles are not ordinary ones."""
