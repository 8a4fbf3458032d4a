"""Declares the room of results."""

from tempkb.results.tables import TABLES
from tempkb.room import Room

ROOM = Room("results", TABLES, (), ("tempkb.results.assets",))
