"""The rooms, in the order of the data. Whoever needs all tables, views, assets or checks goes through this tuple.

dumps -> revisions -> wikitext, mentions -> benchmarks -> models
dumps -> wikidata --------------------------^
"""

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.dynamic_templama.room import ROOM as DYNAMIC_TEMPLAMA
from tempkb.benchmarks.dynamic_templama.tables import ANSWER_TOKENS
from tempkb.benchmarks.ecbd.room import ROOM as ECBD
from tempkb.benchmarks.fact_queries.room import ROOM as FACT_QUERIES
from tempkb.benchmarks.tempel.room import ROOM as TEMPEL
from tempkb.benchmarks.templama.room import ROOM as TEMPLAMA
from tempkb.dumps.room import ROOM as DUMPS
from tempkb.mentions.room import ROOM as MENTIONS
from tempkb.revisions.room import ROOM as REVISIONS
from tempkb.wikidata.room import ROOM as WIKIDATA

ROOMS = (DUMPS, REVISIONS, MENTIONS, TEMPEL, WIKIDATA, ECBD, FACT_QUERIES, TEMPLAMA, DYNAMIC_TEMPLAMA)

TABLES = tuple(table for room in ROOMS for table in room.tables)
"""All tables that are declared, in the order of the data."""

VIEWS = tuple(view for room in ROOMS for view in room.views)
"""All views that are declared."""

BENCHMARKS = (
    Benchmark("tempel", "TempEL", TEMPEL),
    Benchmark("ecbd", "ECBD", ECBD),
    Benchmark("templama", "TempLAMA", TEMPLAMA, FACT_QUERIES),
    Benchmark("dynamic_templama", "DynamicTempLAMA", DYNAMIC_TEMPLAMA, FACT_QUERIES, (ANSWER_TOKENS,)),
)
"""The benchmarks, in the order in which people meet them."""
