"""Declares the room and its views, and when a fact holds in a window: the truth table, and the same conditions in SQL.

The start and the end of a fact are each known as an interval of days. In a window a fact is *possible* if it holds on
some day of the window for at least one reading of its dates, and *certain* if it does so for every reading.

| start | end | possible | certain |
|---|---|---|---|
| date | date | from the first day of the start to the last of the end | begins before the window ends and ends after
it begins, by every reading |
| date | absent | from the first day of the start to the dump's date | never: it may have ended |
| date | `novalue` | the same | from the last day of the start to the dump's date: explicitly without an end |
| date | `somevalue` | the same: it ended before the dump, at an unknown time | never |
| absent or `somevalue` | any | before the end | never: the start is not known |
| `novalue` | any | before the end | as if it had always held |
| unreadable | | as `somevalue` | never |

A statement with neither a date nor `novalue` is not a fact. The day on which a subject died or was dissolved closes
an end that is not known, and `novalue` (a setting of a release); what is `novalue` is then certain up to and with the
first day on which the subject may have died. No fact holds on or after the dump's date.
"""

from tempkb.engine.room import Room
from tempkb.store.tables import View
from tempkb.wiki.wikidata.tables import FACTS, TABLES, WIKIDATA_ENTITIES

MAX_DAY, MIN_DAY = "DATE '5800000-01-01'", "DATE '5800000-01-01 (BC)'"

POSSIBLE_FROM = f"coalesce(valid_from, {MIN_DAY})"
"""SQL: the first day on which a row of `facts` may hold."""
POSSIBLE_TO = "least(coalesce(valid_to, dump_date), dump_date)"
"""SQL: the first day on which it can no longer hold, as far as the dump knows."""
CERTAIN_FROM = f"CASE WHEN start_kind = 'novalue' THEN {MIN_DAY} ELSE coalesce(certain_from, {MAX_DAY}) END"
"""SQL: the latest day on which it may begin; the largest day if the start is not known."""


def true_within(start: str, end: str) -> str:
    """Return the SQL condition that a row of `facts` may hold on some day of [start, end), two SQL expressions."""
    return f"({POSSIBLE_FROM} < {end} AND {POSSIBLE_TO} > {start} AND {start} < dump_date)"


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


ROOM = Room("wikidata", TABLES, VIEWS, "tempkb.wiki.wikidata.steps")
