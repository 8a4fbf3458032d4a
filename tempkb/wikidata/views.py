"""Named questions to the room's tables."""

from tempkb.store.tables import View
from tempkb.wikidata.tables import FACTS

_SAID = (
    "wiki, fact_id, interval_no, subject_id, relation, object_id, valid_from, valid_to, certain_from, certain_to, "
    "start_precision, end_precision, start_kind, end_kind, is_point, rank"
)

FACT_VERSIONS = View(
    name="fact_versions",
    meaning="What Wikidata said, and by which dumps: known_from is the first dump that said it (null: the first dump "
    "read said it already), known_to the first after it that did not (null: the newest still says it).",
    query=f"""
    WITH dumps AS (
        SELECT dump_date, row_number() OVER (ORDER BY dump_date) AS number,
               lead(dump_date) OVER (ORDER BY dump_date) AS next_date
        FROM (SELECT DISTINCT dump_date FROM facts)
    ), said AS (
        SELECT {_SAID}, dump_date, number, next_date,
               number - row_number() OVER (PARTITION BY {_SAID} ORDER BY number) AS spell
        FROM facts JOIN dumps USING (dump_date)
    )
    SELECT {_SAID}, max(dump_date) AS dump_date,
           CASE WHEN min(number) > 1 THEN min(dump_date) END AS known_from,
           arg_max(next_date, number) FILTER (WHERE next_date IS NOT NULL AND number = last_number) AS known_to
    FROM (SELECT *, max(number) OVER (PARTITION BY {_SAID}, spell) AS last_number FROM said)
    GROUP BY {_SAID}, spell
    """,
    needs=(FACTS.name,),
)

VIEWS = (FACT_VERSIONS,)
