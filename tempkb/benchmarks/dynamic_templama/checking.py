"""Queries over the lake that return what breaks a promise of DynamicTempLAMA's changes. Does not use Dagster.

They recompute changes from answers, dates and windows, independently of the code that makes them.
"""

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.samples import chosen_by, stretch_of_windows

_STEP = """CASE q.granularity WHEN 'week' THEN INTERVAL 7 DAY WHEN 'month' THEN INTERVAL 1 MONTH
           WHEN 'quarter' THEN INTERVAL 3 MONTH ELSE INTERVAL 1 YEAR END"""
_OURS = "r.design->>'changes' IN ('handover', 'sets')"
_HANDOVER = "r.design->>'changes' = 'handover'"

# Compares each row with the answers of two adjacent windows, which decide what its change may be. The design is read
# once for each release and not for each row, because reading JSON takes long.
DISAGREEING = f"""
    WITH design AS (
        SELECT release, study_from, study_to, {_HANDOVER} AS by_handover FROM releases AS r WHERE {_OURS}
    ), answered AS (
        SELECT q.release, q.window_start, CAST(q.window_start + {_STEP} AS DATE) AS next_start,
               q.subject_id, q.relation, unnest(q.answers).entity_id AS object_id
        FROM queries AS q SEMI JOIN design USING (release) WHERE q.template_no = 1
    ), paired AS (
        SELECT release, window_start, subject_id, relation, object_id,
               bool_or(is_now) AS is_now, bool_or(NOT is_now) AS was
        FROM (SELECT release, window_start, subject_id, relation, object_id, true AS is_now FROM answered
              UNION ALL
              SELECT release, next_start, subject_id, relation, object_id, false FROM answered)
        GROUP BY release, window_start, subject_id, relation, object_id
    ), compared AS (
        SELECT p.*, d.by_handover FROM (
            SELECT coalesce(p.release, c.release) AS release, coalesce(p.window_start, c.window_start) AS window_start,
                   coalesce(p.subject_id, c.subject_id) AS subject_id, coalesce(p.relation, c.relation) AS relation,
                   coalesce(p.object_id, c.object_id) AS object_id, is_now, was, c.change, c.role
            FROM paired AS p FULL JOIN changes AS c USING (release, window_start, subject_id, relation, object_id)
        ) AS p JOIN design AS d USING (release)
        WHERE p.window_start > d.study_from AND p.window_start < d.study_to
    ), judged AS (
        -- By the rule `handover` each row is checked by itself; by `sets` together with the other rows of its query.
        SELECT *, bool_or(is_now AND NOT was AND change <> 'undatable') OVER pair AS any_came,
               bool_or(was AND NOT is_now AND coalesce(change, '') <> 'undatable') OVER pair AS any_went
        FROM compared WHERE NOT by_handover WINDOW pair AS (PARTITION BY release, window_start, subject_id, relation)
        UNION ALL
        SELECT *, NULL, NULL FROM compared WHERE by_handover
    )
    SELECT release, window_start, subject_id, relation, object_id, change FROM judged
    WHERE CASE
        WHEN is_now IS NULL THEN true
        WHEN is_now AND was THEN change IS DISTINCT FROM 'unchanged'
        WHEN by_handover THEN CASE change
            WHEN 'undatable' THEN false
            WHEN 'updated' THEN role IS DISTINCT FROM CASE WHEN is_now THEN 'arriving' ELSE 'leaving' END
            ELSE change IS DISTINCT FROM CASE WHEN is_now THEN 'new' ELSE 'deleted' END
        END
        WHEN role IS NOT NULL THEN true
        WHEN is_now THEN change IS DISTINCT FROM 'undatable'
            AND change IS DISTINCT FROM (CASE WHEN any_went THEN 'updated' ELSE 'new' END)
        WHEN any_came THEN change IS DISTINCT FROM 'undatable' AND change IS NOT NULL
        ELSE change IS DISTINCT FROM 'undatable' AND change IS DISTINCT FROM 'deleted'
    END
"""

