"""Queries over the lake that return what breaks a promise of the prompts about facts. Does not use Dagster.

They compare prompts with queries and spells, independently of the code that makes them.
"""

from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.prompt_steps import ids_of_texts
from tempkb.benchmarks.samples import stretch_of_windows
from tempkb.store.tables import Table

_STEP = """CASE q.granularity WHEN 'week' THEN INTERVAL 7 DAY WHEN 'month' THEN INTERVAL 1 MONTH
           WHEN 'quarter' THEN INTERVAL 3 MONTH ELSE INTERVAL 1 YEAR END"""
_ANSWERS = """
    SELECT release, query_id, subject_id, relation, window_start, granularity, unnest(answers) AS one FROM queries
"""

NOT_ASKED = f"""
    WITH answered AS (
        SELECT DISTINCT release, query_id, one.entity_id AS object_id FROM ({_ANSWERS})
        WHERE regexp_matches(one.label, '\\S')
    ), asked AS (FROM prompts WHERE role = 'current' AND variant = 'undated')
    SELECT coalesce(a.release, p.release), coalesce(a.query_id, p.item_id), coalesce(a.object_id, p.target_id)
    FROM answered AS a FULL JOIN asked AS p
    ON p.release = a.release AND p.item_id = a.query_id AND p.target_id = a.object_id
    WHERE a.query_id IS NULL OR p.item_id IS NULL
"""
OTHER_TEXTS = """
    WITH texts AS (
        SELECT p.*, q.query, q.date, q.granularity, q.relation, q.template_no,
               concat(p.left_context, p.target, p.right_context) AS statement
        FROM prompts AS p JOIN queries AS q ON q.release = p.release AND q.query_id = p.item_id
    )
    SELECT release, item_id, target_id, variant, statement FROM texts WHERE CASE variant
        WHEN 'undated' THEN statement <> replace(query, '_X_', target)
        WHEN 'dated' THEN statement <> concat(granularity, ': ', date, ' ', replace(query, '_X_', target))
        WHEN 'object_last' THEN trim(left_context) = '' OR NOT starts_with(query, '_X_')
        ELSE false END
    UNION ALL
    -- Without the subject, all queries of a wording are alike.
    SELECT release, any_value(item_id), any_value(target_id), variant, any_value(statement) FROM texts
    WHERE starts_with(variant, 'no_subject')
    GROUP BY release, relation, template_no, variant HAVING count(DISTINCT (left_context, right_context)) > 1
"""
NOT_PREVIOUS = f"""
    WITH answered AS (
        SELECT DISTINCT q.release, q.query_id, q.subject_id, q.relation, q.window_start,
               CAST(q.window_start + {_STEP} AS DATE) AS next_start, one.entity_id AS object_id, one.label
        FROM ({_ANSWERS}) AS q
    ), left_over AS (
        SELECT p.release, p.item_id, p.target_id, p.target, p.window_start, q.subject_id, q.relation
        FROM prompts AS p JOIN queries AS q ON q.release = p.release AND q.query_id = p.item_id
        JOIN releases AS r ON r.release = p.release
        WHERE p.role = 'previous' AND p.variant = 'undated' AND p.window_start > r.study_from
    )
    SELECT l.release, l.item_id, l.target_id, 'still an answer' FROM left_over AS l JOIN answered AS a
    ON a.release = l.release AND a.query_id = l.item_id AND (a.object_id = l.target_id OR a.label = l.target)
    UNION ALL
    SELECT l.release, l.item_id, l.target_id, 'was no answer before' FROM left_over AS l ANTI JOIN answered AS a
    ON a.release = l.release AND a.next_start = l.window_start AND a.subject_id = l.subject_id
       AND a.relation = l.relation AND a.object_id = l.target_id
"""
NO_CONTROLS = """
    WITH drawn AS (FROM prompts WHERE role = 'control' AND variant = 'undated'),
    others AS (FROM prompts WHERE role IN ('current', 'previous') AND variant = 'undated')
    SELECT d.release, d.item_id, d.target_id, 'an object of its own' FROM drawn AS d JOIN spells AS s
    ON s.release = d.release AND s.subject_id = d.cluster_id
       AND (s.object_id = d.target_id OR s.object_label = d.target)
    UNION ALL
    SELECT release, item_id, any_value(target_id), 'half a pair' FROM (
        SELECT d.release, d.item_id, d.target_id, o.role FROM drawn AS d LEFT JOIN others AS o
        ON o.release = d.release AND o.item_id = d.item_id AND o.target_id = d.stands_for_id
    ) GROUP BY release, item_id
    HAVING count(*) FILTER (WHERE role = 'current') <> count(*) FILTER (WHERE role = 'previous')
        OR count(*) FILTER (WHERE role IS NULL) > 0
"""

