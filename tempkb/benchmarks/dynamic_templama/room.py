"""DynamicTempLAMA's room."""

from tempkb.benchmarks.dynamic_templama.tables import TABLES
from tempkb.benchmarks.dynamic_templama.views import VIEWS
from tempkb.room import Room

_MODULES = ("tempkb.benchmarks.dynamic_templama.assets", "tempkb.benchmarks.dynamic_templama.checks")

ROOM = Room("dynamic_templama", TABLES, VIEWS, _MODULES)
