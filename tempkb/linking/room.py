"""Declares the room of linking."""

from tempkb.linking.tables import TABLES
from tempkb.room import Room

ROOM = Room("linking", TABLES, (), "tempkb.linking.steps")
