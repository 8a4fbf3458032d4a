"""A requested ECBD release."""

from tempkb.benchmarks import releases
from tempkb.benchmarks.ecbd.design import Design, from_json

Release = releases.Release[Design]

read_entry = releases.reader(from_json)
