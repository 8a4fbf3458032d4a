"""Declares the views over the room's tables."""

from tempkb.store.tables import View
from tempkb.wikidata.membership import POSSIBLE_FROM, POSSIBLE_TO
from tempkb.wikidata.tables import FACTS, WIKIDATA_ENTITIES

_CONTENT = (
    "wiki, fact_id, interval_no, subject_id, relation, object_id, valid_from, valid_to, certain_from, certain_to, "
    "start_precision, end_precision, start_kind, end_kind, is_point, rank"
)

_SAME_START = (
    "(b.valid_from, b.certain_from, b.start_kind) IS NOT DISTINCT FROM (a.valid_from, a.certain_from, a.start_kind)"
)
_SAME_END = "(b.valid_to, b.certain_to, b.end_kind) IS NOT DISTINCT FROM (a.valid_to, a.certain_to, a.end_kind)"

FACT_VERSIONS = View(
    name="fact_versions",
    meaning="The facts of all dumps that were read, each with the dumps that contain it. known_from is the first that "
    "has the fact with any dates that share a day with these, start_known_from and end_known_from the first that has "
    "this start and this end of it (each null: the first dump that was read); known_to is the next dump with the "
    "subject that no longer has it so (null: none). A dump that lacks the subject altogether says nothing of it.",
    query=f"""
    WITH dumps AS (
        SELECT entity_id AS subject_id, dump_date, row_number() OVER own AS number,
               lead(dump_date) OVER own AS next_date
        FROM (SELECT DISTINCT entity_id, dump_date FROM wikidata_entities)
        WINDOW own AS (PARTITION BY entity_id ORDER BY dump_date)
    ), numbered AS (
        SELECT {_CONTENT}, dump_date, number, next_date,
               number - row_number() OVER (PARTITION BY {_CONTENT} ORDER BY number) AS spell
        FROM facts JOIN dumps USING (subject_id, dump_date)
    ), versions AS (
        SELECT {_CONTENT}, max(dump_date) AS dump_date, min(dump_date) AS first_date,
               arg_max(next_date, number) FILTER (WHERE next_date IS NOT NULL AND number = last_number) AS known_to
        FROM (SELECT *, max(number) OVER (PARTITION BY {_CONTENT}, spell) AS last_number FROM numbered)
        GROUP BY {_CONTENT}, spell
    ), told AS (
        SELECT row_number() OVER () AS version_no, *, {POSSIBLE_FROM} AS since, {POSSIBLE_TO} AS until FROM versions
    ), first_told AS (
        SELECT a.version_no, min(b.first_date) AS known_from,
               min(b.first_date) FILTER (WHERE {_SAME_START}) AS start_known_from,
               min(b.first_date) FILTER (WHERE {_SAME_END}) AS end_known_from
        FROM told AS a JOIN told AS b USING (wiki, subject_id, relation, object_id)
        WHERE b.version_no = a.version_no OR (b.since < a.until AND a.since < b.until) GROUP BY ALL
    )
    SELECT {_CONTENT}, dump_date, nullif(known_from, first_read) AS known_from,
           nullif(start_known_from, first_read) AS start_known_from,
           nullif(end_known_from, first_read) AS end_known_from,
           known_to
    FROM told JOIN first_told USING (version_no), (SELECT min(dump_date) AS first_read FROM wikidata_entities)
    """,
    needs=(FACTS.name, WIKIDATA_ENTITIES.name),
)

VIEWS = (FACT_VERSIONS,)
