"""Views of how well models answer by how they were trained: TempLAMA's tables 2, 3, 6 and 7 and its figure 2.

A mean over years gives each year the same weight: an item's weight is one over the items of its year. So the estimate
of a ratio by clusters gives it with its standard error, though a subject has items in several years.
"""

from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.reading import PERPLEXITY_METRIC
from tempkb.core.estimates_sql import EXP, FRACTION, estimates
from tempkb.models.corpora.tables import DATED_TEXT, TEXT_PROMPTS
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.models.tables import MODELS
from tempkb.models.training.tables import MODEL_TRAININGS
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.store.tables import View

ALL_YEARS = "all years"
_UNDATED, _DATED = "('once', 'undated', 'text_undated')", "('dated', 'text_dated')"
# What each model gave for each item of the test, and how much that weighs.
_MEASURED = f"""
    SELECT benchmark, release, model, NULL::VARCHAR AS scorer, decoder, wording, window_start, cluster_id, 1 AS weight,
           'f1' AS aggregate, 'mean of items, by year' AS metric, '{FRACTION}' AS form, f1 AS value
    FROM {JUDGED_ANSWERS.name} WHERE split = 'test' AND f1 IS NOT NULL
    UNION ALL BY NAME
    SELECT benchmark, release, model, scorer, NULL::VARCHAR AS decoder, variant AS wording, window_start, cluster_id,
           n_tokens AS weight, 'ppl_token' AS aggregate, {PERPLEXITY_METRIC} AS metric, '{EXP}' AS form,
           -log_prob_nats / n_tokens AS value
    FROM (
        SELECT '{DATED_TEXT}' AS benchmark, p.release, p.window_start, p.cluster_id, p.variant, s.model, s.scorer,
               s.status, s.n_tokens, s.log_prob_nats
        FROM {TEXT_PROMPTS.name} AS p JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
        UNION ALL BY NAME
        SELECT r.benchmark, p.release, p.window_start, p.cluster_id, p.variant, p.model, p.scorer, p.status, p.n_tokens,
               p.log_prob_nats
        FROM fact_scores AS p JOIN (SELECT release, benchmark FROM {FACT_RELEASES.name}) AS r USING (release)
        WHERE p.split = 'test' AND p.role = 'current' AND p.variant IN ('undated', 'dated')
            AND regexp_full_match(p.item_id, '[^_]+_[^_]+_[^_]+')  -- by the first template of its relation
    )
    WHERE status = 'scored' AND n_tokens > 0
"""
_IN_YEARS = "CASE WHEN {0} = {1} THEN {0}::VARCHAR ELSE {0} || '\u2013' || {1} END"
_SPAN = "year(first_period) AS first_year, year(until - 1) AS last_year"
_OF = "benchmark, release, model, scorer, decoder, wording, metric, aggregate"
_SUMS_BY_YEARS = f"""
    WITH trained AS MATERIALIZED (
        SELECT *, {_SPAN}, CASE WHEN regime IN ('temporal', 'yearly') THEN 'dated' ELSE 'undated' END AS asked
        FROM {MODEL_TRAININGS.name}
    ), spans AS (
        SELECT DISTINCT first_year AS from_year, last_year AS to_year FROM trained WHERE first_year < last_year
    ), compared AS (
        SELECT model, CASE WHEN corpus IS NULL THEN 'queries' ELSE regime END AS regime, base, n_parameters, asked,
               first_year,
               {_IN_YEARS.format("first_year", "last_year")} AS trained_on FROM trained
        UNION ALL BY NAME
        SELECT model, 'none' AS regime, n_parameters, 'undated' AS asked
        FROM {MODELS.name} ANTI JOIN trained USING (model)
    ), summed AS (
        -- A model that is told the time is asked by dates, and others without.
        SELECT {_OF}, form, year(window_start) AS year, cluster_id AS cluster, regime, base, n_parameters, trained_on,
               coalesce(first_year, 9999) AS first_year, sum(weight) AS n, sum(weight * value) AS s, count(*) AS items
        FROM ({_MEASURED}) JOIN compared USING (model)
        WHERE CASE asked WHEN 'dated' THEN wording IN {_DATED} ELSE wording IN {_UNDATED} END
        GROUP BY ALL
    ), placed AS (
        SELECT * EXCLUDE (first_year), {_IN_YEARS.format("from_year", "to_year")} AS span, from_year,
               unnest(CASE WHEN year < from_year THEN ['before'] WHEN year <= to_year THEN ['training', '{ALL_YEARS}']
                      ELSE ['later', '{ALL_YEARS}'] END) AS years
        FROM summed CROSS JOIN spans WHERE year >= least(first_year, from_year)
    )
    SELECT {_OF}, form, regime, base, n_parameters, trained_on, span, years, 'test' AS split, cluster,
           sum(items) AS items, sum(n / whole) AS n, sum(s / whole) AS s
    FROM (
        SELECT *, CASE form WHEN '{EXP}' THEN 1
                  ELSE sum(n) OVER (PARTITION BY {_OF}, span, years, year) END AS whole
        FROM placed
    ) GROUP BY ALL
"""

