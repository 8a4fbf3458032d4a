"""Makes the demo world from a seed, and writes its dumps into a home."""

import random
from datetime import datetime, timedelta
from pathlib import Path

from tempkb.demo.articles import article, invent, vandalism
from tempkb.demo.births import write_births
from tempkb.demo.districts import write_districts
from tempkb.demo.export import write_dump
from tempkb.demo.fact_pages import write_facts
from tempkb.demo.linking import write_links, write_newcomers
from tempkb.demo.pages import USERS, Clock, Name, Page, Pages, World, quarters
from tempkb.demo.stories import write_stories
from tempkb.demo.wikidata import write_entities
from tempkb.demo.words import chance_of
from tempkb.errors import SettingsError
from tempkb.settings import load_home

_FIRST_STORY = 11
_USERS = (*USERS, None)
_MIN_PAGES, _MIN_QUARTERS = 250, 8
# New entities of a year, and by how many pages a world must be larger for one of them in each year.
_MOST_NEWCOMERS, _PAGES_A_NEWCOMER = 10, 20
# In worlds of so many pages nothing else grows any more but ordinary articles; a district has about so many pages.
_PAGES_WITHOUT_DISTRICTS, _PAGES_A_DISTRICT = 1_200, 40


def make_world(seed: int = 7, pages: int = 627, n_quarters: int = 12) -> World:
    """Return the world of a seed: trap pages first, then ordinary articles and their talk pages.

    Args:
        seed: any number; the same number gives the same world, byte for byte.
        pages: number of pages, at least 250.
        n_quarters: number of quarters before the first dump, at least 8; the
            second dump is one quarter later.

    Raises:
        SettingsError: the world would be too small for its trap pages.
    """
    if pages < _MIN_PAGES or n_quarters < _MIN_QUARTERS:
        raise SettingsError(
            f"demo: found {pages} pages and {n_quarters} quarters; "
            f"at least {_MIN_PAGES} pages and {_MIN_QUARTERS} quarters are needed"
        )
    clock = Clock(quarters(n_quarters + 1))
    stories = Pages(clock, _FIRST_STORY)
    write_stories(stories)
    linked = {name.title for page in stories.made for name in page.names}
    write_links(stories)
    made = stories.made
    of_stories = len(made)
    write_newcomers(stories, min(_MOST_NEWCOMERS, (pages - _MIN_PAGES) // _PAGES_A_NEWCOMER))
    districts = max(0, pages - _PAGES_WITHOUT_DISTRICTS) // _PAGES_A_DISTRICT
    write_districts(stories, districts, seed)
    facts = write_facts(stories, seed, pages)
    births = write_births(stories, facts, seed)
    # New entities, districts, items of facts, and items of births, in this order.
    of_items = made[of_stories:]
    del made[of_stories:]
    # Pages whose links are counted must not be linked from ordinary pages, nor must the others'.
    unlinked = {name.title for page in (*made, *of_items) for name in page.names} - linked
    taken = linked | unlinked
    subjects = [invent(chance_of(f"{seed}/{number}"), taken) for number in range(pages - len(made) - len(of_items))]
    titles = sorted(taken - unlinked)
    for number, subject in enumerate(subjects):
        chance = chance_of(f"{seed}/{subject.name}")
        page_id = _FIRST_STORY + len(made)
        born = clock.start(0) + timedelta(days=_birthday(chance, n_quarters))
        talk = number % 9 == 8
        page = Page(
            page_id, [Name(born, 1 if talk else 0, subject.name)], entity_id=None if talk else f"Q{100 + page_id}"
        )
        _write_history(page, lambda n, c, s=subject: article(s, titles, c, n), born, clock, chance)
        made.append(page)
    # Numbered after the ordinary pages, so that their number can change.
    for page in of_items:
        page.page_id = _FIRST_STORY + len(made)
        made.append(page)
    _number(made)
    return World(seed, clock, made, facts, births)


def write_demo(seed: int, pages: int, n_quarters: int, *, second: bool = False) -> list[Path]:
    """Write the first dump of the demo world into the home or, with `second`, the second one, a quarter later.

    If the home has no `tempkb.toml`, one is written that lets its windows begin with the world.

    Returns:
        the files written.
    """
    home = load_home()
    world = make_world(seed, pages, n_quarters)
    settings = home.path / "tempkb.toml"
    if not settings.exists():
        home.path.mkdir(parents=True, exist_ok=True)
        # Written in one step: an empty file would stay, and the home would begin with Wikipedia's first year.
        draft = settings.with_name(settings.name + ".draft")
        draft.write_text(f"first_window = {world.clock.windows[0].start}\n", "utf-8")
        draft.replace(settings)
    day = world.dump_days[1 if second else 0]
    return [*write_dump(world, day, home.dumps), *write_entities(world, day, home.dumps)]


def _birthday(chance: random.Random, n_quarters: int) -> float:
    """Return the time of creation: most pages are older than the first window, some are created in each quarter."""
    return chance.uniform(-700, 30) if chance.random() < 0.55 else chance.uniform(0, n_quarters * 91)


def _write_history(page: Page, write: object, born: datetime, clock: Clock, chance: random.Random) -> None:
    """Give a page its edits: most pages are seldom edited, a few often, some are vandalised and restored."""
    end = clock.cut(len(clock.windows) - 1)
    n = 1 + int(chance.paretovariate(0.9)) if chance.random() < 0.6 else 1
    days = (end - born).total_seconds() / 86_400
    times = sorted(born + timedelta(seconds=round(chance.uniform(0, days) * 86_400)) for _ in range(min(n, 60)))
    sentences = chance.randint(3, 8)
    text = write(sentences, chance)  # type: ignore[operator]
    page.edit(born, text, "new page", user=chance.choice(_USERS))
    for time in times:
        if time <= page.edits[-1].time:
            continue
        if chance.random() < 0.12:
            page.edit(time, vandalism(text, chance), "", user=None)
            page.edit(time + timedelta(seconds=chance.randint(30, 90_000)), text, "rv", user=chance.choice(_USERS))
            continue
        sentences += chance.choice([0, 0, 1])
        text = write(sentences, chance)  # type: ignore[operator]
        page.edit(
            time,
            text,
            chance.choice(["", "more", "sources", "see talk"]),
            user=chance.choice(_USERS),
            is_minor=chance.random() < 0.3,
        )


def _number(pages: list[Page]) -> None:
    """Number all revisions in the order in which they were saved in the wiki."""
    order = sorted((edit.came, page.page_id, at) for page in pages for at, edit in enumerate(page.edits))
    by_id = {page.page_id: page for page in pages}
    for number, (_, page_id, at) in enumerate(order, 1001):
        by_id[page_id].edits[at].revision_id = number
