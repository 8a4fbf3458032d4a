"""Is it so? Checks that compare the room's tables with one another, over the lake."""

from collections.abc import Mapping

import dagster as dg

from tempkb.store.promises import broken
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.wikidata.tables import ENTITY_ORIGINS, FACTS, LATE_EDITS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

# Each query returns what breaks the promise.
STRANGERS = """
    SELECT f.dump_id, f.fact_id FROM facts AS f
    ANTI JOIN wikidata_entities AS e ON e.dump_id = f.dump_id AND e.entity_id = f.subject_id
    UNION ALL
    SELECT o.dump_id, o.entity_id FROM entity_origins AS o
    ANTI JOIN wikidata_entities AS e ON e.dump_id = o.dump_id AND e.entity_id = o.entity_id
"""
NOT_COUNTED = """
    SELECT f.dump_id, subject_id, count(DISTINCT fact_id), any_value(e.n_statements) FROM (
        SELECT dump_id, subject_id, fact_id FROM facts
        UNION ALL SELECT dump_id, subject_id, fact_id FROM undated_statements
    ) AS f JOIN wikidata_entities AS e ON e.dump_id = f.dump_id AND e.entity_id = f.subject_id
    GROUP BY f.dump_id, subject_id HAVING count(DISTINCT fact_id) > any_value(e.n_statements)
"""
RIVALS_THAT_ARE_NONE = """
    SELECT u.dump_id, u.fact_id FROM undated_statements AS u
    LEFT JOIN (SELECT dump_id, subject_id, relation, list(object_id) AS objects FROM facts WHERE rank <> 'deprecated'
               GROUP BY ALL) AS f USING (dump_id, subject_id, relation)
    WHERE f.objects IS NULL OR list_contains(f.objects, u.object_id) = u.contradicts
"""
WINDOWS_BEYOND_THE_DUMP = """
    SELECT dump_id, window_start FROM late_edits
    WHERE window_end > dump_date OR first_dump_date > dump_date OR first_dump_date < window_end
       OR n_facts_then + n_added - n_removed <> n_facts_now
"""


@dg.asset_check(asset=FACTS.name)
def subjects_are_known(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Every fact and every origin is of an item that the same dump describes."""
    return _result(store, STRANGERS, FACTS, WIKIDATA_ENTITIES, ENTITY_ORIGINS)


@dg.asset_check(asset=WIKIDATA_ENTITIES.name)
def statements_are_counted(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """No item has more dated statements than statements."""
    return _result(store, NOT_COUNTED, FACTS, WIKIDATA_ENTITIES, UNDATED_STATEMENTS)


@dg.asset_check(asset=UNDATED_STATEMENTS.name)
def undated_statements_contradict_as_told(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """An undated statement stands beside dated ones, and contradicts them exactly if none names its object."""
    return _result(store, RIVALS_THAT_ARE_NONE, FACTS, UNDATED_STATEMENTS)


@dg.asset_check(asset=LATE_EDITS.name)
def late_edits_add_up(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """No window lies beyond its dump, and what was there, came and went makes what is there."""
    return _result(store, WINDOWS_BEYOND_THE_DUMP, LATE_EDITS)


def result_of(store: Store, query: str, tables: Mapping[str, Table]) -> dg.AssetCheckResult:
    """Run a query that returns what is broken, of tables by the names it uses."""
    rows = broken(store, query, tables)
    examples = [str(row) for row in rows[:5]] or ["none"]
    return dg.AssetCheckResult(passed=not rows, metadata={"broken": len(rows), "examples": examples})


def _result(store: Store, query: str, *tables: Table) -> dg.AssetCheckResult:
    return result_of(store, query, {table.name: table for table in tables})
