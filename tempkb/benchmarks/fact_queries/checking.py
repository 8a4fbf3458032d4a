"""Queries over the lake that return what breaks a promise of the benchmarks of facts. Does not use Dagster.

They recompute answers from the facts, independently of the code that makes spells and queries.
"""

from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.samples import stretch_of_windows
from tempkb.store.tables import Table
from tempkb.wikidata.membership import true_within
from tempkb.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

_STEP = """CASE granularity WHEN 'week' THEN INTERVAL 7 DAY WHEN 'month' THEN INTERVAL 1 MONTH
           WHEN 'quarter' THEN INTERVAL 3 MONTH ELSE INTERVAL 1 YEAR END"""
# Releases by the papers' rules are not checked, because these bridge gaps and move ends on purpose.
_OURS = "r.design->>'rules' = 'tempkb'"
_POSSIBLY, _CERTAINLY = (true_within("a.window_start", "a.window_end", certainly=one) for one in (False, True))

# The design is read once for each release and not for each fact, because reading JSON takes long.
NOT_VALID = f"""
    WITH design AS (
        SELECT release, design->>'answers' = 'certain' AS is_certain,
               design->>'close_at_death' = 'false' AS outlives_subject
        FROM releases AS r WHERE {_OURS}
    ), answered AS (
        SELECT q.release, q.dump_id, q.query_id, q.window_start, q.subject_id, q.relation,
               CAST(q.window_start + {_STEP.replace("granularity", "q.granularity")} AS DATE) AS window_end,
               unnest(q.answers).entity_id AS object_id, d.is_certain, d.outlives_subject
        FROM queries AS q JOIN design AS d USING (release)
    ), dated AS (
        SELECT f.dump_id, f.subject_id, f.relation, f.object_id, f.valid_from, f.valid_to, f.certain_from, f.certain_to,
               f.start_kind, f.end_kind, f.dump_date, e.ended_from, e.ended_to
        FROM facts AS f JOIN entities AS e ON e.dump_id = f.dump_id AND e.entity_id = f.subject_id
    )
    SELECT a.release, a.query_id, a.object_id FROM answered AS a ANTI JOIN dated AS f
    ON f.dump_id = a.dump_id AND f.subject_id = a.subject_id AND f.relation = a.relation AND f.object_id = a.object_id
       AND CASE WHEN a.is_certain THEN {_CERTAINLY} ELSE {_POSSIBLY} END
       AND (a.outlives_subject OR f.end_kind = 'value' OR f.ended_to IS NULL
            OR CASE WHEN a.is_certain THEN f.ended_from >= a.window_start ELSE f.ended_to > a.window_start END)
"""
# The other direction. An open statement is an answer until max_open_years after it began, and until its subject ended;
# what explicitly has no end is a certain one until the first day on which its subject may have ended, which counts.
# DuckDB cannot add years to dates outside its calendar; no window is near such dates.
_MAX_YEARS = r"""
    coalesce(nullif(regexp_extract(',' || open_years || ',', ',' || relation || ':(\d+),', 1), ''),
             nullif(regexp_extract(',' || open_years || ',', ',(\d+),', 1), ''))::INTEGER
"""
_IN_CALENDAR = "f.valid_from BETWEEN DATE '9999-01-01 (BC)' AND DATE '9999-12-31'"
LOST_ANSWERS = f"""
    WITH design AS (
        SELECT release, dump_ids[1] AS dump_id, granularity, study_from, study_to, design->>'language' AS language,
               design->>'answers' = 'certain' AS is_certain, design->>'close_at_death' = 'true' AS closes,
               design->>'ranks' AS ranks, design->>'points_in_time' = 'true' AS has_points,
               design->>'linked_objects' = 'true' AS is_linked,
               replace(replace(design->>'max_open_years', ' ', ''), 'none', '') AS open_years
        FROM releases AS r WHERE {_OURS}
    ), windows AS (
        SELECT release, CAST(first AS DATE) AS window_start, CAST(first + {_STEP} AS DATE) AS window_end
        FROM (SELECT *, unnest(generate_series(study_from::TIMESTAMP, study_to - INTERVAL 1 DAY, {_STEP})) AS first
              FROM design)
    ), limits AS (
        SELECT *, {_MAX_YEARS} AS most_years
        FROM (SELECT DISTINCT release, relation, open_years FROM subjects JOIN design USING (release))
    ), nameable AS (
        SELECT dump_id, entity_id, site_title,
               list_filter(labels, lambda one: one.label IS NOT NULL).list_transform(lambda one: one.language) AS known
        FROM entities
    ), asked AS (
        SELECT f.*, d.release, d.is_certain, s.ended_from, s.ended_to, d.closes AND f.end_kind <> 'value' AS may_close,
               CASE WHEN f.valid_to IS NOT NULL OR f.end_kind = 'novalue' OR l.most_years IS NULL THEN NULL
                    WHEN {_IN_CALENDAR} THEN CAST(f.valid_from + to_years(l.most_years) AS DATE)
                    ELSE f.valid_from END AS open_to
        FROM design AS d JOIN subjects AS u USING (release) JOIN limits AS l USING (release, relation)
        JOIN facts AS f ON f.dump_id = d.dump_id AND f.subject_id = u.subject_id AND f.relation = u.relation
        JOIN entities AS s ON s.dump_id = f.dump_id AND s.entity_id = f.subject_id
        JOIN nameable AS o ON o.dump_id = f.dump_id AND o.entity_id = f.object_id
        WHERE list_has_any(o.known, [d.language, 'mul']) AND (o.site_title IS NOT NULL OR NOT d.is_linked)
          AND (d.has_points OR NOT f.is_point)
          AND (d.ranks = 'all' OR f.rank <> 'deprecated')
          AND (d.ranks <> 'best' OR f.rank = 'preferred' OR NOT EXISTS (
              SELECT 1 FROM (FROM facts SELECT dump_id, subject_id, relation, rank UNION ALL
                             FROM undated SELECT dump_id, subject_id, relation, rank) AS p
              WHERE p.dump_id = f.dump_id AND p.subject_id = f.subject_id AND p.relation = f.relation
                AND p.rank = 'preferred'))
          AND (f.valid_from IS NOT NULL OR f.valid_to IS NOT NULL OR f.end_kind = 'novalue')
          AND (f.valid_from < f.valid_to OR f.valid_from IS NULL OR f.valid_to IS NULL)
    ), held AS (
        SELECT DISTINCT f.release, w.window_start, f.subject_id, f.relation, f.object_id
        FROM asked AS f JOIN windows AS w ON w.release = f.release
        WHERE CASE WHEN f.is_certain
                   THEN {true_within("w.window_start", "w.window_end", certainly=True)}
                        AND (NOT f.may_close OR f.ended_from IS NULL OR f.ended_from >= w.window_start)
                   ELSE {true_within("w.window_start", "w.window_end")} END
          AND (NOT f.may_close OR f.ended_to IS NULL
               OR f.ended_to > greatest(w.window_start, coalesce(f.valid_from, w.window_start)))
          AND (f.open_to IS NULL OR f.open_to >= w.window_start)
    ), answered AS (
        SELECT release, window_start, subject_id, relation, template_no,
               list_transform(answers, lambda one: one.entity_id) AS ids
        FROM queries
    )
    SELECT h.release, h.subject_id || '_' || h.relation || ' in the window of ' || h.window_start, h.object_id
    FROM held AS h LEFT JOIN answered AS a USING (release, window_start, subject_id, relation)
    GROUP BY ALL HAVING NOT bool_and(coalesce(list_contains(a.ids, h.object_id), false))
"""
IN_TWO_SPLITS = """
    SELECT release, subject_id, list(DISTINCT split) FROM queries GROUP BY release, subject_id
    HAVING count(DISTINCT split) > 1
"""
UNKNOWN_STATEMENTS = """
    WITH used AS (
        SELECT release, dump_id, subject_id, relation, object_id, unnest(members).fact_id AS fact_id FROM spells
    )
    SELECT u.release, u.fact_id FROM used AS u ANTI JOIN facts AS f
    ON f.dump_id = u.dump_id AND f.fact_id = u.fact_id AND f.subject_id = u.subject_id AND f.relation = u.relation
       AND f.object_id = u.object_id
"""
TOUCHING_SPELLS = f"""
    SELECT one.release, one.subject_id, one.relation, one.object_id
    FROM spells AS one JOIN spells AS next USING (release, subject_id, relation, object_id)
    JOIN releases AS r USING (release)
    WHERE next.spell_no = one.spell_no + 1 AND {_OURS}
      AND (one.valid_to IS NULL OR next.valid_from IS NULL OR next.valid_from <= one.valid_to)
"""

