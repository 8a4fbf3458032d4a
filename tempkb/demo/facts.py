"""Facts of the demo world and when they held: people, clubs, towns and offices, and the statements about them.

Numbers are those of the list of what the demo world must contain (18 to 24).
Statements hold their truth as days; `wikidata.py` writes them in Wikidata's form.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from tempkb.demo.model import Clock, Page
from tempkb.demo.stories import Pages

_FIRST_ITEM = 50_000
_STRANGER = "Q49999"
SOMEVALUE, NOVALUE = "somevalue", "novalue"


@dataclass(frozen=True)
class When:
    """A date in the form in which a statement has it.

    Attributes:
        day: the day, or the first of the month, year or decade.
        precision: 11 day, 10 month, 9 year, 8 decade.
        years_back: for dates before year 1: the number of years before `day`.
    """

    day: date
    precision: int = 11
    years_back: int = 0

    @property
    def time(self) -> str:
        """The date in Wikidata's format."""
        year = self.day.year - self.years_back
        # Historians have 1 BCE directly before year 1.
        sign, number = ("+", year) if year > 0 else ("-", 1 - year)
        month = self.day.month if self.precision >= 10 else 0
        day = self.day.day if self.precision >= 11 else 0
        return f"{sign}{number:04}-{month:02}-{day:02}T00:00:00Z"

    @property
    def last(self) -> date:
        """The last day that it may mean."""
        if self.precision == 11:
            return self.day
        if self.precision == 10:
            return (self.day + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        return date(self.day.year + (1 if self.precision == 9 else 10), 1, 1) - timedelta(days=1)


Bound = When | str | None
"""A date, `somevalue`, `novalue`, or nothing."""


@dataclass
class Statement:
    """A statement about a subject.

    Attributes:
        subject, relation, object: items and property; an object may be `somevalue`.
        starts, ends: its qualifiers; usually one each.
        point: point in time.
        rank: preferred, normal or deprecated.
        entered: when it was added to Wikidata; None: before everything.
        left: when it was removed from Wikidata; None: never.
        story: the entry of the list that it is for; empty for ordinary ones.
        long_years: are years written with eleven digits?
        corrects: the earlier form of this statement, which it replaces.
        number: place among all statements.
    """

    subject: str
    relation: str
    object: str
    starts: list[Bound] = field(default_factory=list)
    ends: list[Bound] = field(default_factory=list)
    point: When | None = None
    rank: str = "normal"
    entered: datetime | None = None
    left: datetime | None = None
    story: str = ""
    long_years: bool = False
    corrects: "Statement | None" = None
    number: int = 0

    @property
    def guid(self) -> str:
        """Its id in Wikidata, which a correction keeps."""
        if self.corrects is not None:
            return self.corrects.guid
        return f"{self.subject}$0000{self.number:04}-DE00-4000-8000-000000000000"

    def is_known(self, day: datetime) -> bool:
        """Does the dump of `day` have it?"""
        return (self.entered is None or self.entered < day) and (self.left is None or self.left >= day)


@dataclass(frozen=True)
class Origin:
    """A statement of an item about its origin; the date is the value itself.

    Attributes:
        relation: such as P571, inception.
        when: the date, `somevalue` or `novalue`.
        rank: preferred, normal or deprecated.
    """

    relation: str
    when: When | str
    rank: str = "normal"


@dataclass
class Item:
    """An item of Wikidata.

    Attributes:
        entity_id: its QID.
        label: its English name; empty for none.
        title: its page in the demo wiki; None if it has none.
        aliases: other English names.
        german: its German name; empty for none.
        instance_of: items of classes.
        subclass_of: items of superclasses.
        died: when it died or was dissolved.
        n_more: further statements, which make it popular.
        origins: statements about its origin.
    """

    entity_id: str
    label: str
    title: str | None = None
    aliases: tuple[str, ...] = ()
    german: str = ""
    instance_of: tuple[str, ...] = ()
    subclass_of: tuple[str, ...] = ()
    died: When | None = None
    n_more: int = 0
    origins: tuple[Origin, ...] = ()


@dataclass
class Facts:
    """All items and statements of the demo world.

    Attributes:
        items: by QID.
        statements: in any order.
        pages: those of the items that have facts or are objects of facts, by QID.
    """

    items: dict[str, Item] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    pages: dict[str, Page] = field(default_factory=dict)

    def item(self, label: str) -> Item:
        """Return the first item with a label."""
        return next(one for one in self.items.values() if one.label == label)

    def told_on(self, day: date) -> Iterator[Statement]:
        """Return what articles say on a day: all that may hold then by its dates, of what has a name and a page."""
        return (one for one in self.statements if self.is_told_on(one, day))

    def is_told_on(self, one: Statement, day: date) -> bool:
        """Do articles say it on a day?"""
        return self._is_told(one) and any(first <= day <= last for first, last in self.spans(one))

    def of_subject(self, entity_id: str) -> list[Statement]:
        """Return the statements about an item."""
        return [one for one in self.statements if one.subject == entity_id]

    def spans(self, one: Statement) -> Iterator[tuple[date, date]]:
        """Yield the first and the last day on which a statement may hold; of a dead subject nothing holds."""
        died = self.items[one.subject].died
        for start, end in zip(one.starts or [None], one.ends or [None], strict=False):
            first = start.day if isinstance(start, When) and not start.years_back else date.min
            last = end if isinstance(end, When) else died
            yield first, last.last if last else date.max

    def _is_told(self, one: Statement) -> bool:
        item = self.items.get(one.object)
        is_dated = any(isinstance(bound, When) for bound in (*one.starts, *one.ends))
        # What Wikidata corrects later, articles have as wrongly until the correction is entered.
        is_current = one.rank != "deprecated" and one.point is None and one.corrects is None
        return is_dated and is_current and item is not None and bool(item.title and item.label)


PERSON, CLUB, TOWN, PARTY, FIRM, SCHOOL = "Q5", "Q476028", "Q3957", "Q7278", "Q4830453", "Q3914"
_CLASSES = {
    PERSON: "human",
    CLUB: "association football club",
    TOWN: "town",
    PARTY: "political party",
    FIRM: "business",
    SCHOOL: "school",
    "Q486972": "human settlement",
    "Q43229": "organization",
    "Q35120": "entity",
}
_ABOVE = {
    CLUB: ("Q43229",),
    PARTY: ("Q43229",),
    FIRM: ("Q43229",),
    SCHOOL: ("Q43229",),
    TOWN: ("Q486972",),
    # A loop, as Wikidata has some.
    "Q486972": ("Q35120",),
    "Q43229": ("Q35120",),
    "Q35120": ("Q43229",),
}


def write_stories_of_facts(make: "FactMaker") -> None:
    """Add the facts of entries 18 to 24, whose objects are partly those of ordinary facts."""
    for story in (
        _precisions,
        _open_ends,
        _spells,
        _odd_statements,
        _one_of_two_leaves,
        _entered_late,
        _names,
        _strangers,
    ):
        story(make)


class FactMaker:
    """Adds items with their pages, and statements whose dates are given by quarters."""

    def __init__(self, pages: Pages, clock: Clock) -> None:
        self.facts, self._pages, self.clock = Facts(), pages, clock
        for number, (name, label) in enumerate(_CLASSES.items()):
            self.facts.items[name] = Item(name, label, subclass_of=_ABOVE.get(name, ()), n_more=number % 3)

    def add(self, label: str, kind: str, *, title: str = "", **more: object) -> str:
        """Add an item and its page, which has no text yet; return its QID."""
        entity_id = f"Q{_FIRST_ITEM + len(self.facts.items)}"
        page = self._pages.new(f"fact {title or label}", title or label)
        page.entity_id = entity_id
        self.facts.pages[entity_id] = page
        self.facts.items[entity_id] = Item(entity_id, label, title or label, instance_of=(kind,), **more)  # type: ignore[arg-type]
        return entity_id

    def day(self, quarter: int, days: int = 0) -> date:
        """Return the day `days` after a quarter begins; quarters before the first have negative numbers."""
        if quarter < 0:
            first = self.clock.windows[0].start
            months = first.year * 12 + first.month - 1 + 3 * quarter
            return date(months // 12, months % 12 + 1, 1) + timedelta(days=days)
        return self.clock.windows[quarter].start + timedelta(days=days)

    def say(
        self,
        story: str,
        subject: str,
        relation: str,
        value: str,
        start: Bound = None,
        end: Bound = None,
        **more: object,
    ) -> Statement:
        """Add a statement with at most one start and one end."""
        starts, ends = [start] if start is not None else [], [end] if end is not None else []
        self.facts.statements.append(
            Statement(subject, relation, value, starts, ends, story=story, **more)  # type: ignore[arg-type]
        )
        return self.facts.statements[-1]


def month(day: date) -> When:
    """Return the month of a day."""
    return When(day.replace(day=1), 10)


def year(day: date) -> When:
    """Return the year of a day."""
    return When(date(day.year, 1, 1), 9)


def _precisions(make: FactMaker) -> None:
    """18: neighbours in an office whose ends and starts are known to the day, the month and the year."""
    town = make.add("Ostvik", TOWN, n_more=9)
    a, b, c, d = (make.add(name, PERSON) for name in ("Gro Landes", "Tor Mallin", "Ane Sivert", "Odd Haldor"))
    make.say("precisions", town, "P6", a, When(make.day(-6, 3)), When(make.day(1, 20)))
    make.say("precisions", town, "P6", b, month(make.day(1, 20)), month(make.day(3, 40)))
    make.say("precisions", town, "P6", c, When(make.day(3, 45)), year(make.day(4)))
    make.say("precisions", town, "P6", d, year(make.day(4)))


def _open_ends(make: FactMaker) -> None:
    """19: every way in which an end or a start is unknown; and somebody who died in office."""
    club, firm = make.add("Gannet United", CLUB, n_more=2), make.add("Gannet Works", FIRM, n_more=2)
    names = ("Aud Openend", "Bo Someend", "Cai Noend", "Dag Nostart", "Eva Diedin")
    died = When(make.day(4, 10))
    people = [make.add(name, PERSON, n_more=6, died=died if name == "Eva Diedin" else None) for name in names]
    ends: tuple[Bound, ...] = (None, SOMEVALUE, NOVALUE)
    for person, end in zip(people, ends, strict=False):
        make.say("ends", person, "P54", club, When(make.day(2, 5)), end)
    make.say("ends", people[3], "P54", club, None, When(make.day(3, 60)))
    make.say("ends", people[4], "P54", club, When(make.day(0, 30)))
    for person in people:
        # An earlier tenure, so that there is a change to classify.
        make.say(
            "ends", person, "P54", make.facts.item("Reedholm FC").entity_id, year(make.day(-8)), When(make.day(0, 40))
        )
        make.say("ends", person, "P108", firm)


def _spells(make: FactMaker) -> None:
    """20: a gap, nested spells, a return, a handover on one day, and the same statement twice."""
    one, two = make.facts.item("Saltvik FC").entity_id, make.facts.item("Oxbridge AC").entity_id
    gap, nested, back, handover, twice = (
        make.add(name, PERSON, n_more=7)
        for name in ("Geir Gapp", "Nina Nest", "Balder Back", "Hans Dover", "Tyra Twice")
    )
    make.say("gap", gap, "P54", one, When(make.day(0, 10)), When(make.day(1, 10)))
    make.say("gap", gap, "P54", one, When(make.day(4, 10)), When(make.day(5, 10)))
    make.say("gap", gap, "P54", two, When(make.day(2, 10)), When(make.day(2, 50)))
    make.say("nested", nested, "P54", one, When(make.day(-4)), When(make.day(6, 80)))
    make.say("nested", nested, "P54", one, When(make.day(0, 5)), When(make.day(1, 5)))
    make.say("nested", nested, "P54", two, When(make.day(3)), When(make.day(3, 30)))
    make.say("back", back, "P54", one, When(make.day(-2)), When(make.day(1, 29)))
    make.say("back", back, "P54", two, When(make.day(1, 30)), When(make.day(3, 49)))
    make.say("back", back, "P54", one, When(make.day(3, 50)))
    make.say("handover", handover, "P54", one, When(make.day(-2)), When(make.day(2, 15)))
    make.say("handover", handover, "P54", two, When(make.day(2, 15)))
    for _ in range(2):
        make.say("twice", twice, "P54", one, When(make.day(0, 1)), When(make.day(2, 1)))
    make.say("twice", twice, "P54", two, When(make.day(2, 2)))


def _odd_statements(make: FactMaker) -> None:
    """21: ranks, two starts on one statement, dates before year 1 and of a decade, years of eleven digits."""
    one, two, three = (make.facts.item(name).entity_id for name in ("Reed Party", "Salt Party", "Moss Party"))
    ranked = make.add("Rolf Rankin", PERSON, n_more=5)
    make.say("ranks", ranked, "P102", one, When(make.day(0)), When(make.day(3)), rank="deprecated")
    make.say("ranks", ranked, "P102", two, When(make.day(0)), When(make.day(3)))
    make.say("ranks", ranked, "P102", three, When(make.day(3, 1)), rank="preferred")
    starts = make.add("Stig Starts", PERSON, n_more=5)
    statement = make.say("two starts", starts, "P102", one)
    statement.starts, statement.ends = (
        [When(make.day(0, 3)), When(make.day(4, 3))],
        [When(make.day(1, 3)), When(make.day(5, 3))],
    )
    make.say("two starts", starts, "P102", two, When(make.day(2)), When(make.day(2, 60)))
    old = make.add("Old Ferry", FIRM, n_more=4)
    make.say(
        "odd dates",
        old,
        "P127",
        make.facts.item("Ember Glass").entity_id,
        When(date(30, 1, 1), 9, years_back=60),
        When(date(80, 1, 1), 8),
    )
    make.say(
        "odd dates",
        old,
        "P127",
        make.facts.item("Varl Shipping").entity_id,
        When(date(1990, 1, 1), 8),
        When(make.day(4, 2)),
        long_years=True,
    )
    make.say("odd dates", old, "P127", make.facts.item("North Tilery").entity_id, When(make.day(4, 3)), long_years=True)
    make.say("a point", old, "P127", make.facts.item("Peat & Sons").entity_id, point=When(make.day(2)))


def _one_of_two_leaves(make: FactMaker) -> None:
    """22: two people hold an office together, then one of them leaves; the released rule misses who left."""
    firm = make.add("Twin Chairs", FIRM, n_more=8)
    first, second = make.add("Vera Stays", PERSON), make.add("Wim Leaves", PERSON)
    make.say("two", firm, "P488", first, When(make.day(-3)))
    make.say("two", firm, "P488", second, When(make.day(1, 12)), When(make.day(4, 12)))


def _entered_late(make: FactMaker) -> None:
    """23: a fact that is added to Wikidata two quarters late, and a date that is corrected before the second dump."""
    first_dump = make.clock.cut(len(make.clock.windows) - 2)
    last = len(make.clock.windows) - 2
    town = make.add("Lateham", TOWN, n_more=8)
    a, b, c = (make.add(name, PERSON) for name in ("Alf Earlier", "Siv Unheard", "Kim Mistake"))
    make.say("late", town, "P6", a, When(make.day(-4)), When(make.day(last - 1, 10)))
    make.say("late", town, "P6", b, When(make.day(last - 1, 11)), entered=first_dump + timedelta(days=30))
    other = make.add("Wrongton", TOWN, n_more=8)
    make.say("corrected", other, "P6", a, When(make.day(-4)), When(make.day(3, 5)))
    noticed = first_dump + timedelta(days=20)
    wrong = make.say("corrected", other, "P6", c, When(make.day(3, 6)), left=noticed)
    make.say("corrected", other, "P6", c, When(make.day(4, 6)), entered=noticed, corrects=wrong)


def _names(make: FactMaker) -> None:
    """24: subjects with one name, objects with one name, names of one, five and seven words, a rare relation."""
    rower = make.add("Ada Holm", PERSON, title="Ada Holm (rower)", n_more=9)
    painter = make.add("Ada Holm", PERSON, title="Ada Holm (painter)", n_more=3)
    men = make.add(
        "Harbour Rovers", CLUB, title="Harbour Rovers (1899)", aliases=("The Rovers",), german="Hafenwanderer"
    )
    women = make.add("Harbour Rovers", CLUB, title="Harbour Rovers (women)")
    short = make.add("Tern", CLUB)
    five = make.add("Sons of the Old Lighthouse", CLUB)
    seven = make.add("Society of the Friends of Sea Bathing", CLUB)
    for at, (person, club) in enumerate(
        ((rower, men), (rower, women), (rower, five), (painter, short), (painter, seven))
    ):
        make.say("names", person, "P54", club, When(make.day(at % 3 * 2)), When(make.day(at % 3 * 2 + 1, 40)))
    school = make.add("Tidewater School", SCHOOL)
    other = make.add("Upland School", SCHOOL)
    make.say("few", rower, "P69", school, year(make.day(-8)), year(make.day(0)))
    make.say("few", rower, "P69", other, year(make.day(0)), year(make.day(4)))
    for name in ("Mona Still", "Niels Firm"):
        person = make.add(name, PERSON, n_more=4)
        for club in (men, short):
            make.say("never changes", person, "P54", club, When(make.day(-8)))


def _strangers(make: FactMaker) -> None:
    """Items without a page in the wiki, without a name, without an object; an undated statement that contradicts."""
    make.facts.items[_STRANGER] = Item(_STRANGER, "Stranger Club", instance_of=(CLUB,))
    nameless = make.add("", CLUB, title="Nameless Club")
    person = make.add("Sara Strange", PERSON, n_more=6)
    club = make.facts.item("Fernlea SK").entity_id
    make.say("strangers", person, "P54", _STRANGER, When(make.day(0)), When(make.day(1)))
    make.say("strangers", person, "P54", nameless, When(make.day(0)), When(make.day(1)))
    make.say("strangers", person, "P54", SOMEVALUE, When(make.day(0)), When(make.day(1)))
    make.say("strangers", person, "P54", club, When(make.day(0)), When(make.day(2, 40)))
    make.say("strangers", person, "P54", make.facts.item("Tern").entity_id, When(make.day(2, 41)))
    make.say("strangers", person, "P54", make.facts.item("Tarnhus IF").entity_id)
