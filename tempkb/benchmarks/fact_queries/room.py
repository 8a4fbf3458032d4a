"""The room of what TempLAMA and DynamicTempLAMA share; its tables have assets in both benchmarks."""

from tempkb.benchmarks.fact_queries.tables import TABLES
from tempkb.benchmarks.fact_queries.views import VIEWS
from tempkb.room import Room

ROOM = Room("fact_queries", TABLES, VIEWS)
