"""Is it so? Checks of DynamicTempLAMA's queries against the facts, and of its changes against its queries."""

from tempkb.benchmarks.checks import check_of
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.checking import promises_of_queries
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.promises import Promise

_STEP = """CASE r.granularity WHEN 'week' THEN INTERVAL 7 DAY WHEN 'month' THEN INTERVAL 1 MONTH
           WHEN 'quarter' THEN INTERVAL 3 MONTH ELSE INTERVAL 1 YEAR END"""

# From the answers of two adjacent windows alone: what must, may and cannot have been told of each.
DISAGREEING = f"""
    WITH answered AS (
        SELECT q.release, q.window_start, CAST(q.window_start + {_STEP} AS DATE) AS next_start,
               q.subject_id, q.relation, unnest(q.answers).entity_id AS object_id
        FROM queries AS q JOIN releases AS r USING (release)
        WHERE q.template_no = 1 AND r.design->>'rules' = 'tempkb'
    ), paired AS (
        SELECT release, window_start, subject_id, relation, object_id,
               bool_or(is_now) AS is_now, bool_or(NOT is_now) AS was
        FROM (SELECT release, window_start, subject_id, relation, object_id, true AS is_now FROM answered
              UNION ALL
              SELECT release, next_start, subject_id, relation, object_id, false FROM answered)
        GROUP BY release, window_start, subject_id, relation, object_id
    ), told AS (
        SELECT p.* FROM (
            SELECT coalesce(p.release, c.release) AS release, coalesce(p.window_start, c.window_start) AS window_start,
                   coalesce(p.subject_id, c.subject_id) AS subject_id, coalesce(p.relation, c.relation) AS relation,
                   coalesce(p.object_id, c.object_id) AS object_id, is_now, was, c.change
            FROM paired AS p FULL JOIN changes AS c USING (release, window_start, subject_id, relation, object_id)
        ) AS p JOIN releases AS r USING (release)
        WHERE p.window_start > r.study_from AND p.window_start < r.study_to AND r.design->>'rules' = 'tempkb'
    ), judged AS (
        SELECT *, bool_or(is_now AND NOT was AND change <> 'undatable') OVER pair AS any_came,
               bool_or(was AND NOT is_now AND coalesce(change, '') <> 'undatable') OVER pair AS any_went
        FROM told WINDOW pair AS (PARTITION BY release, window_start, subject_id, relation)
    )
    SELECT release, window_start, subject_id, relation, object_id, change FROM judged
    WHERE CASE
        WHEN is_now IS NULL THEN true
        WHEN is_now AND was THEN change IS DISTINCT FROM 'unchanged'
        WHEN is_now THEN change IS DISTINCT FROM 'undatable'
            AND change IS DISTINCT FROM (CASE WHEN any_went THEN 'updated' ELSE 'new' END)
        WHEN any_came THEN change IS DISTINCT FROM 'undatable' AND change IS NOT NULL
        ELSE change IS DISTINCT FROM 'undatable' AND change IS DISTINCT FROM 'deleted'
    END
"""

OF_QUERIES = promises_of_queries(DYNAMIC_TEMPLAMA_QUERIES)
OF_CHANGES = (
    Promise(
        "changes_follow_from_the_answers",
        "What changed is what the answers of two adjacent windows say, recomputed from these alone.",
        DYNAMIC_TEMPLAMA_CHANGES,
        DISAGREEING,
        {"changes": DYNAMIC_TEMPLAMA_CHANGES, "queries": DYNAMIC_TEMPLAMA_QUERIES, "releases": FACT_RELEASES},
    ),
)

CHECKS = [check_of(promise) for promise in (*OF_QUERIES, *OF_CHANGES)]
