"""The room of what TempLAMA and DynamicTempLAMA share."""

from tempkb.benchmarks.fact_queries.tables import TABLES
from tempkb.benchmarks.fact_queries.views import VIEWS
from tempkb.room import Room

_MODULES = ("tempkb.benchmarks.fact_queries.assets", "tempkb.benchmarks.fact_queries.checks")

ROOM = Room("fact_queries", TABLES, VIEWS, _MODULES)
