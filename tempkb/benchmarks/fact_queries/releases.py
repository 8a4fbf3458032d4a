"""A requested release of TempLAMA or DynamicTempLAMA."""

from tempkb.benchmarks import releases
from tempkb.benchmarks.fact_queries.design import Design, from_json

Release = releases.Release[Design]

read_entry = releases.reader(from_json)
