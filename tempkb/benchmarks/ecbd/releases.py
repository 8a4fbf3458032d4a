"""A requested ECBD release."""

from tempkb.benchmarks import releases
from tempkb.benchmarks.ecbd.design import Design

Release = releases.Release[Design]

read_entry = releases.reader(Design)
