"""The rooms, in the order of the data. Whoever needs all tables or views goes through these.

dumps -> revisions -> wikitext, mentions -> benchmarks -> scores, generations -> results
dumps -> wikidata --------------------------^   models, linking, corpora
"""

from functools import cache
from typing import TYPE_CHECKING

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.views import ROOM as FACT_QUERIES
from tempkb.core.files import toml_beside
from tempkb.models.corpora.tables import ROOM as CORPORA
from tempkb.models.generations.tables import ROOM as GENERATIONS
from tempkb.models.linking.tables import ROOM as LINKING
from tempkb.models.scores.tables import ROOM as SCORES
from tempkb.models.training.tables import ROOM as MODELS
from tempkb.results.room import ROOM as RESULTS
from tempkb.store.tables import Table, View, by_name
from tempkb.wiki.dumps.tables import ROOM as DUMPS
from tempkb.wiki.mentions.tables import ROOM as MENTIONS
from tempkb.wiki.revisions.tables import ROOM as REVISIONS
from tempkb.wiki.wikidata.views import ROOM as WIKIDATA

if TYPE_CHECKING:
    from tempkb.engine.steps import Step
    from tempkb.engine.tasks import Task

ROOMS = (
    DUMPS,
    REVISIONS,
    MENTIONS,
    WIKIDATA,
    FACT_QUERIES,
    *(one.room for one in BENCHMARKS),
    CORPORA,
    MODELS,
    SCORES,
    GENERATIONS,
    LINKING,
    RESULTS,
)


def tasks() -> "list[Task]":
    """Return what makes the tables of all rooms but those of the benchmarks."""
    return [task for room in ROOMS for task in room.tasks()]


def steps() -> "tuple[Step, ...]":
    """Return how the tables of all rooms but those of the benchmarks are made."""
    return tuple(step for task in tasks() for step in task.steps)


TABLES = tuple(table for room in ROOMS for table in room.tables)
"""All tables that are declared, in the order of the data."""

VIEWS = tuple(view for room in ROOMS for view in room.views)
"""All views that are declared."""


_DECLARED: dict[str, Table | View] = {**by_name(TABLES), **by_name(VIEWS)}


def meanings_of(view: View) -> dict[str, str]:
    """Return what columns of a view mean, by name: as `views.toml` says, else as in the tables and views it reads."""
    return _told()["any"] | _meanings(view)


def _meanings(one: Table | View) -> dict[str, str]:
    if isinstance(one, Table):
        return {column.name: column.meaning for column in one.columns}
    read: dict[str, str] = {}
    for name in reversed((*one.needs, *one.optional)):
        read |= _meanings(_DECLARED[name])
    return read | _told().get(one.name, {})


@cache
def _told() -> dict[str, dict[str, str]]:
    return toml_beside(__file__, "views.toml")
