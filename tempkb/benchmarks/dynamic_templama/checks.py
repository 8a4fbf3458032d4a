"""Is it so? Checks of DynamicTempLAMA's queries against the facts, and of its changes against its queries."""

import dagster as dg

from tempkb.benchmarks.dynamic_templama.checking import DISAGREEING, HALF_PAIRS, NOT_NEAREST
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.checking import IN_TWO_SPLITS, NOT_VALID
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.store.store import Store
from tempkb.wikidata.checks import result_of
from tempkb.wikidata.tables import FACTS, WIKIDATA_ENTITIES


@dg.asset_check(asset=DYNAMIC_TEMPLAMA_QUERIES.name, name="answers_hold_in_their_windows")
def dynamic_answers_hold(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Every answer is a fact of the release's dump that holds in the window, by the dates of its statement."""
    tables = {
        "queries": DYNAMIC_TEMPLAMA_QUERIES, "releases": FACT_RELEASES, "facts": FACTS, "entities": WIKIDATA_ENTITIES,
    }  # fmt: skip
    return result_of(store, NOT_VALID, tables)


@dg.asset_check(asset=DYNAMIC_TEMPLAMA_QUERIES.name, name="no_subject_is_in_two_splits")
def dynamic_splits_are_apart(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """A subject is in one split, whatever the relation and the window."""
    return result_of(store, IN_TWO_SPLITS, {"queries": DYNAMIC_TEMPLAMA_QUERIES})


@dg.asset_check(asset=DYNAMIC_TEMPLAMA_CHANGES.name)
def changes_follow_from_the_answers(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """What changed is what the answers of two adjacent windows say, recomputed from these alone."""
    tables = {
        "changes": DYNAMIC_TEMPLAMA_CHANGES, "queries": DYNAMIC_TEMPLAMA_QUERIES, "releases": FACT_RELEASES,
    }  # fmt: skip
    return result_of(store, DISAGREEING, tables)


@dg.asset_check(asset=DYNAMIC_TEMPLAMA_CHANGES.name)
def updates_are_found_from_either_side(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """An update by the rule `handover` has one row of the arriving and one of the leaving object, if in the study."""
    return result_of(store, HALF_PAIRS, {"changes": DYNAMIC_TEMPLAMA_CHANGES, "releases": FACT_RELEASES})


@dg.asset_check(asset=DYNAMIC_TEMPLAMA_CHANGES.name)
def handovers_are_the_nearest(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Objects are paired with the nearest that they can be, recomputed from the spells alone."""
    tables = {
        "changes": DYNAMIC_TEMPLAMA_CHANGES, "spells": FACT_SPELLS, "releases": FACT_RELEASES,
    }  # fmt: skip
    return result_of(store, NOT_NEAREST, tables)
