"""Declares the room of results."""

from tempkb.results import entities, gaps, leaks, linking, perplexities, preferences, stale_answers
from tempkb.results.tables import TABLES
from tempkb.room import Room

VIEWS = (
    *perplexities.VIEWS,
    *preferences.VIEWS,
    *leaks.VIEWS,
    *gaps.VIEWS,
    *entities.VIEWS,
    *stale_answers.VIEWS,
    *linking.VIEWS,
)

ROOM = Room("results", TABLES, VIEWS, ("tempkb.results.assets", "tempkb.demo_models.assets"))
