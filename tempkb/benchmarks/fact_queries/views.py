"""Declares the views over the tables that both benchmarks of facts share."""

from tempkb.benchmarks.fact_queries.dates import DATE_PAIRS, DATE_RESULTS
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.prompting import scores_view
from tempkb.store.tables import View

INVERSE_FACTS = View(
    name="inverse_facts",
    meaning="Facts that occur from both sides and in different splits, such as a club's coach and a coach's club. A "
    "model that has seen one may infer the other.",
    query="""
    SELECT DISTINCT one.release, one.subject_id, one.relation, one.object_id, a.split,
           other.relation AS inverse_relation, b.split AS inverse_split
    FROM fact_spells AS one
    JOIN fact_spells AS other
        ON other.release = one.release AND other.subject_id = one.object_id AND other.object_id = one.subject_id
    JOIN fact_subjects AS a
        ON a.release = one.release AND a.relation = one.relation AND a.subject_id = one.subject_id
    JOIN fact_subjects AS b
        ON b.release = other.release AND b.relation = other.relation AND b.subject_id = other.subject_id
    WHERE a.split < b.split
    """,
    needs=(FACT_SPELLS.name, FACT_SUBJECTS.name),
)

FACT_SCORES = scores_view("fact_scores", "TempLAMA and DynamicTempLAMA", "templama_prompts", "dynamic_templama_prompts")

VIEWS = (INVERSE_FACTS, FACT_SCORES, DATE_PAIRS, DATE_RESULTS)


def shares_of_splits(name: str, queries: str) -> View:
    """Return the view of the sizes of a benchmark's splits."""
    return View(
        name=name,
        meaning="The sizes of the splits by relation and window. They vary, because subjects are drawn, not queries.",
        query=f"""
        SELECT release, relation, window_start, split, count(*) AS n_queries,
               count(*) / sum(count(*)) OVER (PARTITION BY release, relation, window_start) AS share
        FROM {queries} GROUP BY release, relation, window_start, split
        """,
        needs=(queries,),
    )
