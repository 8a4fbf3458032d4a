"""The room of revisions: which text stood at each cut."""

from tempkb.revisions.tables import TABLES
from tempkb.room import Room

ROOM = Room("revisions", TABLES, (), ("tempkb.revisions.assets",), ("tempkb.revisions.checking",))