ANSWERS_BY_REGIME = View(
    name="answers_by_regime",
    meaning="How well models answer by how they were trained (model_trainings; regime queries: of queries alone, "
    "none: not trained here), with standard errors by subject or page. benchmark is dated_text (release: the corpus), "
    "or that of queries; items are those of the test. years: training (the years of span), later, before, or all years "
    "(training and later); spans are those on which models were trained that have read more than one year, and "
    "trained_on is the model's own. f1 is the mean of the means of years; ppl_token is exp of the sum of negative "
    "log-probabilities over the sum of tokens. Models that are told the time are asked by date, and others without.",
    query=estimates(
        _SUMS_BY_YEARS, (*_OF.split(", "), "regime", "base", "n_parameters", "trained_on", "span", "years", "split")
    ),
    needs=(MODEL_TRAININGS.name, MODELS.name),
    optional=(JUDGED_ANSWERS.name, TEXT_PROMPTS.name, PROMPT_SCORES.name, FACT_RELEASES.name, "fact_scores"),
)

_OF_GAPS = "benchmark, release, base, n_parameters, corpus, span, decoder, years_after, split"
_SUMS_BY_GAP = f"""
    WITH trained AS MATERIALIZED (
        SELECT model, base, n_parameters, corpus, {_SPAN} FROM {MODEL_TRAININGS.name}
        WHERE regime <> 'temporal' AND first_year = last_year
    ), asked AS (
        SELECT base, n_parameters, corpus, min(first_year) AS from_year, max(last_year) AS to_year FROM trained
        GROUP BY ALL HAVING from_year < to_year
    ), pairs AS (
        SELECT benchmark, release, base, n_parameters, corpus, decoder, model, f1, cluster_id AS cluster,
               {_IN_YEARS.format("from_year", "to_year")} AS span,
               year(window_start) AS year, year - first_year AS years_after
        FROM {JUDGED_ANSWERS.name} JOIN trained USING (model) JOIN asked USING (base, n_parameters, corpus)
        WHERE split = 'test' AND f1 IS NOT NULL AND wording IN {_UNDATED} AND year BETWEEN from_year AND to_year
    )
    SELECT {_OF_GAPS.removesuffix(", split")}, 'test' AS split,
           'mean of items, by pair of years' AS metric, 'f1' AS aggregate, '{FRACTION}' AS form, cluster,
           sum(1 / whole) AS n, sum(f1 / whole) AS s, count(*) AS items
    FROM (SELECT *, count(*) OVER (PARTITION BY benchmark, release, decoder, model, year) AS whole FROM pairs)
    GROUP BY ALL
"""

ANSWERS_BY_YEARS_APART = View(
    name="answers_by_years_apart",
    meaning="Mean F1 of answers of models that were trained on a single year, by years_after: the years from that one "
    "to the year of the question, below 0 before it. Models of one base, size and corpus count together: value is "
    "the mean over all pairs of such a model and a year of the test of span, which is from the first to the last year "
    "on which one of them was trained. Standard errors are by subject or page. Questions have no date.",
    query=estimates(_SUMS_BY_GAP, (*_OF_GAPS.split(", "), "metric", "aggregate")),
    needs=(MODEL_TRAININGS.name,),
    optional=(JUDGED_ANSWERS.name,),
)

VIEWS = (ANSWERS_BY_REGIME, ANSWERS_BY_YEARS_APART)
