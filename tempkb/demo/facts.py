"""Facts of the demo world and when they held: people, clubs, towns and offices, and the statements about them.

Numbers are those of the list of what the demo world must contain (18 to 24). Statements hold their truth as days;
`export.py` writes them in Wikidata's form.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from tempkb.demo.pages import BY_QUARTER, DAY, Clock, Page, Pages
from tempkb.demo.words import words_of

WORDS = words_of("facts")
_FIRST_ITEM = 50_000
SOMEVALUE = "somevalue"


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
            return (self.day + 31 * DAY).replace(day=1) - DAY
        return date(self.day.year + (1 if self.precision == 9 else 10), 1, 1) - DAY


Bound = When | str | None
"""A date, `somevalue`, `novalue`, or nothing."""


@dataclass
class Statement:
    """A statement about a subject.

    Attributes:
        subject, relation, object: items and property; an object may be `somevalue`.
        starts, ends: its qualifiers; usually one each.
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
    when: Bound
    rank: str = "normal"


@dataclass
class Item:
    """An item of Wikidata.

    Attributes:
        label: its English name; empty for none.
        german: its German name; empty for none.
        n_more: further statements, which make it popular.
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


PERSON, CLUB, TOWN, PARTY, FIRM = "Q5", "Q476028", "Q3957", "Q7278", "Q4830453"


class FactMaker:
    """Adds items with their pages, and statements whose dates are given by quarters."""

    def __init__(self, pages: Pages) -> None:
        self.facts, self._pages, self.clock = Facts(), pages, pages.clock
        for number, (name, (label, *above)) in enumerate(WORDS["classes"].items()):
            self.facts.items[name] = Item(name, label, subclass_of=tuple(above), n_more=number % 3)

    def add(self, label: str, kind: str, *, title: str = "", **more: Any) -> str:
        """Add an item and its page, which has no text yet; return its QID."""
        entity_id = f"Q{_FIRST_ITEM + len(self.facts.items)}"
        page = self._pages.new(f"fact {title or label}", title or label)
        page.entity_id = entity_id
        self.facts.pages[entity_id] = page
        self.facts.items[entity_id] = Item(entity_id, label, title or label, instance_of=(kind,), **more)
        return entity_id

    def say(self, subject: str, relation: str, value: str, start: Bound = None, end: Bound = None) -> None:
        """Add an ordinary statement."""
        starts, ends = (list[Bound]([one] if one else []) for one in (start, end))
        self.facts.statements.append(Statement(subject, relation, value, starts, ends))


def write_stories_of_facts(make: FactMaker) -> None:
    """Add the facts of entries 18 to 24, whose objects are partly those of ordinary facts."""
    classes = {label: class_id for class_id, (label, *_) in WORDS["classes"].items()}
    for told in WORDS["stories"]:
        for one in told["items"]:
            _add(make, **{**one, "kind": classes[one["kind"]]})
        by_title = {item.title: entity_id for entity_id, item in make.facts.items.items() if item.title}
        for subject, relation, value, *bounds in told["said"]:
            more = bounds.pop() if bounds and isinstance(bounds[-1], dict) else {}
            statement = Statement(by_title[subject], relation, by_title.get(value, value), story=told["story"])
            statement.starts, statement.ends = (_bounds(one, make.clock) for one in (*bounds, "", "")[:2])
            _complete(make, statement, **more)
            make.facts.statements.append(statement)


def _add(make: FactMaker, *, label: str, kind: str, entity_id: str = "", **more: Any) -> None:
    """Add an item as the file has it; one whose number is given has no page."""
    if entity_id:
        make.facts.items[entity_id] = Item(entity_id, label, instance_of=(kind,))
        return
    died, aliases = bound(more.pop("died", ""), make.clock), tuple(more.pop("aliases", ()))
    make.add(label, kind, died=died, aliases=aliases, **more)


def _complete(make: FactMaker, statement: Statement, *, corrects: bool = False, **more: Any) -> None:
    """Give a statement its further attributes as the file has them; it corrects the one before it."""
    if corrects:
        statement.corrects = make.facts.statements[-1]
    for name, value in more.items():
        if name in ("entered", "left"):
            setattr(statement, name, make.clock.at(value))
        else:
            setattr(statement, name, bound(value, make.clock) if name == "point" else value)


def _bounds(words: str | list[str], clock: Clock) -> list[Bound]:
    return [bound(one, clock) for one in ([words] if isinstance(words, str) else words) if one]


def bound(words: str, clock: Clock) -> Bound:
    """Return a date as the files have it, by a quarter or with the precision in which it is written; or other words.

    >>> from tempkb.demo.pages import quarters
    >>> said = ("4+10", "4+10 month", "4 year", "2021-08-03", "2021-08", "2021", "2020s", "31 BCE")
    >>> [bound(words, Clock(quarters(5))).time[:11] for words in said]  # doctest: +NORMALIZE_WHITESPACE
    ['+2022-01-11', '+2022-01-00', '+2022-00-00',
     '+2021-08-03', '+2021-08-00', '+2021-00-00', '+2020-00-00', '-0031-00-00']
    >>> bound("somevalue", Clock(quarters(5)))
    'somevalue'
    """
    day, _, shape = words.partition(" ")
    if shape == "BCE":
        before = int(day) - 1
        return When(date(before, 1, 1), 9, years_back=2 * before)
    if BY_QUARTER.fullmatch(day):
        return {"": When, "month": month, "year": year}[shape](clock.at(day).date())
    if not words[:4].isdigit():
        return words or None
    numbers = [int(one) for one in words.rstrip("s").split("-")]
    return When(date(*(*numbers, 1, 1)[:3]), 8 if words.endswith("s") else 8 + len(numbers))


def month(day: date) -> When:
    """Return the month of a day."""
    return When(day.replace(day=1), 10)


def year(day: date) -> When:
    """Return the year of a day."""
    return When(date(day.year, 1, 1), 9)
