"""The steps of the room: texts and links by quarter; by window the mentions, and what is counted of them.

What is imported here is little: commands that ask what is current do not clean or resolve anything.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tempkb.engine.steps import Log, Look, Source, Step, Work
from tempkb.engine.tasks import Task
from tempkb.mentions.tables import (
    CLEANER_VERSION,
    ENTITY_POPULARITY,
    INVERTED_INDEX,
    MENTION_PRIORS,
    MENTIONS,
    PAGE_LINKS,
    PAGE_TEXTS,
)
from tempkb.revisions.steps import STEPS as REVISIONS_STEPS
from tempkb.revisions.tables import PAGE_WIKITEXTS, STABLE_SNAPSHOTS
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wikitext.template_tables import table_version

if TYPE_CHECKING:
    import pyarrow as pa


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


def _quarters(store: Store, window: str) -> Sequence[str]:
    """The quarters with texts of the revisions that a window chose. Those of later windows change nothing for it."""
    snapshot = store.lake.current(STABLE_SNAPSHOTS.name, window)
    return snapshot.fills.get(PAGE_WIKITEXTS.name, ()) if snapshot is not None else ()


def _clean(
    store: Store, quarters: Sequence[str], provenance: Callable[[Table, str], Provenance], log: Log
) -> list[Version]:
    from tempkb.mentions.cleaning import clean_quarters

    return clean_quarters(store, quarters, provenance, log)


def _mentions(work: Work) -> "Iterator[pa.Table]":
    from tempkb.mentions.resolution import MENTIONS_SQL, count_left_out, resolve

    resolve(work.connection)
    count_left_out(work.connection, work.left_out)
    return work.rows(MENTIONS_SQL)


def _query(name: str, work: Work) -> "Iterable[pa.Table]":
    """The rows of a query of the module `resolution`."""
    from tempkb.mentions import resolution

    return work.rows(getattr(resolution, name))


_SNAPSHOT = Source(STABLE_SNAPSHOTS, name="snapshot")


def _grown(table: Table, name: str) -> Source:
    return Source(table, _quarters, name, lambda version: [version.rules, version.settings], grows=True)


CLEAN = Step((PAGE_TEXTS, PAGE_LINKS), (Source(PAGE_WIKITEXTS),), settings=cleaner_settings, make_all=_clean)
BY_WINDOW = (
    Step(
        (MENTIONS,), (_SNAPSHOT, _grown(PAGE_LINKS, "links"), _grown(PAGE_TEXTS, "texts")), _mentions, cleaner_settings
    ),
    Step((INVERTED_INDEX,), (Source(MENTIONS),), partial(_query, "INVERTED_INDEX_SQL")),
    Step((MENTION_PRIORS,), (Source(INVERTED_INDEX),), partial(_query, "MENTION_PRIORS_SQL")),
    Step((ENTITY_POPULARITY,), (Source(MENTION_PRIORS), _SNAPSHOT), partial(_query, "ENTITY_POPULARITY_SQL")),
)
"""The steps of a window, in the order of the data."""

STEPS = (CLEAN, *BY_WINDOW)
TASKS = (
    # Of every quarter, whichever windows a run names.
    Task(
        "clean_texts",
        (CLEAN,),
        keys=lambda store: store.lake.partitions(PAGE_WIKITEXTS.name),
        promises="mentions.checking",
    ),
    *(Task(step.makes[0].name, (step,), promises="mentions.checking") for step in BY_WINDOW),
)
