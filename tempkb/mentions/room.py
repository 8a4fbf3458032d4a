"""Declares the room of mentions."""

from tempkb.mentions.tables import TABLES
from tempkb.mentions.views import VIEWS
from tempkb.room import Room

ROOM = Room("mentions", TABLES, VIEWS, "tempkb.mentions.steps")
