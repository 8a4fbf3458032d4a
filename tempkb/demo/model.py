"""What the demo world is made of: pages, edits and moves, at known instants.

The world knows the truth, so tests take their expectations from it. Nothing
but the command line and tests may import this package.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tempkb.revisions.history import base36_sha1
from tempkb.windows import Granularity, Window

if TYPE_CHECKING:
    from tempkb.demo.births import Births
    from tempkb.demo.facts import Facts

WIKI = "demowiki"
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
        time: when it was saved.
        text: its wikitext.
        comment: the summary; empty ones are real, too.
        user: account name; None for an address.
        entered: when it came into the wiki, if later than `time` (an import).
        suppressed_from: since when the text is hidden; None never.
        hidden_user: is its author hidden?
        extra_slot: content of a second slot, as media files have.
        revision_id: given by the world, in the order in which revisions entered it.
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
        """When the revision came into the wiki."""
        return self.entered or self.time

    @property
    def sha1(self) -> str:
        """MediaWiki's hash of the text."""
        return base36_sha1(self.text.encode()).decode()


@dataclass
class Name:
    """A title that a page bears from `since` on."""

    since: datetime
    namespace: int
    title: str


@dataclass
class Page:
    """A page of the demo world.

    Attributes:
        names: oldest first.
        edits: in any order.
        entity_id: Wikidata item.
        deleted_at: when it was deleted; None never.
        merged_into: from when on another item stands in for its own: (instant, item).
        in_two_elements: is it exported as two `<page>` elements, far apart?
        story: which entry of the world's list of traps it is for; empty for ordinary pages.
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
        self.edits.append(Edit(time, text, comment, **more))  # type: ignore[arg-type]  # passed on by name
        return self.edits[-1]

    def move(self, time: datetime, namespace: int, title: str, *, silent: bool = False, user: str = "Ada") -> None:
        """Rename the page; unless `silent`, a revision that changes nothing tells of it."""
        before = self.full_name(time)
        self.names.append(Name(time, namespace, title))
        if not silent:
            text = max((edit for edit in self.edits if edit.time < time), key=lambda edit: edit.time).text
            said = f"{user} moved page [[{before}]] to [[{self.full_name(time)}]]: better name"
            self.edit(time, text, said, user=user, is_minor=True)

    def name_at(self, time: datetime) -> Name:
        """The name borne just at `time`."""
        return [name for name in self.names if name.since <= time][-1] if self.names[0].since <= time else self.names[0]

    def full_name(self, time: datetime) -> str:
        """The name with its namespace prefix."""
        name = self.name_at(time)
        prefix = NAMESPACES[name.namespace]
        return f"{prefix}:{name.title}" if prefix else name.title

    def known_edits(self, day: datetime) -> list[Edit]:
        """Revisions that a dump of `day` holds, in the order of their numbers."""
        return sorted((edit for edit in self.edits if edit.came < day), key=lambda edit: edit.revision_id)

    def item_at(self, day: datetime) -> str | None:
        """The Wikidata item that `page_props` of `day` gives."""
        if self.merged_into is not None and self.merged_into[0] < day:
            return self.merged_into[1]
        return self.entity_id


@dataclass
class Clock:
    """The quarters of the world.

    Attributes:
        windows: its quarters, oldest first.
    """

    windows: tuple[Window, ...]

    def start(self, quarter: int) -> datetime:
        """First instant of a quarter, counted from 0."""
        return midnight(self.windows[quarter])

    def cut(self, quarter: int) -> datetime:
        """First instant after a quarter."""
        return datetime.combine(self.windows[quarter].cut, datetime.min.time(), UTC)

    def before(self, quarter: int, days: float) -> datetime:
        """The instant `days` before the cut of a quarter, to the second."""
        return self.cut(quarter) - timedelta(seconds=round(days * 86_400))


@dataclass
class World:
    """All pages, with numbers given.

    Attributes:
        seed: from which it was made.
        clock: its quarters; one more than asked for, in which the second dump falls.
        pages: by page number.
        facts: what was true when.
        births: what came into the world when.
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
        """Yield the pages that a dump of `day` holds."""
        for page in self.pages:
            if (page.deleted_at is None or page.deleted_at >= day) and page.known_edits(day):
                yield page

    def story(self, name: str) -> Page:
        """Return the page made for one of the traps."""
        return next(page for page in self.pages if page.story == name)


def midnight(window: Window) -> datetime:
    """First instant of a window."""
    return datetime.combine(window.start, datetime.min.time(), UTC)


def quarters(n: int) -> tuple[Window, ...]:
    """Return `n` quarters from 2021 on."""
    from datetime import date

    windows = [Window(date(2021, 1, 1), Granularity.QUARTER)]
    while len(windows) < n:
        windows.append(Window(windows[-1].end, Granularity.QUARTER))
    return tuple(windows)
