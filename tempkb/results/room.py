"""Declares the room of results."""

from tempkb.results import entities, gaps, leaks, perplexities, preferences, stale_answers
from tempkb.room import Room

ROOM = Room(
    "results",
    (),
    (
        *preferences.VIEWS,
        *perplexities.VIEWS,
        *stale_answers.VIEWS,
        *gaps.VIEWS,
        *entities.VIEWS,
        *leaks.VIEWS,
    ),
)
