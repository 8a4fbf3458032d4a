"""Writes the facts of the demo world, and the articles that say what holds.

Numbers are those of the list of what the demo world must contain (26 and 27).
"""

import random
from datetime import UTC, date, datetime, timedelta

from tempkb.demo.careers import Cast, balance, write_careers
from tempkb.demo.fact_prose import article, told
from tempkb.demo.facts import CLUB, FIRM, PARTY, PERSON, SCHOOL, TOWN, FactMaker, Facts, write_stories_of_facts
from tempkb.demo.model import Clock
from tempkb.demo.stories import Pages

_NOUNS = {
    PERSON: "a public figure",
    CLUB: "a football club",
    TOWN: "a town",
    PARTY: "a political party",
    FIRM: "a firm",
    SCHOOL: "a school",
}
_AUTHORS = ("Ada", "Ben", "Cem", "Dora", "Emil", "Fay")


def write_facts(pages: Pages, clock: Clock, seed: int, n_pages: int) -> Facts:
    """Add the pages of all items that have one, and return the facts; needs eight quarters.

    Args:
        pages: the pages of the world.
        clock: its quarters.
        seed: the seed of the world.
        n_pages: number of its pages, on which the number of ordinary facts depends.
    """
    make = FactMaker(pages, clock)
    cast = Cast(make, n_pages)
    write_stories_of_facts(make)
    write_careers(make, cast, seed)
    balance(make, cast)
    for number, one in enumerate(make.facts.statements, 1):
        one.number = number
    _write_articles(make.facts, clock, seed)
    return make.facts


def _write_articles(facts: Facts, clock: Clock, seed: int) -> None:
    """Save each article when the world begins, and anew on the day after each change of what it says."""
    first, end = clock.windows[0].start, clock.windows[-1].end
    for number, entity_id in enumerate(facts.pages):
        days = {first}
        for one in facts.of_subject(entity_id):
            days.update(day for begin, last in facts.spans(one) for day in (begin, _after(last)) if first < day < end)
        page, before = facts.pages[entity_id], ""
        for day in sorted(days):
            text = _article(facts, entity_id, day, seed)
            if text != before:
                saved = (
                    _saved(clock, number) if day == first else _instant(day) + timedelta(hours=33, minutes=number % 60)
                )
                user = _AUTHORS[(number + day.toordinal()) % len(_AUTHORS)]
                page.edit(saved, text, "news" if before else "new page", user=user if before else "Ada")
            before = text


def _article(facts: Facts, entity_id: str, day: date, seed: int) -> str:
    """Return the article of a day; a fact has the same sentences as long as it holds."""
    item = facts.items[entity_id]
    current = {
        (one.relation, one.object): told(
            one.relation,
            item.label,
            facts.items[one.object].label,
            random.Random(f"{seed}/{entity_id}/{one.relation}/{one.object}"),  # noqa: S311 - reproducible
        )
        for one in facts.of_subject(entity_id)
        if facts.is_told_on(one, day)
    }
    in_order = sorted((relation, sentences) for (relation, _), sentences in current.items())
    chance = random.Random(f"{seed}/{entity_id}")  # noqa: S311 - reproducible chance, not secrets
    return article(item.label or str(item.title), _NOUNS[item.instance_of[0]], in_order, chance)


def _saved(clock: Clock, number: int) -> datetime:
    return clock.start(0) + timedelta(minutes=number)


def _instant(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), UTC)


def _after(day: date) -> date:
    return day if day == date.max else day + timedelta(days=1)
