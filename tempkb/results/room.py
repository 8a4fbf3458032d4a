"""Declares the room of results."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.engine.room import Room
from tempkb.results import judged_tables, regimes
from tempkb.results.popularity import RESULTS_BY_POPULARITY
from tempkb.results.tables import TABLES
from tempkb.results.views import (
    DATED_CHOICE_RESULTS,
    DATED_CHOICES,
    ENTITY_KNOWLEDGE,
    LEAK_FREE_ITEMS,
    OF_LINKING,
    SCORES_BY_GAP,
)

VIEWS = (
    *(view for one in BENCHMARKS if one.reading for view in one.reading.views),
    LEAK_FREE_ITEMS,
    SCORES_BY_GAP,
    ENTITY_KNOWLEDGE,
    *OF_LINKING,
    *judged_tables.VIEWS,
    *regimes.VIEWS,
    RESULTS_BY_POPULARITY,
    regimes.UPDATED_MODELS,
    DATED_CHOICES,
    DATED_CHOICE_RESULTS,
)

ROOM = Room("results", TABLES, VIEWS, "tempkb.results.steps")
