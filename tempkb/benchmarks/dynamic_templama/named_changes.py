"""SQL of DynamicTempLAMA's changes with the names of their objects, by which answers of models are judged."""

from tempkb.benchmarks.dynamic_templama.tables import (
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.fact_queries.reading import names_of
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS
from tempkb.benchmarks.reading import Part
from tempkb.sql_estimates.aggregates import end_of_window
from tempkb.wikidata.tables import WIKIDATA_ENTITIES

# The query is that of the window in which the old object no longer holds. The placebo is the change whose objects are
# asked as controls in the place of the own ones.
CHANGES_AND_NAMES = Part(
    f"""
    WITH named AS MATERIALIZED (
        SELECT s.release, s.object_id,
               {names_of("s.label", "s.aliases", "w.aliases")} AS names
        FROM (
            SELECT release, object_id, any_value(dump_id) AS dump_id, min(object_label) AS label,
                   min(object_aliases) AS aliases
            FROM {FACT_SPELLS.name} GROUP BY release, object_id
        ) AS s LEFT JOIN {WIKIDATA_ENTITIES.name} AS w ON w.dump_id = s.dump_id AND w.entity_id = s.object_id
    ), changes AS MATERIALIZED (
        SELECT c.release, q.query_id AS item_id, c.subject_id, c.relation, c.paired_object_id AS new_object_id,
               c.object_id AS old_object_id, c.window_start,
               coalesce(c.paired_window_start, c.window_start) AS change_from,
               greatest(c.window_start, {end_of_window("change_from", "q.granularity")}) AS change_to, q.split
        FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c
        JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q USING (release, window_start, subject_id, relation)
        WHERE c.role = 'leaving' AND q.template_no = 1
    ), others AS (
        SELECT release, item_id, new_object_id, old_object_id, flatten(list(names ORDER BY object_id)) AS names
        FROM changes JOIN (SELECT DISTINCT release, subject_id, relation, object_id FROM {FACT_SPELLS.name})
            USING (release, subject_id, relation)
        JOIN named USING (release, object_id)
        WHERE object_id NOT IN (new_object_id, old_object_id) GROUP BY ALL
    ), controls AS (
        SELECT release, item_id, stands_for_id, min(target_id) AS object_id FROM {DYNAMIC_TEMPLAMA_PROMPTS.name}
        WHERE role = 'control' GROUP BY ALL
    ), placebos AS (
        SELECT release, item_id, stands_for_id, names FROM controls JOIN named USING (release, object_id)
    )
    SELECT c.*, new.names AS new_names, old.names AS old_names, coalesce(o.names, []) AS other_names,
           placebo_new.names AS placebo_new_names, placebo_old.names AS placebo_old_names
    FROM changes AS c
    JOIN named AS new ON new.release = c.release AND new.object_id = c.new_object_id
    JOIN named AS old ON old.release = c.release AND old.object_id = c.old_object_id
    LEFT JOIN others AS o ON o.release = c.release AND o.item_id = c.item_id AND o.new_object_id = c.new_object_id
        AND o.old_object_id = c.old_object_id
    LEFT JOIN placebos AS placebo_new ON placebo_new.release = c.release AND placebo_new.item_id = c.item_id
        AND placebo_new.stands_for_id = c.new_object_id
    LEFT JOIN placebos AS placebo_old ON placebo_old.release = c.release AND placebo_old.item_id = c.item_id
        AND placebo_old.stands_for_id = c.old_object_id
    """,
    (
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        FACT_SPELLS.name,
        WIKIDATA_ENTITIES.name,
    ),
)
"""Each change with the names of its objects, of others of the subject, and of its placebo."""
