"""Declares the room of the tables that TempLAMA and DynamicTempLAMA share, and views over them."""

from tempkb.benchmarks.fact_queries.prompts import DATES
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS, TABLES
from tempkb.benchmarks.prompting import scores_view
from tempkb.core.estimates_sql import ALL, SHARE, estimates, pooled
from tempkb.engine.room import Room
from tempkb.store.tables import View

_SCORES = "fact_scores"

DATE_PAIRS = View(
    name="date_pairs",
    meaning="Facts that a model and scorer have scored after a date on which the object holds, and after one on which "
    "it does not: a row for each of up to five wrong dates, which lie outside every validity interval of the object, "
    "widened by the precision of its days. is_won: the object is more likely after the right date. Which facts (at "
    "most 2,000 of a release) and dates are asked about follows from hashes. Asked for by tempkb score --variant "
    "dates.",
    query=f"""
    WITH asked AS (
        SELECT *, split_part(item_id, '@', 1) AS query_id, split_part(item_id, '@', 2) AS date
        FROM {_SCORES} WHERE variant = '{DATES}' AND status = 'scored'
    )
    SELECT r.release, r.model, r.scorer, r.window_start, r.query_id, r.cluster_id AS subject_id,
           r.target_id AS object_id, r.target AS object_label, r.split, r.date AS right_date, w.date AS wrong_date,
           r.log_prob_nats AS right_nats, w.log_prob_nats AS wrong_nats, right_nats > wrong_nats AS is_won
    FROM asked AS r
    JOIN asked AS w ON w.model = r.model AND w.scorer = r.scorer AND w.release = r.release
        AND w.query_id = r.query_id AND w.target_id = r.target_id AND w.role = 'wrong_date'
    WHERE r.role = 'current'
    """,
    needs=(_SCORES,),
)

_OF, _CHANCE = "release, model, scorer, split", "chance"
_PLAIN = f"""
    WITH spells AS (
        SELECT {_OF}, window_start, subject_id, count(*) AS n_pairs, count(*) FILTER (is_won) AS n_won
        FROM {DATE_PAIRS.name} GROUP BY {_OF}, window_start, subject_id, query_id, object_id
    ), measured AS (
        SELECT *, unnest([
            {{'aggregate': 'win_rate', 'metric': 'share of pairs of dates', 'n': n_pairs, 's': n_won}},
            {{'aggregate': 'robustness', 'metric': 'share of spells', 'n': 1, 's': (n_won = n_pairs)::INTEGER}},
            {{'aggregate': '{_CHANCE}', 'metric': 'share of spells', 'n': 1, 's': 1 / (n_pairs + 1)}}
        ], max_depth := 2)
        FROM spells
    )
    SELECT {_OF}, window_start, metric, aggregate, '{SHARE}' AS form, subject_id AS cluster, sum(n) AS n, sum(s) AS s,
           sum(n) AS items
    FROM measured GROUP BY ALL
"""
# A model that gives some date more of everything wins all pairs in which it is the right one, and loses those in which
# it is the wrong one. If both directions of two dates have the same weight, such a model has one half.
_BALANCED = f"""
    WITH pairs AS (
        SELECT * EXCLUDE (split), unnest(['{ALL}', split]) AS split FROM {DATE_PAIRS.name}
    ), directions AS (
        SELECT {_OF}, right_date, wrong_date, count(*) AS n FROM pairs GROUP BY ALL
    ), weights AS (
        SELECT there.*, (there.n + back.n) / (2 * there.n) AS weight
        FROM directions AS there JOIN directions AS back
        ON back.release = there.release AND back.model = there.model AND back.scorer = there.scorer
            AND back.split = there.split AND back.right_date = there.wrong_date AND back.wrong_date = there.right_date
    )
    SELECT {_OF}, NULL::DATE AS window_start, 'share of pairs of dates' AS metric, 'win_rate_balanced' AS aggregate,
           '{SHARE}' AS form, subject_id AS cluster, sum(weight) AS n, sum(weight) FILTER (is_won) AS won,
           coalesce(won, 0) AS s, count(*) AS items
    FROM pairs JOIN weights USING ({_OF}, right_date, wrong_date) GROUP BY ALL
"""
_KEYS = ("release", "model", "scorer", "metric", "aggregate", "form", "cluster")
_PLAIN_SUMS = pooled(_PLAIN, _KEYS, {"split": f"'{ALL}'", "window_start": "NULL"})
_ESTIMATES = estimates(
    f"FROM ({_PLAIN_SUMS}) UNION ALL BY NAME SELECT * EXCLUDE (won) FROM ({_BALANCED})",
    ("release", "model", "scorer", "split", "window_start", "metric", "aggregate"),
)

DATE_RESULTS = View(
    name="date_results",
    meaning="Do models know when facts held? By window of the right date (null: all windows) and split (all: all "
    "splits), with standard errors by subject. win_rate is the share of pairs of a right and a wrong date in which the "
    "object is more likely after the right one; robustness is the share of facts whose right date wins all of its up "
    "to five pairs. A model may give some date more of every object, so win_rate is not one half of a model that knows "
    "no dates. It is for win_rate_balanced, in which both directions of two dates have the same weight; pairs of dates "
    "that are asked in one direction only do not count. chance is that of a model for which all orders of the dates of "
    "a fact are equally likely: one half, and of robustness the mean over facts of 1 / (1 + wrong dates).",
    query=f"""
    SELECT *, CASE aggregate WHEN 'robustness' THEN max(value) FILTER (aggregate = '{_CHANCE}') OVER (
        PARTITION BY {_OF}, window_start) ELSE 0.5 END AS {_CHANCE}
    FROM ({_ESTIMATES}) QUALIFY aggregate <> '{_CHANCE}'
    """,
    needs=(DATE_PAIRS.name,),
)


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


ROOM = Room("fact_queries", TABLES, VIEWS)
