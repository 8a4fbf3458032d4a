"""Declares the room of language models."""

from tempkb.models.tables import TABLES
from tempkb.room import Room

ROOM = Room("models", TABLES, (), "tempkb.models.steps")
