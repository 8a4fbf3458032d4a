"""The promise of TempLAMA's table of queries about the future. Does not use Dagster."""

from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.templama.tables import FUTURE_RELATION_QUERIES

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
