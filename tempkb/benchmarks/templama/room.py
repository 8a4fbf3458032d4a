"""TempLAMA's room."""

from tempkb.benchmarks.templama.tables import TABLES
from tempkb.benchmarks.templama.views import VIEWS
from tempkb.room import Room

ROOM = Room("templama", TABLES, VIEWS, ("tempkb.benchmarks.templama.assets", "tempkb.benchmarks.templama.checks"))
