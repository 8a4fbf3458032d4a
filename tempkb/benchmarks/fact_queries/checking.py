"""Queries over the lake that return what breaks a promise of the benchmarks of facts. Does not use Dagster.

They recompute answers from the facts, independently of the code that makes spells and queries.
"""

from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.samples import stretch_of_windows
from tempkb.store.tables import Table
from tempkb.wikidata.membership import true_within
from tempkb.wikidata.tables import FACTS, WIKIDATA_ENTITIES

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
               f.start_kind, f.end_kind, f.dump_date, e.ended_to
        FROM facts AS f JOIN entities AS e ON e.dump_id = f.dump_id AND e.entity_id = f.subject_id
    )
    SELECT a.release, a.query_id, a.object_id FROM answered AS a ANTI JOIN dated AS f
    ON f.dump_id = a.dump_id AND f.subject_id = a.subject_id AND f.relation = a.relation AND f.object_id = a.object_id
       AND CASE WHEN a.is_certain THEN {_CERTAINLY} ELSE {_POSSIBLY} END
       AND (a.outlives_subject OR f.end_kind = 'value' OR f.ended_to IS NULL OR f.ended_to > a.window_start)
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
            "no_subject_is_in_two_splits",
            "A subject is in the same split in all relations and windows.",
            queries,
            IN_TWO_SPLITS,
            {"queries": queries},
        ),
    )
