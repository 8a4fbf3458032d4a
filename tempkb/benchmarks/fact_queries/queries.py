"""From spells to queries: a window at a time, all objects that hold in it."""

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.templates import BLANK, OBJECT, SUBJECT
from tempkb.store.tables import Table
from tempkb.wikidata.late import is_provisional
from tempkb.windows import Window

_BATCH_ROWS = 1 << 14
# A spell may hold in [$start, $end) if its days meet it; it certainly does if one of its statements does by every
# reading (wikidata/membership.py).
HOLDS = {
    "possible": "(valid_from IS NULL OR valid_from < $end) AND (valid_to IS NULL OR valid_to > $start)",
    "certain": "len(list_filter(members, lambda one: one.certain_from < $end AND one.certain_to > $start)) > 0",
}


def partition_of(release: str, window: Window) -> str:
    """The lake's partition of a release and window."""
    return f"{release}.{window.key}"


def make_queries(
    connection: duckdb.DuckDBPyConnection, release: Release, window: Window, table: Table
) -> Iterator[pa.Table]:
    """Yield the queries of a window in key order.

    Needs the views `spells` (fact_spells) and `subjects` (fact_subjects) of the
    release and the tables `asked` and `studied(dump_date)`. An object with two
    spells in the window is one answer; by the released rule of DynamicTempLAMA it
    is two.
    """
    design = release.design
    (dump_date,) = connection.execute("SELECT dump_date FROM studied").fetchall()[0]
    keeps_repeats = design.rules == "paper" and release.benchmark != "templama"
    # With its own spell as a further key nothing falls together.
    own = ", spell_no" if keeps_repeats else ""
    query = f"""
        WITH held AS (
            SELECT subject_id, relation, object_id{own}, min(answer_order) AS answer_order,
                   any_value(object_label) AS object_label, any_value(object_aliases) AS object_aliases
            FROM spells WHERE {HOLDS[design.answers]}
            GROUP BY subject_id, relation, object_id{own}
        ), answered AS (
            SELECT subject_id, relation,
                   list({{'entity_id': object_id, 'label': object_label, 'aliases': object_aliases}}
                        ORDER BY answer_order) AS answers
            FROM held GROUP BY subject_id, relation
        )
        SELECT s.wiki, s.dump_id, s.release, $start AS window_start,
               concat_ws('_', subject_id, relation, $date, CASE WHEN template_no > 1 THEN template_no END) AS query_id,
               template_no, subject_id, relation, $date AS date,
               -- The blank first: a name may hold anything, even what stands for an object.
               replace(replace(wording, '{OBJECT}', '{BLANK}'), '{SUBJECT}', asked_as) AS query, answers, split,
               $granularity AS granularity, $is_provisional AS is_provisional
        FROM answered JOIN subjects AS s USING (subject_id, relation) JOIN asked USING (relation)
        ORDER BY query_id
    """
    values = {
        "start": window.start, "end": window.end, "date": window.label, "granularity": str(design.granularity),
        "is_provisional": is_provisional(window.end, dump_date),
    }  # fmt: skip
    for batch in connection.sql(query, params=values).to_arrow_reader(_BATCH_ROWS):
        yield table.conform(batch)
