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
# asked as controls in the place of the own ones: the latest of another subject up to that window. What its subject has
# at other times counts unless the own one has it, too, as with the objects of controls.
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
    ), told AS MATERIALIZED (
        SELECT c.*, new.names AS new_names, old.names AS old_names, coalesce(o.names, []) AS other_names
        FROM changes AS c LEFT JOIN others AS o USING (release, item_id, new_object_id, old_object_id)
        JOIN named AS new ON new.release = c.release AND new.object_id = c.new_object_id
        JOIN named AS old ON old.release = c.release AND old.object_id = c.old_object_id
    ), controls AS (
        SELECT DISTINCT release, item_id, stands_for_id, target_id AS object_id FROM {DYNAMIC_TEMPLAMA_PROMPTS.name}
        WHERE role = 'control'
    ), placebos AS (
        SELECT DISTINCT ON (c.release, c.item_id, c.new_object_id, c.old_object_id)
               c.release, c.item_id, c.new_object_id, c.old_object_id, d.new_names AS placebo_new_names,
               d.old_names AS placebo_old_names, c.new_names || c.old_names || c.other_names AS own_names,
               list_filter(d.other_names, lambda one: NOT list_contains(own_names, one)) AS placebo_other_names
        FROM told AS c
        JOIN controls AS n ON n.release = c.release AND n.item_id = c.item_id AND n.stands_for_id = c.new_object_id
        JOIN controls AS o ON o.release = c.release AND o.item_id = c.item_id AND o.stands_for_id = c.old_object_id
        JOIN told AS d ON d.release = c.release AND d.relation = c.relation AND d.subject_id <> c.subject_id
            AND d.window_start <= c.window_start AND d.new_object_id = n.object_id AND d.old_object_id = o.object_id
        ORDER BY d.window_start DESC, d.subject_id
    )
    FROM told LEFT JOIN placebos USING (release, item_id, new_object_id, old_object_id)
    """,
    (
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        FACT_SPELLS.name,
        WIKIDATA_ENTITIES.name,
    ),
)
"""Each change with the names of its objects, of others of the subject, and the same of its placebo."""