NOT_WRONG = f"""
    WITH dated AS (SELECT DISTINCT release, date, window_start, granularity FROM queries), asked AS (
        SELECT *, split_part(item_id, '@', 1) AS query_id, split_part(item_id, '@', 2) AS date
        FROM prompts WHERE variant = 'dates'
    ), told AS (
        SELECT a.*, q.query, q.relation, q.granularity FROM asked AS a
        JOIN queries AS q ON q.release = a.release AND q.query_id = a.query_id
    )
    SELECT release, item_id, target_id, 'has another text' FROM told
    WHERE concat(left_context, target, right_context)
        <> concat(granularity, ': ', date, ' ', replace(query, '_X_', target))
    UNION ALL
    SELECT t.release, t.item_id, t.target_id, 'holds on a wrong date' FROM told AS t
    JOIN dated AS q ON q.release = t.release AND q.date = t.date
    JOIN spells AS s ON s.release = t.release AND s.subject_id = t.cluster_id AND s.relation = t.relation
        AND s.object_id = t.target_id
    WHERE t.role = 'wrong_date' AND coalesce(s.valid_from < CAST(q.window_start + {_STEP} AS DATE), true)
        AND coalesce(s.valid_to > q.window_start, true)
    UNION ALL
    SELECT release, any_value(item_id), target_id, 'has no right date' FROM asked
    GROUP BY release, query_id, target_id HAVING count(*) FILTER (WHERE role = 'current') <> 1
"""


def promises_of_prompts(queries: Table, prompts: Table) -> tuple[Promise, ...]:
    """Return the promises of the prompts of either benchmark."""
    both = {"queries": queries, "prompts": prompts}
    return (
        Promise(
            "every_answer_is_asked",
            "Every answer of every query, and nothing else, has a prompt with the role current and variant undated.",
            prompts,
            NOT_ASKED,
            both,
            sample=stretch_of_windows,
        ),
        Promise(
            "prompts_have_the_texts_of_their_queries",
            "A prompt with its target is the query with the target in place of _X_, as its variant says.",
            prompts,
            OTHER_TEXTS,
            both,
            sample=stretch_of_windows,
        ),
        Promise(
            "previous_objects_have_left",
            "An object with the role previous was an answer in the window before, and no answer has its name now.",
            prompts,
            NOT_PREVIOUS,
            {**both, "releases": FACT_RELEASES},
            sample=stretch_of_windows,
        ),
        Promise(
            "controls_are_of_others",
            "Controls come in pairs, for an object that came and one that left, and the subject never had them.",
            prompts,
            NO_CONTROLS,
            {"prompts": prompts, "spells": FACT_SPELLS},
            sample=stretch_of_windows,
        ),
        Promise(
            "wrong_dates_are_wrong",
            "An object that is asked about with dates is an answer on one of them, and holds on none of the others.",
            prompts,
            NOT_WRONG,
            {**both, "spells": FACT_SPELLS},
            sample=stretch_of_windows,
        ),
        ids_of_texts(prompts, stretch_of_windows),
    )
