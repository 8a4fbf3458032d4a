"""Pages of the demo world, with edits and moves at known instants; the histories of some are told one by one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tempkb.core.windows import Granularity, Window
from tempkb.demo.words import words_of
from tempkb.wiki.revisions.history import base36_sha1

if TYPE_CHECKING:
    from tempkb.demo.births import Births
    from tempkb.demo.facts import Facts


DAY = timedelta(days=1)
WIKI = "demowiki"
USERS = ("Ada", "Ben", "Cem", "Dora", "Emil", "Fay")
"""Accounts, numbered from 1."""
BY_QUARTER = re.compile(r"(last|late|-?\d{1,2})([+-]\d+)?")
"""A time that is written as a quarter, with the days after or before it begins."""
CUTS = FIRST_CUT, SECOND_CUT = datetime(2022, 1, 1, tzinfo=UTC), datetime(2023, 7, 1, tzinfo=UTC)
"""Between these cuts the world changes under the eyes of its models: each knows it as of one of them."""
NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Demopedia",
    5: "Demopedia talk",
    6: "File",
    7: "File talk",
    10: "Template",
    11: "Template talk",
    14: "Category",
    15: "Category talk",
    118: "Draft",
    119: "Draft talk",
}


@dataclass
class Edit:
    """A revision of the demo world.

    Attributes:
        comment: the summary, which may be empty.
        user: account name; None for an IP address.
        entered: when it was saved in the wiki, if later than `time` (an import).
        suppressed_from: when the text was hidden; None: never.
        extra_slot: content of a second slot, as media files have.
        revision_id: assigned by the world, in the order in which revisions were saved.
    """

    time: datetime
    text: str
    comment: str = ""
    user: str | None = "Ada"
    is_minor: bool = False
    entered: datetime | None = None
    suppressed_from: datetime | None = None
    hidden_user: bool = False
    extra_slot: str | None = None
    revision_id: int = 0

    @property
    def came(self) -> datetime:
        """When the revision was saved in the wiki."""
        return self.entered or self.time

    @property
    def sha1(self) -> str:
        """MediaWiki's SHA-1 of the text."""
        return base36_sha1(self.text.encode()).decode()


@dataclass
class Name:
    """A title that a page has from `since` on."""

    since: datetime
    namespace: int
    title: str


@dataclass
class Page:
    """A page of the demo world.

    Attributes:
        names: oldest first.
        deleted_at: when it was deleted; None: never.
        merged_into: when another item replaced its own: (instant, item).
        in_two_elements: is it exported as two `<page>` elements, far apart?
        story: the entry of the world's list of traps that it is for; empty for ordinary pages.
    """

    page_id: int
    names: list[Name]
    edits: list[Edit] = field(default_factory=list)
    entity_id: str | None = None
    deleted_at: datetime | None = None
    merged_into: tuple[datetime, str] | None = None
    in_two_elements: bool = False
    story: str = ""

    def edit(self, time: datetime, text: str, comment: str = "", **more: object) -> Edit:
        """Add an edit and return it."""
        self.edits.append(Edit(time, text, comment, **more))  # type: ignore[arg-type]  # passed by name
        return self.edits[-1]

    def move(self, time: datetime, namespace: int, title: str, *, silent: bool = False, user: str = "Ada") -> None:
        """Rename the page; unless `silent`, add a revision without changes that reports the move."""
        before = self.full_name(time)
        self.names.append(Name(time, namespace, title))
        if not silent:
            text = max((edit for edit in self.edits if edit.time < time), key=lambda edit: edit.time).text
            comment = f"{user} moved page [[{before}]] to [[{self.full_name(time)}]]: better name"
            self.edit(time, text, comment, user=user, is_minor=True)

    def name_at(self, time: datetime) -> Name:
        """Return the name at `time`."""
        return [name for name in self.names if name.since <= time][-1] if self.names[0].since <= time else self.names[0]

    def full_name(self, time: datetime) -> str:
        """Return the name with its namespace prefix."""
        name = self.name_at(time)
        prefix = NAMESPACES[name.namespace]
        return f"{prefix}:{name.title}" if prefix else name.title

    def known_edits(self, day: datetime) -> list[Edit]:
        """Return the revisions in a dump of `day`, in the order of their numbers."""
        return sorted((edit for edit in self.edits if edit.came < day), key=lambda edit: edit.revision_id)

    def item_at(self, day: datetime) -> str | None:
        """Return the Wikidata item in the `page_props` of `day`."""
        if self.merged_into is not None and self.merged_into[0] < day:
            return self.merged_into[1]
        return self.entity_id


