"""Is it so? Checks that compare spells with the facts they are made of."""

from tempkb.benchmarks.checks import check_of
from tempkb.benchmarks.fact_queries.checking import PROMISES

CHECKS = [check_of(promise) for promise in PROMISES]
