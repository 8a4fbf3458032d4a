"""Is it so? Checks of TempLAMA's queries against the facts."""

import dagster as dg

from tempkb.benchmarks.fact_queries.checking import IN_TWO_SPLITS, NOT_VALID
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.templama.tables import FUTURE_RELATION_QUERIES, TEMPLAMA_QUERIES
from tempkb.store.store import Store
from tempkb.wikidata.checks import result_of
from tempkb.wikidata.tables import FACTS, WIKIDATA_ENTITIES

# Table 9: how many questions of each class, and the sizes of the two sets of answers.
NOT_TABLE_9 = """
    SELECT release, answer_set, change_class, count(*), min(len(answers)) FROM queries GROUP BY ALL
    HAVING (answer_set, change_class, count(*)) NOT IN (
        ('us_city', 'frequent', 15), ('us_city', 'rare', 20), ('us_city', 'never', 19),
        ('country', 'frequent', 10), ('country', 'rare', 10), ('country', 'never', 12))
    OR min(len(answers)) <> CASE answer_set WHEN 'us_city' THEN 200 ELSE 249 END
"""


@dg.asset_check(asset=TEMPLAMA_QUERIES.name)
def answers_hold_in_their_windows(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Every answer is a fact of the release's dump that holds in the window, by the dates of its statement."""
    tables = {"queries": TEMPLAMA_QUERIES, "releases": FACT_RELEASES, "facts": FACTS, "entities": WIKIDATA_ENTITIES}
    return result_of(store, NOT_VALID, tables)


@dg.asset_check(asset=TEMPLAMA_QUERIES.name)
def no_subject_is_in_two_splits(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """A subject is in one split, whatever the relation and the window."""
    return result_of(store, IN_TWO_SPLITS, {"queries": TEMPLAMA_QUERIES})


@dg.asset_check(asset=FUTURE_RELATION_QUERIES.name)
def table_9_is_whole(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """The 86 questions stand in their classes, with 200 cities and 249 countries."""
    return result_of(store, NOT_TABLE_9, {"queries": FUTURE_RELATION_QUERIES})
