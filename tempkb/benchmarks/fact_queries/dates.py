"""Declares the views of what models make of dates: a fact after a date on which it holds, and after others."""

from tempkb.benchmarks.fact_queries.prompts import DATES
from tempkb.sql_estimates.aggregates import ALL, pooled
from tempkb.sql_estimates.clustered_sql import SHARE, estimates
from tempkb.store.tables import View

_SCORES = "fact_scores"

DATE_CHOICES = View(
    name="date_choices",
    meaning="Spells of facts that a model and scorer have scored after a date on which the object holds, and after up "
    "to five on which it does not: how many of these are there, and how many are less likely than the right one, by "
    "the log-probability of the object. Wrong dates lie outside every spell of the object, widened by the precision "
    "of its days; which spells (at most 2,000 of a release) and dates are asked about follows from hashes. Asked for "
    "by tempkb score --variant dates.",
    query=f"""
    WITH asked AS (
        SELECT *, split_part(item_id, '@', 1) AS query_id, split_part(item_id, '@', 2) AS date
        FROM {_SCORES} WHERE variant = '{DATES}' AND status = 'scored'
    )
    SELECT r.model, r.scorer, r.release, r.window_start, r.query_id, r.cluster_id AS subject_id,
           r.target_id AS object_id, r.target AS object_label, r.split, r.date AS right_date,
           r.log_prob_nats AS right_nats, count(*) AS n_wrong,
           count(*) FILTER (WHERE r.log_prob_nats > w.log_prob_nats) AS n_won, max(w.log_prob_nats) AS best_wrong_nats
    FROM asked AS r
    JOIN asked AS w ON w.model = r.model AND w.scorer = r.scorer AND w.release = r.release
        AND w.query_id = r.query_id AND w.target_id = r.target_id AND w.role = 'wrong_date'
    WHERE r.role = 'current'
    GROUP BY ALL
    """,
    needs=(_SCORES,),
)

_SUMS = f"""
    WITH measured AS (
        SELECT *, unnest([
            {{'aggregate': 'win_rate', 'metric': 'share of pairs of dates', 'n': n_wrong, 's': n_won}},
            {{'aggregate': 'robustness', 'metric': 'share of spells', 'n': 1, 's': (n_won = n_wrong)::INTEGER}}
        ], max_depth := 2)
        FROM {DATE_CHOICES.name}
    )
    SELECT release, model, scorer, split, window_start, metric, aggregate, '{SHARE}' AS form, subject_id AS cluster, sum(n) AS n,
           sum(s) AS s, sum(n) AS items
    FROM measured GROUP BY ALL
"""

DATE_RESULTS = View(
    name="date_results",
    meaning="Do models know when facts held? By window of the right date (null: all windows) and split (all: all splits), with standard "
    "errors by subject. win_rate is "
    "the share of pairs of a right and a wrong date in which the object is more likely after the right one: one half "
    "for a model that makes nothing of dates. robustness is the share of spells whose right date is above all of its "
    "wrong ones, of which there are up to five.",
    query=estimates(
        pooled(
            _SUMS,
            ("release", "model", "scorer", "metric", "aggregate", "form", "cluster"),
            {"split": f"'{ALL}'", "window_start": "NULL"},
        ),
        ("release", "model", "scorer", "split", "window_start", "metric", "aggregate"),
    ),
    needs=(DATE_CHOICES.name,),
)
