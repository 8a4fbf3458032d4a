"""TempEL's room."""

from tempkb.benchmarks.tempel.tables import TABLES
from tempkb.room import Room

ROOM = Room("tempel", TABLES, (), ("tempkb.benchmarks.tempel.assets", "tempkb.benchmarks.tempel.checks"))