PROMISES = (
    Promise(
        "every_statement_exists",
        "Every statement of a spell is in the facts of the release's dump, with the spell's object.",
        FACT_SPELLS,
        UNKNOWN_STATEMENTS,
        {"spells": FACT_SPELLS, "facts": FACTS},
    ),
    Promise(
        "spells_keep_apart",
        "Between two spells of an object there is at least one day without it.",
        FACT_SPELLS,
        TOUCHING_SPELLS,
        {"spells": FACT_SPELLS, "releases": FACT_RELEASES},
    ),
)


def promises_of_queries(queries: Table) -> tuple[Promise, ...]:
    """Return the promises of the queries of either benchmark."""
    return (
        Promise(
            "answers_hold_in_their_windows",
            "Every answer is a fact of the release's dump whose dates hold in the window.",
            queries,
            NOT_VALID,
            {"queries": queries, "releases": FACT_RELEASES, "facts": FACTS, "entities": WIKIDATA_ENTITIES},
            sample=stretch_of_windows,
        ),
        Promise(
            "no_answer_is_missing",
            "Every fact that holds in a window and that the release's design admits is an answer of its query.",
            queries,
            LOST_ANSWERS,
            {
                "queries": queries,
                "releases": FACT_RELEASES,
                "subjects": FACT_SUBJECTS,
                "facts": FACTS,
                "undated": UNDATED_STATEMENTS,
                "entities": WIKIDATA_ENTITIES,
            },
            sample=stretch_of_windows,
        ),
        Promise(
            "no_subject_is_in_two_splits",
            "A subject is in the same split in all relations and windows.",
            queries,
            IN_TWO_SPLITS,
            {"queries": queries},
        ),
    )
