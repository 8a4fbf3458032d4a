"""The room of dumps: the files that Wikimedia publishes."""

from tempkb.dumps.tables import TABLES
from tempkb.room import Room

ROOM = Room("dumps", TABLES, (), "tempkb.dumps.steps")
