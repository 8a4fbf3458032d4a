"""The room of revisions: the text of every page at each cut."""

from tempkb.revisions.tables import TABLES
from tempkb.room import Room

ROOM = Room("revisions", TABLES, (), "tempkb.revisions.steps")
