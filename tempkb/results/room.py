"""Declares the room of results."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.engine.room import Room
from tempkb.results import judged_tables, regimes
from tempkb.results.popularity import RESULTS_BY_POPULARITY
from tempkb.results.tables import TABLES
from tempkb.results.views import OF_DATES, OF_ENTITIES, OF_GAPS, OF_LEAKS, OF_LINKING

VIEWS = (
    *(view for one in BENCHMARKS if one.reading for view in one.reading.views),
    *OF_LEAKS,
    *OF_GAPS,
    *OF_ENTITIES,
    *OF_LINKING,
    *judged_tables.VIEWS,
    *regimes.VIEWS,
    RESULTS_BY_POPULARITY,
    regimes.UPDATED_MODELS,
    *OF_DATES,
)

ROOM = Room("results", TABLES, VIEWS, "tempkb.results.steps")
