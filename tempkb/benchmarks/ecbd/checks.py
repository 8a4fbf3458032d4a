"""Is it so? Checks of releases, over the lake."""

from tempkb.benchmarks.checks import check_of
from tempkb.benchmarks.ecbd.checking import PROMISES

CHECKS = [check_of(promise) for promise in PROMISES]
