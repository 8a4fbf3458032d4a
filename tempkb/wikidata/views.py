"""Declares the views over the room's tables."""

from tempkb.store.tables import View
from tempkb.wikidata.tables import FACTS, WIKIDATA_ENTITIES

_CONTENT = (
    "wiki, fact_id, interval_no, subject_id, relation, object_id, valid_from, valid_to, certain_from, certain_to, "
    "start_precision, end_precision, start_kind, end_kind, is_point, rank"
)

FACT_VERSIONS = View(
    name="fact_versions",
    meaning="The facts of all dumps that were read, each with the dumps that contain it: known_from is the first of "
    "them (null: the first dump that was read), known_to the next dump, which no longer contains it (null: the newest "
    "dump still does).",
    query=f"""
    WITH dumps AS (
        SELECT dump_date, row_number() OVER (ORDER BY dump_date) AS number,
               lead(dump_date) OVER (ORDER BY dump_date) AS next_date
        FROM (SELECT DISTINCT dump_date FROM facts UNION SELECT DISTINCT dump_date FROM wikidata_entities)
    ), numbered AS (
        SELECT {_CONTENT}, dump_date, number, next_date,
               number - row_number() OVER (PARTITION BY {_CONTENT} ORDER BY number) AS spell
        FROM facts JOIN dumps USING (dump_date)
    )
    SELECT {_CONTENT}, max(dump_date) AS dump_date,
           CASE WHEN min(number) > 1 THEN min(dump_date) END AS known_from,
           arg_max(next_date, number) FILTER (WHERE next_date IS NOT NULL AND number = last_number) AS known_to
    FROM (SELECT *, max(number) OVER (PARTITION BY {_CONTENT}, spell) AS last_number FROM numbered)
    GROUP BY {_CONTENT}, spell
    """,
    needs=(FACTS.name, WIKIDATA_ENTITIES.name),
)

VIEWS = (FACT_VERSIONS,)
