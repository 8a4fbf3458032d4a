"""Entities that came into being in the demo world: articles of some length, with dates of origin and classes.

Numbers are those of the list of what the demo world must contain (13, 14 and
25). Ordinary pages do not link to these. What is true of each page is written
beside it, by hand or while it is made, and never computed by the code under test.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from tempkb.demo.birth_prose import (
    KINDS,
    STEMS,
    Kind,
    Line,
    Traits,
    all_traits,
    article,
    aside,
    body,
    definition,
    in_paragraphs,
    initials,
)
from tempkb.demo.facts import SOMEVALUE, Facts, Item, Origin, When, month, year
from tempkb.demo.model import FIRST_CUT, SECOND_CUT, Clock, Page
from tempkb.demo.stories import DAY, Pages

_FIRST_ITEM = 60_000
_EACH = 5
_PRECISIONS = {11: "day", 10: "month", 9: "year"}
_RELATIONS = ("P571", "P580", "P585", "P575", "P6949")
_OTHERS = ("Ben", "Cem", "Dora", "Emil", "Fay")

Known = tuple[date, date, str, str]
"""First possible day, day after the last, precision, property."""


@dataclass(frozen=True)
class Sentence:
    """What is true of a sentence.

    Attributes:
        text: the sentence as a reader sees it.
        mention: the name with which it mentions the entity; empty if the sentence is not to be kept.
        kept: empty if it is to be kept, else why not: `in quotes`, `twice`, `none`, `short`, `other name`.
        since: number of the quarter, from 0, whose snapshot first has it.
    """

    text: str
    mention: str
    kept: str
    since: int


@dataclass
class Birth:
    """An entity with its page.

    Attributes:
        title: of the page.
        story: the entry of the list that it is for; empty for ordinary ones.
        entity_id: its item.
        names: the title and all aliases.
        category: one of the benchmark's nine.
        origin: what is known of its origin; None: nothing.
        left_out: why benchmarks leave it out; empty: they use it.
        sentences: what is true of the sentences behind the first paragraph; none if there are only lists.
        page: its page.
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


FILM = Kind("Q11424", "Media", "a film", ("is about a lighthouse keeper who cannot swim",))
LANGUAGE = Kind("Q9143", "Products", "a programming language", ("harbour clerks use for tables of tides",))
COVERED = Kind("Q990002", "Infrastructure", "a covered bridge", ("keeps hay carts dry",))
BUILDING = Kind("Q811979", "Infrastructure", "a landmark", ("is older than all maps", "draws painters of all ages"))
PERSON = Kind("Q5", "Misc.", "a weaver", ("makes sails for children",), is_typical=False)
LIST = Kind("Q13406463", "Misc.", "a list", (), is_typical=False)
AMBIGUOUS = Kind("Q4167410", "Misc.", "a name", (), is_typical=False)
_KINDS = {kind.noun: kind for kind in KINDS}
# Classes above those of the items; some reach a well-known class only through others.
_CLASSES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Q27020041": ("sports season", ()),
    "Q476028": ("association football club", ("Q43229",)),
    "Q5398426": ("television series", ("Q15416",)),
    "Q15416": ("television program", ()),
    "Q7889": ("video game", ()),
    "Q11424": ("film", ()),
    "Q12280": ("bridge", ("Q811979",)),
    "Q55488": ("railway station", ("Q811979",)),
    "Q811979": ("architectural structure", ()),
    "Q990002": ("covered bridge", ("Q990003",)),
    "Q990003": ("wooden bridge", ("Q12280",)),
    "Q169950": ("wildfire", ("Q8065",)),
    "Q8065": ("natural disaster", ()),
    "Q3157041": ("tropical storm", ("Q8092",)),
    "Q8092": ("tropical cyclone", ("Q81054",)),
    "Q81054": ("storm", ()),
    "Q620615": ("mobile app", ("Q7397",)),
    "Q7397": ("software", ()),
    "Q9143": ("programming language", ()),
    "Q1420": ("motor car", ("Q42889",)),
    "Q42889": ("vehicle", ()),
    "Q46970": ("airline", ("Q4830453",)),
    "Q163740": ("nonprofit organization", ("Q43229",)),
    "Q175331": ("demonstration", ()),
    "Q132241": ("festival", ()),
    "Q990001": ("riddle", ()),
    "Q13406463": ("Wikimedia list article", ()),
    "Q4167410": ("Wikimedia disambiguation page", ()),
}
_POPULAR = {"Whale Market": "Blubber Hall", "Seven Wells Abbey": "SWA", "Grey Heron Tower": "Heron Tower"}


