"""Declares the view of items that a model cannot have read: all that they rest on is later than its knowledge."""

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, TARGET_ID
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS
from tempkb.benchmarks.templama.tables import TEMPLAMA_QUERIES
from tempkb.models.tables import MODELS
from tempkb.store.quoting import literal
from tempkb.store.tables import View
from tempkb.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

# Page and sentence: neither can be older than the page, and a sentence that the home's first window has may be older
# than that window. The page's first revision is the statement that there is such an entity.
_CLOZE = f"""
    SELECT 'ecbd' AS benchmark, c.release, c.cloze_id AS item_id, {literal(TARGET_ID)} AS target_id,
           c.origin_from AS window_start, c.origin_from AS origin_day,
           CASE WHEN c.is_since_first_window THEN e.created ELSE greatest(c.sentence_since, e.created) END
               AS evidence_day,
           e.created AS lacking_day, NULL::DATE AS having_day
    FROM {ECBD_CLOZE.name} AS c
    LEFT JOIN (SELECT release, page_id, CAST(page_created_at AS DATE) AS created FROM {ECBD_ENTITIES.name}) AS e
    ON e.release = c.release AND e.page_id = c.page_id
    WHERE c.origin_from IS NOT NULL AND evidence_day IS NOT NULL
"""


def _answers(benchmark: str, queries: str) -> str:
    return f"""
        SELECT '{benchmark}' AS benchmark, release, query_id AS item_id, window_start, subject_id, relation,
               unnest(list_distinct(list_transform(answers, lambda one: one.entity_id))) AS target_id
        FROM {queries}
    """


# An object that came back was right before, so its first spell counts; one without a known start may be of any age.
_FACTS = f"""
    WITH told AS (
        SELECT subject_id, relation, object_id, dump_date FROM {FACTS.name}
        UNION ALL SELECT subject_id, relation, object_id, dump_date FROM {UNDATED_STATEMENTS.name}
    ), first_told AS (
        SELECT subject_id, relation, object_id, min(dump_date) AS having_day FROM told GROUP BY ALL
    ), statements AS (
        SELECT f.subject_id, f.relation, f.object_id, f.having_day, max(d.dump_date) AS lacking_day
        FROM first_told AS f LEFT JOIN (SELECT entity_id, dump_date FROM {WIKIDATA_ENTITIES.name}) AS d
        ON d.entity_id = f.subject_id AND d.dump_date < f.having_day
        GROUP BY ALL
    ), origins AS (
        SELECT release, subject_id, relation, object_id,
               CASE WHEN count(*) = count(valid_from) THEN min(valid_from) END AS origin_day
        FROM {FACT_SPELLS.name} GROUP BY ALL
    )
    SELECT a.benchmark, a.release, a.item_id, a.target_id, a.window_start, o.origin_day, NULL::DATE AS evidence_day,
           s.lacking_day, s.having_day
    FROM ({_answers("templama", TEMPLAMA_QUERIES.name)}
          UNION ALL {_answers("dynamic_templama", DYNAMIC_TEMPLAMA_QUERIES.name)}) AS a
    JOIN origins AS o ON o.release = a.release AND o.subject_id = a.subject_id AND o.relation = a.relation
        AND o.object_id = a.target_id
    LEFT JOIN statements AS s
    ON s.subject_id = a.subject_id AND s.relation = a.relation AND s.object_id = a.target_id
    WHERE o.origin_day IS NOT NULL
"""

LEAK_FREE_ITEMS = View(
    name="leak_free_items",
    meaning="Items that a model cannot have read: all days on which they rest, as far as known, are on or after the "
    "day from which on the model knows nothing. days_after is the smallest number of days between; ask for more than "
    "0 for a buffer, since what is dated in the future may be announced. Models without that day, and items without a "
    "day of origin, are left out. origin_day: for ECBD the first day on which the entity may have begun; for facts "
    "that of the object's first spell, also if it came back later. evidence_day: for ECBD the first day of the first "
    "window whose snapshot has the sentence, but not before the page, and the page's day if that is the home's first "
    "window; null for facts, whose prompts quote no text. statement_day: for ECBD the day of the page's first "
    "revision; for facts the day of the last dump that describes the subject without the object, if that is on or "
    "after the model's day. A fact that a dump of the model's day or before has is left out. If no dump tells which "
    "of the two is true, the fact is in, and statement_is_known is false. target_id is the new object of "
    "scored_changes.",
    query=f"""
    WITH items AS (FROM ({_CLOZE}) UNION ALL BY NAME FROM ({_FACTS})), compared AS (
        SELECT m.model, i.benchmark, i.release, i.item_id, i.target_id, i.window_start, i.origin_day, i.evidence_day,
               CASE WHEN i.benchmark = 'ecbd' OR i.lacking_day >= m.knows_possibly_until THEN i.lacking_day END
                   AS statement_day,
               m.knows_possibly_until AS known_until
        FROM items AS i JOIN {MODELS.name} AS m ON i.origin_day >= m.knows_possibly_until
        WHERE i.having_day IS NULL OR i.having_day > m.knows_possibly_until
    )
    SELECT * EXCLUDE (known_until), statement_day IS NOT NULL AS statement_is_known,
           date_diff('day', known_until, least(origin_day, evidence_day, statement_day)) AS days_after
    FROM compared WHERE days_after >= 0
    """,
    needs=(MODELS.name,),
    optional=(
        ECBD_CLOZE.name,
        ECBD_ENTITIES.name,
        TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        FACT_SPELLS.name,
        FACTS.name,
        UNDATED_STATEMENTS.name,
        WIKIDATA_ENTITIES.name,
    ),
)

VIEWS = (LEAK_FREE_ITEMS,)