# An update by the rule `handover` has two rows that refer to one another. If the partner's window has no changes (the
# study's first window, or one outside), the partner has no row, and then no other object may be paired with it.
HALF_PAIRS = f"""
    WITH updated AS (
        SELECT c.*, c.paired_window_start > r.study_from AND c.paired_window_start < r.study_to AS has_partner_row,
               count(*) OVER (
                   PARTITION BY c.release, c.subject_id, c.relation, c.role, c.paired_object_id, c.paired_window_start
               ) AS n_paired_alike
        FROM changes AS c JOIN releases AS r USING (release) WHERE {_HANDOVER} AND c.change = 'updated'
    )
    SELECT one.release, one.window_start, one.subject_id, one.relation, one.object_id, one.role, one.paired_object_id
    FROM updated AS one LEFT JOIN updated AS other
    ON other.release = one.release AND other.subject_id = one.subject_id AND other.relation = one.relation
       AND other.object_id = one.paired_object_id AND other.window_start = one.paired_window_start
       AND other.paired_object_id = one.object_id AND other.paired_window_start = one.window_start
       AND other.role <> one.role
    WHERE one.role IS NULL OR one.paired_object_id IS NULL OR one.paired_window_start IS NULL
       OR one.n_paired_alike > 1 OR (one.has_partner_row AND other.object_id IS NULL)
"""

# The first day of year 1 was a Monday.
_NUMBER = """CASE granularity WHEN 'week' THEN ({0} - DATE '0001-01-01') // 7
             WHEN 'month' THEN date_diff('month', DATE '1970-01-01', {0})
             WHEN 'quarter' THEN date_diff('quarter', DATE '1970-01-01', {0})
             ELSE date_diff('year', DATE '1970-01-01', {0}) END"""
_NEVER, _EVER = "DATE '4000000-01-01 (BC)'", "DATE '5000000-01-01'"
# The days that a date with a precision covers: from its month on with +, up to its month with -.
_SPAN = """CAST(date_trunc('month', {0}.day) {1} CASE {0}.precision
           WHEN 'month' THEN INTERVAL 1 MONTH WHEN 'year' THEN INTERVAL 1 YEAR
           WHEN 'decade' THEN INTERVAL 10 YEAR WHEN 'century' THEN INTERVAL 100 YEAR END AS DATE)"""
# DuckDB cannot add months or years to dates beyond these. A date so far from every study counts as its own day,
# because all days that it covers lie on the same side of the dates in the study.
_CALENDAR = "{0}.day BETWEEN DATE '290000-01-01 (BC)' AND DATE '290000-01-01'"
# Whether a precision is fine enough for a window; a quarter needs a month.
_FINE = """({0} = 'day' OR ({0} = 'month' AND granularity <> 'week') OR ({0} = 'year' AND granularity = 'year'))"""

