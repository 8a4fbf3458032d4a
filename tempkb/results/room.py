"""Declares the room of results."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.results import entities, gaps, judged_tables, leaks, linking
from tempkb.results.tables import TABLES
from tempkb.room import Room

VIEWS = (
    *(view for one in BENCHMARKS if one.reading for view in one.reading.views),
    *leaks.VIEWS,
    *gaps.VIEWS,
    *entities.VIEWS,
    *linking.VIEWS,
    *judged_tables.VIEWS,
)

ROOM = Room("results", TABLES, VIEWS, "tempkb.results.steps")
