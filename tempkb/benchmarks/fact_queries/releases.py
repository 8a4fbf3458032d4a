"""A requested release of TempLAMA or DynamicTempLAMA."""

from tempkb.benchmarks import releases
from tempkb.benchmarks.fact_queries.design import Design

Release = releases.Release[Design]

read_entry = releases.reader(Design)
