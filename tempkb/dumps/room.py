"""The room of dumps: what Wikimedia published."""

from tempkb.dumps.tables import TABLES
from tempkb.room import Room

ROOM = Room("dumps", TABLES, (), ("tempkb.dumps.assets",))
