"""Declares the room of generations."""

from tempkb.generations.tables import TABLES
from tempkb.room import Room

ROOM = Room("generations", TABLES, (), "tempkb.generations.steps")
