"""The promises of the room's tables, as queries that return rows which break them. Does not use Dagster."""

from tempkb.store.promises import Promise
from tempkb.store.tables import Table
from tempkb.wikidata.tables import ENTITY_ORIGINS, FACTS, LATE_EDITS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

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
    WHERE window_end > dump_date OR earlier_dump_date > dump_date OR earlier_dump_date < window_end
       OR n_facts_then + n_added + n_absent_then - n_removed - n_absent_now <> n_facts_now
       OR (n_facts_then IS NULL) <> (n_added IS NULL) OR (late_edit_rate IS NULL) = (reason IS NULL)
"""


def _promise(name: str, meaning: str, query: str, about: Table, *others: Table) -> Promise:
    return Promise(name, meaning, about, query, {table.name: table for table in (about, *others)})


PROMISES = (
    _promise(
        "subjects_are_known",
        "The items of all facts and origins are in wikidata_entities of the same dump.",
        STRANGERS,
        FACTS,
        WIKIDATA_ENTITIES,
        ENTITY_ORIGINS,
    ),
    _promise(
        "statements_are_counted",
        "No item has more facts and undated statements than statements.",
        NOT_COUNTED,
        WIKIDATA_ENTITIES,
        FACTS,
        UNDATED_STATEMENTS,
    ),
    _promise(
        "undated_statements_contradict_as_told",
        "An undated statement has dated ones of its subject and relation, and contradicts them if none has its object.",
        RIVALS_THAT_ARE_NONE,
        UNDATED_STATEMENTS,
        FACTS,
    ),
    _promise(
        "late_edits_add_up",
        "No window ends after its dump's day, and the facts then, plus added, less removed, are the facts now, but for "
        "items that a dump lacks.",
        WINDOWS_BEYOND_THE_DUMP,
        LATE_EDITS,
    ),
)
