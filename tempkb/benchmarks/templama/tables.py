"""Declares the tables of TempLAMA, queries by window and about the future (table 9), and views, such as table 8."""

from tempkb.benchmarks.fact_queries.prompts import VARIANTS
from tempkb.benchmarks.fact_queries.tables import columns_of_facts, fact_prompts_table, queries_table
from tempkb.benchmarks.fact_queries.views import shares_of_splits
from tempkb.store.columns import rules
from tempkb.store.tables import View, table_of_releases

TEMPLAMA_QUERIES = queries_table(
    "templama_queries",
    "The queries of TempLAMA: one for each subject, relation and year (or other window), with all its answers.",
)

FUTURE_RELATION_QUERIES = table_of_releases(
    name="future_relation_queries",
    meaning="TempLAMA's table 9: 86 queries about the future with a closed set of answers, by how often they change.",
    columns=columns_of_facts("""
        wiki, release
        query_no SMALLINT: number of the query in table 9, from 1
        query
        change_class VARCHAR: frequent, rare or never: how often the answer changes
        answer_set VARCHAR: us_city (the 200 largest cities) or country (the 249 of ISO 3166-1)
        answer_set_source VARCHAR: library and version from which the set was made
        answers ANSWER[]: all possible answers; entity_id is a GeoNames number or an ISO code
    """),
    key=("query_no",),
    rules=rules("""
        known_words: classes and sets have known values
            change_class NOT IN ('frequent', 'rare', 'never') OR answer_set NOT IN ('us_city', 'country')
        is_a_question: a query has one _X_
            len(string_split(query, '_X_')) <> 2
    """),
)

FUTURE = "future"
"""Variant of the prompts of queries about the future, and the end of the name of their partition."""
PROMPT_VARIANTS = {**VARIANTS, FUTURE: "a query about the future with an answer of its closed set"}

TEMPLAMA_PROMPTS = fact_prompts_table(
    "templama", "TempLAMA", PROMPT_VARIANTS, ", or future.<query_no> for a query about the future"
)

TABLES = (TEMPLAMA_QUERIES, FUTURE_RELATION_QUERIES, TEMPLAMA_PROMPTS)


RELATIONS = View(
    name="templama_relations",
    meaning="The paper's table 8: the number of queries by relation, with an example of each.",
    query="""
    SELECT release, relation, count(*) AS n_queries, count(DISTINCT subject_id) AS n_subjects,
           arg_min(query, (window_start, query_id)) AS such_as
    FROM templama_queries GROUP BY release, relation
    """,
    needs=(TEMPLAMA_QUERIES.name,),
)

SPLIT_SHARES = shares_of_splits("templama_split_shares", TEMPLAMA_QUERIES.name)

VIEWS = (RELATIONS, SPLIT_SHARES)