# Compares the pairs with all possible ones, nearest first: each pair must be possible, and for each possible pair at
# least one side must be in a pair that is as near. Only pairs with both rows in the study are checked.
NOT_NEAREST = f"""
    WITH held AS (
        SELECT s.release, r.granularity, r.study_from, r.study_to, subject_id, relation, object_id,
               coalesce(valid_from, {_NEVER}) AS began, coalesce(valid_to, {_EVER}) AS ended,
               start_precision, end_precision, unnest(CASE
                   WHEN r.design->>'answers' = 'certain'
                   THEN list_transform(members, lambda m: {{'since': m.certain_from, 'until': m.certain_to}})
                   ELSE [{{'since': coalesce(valid_from, {_NEVER}), 'until': coalesce(valid_to, {_EVER})}}]
               END) AS reach
        FROM spells AS s JOIN releases AS r USING (release) WHERE {_HANDOVER}
    ), numbered AS (
        SELECT *, {_NUMBER.format("reach.since")} AS first, {_NUMBER.format("(reach.until - 1)")} AS last
        FROM held WHERE reach.since IS NOT NULL AND reach.until IS NOT NULL
    ), marked AS (
        SELECT *, coalesce(first > 1 + max(last) OVER (
            PARTITION BY release, subject_id, relation, object_id ORDER BY first, began, last
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS is_apart
        FROM numbered WHERE first <= last
    ), joined AS (
        SELECT *, count(*) FILTER (WHERE is_apart) OVER (
            PARTITION BY release, subject_id, relation, object_id ORDER BY first, began, last) AS stay_no
        FROM marked
    ), stays AS (
        SELECT release, granularity, study_from, study_to, subject_id, relation, object_id,
               substring(object_id, 2)::BIGINT AS number, min(first) AS first, max(last) AS last,
               arg_min({{'day': began, 'precision': start_precision}}, (first, began)) AS start,
               arg_max({{'day': ended, 'precision': end_precision}}, (last, ended)) AS finish
        FROM joined
        GROUP BY release, granularity, study_from, study_to, subject_id, relation, object_id, stay_no
    ), dated AS (
        SELECT *, start.day AS start_from,
               CASE WHEN start.precision IS NULL THEN {_EVER}
                    WHEN start.precision = 'day' OR NOT {_CALENDAR.format("start")} THEN start.day
                    ELSE {_SPAN.format("start", "+")} - 1 END AS start_to,
               CASE WHEN finish.precision IS NULL OR finish.precision = 'day'
                         OR NOT {_CALENDAR.format("finish")} THEN finish.day - 1
                    ELSE {_SPAN.format("finish", "-")} END AS end_from,
               finish.day - 1 AS end_to,
               coalesce({_FINE.format("start.precision")}, false) AND {_NUMBER.format("start.day")} = first AS may_come,
               coalesce({_FINE.format("finish.precision")}, false)
                   AND {_NUMBER.format("(finish.day - 1)")} = last AS may_go
        FROM stays
    ), candidates AS (
        SELECT a.release, a.subject_id, a.relation, a.object_id AS came, b.object_id AS gone,
               a.first AS came_in, b.last + 1 AS gone_in,
               [greatest(0, a.start_from - b.end_to, b.end_from - a.start_to), a.number, b.number, a.first, b.last]
                   AS rank,
               a.first > {_NUMBER.format("a.study_from").replace("granularity", "a.granularity")}
                   AND b.last + 1 < {_NUMBER.format("a.study_to").replace("granularity", "a.granularity")} AS is_inside
        FROM dated AS a JOIN dated AS b USING (release, subject_id, relation)
        WHERE a.may_come AND b.may_go AND a.object_id <> b.object_id AND abs(a.first - b.last) <= 1
          AND b.start_from <= a.start_to AND b.end_from <= a.end_to
          AND NOT (a.start_from <= b.start_to AND a.end_from <= b.end_to)
    ), pairs AS (
        SELECT DISTINCT release, subject_id, relation,
               CASE role WHEN 'arriving' THEN object_id ELSE paired_object_id END AS came,
               CASE role WHEN 'arriving' THEN paired_object_id ELSE object_id END AS gone,
               {_NUMBER.format("CASE role WHEN 'arriving' THEN window_start ELSE paired_window_start END")} AS came_in,
               {_NUMBER.format("CASE role WHEN 'arriving' THEN paired_window_start ELSE window_start END")} AS gone_in
        FROM changes WHERE role IS NOT NULL
    ), ranked AS (
        SELECT p.*, c.rank FROM pairs AS p
        LEFT JOIN candidates AS c USING (release, subject_id, relation, came, gone, came_in, gone_in)
    )
    SELECT release, subject_id, relation, came, gone FROM ranked WHERE rank IS NULL
    UNION ALL
    SELECT c.release, c.subject_id, c.relation, c.came, c.gone FROM candidates AS c
    LEFT JOIN ranked AS a USING (release, subject_id, relation, came, came_in)
    LEFT JOIN ranked AS b ON b.release = c.release AND b.subject_id = c.subject_id AND b.relation = c.relation
                       AND b.gone = c.gone AND b.gone_in = c.gone_in
    WHERE c.is_inside AND coalesce(a.rank > c.rank, true) AND coalesce(b.rank > c.rank, true)
"""

OF_CHANGES = (
    Promise(
        "changes_follow_from_the_answers",
        "The changes agree with the answers of two adjacent windows, from which they are recomputed.",
        DYNAMIC_TEMPLAMA_CHANGES,
        DISAGREEING,
        {"changes": DYNAMIC_TEMPLAMA_CHANGES, "queries": DYNAMIC_TEMPLAMA_QUERIES, "releases": FACT_RELEASES},
        sample=stretch_of_windows,
    ),
    Promise(
        "updates_are_found_from_either_side",
        "An update by the rule `handover` has a row of the arriving and one of the leaving object, within the study.",
        DYNAMIC_TEMPLAMA_CHANGES,
        HALF_PAIRS,
        {"changes": DYNAMIC_TEMPLAMA_CHANGES, "releases": FACT_RELEASES},
    ),
    Promise(
        "handovers_are_the_nearest",
        "Objects are paired with the nearest possible ones, recomputed from the spells.",
        DYNAMIC_TEMPLAMA_CHANGES,
        NOT_NEAREST,
        {"changes": DYNAMIC_TEMPLAMA_CHANGES, "spells": FACT_SPELLS, "releases": FACT_RELEASES},
        sample=chosen_by("subject_id", "subject", "changes", "spells"),
    ),
)
