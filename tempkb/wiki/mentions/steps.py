"""The steps and promises of the room: texts and links by quarter; by window the mentions, and what is counted of them.

What is imported here is little: commands that ask what is current do not clean or resolve anything.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

from tempkb.core.errors import ContractError
from tempkb.engine.steps import Look, Source, Step
from tempkb.engine.tasks import Task
from tempkb.store.promises import Promise, no_empty_window_between
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.wiki.mentions.tables import (
    CLEANER_VERSION,
    ENTITY_POPULARITY,
    INVERTED_INDEX,
    MENTION_PRIORS,
    MENTIONS,
    PAGE_LINKS,
    PAGE_TEXTS,
)
from tempkb.wiki.revisions.losses import lacking_quarters
from tempkb.wiki.revisions.steps import STEPS as REVISIONS_STEPS
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, STABLE_SNAPSHOTS
from tempkb.wiki.wikitext.template_tables import table_version


def holds_winners(store: Store, quarter: str, cut: date) -> bool:
    """Return whether revisions of a quarter, named by its first day, can win at a cut.

    By TempEL's rule a revision that was saved on the day of the cut can win too.
    """
    first = date.fromisoformat(quarter)
    return first < cut or (first == cut and store.home.settings.stability_rule == "tempel")


def quarters_of(store: Store, cut: date, table: Table = PAGE_TEXTS) -> list[str]:
    """Return the quarters that are built, or lost, whose revisions can win at a cut."""
    return [quarter for quarter in store.lake.keys(table.name) if holds_winners(store, quarter, cut)]


def require_all_texts(store: Store, cuts: Iterable[date]) -> None:
    """Refuse cuts with texts that were lost to damage, because the remaining texts would be taken for all of them.

    Raises:
        ContractError: a quarter with texts of a cut is lost; the message names the first one.
    """
    lost = {quarter for table in (PAGE_TEXTS, PAGE_LINKS) for quarter in store.lake.lost(table.name)}
    lost |= lacking_quarters(store, store.lake.versions(STABLE_SNAPSHOTS.name))
    for cut in cuts:
        if quarters := sorted(quarter for quarter in lost if holds_winners(store, quarter, cut)):
            raise ContractError(
                f"{PAGE_TEXTS.name} {quarters[0]}: lost to damage; expected it to be complete, since it has texts of "
                f"articles at snapshot {cut}; build it again: tempkb build"
            )


PROMISES = (
    Promise(
        "priors_of_a_surface_add_up",
        "At each cut the priors of a surface sum to one, and there are as many links as mentions of whole articles.",
        MENTION_PRIORS,
        """
        SELECT cut, surface, sum(prior) FROM mention_priors GROUP BY cut, surface HAVING abs(sum(prior) - 1) > 1e-9
        UNION ALL
        SELECT cut, 'links', sum(n) FROM (
            SELECT cut, sum(n_links) AS n FROM mention_priors GROUP BY cut
            UNION ALL
            SELECT cut, -count(*) AS n FROM mentions WHERE via_redirect <> 'section' GROUP BY cut
        ) GROUP BY cut HAVING sum(n) <> 0
        """,
        (MENTIONS,),
    ),
    Promise(
        "the_index_counts_every_mention",
        "At each cut the index counts every mention of a whole article.",
        INVERTED_INDEX,
        """
        SELECT cut, sum(n) FROM (
            SELECT cut, sum(n_mentions) AS n FROM inverted_index GROUP BY cut
            UNION ALL
            SELECT cut, -count(*) AS n FROM mentions WHERE via_redirect <> 'section' GROUP BY cut
        ) GROUP BY cut HAVING sum(n) <> 0
        """,
        (MENTIONS,),
    ),
    *map(no_empty_window_between, (MENTIONS, INVERTED_INDEX, MENTION_PRIORS, ENTITY_POPULARITY)),
)


def cleaner_settings(store: Store) -> dict[str, Any]:
    """Return what determines the cleaner's output, and so texts, links and mentions."""
    return {
        "dropped_sections": store.home.settings.dropped_sections,
        "cleaner": CLEANER_VERSION,
        "templates": table_version(),
    }


def look(store: Store) -> Look:
    """Return what tells which tables of windows are current."""
    return Look(store, (*REVISIONS_STEPS, *STEPS))


def quarters_in(store: Store, window: str) -> Sequence[str]:
    """Return the quarters with texts of the revisions that a window chose; later windows change nothing for it."""
    snapshot = store.lake.current(STABLE_SNAPSHOTS.name, window)
    return snapshot.fills.get(PAGE_WIKITEXTS.name, ()) if snapshot is not None else ()


_SNAPSHOT = Source(STABLE_SNAPSHOTS, name="snapshot")


def grown(table: Table, name: str, quarters: Callable[[Store, str], Sequence[str]] = quarters_in) -> Source:
    """Return a source that grows by quarters; `quarters` returns those that a key is made from."""
    return Source(table, quarters, name, lambda version: [version.rules, version.settings], grows=True)


CLEAN = Step(
    (PAGE_TEXTS, PAGE_LINKS),
    (Source(PAGE_WIKITEXTS),),
    settings=cleaner_settings,
    make_all="wiki.mentions.reading.clean_quarters",
)
BY_WINDOW = (
    Step(
        (MENTIONS,),
        (_SNAPSHOT, grown(PAGE_LINKS, "links"), grown(PAGE_TEXTS, "texts")),
        "wiki.mentions.resolution.mentions",
        cleaner_settings,
    ),
    Step((INVERTED_INDEX,), (Source(MENTIONS),), "wiki.mentions.resolution.inverted_index"),
    Step((MENTION_PRIORS,), (Source(INVERTED_INDEX),), "wiki.mentions.resolution.mention_priors"),
    Step((ENTITY_POPULARITY,), (Source(MENTION_PRIORS), _SNAPSHOT), "wiki.mentions.resolution.entity_popularity"),
)
"""The steps of a window, in the order of the data."""

STEPS = (CLEAN, *BY_WINDOW)
TASKS = (
    # Of every quarter, whichever windows a run names.
    Task(
        "clean_texts",
        (CLEAN,),
        keys=lambda store: store.lake.partitions(PAGE_WIKITEXTS.name),
        promises=PROMISES,
    ),
    *(Task(step.makes[0].name, (step,), promises=PROMISES) for step in BY_WINDOW),
)