def write_births(pages: Pages, clock: Clock, facts: Facts, seed: int) -> Births:
    """Add the pages and items of all these entities; needs eight quarters, and has more to show in twelve."""
    for name, (label, above) in _CLASSES.items():
        # Those that the facts use stay as they are.
        facts.items.setdefault(name, Item(name, label, subclass_of=above))
    make = _Maker(pages, clock, facts, seed)
    _ordinary(make)
    for story in (
        _popular,
        _announced,
        _old_and_new,
        _no_entities,
        _too_short,
        _without_origin,
        _several_dates,
        _quoted,
        _odd_title,
        _written_later,
    ):
        story(make)
    kinds = (*KINDS, FILM, LANGUAGE, COVERED, BUILDING, PERSON, LIST, AMBIGUOUS)
    make.births.categories = {
        name: tuple(dict.fromkeys(kind.class_id for kind in kinds if kind.category == name))
        for name in dict.fromkeys(kind.category for kind in kinds)
    }
    return make.births


class _Maker:
    """Adds items with their pages, and writes these."""

    def __init__(self, pages: Pages, clock: Clock, facts: Facts, seed: int) -> None:
        self.births, self._pages, self.clock, self._facts, self._seed = Births(), pages, clock, facts, seed
        self._traits = all_traits(self.chance("traits"))

    @property
    def end(self) -> date:
        """The day of the first dump."""
        return self.clock.windows[-1].start

    def chance(self, what: str) -> random.Random:
        """Return reproducible random numbers for one purpose."""
        return random.Random(f"{self._seed}/births/{what}")  # noqa: S311 - reproducible chance, not secrets

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
        aliases: tuple[str, ...] = (),
        left_out: str = "",
        label: str = "",
    ) -> Birth:
        """Add an item with its page, which has no text yet; give `label` if it is not the title."""
        entity_id = f"Q{_FIRST_ITEM + len(self.births.all)}"
        page = self._pages.new(f"birth {story or title}", title)
        page.entity_id = entity_id
        self._facts.items[entity_id] = Item(
            entity_id, label or title, title, aliases, instance_of=(kind.class_id,), origins=tuple(origins)
        )
        names = tuple(dict.fromkeys((title, label or title, *aliases)))
        traits = next(self._traits)
        self.births.all.append(Birth(title, story, entity_id, names, kind.category, known, left_out, (), page, traits))
        return self.births.all[-1]

    def write(
        self,
        birth: Birth,
        kind: Kind,
        saved: datetime,
        links: Sequence[str] = (),
        *,
        first: str = "",
        grows: bool = False,
    ) -> None:
        """Write an ordinary article.

        Args:
            birth: the entity.
            kind: what it is about.
            saved: when it is first saved.
            links: titles that it links to.
            first: its first paragraph; empty for a random one.
            grows: is its last paragraph added in a later quarter, after a small edit?
        """
        chance = self.chance(birth.title)
        lead = first or definition(birth.title, kind, chance)
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
            _sentence(line, begun if added is None or at < len(at_first) else added)
            for at, paragraph in enumerate(paragraphs)
            for line in paragraph
        )


def _sentence(line: Line, since: int) -> Sentence:
    return Sentence(line.text, line.mention, line.kept, since)


def _known(relation: str, when: When) -> Known:
    return when.day, when.last + DAY, _PRECISIONS[when.precision], relation


def _instant(day: date, hours: float = 9) -> datetime:
    return datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=hours)


