"""ECBD's room."""

from tempkb.benchmarks.ecbd.tables import TABLES
from tempkb.benchmarks.ecbd.views import VIEWS
from tempkb.room import Room

ROOM = Room("ecbd", TABLES, VIEWS, ("tempkb.benchmarks.ecbd.assets", "tempkb.benchmarks.ecbd.checks"))
