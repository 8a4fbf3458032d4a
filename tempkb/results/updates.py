"""The view of models that were brought up to date, beside those that were trained anew: TempLAMA's Figure 5."""

from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.core.estimates_sql import FRACTION, SHARE, estimates
from tempkb.models.training.tables import MODEL_TRAININGS
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.store.tables import View

_OF = "benchmark, release, regime, base, model, alpha, newest_share, steps, years, way, metric, aggregate"
# Each year has the same weight, as in TempLAMA's means.
_SUMS = f"""
    WITH updates AS (
        SELECT DISTINCT b.regime, b.corpus, b.model AS base, b.first_period, b.until AS since, u.until
        FROM {MODEL_TRAININGS.name} AS b JOIN {MODEL_TRAININGS.name} AS u ON u.base = b.model AND u.regime = b.regime
        WHERE u.until > b.until
    ), compared AS MATERIALIZED (
        SELECT u.*, m.model, m.newest_share, m.steps,
               CASE WHEN m.model = u.base THEN 'before' WHEN m.base <> u.base THEN 'anew'
                    ELSE coalesce(m.newest_share::VARCHAR, 'even') END AS alpha
        FROM updates AS u JOIN {MODEL_TRAININGS.name} AS m USING (regime)
        WHERE m.model = u.base OR (m.until = u.until AND (m.base = u.base OR (
            m.first_period = u.first_period AND m.corpus = u.corpus
            AND m.base NOT IN (SELECT model FROM {MODEL_TRAININGS.name})
        )))
    ), scored AS MATERIALIZED (
        SELECT release, window_start, item_id, variant, role, cluster_id, model, scorer, log_prob_nats FROM fact_scores
        WHERE status = 'scored' AND split = 'test' AND role IN ('current', 'previous')
            AND model IN (SELECT model FROM compared)
    ), measured AS (
        SELECT benchmark, release, model, decoder AS way, wording, window_start, cluster_id AS cluster,
               'mean of items, by year' AS metric, 'f1' AS aggregate, '{FRACTION}' AS form, f1 AS value
        FROM {JUDGED_ANSWERS.name} WHERE split = 'test' AND f1 IS NOT NULL
        UNION ALL BY NAME
        SELECT benchmark, release, model, scorer AS way, variant AS wording, r.window_start, r.cluster_id AS cluster,
               'share of pairs, by year' AS metric, 'prefers_right' AS aggregate, '{SHARE}' AS form,
               (r.log_prob_nats > p.log_prob_nats)::INTEGER AS value
        FROM scored AS r JOIN scored AS p USING (release, item_id, variant, model, scorer)
        JOIN {FACT_RELEASES.name} USING (release)
        WHERE r.role = 'current' AND p.role = 'previous'
    ), placed AS (
        SELECT {_OF}, form, year(window_start) AS year, cluster, value
        FROM (
            SELECT *, CASE WHEN window_start < since THEN 'old' ELSE 'new' END AS years
            FROM measured JOIN compared USING (model) WHERE window_start >= first_period AND window_start < until
        )
        -- A model that is told the time is asked by dates, and others without.
        WHERE CASE WHEN regime IN ('temporal', 'yearly') THEN wording IN ('dated', 'text_dated')
              ELSE wording IN ('once', 'undated', 'text_undated') END
    )
    SELECT {_OF}, form, cluster, count(*) AS items, sum(1 / whole) AS n, sum(value / whole) AS s
    FROM (SELECT *, count(*) OVER (PARTITION BY {_OF}, year) AS whole FROM placed) GROUP BY ALL
"""

UPDATED_MODELS = View(
    name="updated_models",
    meaning="What becomes of models that are brought up to date (trained further, by the same regime, with texts of "
    "later periods), with standard errors by subject or page. alpha: the share of the last period (newest_share), even "
    "if it was not said, before for the base itself, and anew for a model that begins with another checkpoint and has "
    "read as many periods. years: old (that the base has read) or new (from then on to the last ones of the update). "
    "aggregate: f1 of answers, or prefers_right, the share of pairs in which a right object is more probable than one "
    "of the year before that no longer is, both on items of the test; each year has the same weight. Temporal models "
    "are asked by date, others without.",
    query=estimates(_SUMS, _OF.split(", ")),
    needs=(MODEL_TRAININGS.name,),
    optional=(JUDGED_ANSWERS.name, "fact_scores", FACT_RELEASES.name),
)