def _ordinary(make: _Maker) -> None:
    """25: five entities of each category, known to the day, the month or the year."""
    stems = make.chance("names").sample(STEMS, len(STEMS))
    born: list[tuple[Birth, Kind, Known]] = []
    categories = list(dict.fromkeys(kind.category for kind in KINDS))
    for number in range(_EACH * len(categories)):
        of_category = [kind for kind in KINDS if kind.category == categories[number // _EACH]]
        kind = of_category[number % len(of_category)]
        title, short = kind.title.format(stems[number]), kind.short.format(stems[number])
        when, relation = _birthday(make, number), _RELATIONS[(number + number // _EACH) % len(_RELATIONS)]
        aliases = (short, initials(title)) if number % 3 else (short,)
        known = _known(relation, when)
        born.append((make.add("", title, kind, [Origin(relation, when)], known, aliases=aliases), kind, known))
    for number, (birth, kind, known) in enumerate(born):
        waits = make.chance(f"saved {number}").randint(4, 90)
        saved = min(_instant(known[1] + waits * DAY), _instant(make.end - 20 * DAY))
        links = [*_popular_links(number), born[(number + 7) % len(born)][0].title]
        if len(links) < 2:
            links.append(born[(number + 16) % len(born)][0].title)
        make.write(birth, kind, saved, links, grows=number % _EACH in (0, 3))


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
    return [title for title, is_linked in zip(_POPULAR, linked, strict=True) if is_linked]


def _popular(make: _Maker) -> None:
    """25: long pages with many edits and many links to them, older than the world, and of unknown age."""
    for number, (title, alias) in enumerate(_POPULAR.items()):
        story = f"popular {number + 1}"
        birth = make.add(story, title, BUILDING, [], None, aliases=(alias,), left_out="no origin")
        make.write(birth, BUILDING, make.clock.start(0) - 300 * DAY)
        written = birth.page.edits[0]
        written.user = "Ada"
        for at, user in enumerate(_OTHERS[: 5 - number]):
            text = written.text.replace("| pictures = 0", f"| pictures = {at + 1}")
            birth.page.edit(make.clock.start(at + 1) + 4 * DAY, text, "a picture", user=user)


def _announced(make: _Maker) -> None:
    """25: announced a year before it began; the announcement is its origin."""
    origins = [Origin("P6949", When(date(2021, 3, 4))), Origin("P571", When(date(2022, 4, 11)))]
    kind, known = _KINDS["a mobile app"], (date(2021, 3, 4), date(2021, 3, 5), "day", "P6949")
    birth = make.add("announced", "Herring Alarm Clock", kind, origins, known, aliases=("Herring Clock", "HAC"))
    make.write(birth, kind, _instant(date(2021, 3, 20)))


def _old_and_new(make: _Maker) -> None:
    """25: an old entity with a late page, and a page far older than its entity."""
    kind = _KINDS["a bridge"]
    known = (date(1911, 1, 1), date(1912, 1, 1), "year", "P571")
    origins = [Origin("P571", When(date(1911, 1, 1), 9))]
    birth = make.add(
        "late page", "Old Tollgate Bridge", kind, origins, known, aliases=("Tollgate Bridge",), left_out="outside"
    )
    make.write(birth, kind, make.clock.start(5) + 8 * DAY)
    kind, known = _KINDS["a railway station"], (date(2022, 5, 17), date(2022, 5, 18), "day", "P571")
    origins = [Origin("P571", When(date(2022, 5, 17)))]
    birth = make.add("early page", "Long Planned Station", kind, origins, known, aliases=("Planned Station", "LPS"))
    make.write(birth, kind, make.clock.start(0) - 900 * DAY)


def _no_entities(make: _Maker) -> None:
    """25: a person, a list and a disambiguation page, all with a date."""
    day = When(date(2021, 2, 9))
    origins, known = [Origin("P571", day)], _known("P571", day)
    saved = _instant(date(2021, 3, 1))
    person = make.add("person", "Runa Selvig", PERSON, origins, known, aliases=("Selvig",), left_out="human")
    make.write(person, PERSON, saved)
    listed = make.add("list", "List of lamps of Varland", LIST, origins, known, left_out="list")
    chance = make.chance("list")
    lamps = [f"* Lamp {number} hangs in the street. {aside(chance).text}" for number in range(1, 13)]
    text = "\n".join(["'''Lamps of Varland''' are many, and this list names those that burn all night.", "", *lamps])
    listed.page.edit(saved, text, "new page", user="Ben")
    page = make.add("ambiguous", "Tassel", AMBIGUOUS, origins, known, left_out="disambiguation").page
    meant = "\n".join(f"* [[{birth.title}]], by some" for birth in make.births.all[2:5])
    page.edit(saved, f"'''Tassel''' may refer to:\n{meant}\n{{{{disambiguation}}}}", "new page", user="Cem")


def _too_short(make: _Maker) -> None:
    """25: an article of twenty words."""
    day = When(date(2021, 6, 3))
    birth = make.add(
        "stub",
        "Birk Halt",
        _KINDS["a railway station"],
        [Origin("P571", day)],
        _known("P571", day),
        left_out="too short",
    )
    line = Line("In summer Birk Halt lends its bench to tired walkers and dogs.", "Birk Halt")
    text = f"'''Birk Halt''' is a railway station in Varland.\n\n{line.wikitext}"
    saved = _instant(date(2021, 6, 20))
    birth.page.edit(saved, text, "new page", user="Dora")
    birth.sentences = (_sentence(line, make.quarter(saved)),)


def _without_origin(make: _Maker) -> None:
    """25: dates that are of no use: unknown, deprecated, or only a decade."""
    for story, title, noun, origin in (
        ("unknown date", "Low Ebb Company", "a company", Origin("P571", SOMEVALUE)),
        ("deprecated date", "Gull Post Airways", "an airline", Origin("P571", When(date(2021, 5, 5)), "deprecated")),
        ("decade", "New Moss Party", "a political party", Origin("P571", When(date(2020, 1, 1), 8))),
    ):
        birth = make.add(story, title, _KINDS[noun], [origin], None, aliases=(initials(title),), left_out="no origin")
        make.write(birth, _KINDS[noun], _instant(date(2021, 6, 14)))


def _several_dates(make: _Maker) -> None:
    """25: two dates of one item; a coarse date comes first only if it is certainly earlier; the best rank counts."""
    may = When(date(2022, 6, 1))
    # The year may have begun with that very day, so the more precise day is the origin.
    festival = _KINDS["a festival"]
    origins = [Origin("P571", When(date(2022, 1, 1), 9)), Origin("P580", may)]
    known = (date(2022, 6, 1), date(2022, 6, 2), "day", "P580")
    birth = make.add("two dates", "Copper Drum Festival", festival, origins, known, aliases=("Drum Festival", "CDF"))
    make.write(birth, festival, _instant(date(2022, 6, 20)))
    # The year before is certainly earlier than the day.
    charity = _KINDS["a charity"]
    origins, known = (
        [Origin("P571", When(date(2021, 1, 1), 9)), Origin("P580", may)],
        _known("P571", year(date(2021, 1, 1))),
    )
    birth = make.add("year before day", "Warm Coat Trust", charity, origins, known, aliases=("Coat Trust",))
    make.write(birth, charity, _instant(date(2022, 6, 25)))
    origins = [Origin("P571", When(date(2021, 2, 2))), Origin("P571", When(date(2022, 2, 2)), "preferred")]
    known = (date(2022, 2, 2), date(2022, 2, 3), "day", "P571")
    # A bridge is two steps above its class.
    birth = make.add("best rank", "Hay Cart Bridge", COVERED, origins, known, aliases=("Cart Bridge", "HCB"))
    make.write(birth, COVERED, _instant(date(2022, 2, 12)))


_QUOTED = (
    Line('A tired critic wrote that "Lantern is the slowest boat in the harbour" and went home.', kept="in quotes"),
    Line("Her rival answered that “Lantern will outlive the harbour” in a letter to the same paper.", kept="in quotes"),
    Line("In the southern towns the posters said «Lantern burns all night» above a painted wave.", kept="in quotes"),
    Line("An old usher said “they whispered ‘Lantern’ in every street” on the first evening.", kept="in quotes"),
    Line("On Fridays the [[Lantern Society]] meets in a cold hall behind the fish market.", kept="other name"),
    Line("For its first guests Lantern began where Lantern ends, with a slow boat on grey water.", kept="twice"),
    Line("In March the Lantern reached thirty cinemas and a floating stage on the canal.", "Lantern"),
    Line('At the winter fair Lantern won the "Golden Oar" and a basket of smoked eels.', "Lantern"),
    Line("On the last day the crew's Lantern showed four hundred guests the new breakwater.", "Lantern"),
    Line("Lantern runs ninety minutes.", kept="short"),
    Line("In its best scene Lantern shows a lighthouse keeper with a broken oar and no matches.", "Lantern"),
    Line("Over one summer Lantern's music grew from a short whistle into a long dance for strings.", "Lantern"),
    Line("For the outer islands The Lantern of Varl received a new title and a shorter ending.", "The Lantern of Varl"),
    Line("The rain machine broke twice and the money was gone before the spring.", kept="none"),
)


def _quoted(make: _Maker) -> None:
    """13: a film in all sorts of quotation marks, in a longer name, twice, and plainly; one paragraph each."""
    day = When(date(2021, 4, 19))
    society = _KINDS["a charity"]
    other = make.add(
        "society", "Lantern Society", society, [Origin("P571", day)], _known("P571", day), aliases=("LSV",)
    )
    make.write(other, society, _instant(date(2021, 5, 3)))
    day = When(date(2021, 5, 12))
    birth = make.add(
        "quoted",
        "Lantern (2021 film)",
        FILM,
        [Origin("P571", day)],
        _known("P571", day),
        label="Lantern",
        aliases=("The Lantern of Varl",),
    )
    lead = (
        "'''''Lantern''''' is a film in Varland that tells of a lighthouse keeper who cannot swim. It has no colours."
    )
    saved = _instant(date(2021, 6, 10))
    birth.page.edit(saved, article(birth.title, FILM, lead, [[line] for line in _QUOTED]), "new page", user="Fay")
    birth.sentences = tuple(_sentence(line, make.quarter(saved)) for line in _QUOTED)


_ODD = (
    Line("In its second version Tide++ counts boats and waves with a single short command.", "Tide++"),
    Line("In most classrooms T+ replaced the paper tables of the harbour office.", "T+"),
    Line("An older sheet of notes describes Tide+ as a toy for two bored clerks.", kept="none"),
    Line("A joke among students turned Tide+++ into a song about endless high water.", kept="none"),
)


def _odd_title(make: _Maker) -> None:
    """13: a title with characters that are not letters, and longer and shorter names that are not its own."""
    when = When(date(2021, 8, 1), 10)
    birth = make.add("odd title", "Tide++", LANGUAGE, [Origin("P571", when)], _known("P571", when), aliases=("T+",))
    saved = _instant(date(2021, 10, 5))
    chance = make.chance("odd title")
    lines = [*_ODD, *body(birth.names, LANGUAGE, birth.traits, chance)]
    lead = definition("Tide++", LANGUAGE, chance)
    birth.page.edit(saved, article("Tide++", LANGUAGE, lead, in_paragraphs(lines)), "new page", user="Emil")
    birth.sentences = tuple(_sentence(line, make.quarter(saved)) for line in lines)


_RESTORED = Line(
    "For one long winter Gale Ladder Company paid its carpenters in apples and firewood.", "Gale Ladder Company"
)
_ADDED = Line(
    "After a fire Gale Ladder Company moved its saws into an empty church near the weir.", "Gale Ladder Company"
)


def _written_later(make: _Maker) -> None:
    """14: a sentence added in quarter 6, one missing from quarter 3 to quarter 5, and others from the beginning."""
    day, kind = When(date(2021, 2, 10)), _KINDS["a company"]
    birth = make.add(
        "written later",
        "Gale Ladder Company",
        kind,
        [Origin("P571", day)],
        _known("P571", day),
        aliases=("Gale Ladders",),
    )
    chance = make.chance("written later")
    lead, lines = definition(birth.title, kind, chance), body(birth.names, kind, birth.traits, chance)
    without = in_paragraphs(lines)
    for saved, paragraphs, comment, user in (
        (_instant(date(2021, 3, 1)), [*without, [_RESTORED]], "new page", "Ada"),
        (make.clock.start(3) + 5 * DAY, without, "who says so?", "Ben"),
        (make.clock.start(5) + 5 * DAY, [*without, [_RESTORED]], "the mayor does", "Ada"),
        (make.clock.start(6) + 5 * DAY, [*without, [_RESTORED, _ADDED]], "a fire", "Ada"),
    ):
        birth.page.edit(saved, article(birth.title, kind, lead, paragraphs), comment, user=user)
    birth.sentences = (*(_sentence(line, 0) for line in (*lines, _RESTORED)), _sentence(_ADDED, 6))
