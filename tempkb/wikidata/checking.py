"""The promises of the room's tables, as queries that return rows which break them. Does not use Dagster."""

from tempkb.store.promises import Promise
from tempkb.wikidata.tables import ENTITY_ORIGINS, FACTS, LATE_EDITS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

PROMISES = (
    Promise(
        "subjects_are_known",
        "The items of all facts and origins are in wikidata_entities of the same dump.",
        FACTS,
        """
        SELECT dump_id, id FROM (
            SELECT dump_id, fact_id AS id, subject_id AS entity_id FROM facts
            UNION ALL SELECT dump_id, entity_id, entity_id FROM entity_origins
        ) ANTI JOIN wikidata_entities USING (dump_id, entity_id)
        """,
        (WIKIDATA_ENTITIES, ENTITY_ORIGINS),
    ),
    Promise(
        "statements_are_counted",
        "No item has more facts and undated statements than statements.",
        WIKIDATA_ENTITIES,
        """
        SELECT dump_id, entity_id, count(DISTINCT fact_id), any_value(n_statements) FROM (
            SELECT dump_id, subject_id AS entity_id, fact_id FROM facts
            UNION ALL SELECT dump_id, subject_id, fact_id FROM undated_statements
        ) JOIN wikidata_entities USING (dump_id, entity_id)
        GROUP BY dump_id, entity_id HAVING count(DISTINCT fact_id) > any_value(n_statements)
        """,
        (FACTS, UNDATED_STATEMENTS),
    ),
    Promise(
        "late_edits_add_up",
        "No window ends after its dump's day, and the facts then, plus added, less removed, are the facts now, but for "
        "items that a dump lacks.",
        LATE_EDITS,
        """
        SELECT dump_id, window_start FROM late_edits
        WHERE window_end > dump_date OR earlier_dump_date > dump_date OR earlier_dump_date < window_end
           OR n_facts_then + n_added + n_absent_then - n_removed - n_absent_now <> n_facts_now
           OR (n_facts_then IS NULL) <> (n_added IS NULL) OR (late_edit_rate IS NULL) = (reason IS NULL)
        """,
    ),
)
