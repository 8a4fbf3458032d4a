"""Is it so? Checks of a release, over the lake: what the plan promised must be true of the rows."""

from tempkb.benchmarks.checks import check_of
from tempkb.benchmarks.tempel.checking import PROMISES

CHECKS = [check_of(promise) for promise in PROMISES]
