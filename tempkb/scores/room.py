"""Declares the room of scores."""

from tempkb.room import Room
from tempkb.scores.tables import TABLES

ROOM = Room("scores", TABLES, (), "tempkb.scores.steps")
