"""Declares the tables of TempLAMA: queries by window, and the queries about the future of the paper's table 9."""

from tempkb.benchmarks.fact_queries.prompts import VARIANTS
from tempkb.benchmarks.fact_queries.tables import ANSWER, RELEASE, fact_prompts_table, queries_table
from tempkb.dumps.tables import WIKI
from tempkb.store.tables import Column, Rule, table_of_releases
from tempkb.store.types import INT16, STRING, list_of

TEMPLAMA_QUERIES = queries_table(
    "templama_queries",
    "The queries of TempLAMA: one for each subject, relation and year (or other window), with all its answers.",
)

FUTURE_RELATION_QUERIES = table_of_releases(
    name="future_relation_queries",
    meaning="TempLAMA's table 9: 86 queries about the future with a closed set of answers, by how often they change.",
    columns=(
        WIKI,
        RELEASE,
        Column("query_no", INT16, "number of the query in table 9, from 1"),
        Column("query", STRING, "text of the query, with _X_ in place of the answer"),
        Column("change_class", STRING, "frequent, rare or never: how often the answer changes"),
        Column("answer_set", STRING, "us_city (the 200 largest cities) or country (the 249 of ISO 3166-1)"),
        Column("answer_set_source", STRING, "library and version from which the set was made"),
        Column("answers", list_of(ANSWER), "all possible answers; entity_id is a GeoNames number or an ISO code"),
    ),
    key=("query_no",),
    rules=(
        Rule(
            "known_words",
            "classes and sets have known values",
            "change_class NOT IN ('frequent', 'rare', 'never') OR answer_set NOT IN ('us_city', 'country')",
        ),
        Rule("is_a_question", "a query has one _X_", "len(string_split(query, '_X_')) <> 2"),
    ),
)

FUTURE = "future"
"""Variant of the prompts of queries about the future, and the end of the name of their partition."""
PROMPT_VARIANTS = {**VARIANTS, FUTURE: "a query about the future with an answer of its closed set"}

TEMPLAMA_PROMPTS = fact_prompts_table(
    "templama", "TempLAMA", PROMPT_VARIANTS, ", or future.<query_no> for a query about the future"
)

TABLES = (TEMPLAMA_QUERIES, FUTURE_RELATION_QUERIES, TEMPLAMA_PROMPTS)
