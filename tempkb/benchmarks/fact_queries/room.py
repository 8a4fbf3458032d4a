"""Declares the room of the tables that TempLAMA and DynamicTempLAMA share; both benchmarks have assets for them."""

from tempkb.benchmarks.fact_queries.tables import TABLES
from tempkb.benchmarks.fact_queries.views import VIEWS
from tempkb.room import Room

ROOM = Room("fact_queries", TABLES, VIEWS)
