"""Is it so? Checks that compare spells with the facts they are made of."""

import dagster as dg

from tempkb.benchmarks.fact_queries.checking import TOUCHING_SPELLS, UNKNOWN_STATEMENTS
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.store.store import Store
from tempkb.wikidata.checks import result_of
from tempkb.wikidata.tables import FACTS


@dg.asset_check(asset=FACT_SPELLS.name)
def every_statement_exists(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Every statement that a spell is made of is in the facts of the release's dump, with that object."""
    return result_of(store, UNKNOWN_STATEMENTS, {"spells": FACT_SPELLS, "facts": FACTS})


@dg.asset_check(asset=FACT_SPELLS.name)
def spells_keep_apart(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Between two spells of an object lies at least a day on which it was none."""
    return result_of(store, TOUCHING_SPELLS, {"spells": FACT_SPELLS, "releases": FACT_RELEASES})
