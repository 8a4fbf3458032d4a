"""What changed between two windows, from when facts began and ended, on items and never on names.

For a subject and relation: an object in both windows is *unchanged*; if some came
and some went, those that came are *updated*; if some only came, they are *new*; if
some only went, they are *deleted*. A coming or going counts at a granularity only
if the date that causes it is at least as fine; otherwise nobody can say in which
window it fell, and it is *undatable*, outside the four.
"""

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.queries import HOLDS
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.selection import FINENESS
from tempkb.windows import Granularity, Window

_BATCH_ROWS = 1 << 14
# Wikidata knows days, months and years; a quarter is told by a month.
_NEEDED = {Granularity.WEEK: 5, Granularity.MONTH: 4, Granularity.QUARTER: 4, Granularity.YEAR: 3}


def make_changes(
    connection: duckdb.DuckDBPyConnection, release: Release, before: Window, window: Window
) -> Iterator[pa.Table]:
    """Yield the changes from one window to the next, in key order.

    Needs the views `spells` (fact_spells) and `subjects` (fact_subjects).
    """
    holds = HOLDS[release.design.answers]
    held_before = holds.replace("$start", "$before").replace("$end", "$start")
    query = f"""
        WITH now AS (
            SELECT subject_id, relation, object_id, min_by(start_fineness, began) AS start_fineness
            FROM (SELECT *, {FINENESS.format("start_precision")} AS start_fineness,
                         coalesce(valid_from, DATE '0001-01-01') AS began FROM spells WHERE {holds})
            GROUP BY subject_id, relation, object_id
        ), earlier AS (
            SELECT subject_id, relation, object_id, max_by(end_fineness, ended) AS end_fineness
            FROM (SELECT *, {FINENESS.format("end_precision")} AS end_fineness,
                         coalesce(valid_to, DATE '9999-12-31') AS ended FROM spells WHERE {held_before})
            GROUP BY subject_id, relation, object_id
        ), paired AS (
            SELECT subject_id, relation, object_id, n.start_fineness IS NOT NULL AS is_now,
                   e.end_fineness IS NOT NULL AS was, substring(object_id, 2)::BIGINT AS number,
                   coalesce(CASE WHEN n.start_fineness IS NULL THEN end_fineness
                                 WHEN e.end_fineness IS NULL THEN start_fineness END, 9) >= $needed AS is_datable
            FROM now AS n FULL JOIN earlier AS e USING (subject_id, relation, object_id)
        ), counted AS (
            SELECT subject_id, relation, bool_or(is_now) AS any_now, bool_or(was) AS any_before,
                   bool_or(is_now AND NOT was) AS any_came, bool_or(was AND NOT is_now) AS any_went,
                   bool_or(is_now AND NOT was AND is_datable) AS any_came_then,
                   bool_or(was AND NOT is_now AND is_datable) AS any_went_then,
                   coalesce(list(object_id ORDER BY number) FILTER (WHERE was), []) AS previous_object_ids
            FROM paired GROUP BY subject_id, relation
        ), known AS (
            SELECT DISTINCT subject_id, relation, object_id FROM spells
            WHERE coalesce(valid_from, DATE '0001-01-01') < $before
        )
        SELECT s.wiki, s.dump_id, s.release, $start AS window_start, p.subject_id, p.relation, p.object_id,
               CASE WHEN is_now AND was THEN 'unchanged'
                    WHEN NOT is_datable THEN 'undatable'
                    WHEN is_now AND any_went_then THEN 'updated'
                    WHEN is_now THEN 'new'
                    ELSE 'deleted' END AS change,
               CASE WHEN is_now AND was THEN NULL
                    WHEN is_now AND k.object_id IS NOT NULL THEN 'returning'
                    WHEN is_now AND NOT any_before THEN 'appeared'
                    WHEN was AND NOT any_now THEN 'vanished'
                    WHEN any_came AND any_went THEN 'replaced'
                    WHEN is_now THEN 'extended'
                    ELSE 'reduced' END AS change_detail,
               previous_object_ids, $granularity AS granularity, 1 AS n_times
        FROM paired AS p JOIN counted USING (subject_id, relation) JOIN subjects AS s USING (subject_id, relation)
        LEFT JOIN known AS k USING (subject_id, relation, object_id)
        -- What went when others came is told by those: each names all answers before.
        WHERE NOT (was AND NOT is_now AND is_datable AND any_came_then)
        ORDER BY p.subject_id, p.relation, p.object_id
    """
    values = {
        "before": before.start, "start": window.start, "end": window.end, "needed": _NEEDED[release.design.granularity],
        "granularity": str(release.design.granularity),
    }  # fmt: skip
    for batch in connection.sql(query, params=values).to_arrow_reader(_BATCH_ROWS):
        yield DYNAMIC_TEMPLAMA_CHANGES.conform(batch)