@dataclass
class Clock:
    """The quarters of the world."""

    windows: tuple[Window, ...]

    def day(self, quarter: int, days: int = 0) -> date:
        """Return the day `days` after a quarter begins, counted from 0; quarters before the first are negative."""
        first = self.windows[0].start
        months = first.year * 12 + first.month - 1 + 3 * quarter
        return date(months // 12, months % 12 + 1, 1) + days * DAY

    def start(self, quarter: int) -> datetime:
        """Return the first instant of a quarter."""
        return midnight(self.day(quarter))

    def cut(self, quarter: int) -> datetime:
        """Return the first instant after a quarter."""
        return midnight(self.windows[quarter].cut)

    def before(self, quarter: int, days: float) -> datetime:
        """Return the instant `days` before the cut of a quarter, to the second."""
        return self.cut(quarter) - timedelta(seconds=round(days * 86_400))

    def at(self, words: str) -> datetime:
        """Return the instant that is written as a day, or as a quarter with the days after or before it begins.

        A day means nine in the morning. The first dump is made when the quarter `last` begins; `late` is the last but
        one before it.

        >>> clock = Clock(quarters(9))
        >>> [f"{clock.at(words):%Y-%m-%d %H}" for words in ("2021-03-20", "4+10", "3-25", "-1", "last+20", "late")]
        ['2021-03-20 09', '2022-01-11 00', '2021-09-06 00', '2020-10-01 00', '2023-01-21 00', '2022-07-01 00']
        """
        if re.fullmatch(r"\d{4}-\d\d-\d\d", words):
            return midnight(date.fromisoformat(words)) + timedelta(hours=9)
        found = BY_QUARTER.fullmatch(words)
        if found is None:
            raise ValueError(f"{words!r}: no time of the demo world; expected such as 2021-03-20, 4+10 or last-3")
        named = {"last": len(self.windows) - 1, "late": len(self.windows) - 3}
        quarter = named[found[1]] if found[1] in named else int(found[1])
        return self.start(quarter) + int(found[2] or 0) * DAY


@dataclass
class World:
    """All pages, with their numbers.

    Attributes:
        clock: its quarters, with one more for the second dump.
    """

    seed: int
    clock: Clock
    pages: list[Page]
    facts: "Facts"
    births: "Births"

    @property
    def dump_days(self) -> tuple[datetime, datetime]:
        """Days of the two dumps, a quarter apart."""
        return self.clock.cut(len(self.clock.windows) - 2), self.clock.cut(len(self.clock.windows) - 1)

    def pages_at(self, day: datetime) -> Iterator[Page]:
        """Yield the pages in a dump of `day`."""
        for page in self.pages:
            if (page.deleted_at is None or page.deleted_at >= day) and page.known_edits(day):
                yield page

    def story(self, name: str) -> Page:
        """Return the page made for one of the traps."""
        return next(page for page in self.pages if page.story == name)


class Pages:
    """Makes the pages of stories, numbered one after another."""

    def __init__(self, clock: Clock, first_id: int) -> None:
        self.made: list[Page] = []
        self.clock, self._next = clock, first_id

    def new(self, story: str, title: str, namespace: int = 0) -> Page:
        """Add a page that has no text yet."""
        page_id = self._next + len(self.made)
        born = self.clock.start(0) - 400 * DAY
        page = Page(page_id, [Name(born, namespace, title)], entity_id=f"Q{9000 + page_id}", story=story)
        self.made.append(page)
        return page

    def story(self, name: str) -> Page:
        """Return the page made for a story."""
        return next(page for page in self.made if page.story == name)


def midnight(day: date) -> datetime:
    """Return the first instant of a day."""
    return datetime.combine(day, datetime.min.time(), UTC)


def quarters(n: int) -> tuple[Window, ...]:
    """Return `n` quarters from 2021 on."""
    windows = [Window(date(2021, 1, 1), Granularity.QUARTER)]
    while len(windows) < n:
        windows.append(Window(windows[-1].end, Granularity.QUARTER))
    return tuple(windows)


def write_stories(pages: Pages) -> None:
    """Add all trap pages of entries 1 to 9. Needs at least eight quarters."""
    words = words_of("stories")
    write_pages(pages, words["pages"], words["form"])
    _edit_war(pages.story("war"), pages.clock, words["form"])


def write_pages(pages: Pages, all_told: Sequence[dict[str, Any]], form: str) -> None:
    """Add the pages of a file, each with its edits, then its moves; `form` is what a single line is put into."""
    for told in all_told:
        page = pages.new(told.get("story", ""), told["title"], told.get("namespace", 0))
        page.in_two_elements = told.get("in_two_elements", False)
        for one in told["edits"]:
            _edit(page, pages.clock, form, **one)
        for one in told.get("moves", ()):
            _move(page, pages.clock, **one)
        if "deleted_at" in told:
            page.deleted_at = pages.clock.at(told["deleted_at"])
        if "merged_into" in told:
            when, item = told["merged_into"]
            page.merged_into = pages.clock.at(when), item


def _edit(
    page: Page, clock: Clock, form: str, *, at: str = "0", line: str = "", text: str | None = None, **more: Any
) -> None:
    """Add an edit as the files have it; the instants among its attributes are written as `at` is."""
    more.setdefault("comment", "" if page.edits else "new page")
    instants: dict[str, Any] = {
        name: clock.at(more.pop(name)) for name in ("entered", "suppressed_from") if name in more
    }
    whole = form.format(title=page.names[0].title, line=line) if text is None else text
    page.edit(clock.at(at), whole, user=more.pop("user", "Ada") or None, **instants, **more)


def _move(page: Page, clock: Clock, *, at: str, title: str, namespace: int = 0, minutes: int = 0, **more: Any) -> None:
    page.move(clock.at(at) + timedelta(minutes=minutes), namespace, title, **more)


def _edit_war(page: Page, clock: Clock, form: str) -> None:
    # 39 texts of eighteen hours, and thirty-four hours of the chosen one: 4.7 per cent.
    at = clock.before(3, 30)
    for number in range(40):
        text = form.format(title="Border Stone", line=f"It belongs to side {number}.")
        page.edit(at, text, "no!", user=("Ben", "Cem")[number % 2])
        at += timedelta(hours=34) if number == 17 else timedelta(hours=17, minutes=35)
