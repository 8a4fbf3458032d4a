"""Declares the views of TempLAMA: the paper's table 8 for any wiki and period, and the sizes of the splits."""

from tempkb.benchmarks.fact_queries.views import shares_of_splits
from tempkb.benchmarks.templama.tables import TEMPLAMA_QUERIES
from tempkb.store.tables import View

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
