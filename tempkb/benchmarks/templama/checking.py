"""The promises of TempLAMA's queries about the future and of their prompts. Does not use Dagster."""

from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.templama.tables import FUTURE_RELATION_QUERIES, TEMPLAMA_PROMPTS

# Table 9: the number of queries of each class, and the sizes of the two sets of answers.
NOT_TABLE_9 = """
    SELECT release, answer_set, change_class, count(*), min(len(answers)) FROM queries GROUP BY ALL
    HAVING (answer_set, change_class, count(*)) NOT IN (
        ('us_city', 'frequent', 15), ('us_city', 'rare', 20), ('us_city', 'never', 19),
        ('country', 'frequent', 10), ('country', 'rare', 10), ('country', 'never', 12))
    OR min(len(answers)) <> CASE answer_set WHEN 'us_city' THEN 200 ELSE 249 END
"""

OF_FUTURE_RELATIONS = (
    Promise(
        "table_9_is_whole",
        "There are 86 queries in their classes, with 200 cities and 249 countries as answers.",
        FUTURE_RELATION_QUERIES,
        NOT_TABLE_9,
        {"queries": FUTURE_RELATION_QUERIES},
    ),
)

NOT_CANDIDATES = """
    WITH closed AS (
        SELECT release, concat('future.', query_no) AS item_id, query, unnest(answers) AS one FROM queries
    )
    SELECT coalesce(c.release, p.release), coalesce(c.item_id, p.item_id), coalesce(c.one.entity_id, p.target_id)
    FROM closed AS c FULL JOIN (FROM prompts WHERE role = 'candidate') AS p
    ON p.release = c.release AND p.item_id = c.item_id AND p.target_id = c.one.entity_id
    WHERE p.item_id IS NULL OR c.item_id IS NULL
       OR concat(p.left_context, p.target, p.right_context) <> replace(c.query, '_X_', c.one.label)
"""

OF_FUTURE_PROMPTS = (
    Promise(
        "every_candidate_is_asked",
        "Every answer of the closed set of every query about the future, and nothing else, is a candidate.",
        TEMPLAMA_PROMPTS,
        NOT_CANDIDATES,
        {"queries": FUTURE_RELATION_QUERIES, "prompts": TEMPLAMA_PROMPTS},
    ),
)
