"""Views of how well models answer by how they were trained: TempLAMA's tables 2, 3, 6 and 7, and its figures 2 and 5.

A mean over years gives each year the same weight: an item's weight is one over the items of its year. So the estimate
of a ratio by clusters gives it with its standard error, though a subject has items in several years.
"""

from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.reading import PERPLEXITY_METRIC
from tempkb.core.estimates_sql import EXP, FRACTION, SHARE, estimates
from tempkb.models.corpora.tables import DATED_TEXT, TEXT_PROMPTS
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.models.tables import MODELS
from tempkb.models.training.tables import MODEL_TRAININGS
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.store.tables import View

ALL_YEARS = "all years"
_UNDATED, _DATED = ["once", "undated", "text_undated"], ["dated", "text_dated"]
# A model that is told the time is asked by dates, and others without.
_IS_ASKED = f"list_contains(CASE WHEN is_told THEN {_DATED} ELSE {_UNDATED} END, wording)"
_TOLD = "regime IN ('temporal', 'yearly') AS is_told"
_F1 = f"""
    SELECT benchmark, release, model, decoder, wording, window_start, year(window_start) AS year, cluster_id AS cluster,
           'mean of items, by year' AS metric, 'f1' AS aggregate, '{FRACTION}' AS form, f1 AS value
    FROM {JUDGED_ANSWERS.name} WHERE split = 'test' AND f1 IS NOT NULL
"""
# What each model gave for each item of the test, and how much that weighs.
_MEASURED = f"""
    SELECT *, NULL::VARCHAR AS scorer, 1 AS weight FROM ({_F1})
    UNION ALL BY NAME
    SELECT benchmark, release, model, scorer, variant AS wording, year(window_start) AS year, cluster_id AS cluster,
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
        SELECT *, {_SPAN}, {_TOLD} FROM {MODEL_TRAININGS.name}
    ), spans AS (
        SELECT DISTINCT first_year AS from_year, last_year AS to_year FROM trained WHERE first_year < last_year
    ), compared AS (
        SELECT model, CASE WHEN corpus IS NULL THEN 'queries' ELSE regime END AS regime, base, n_parameters, is_told,
               first_year,
               {_IN_YEARS.format("first_year", "last_year")} AS trained_on FROM trained
        UNION ALL BY NAME
        SELECT model, 'none' AS regime, n_parameters, false AS is_told
        FROM {MODELS.name} ANTI JOIN trained USING (model)
    ), summed AS (
        SELECT {_OF}, form, year, cluster, regime, base, n_parameters, trained_on,
               coalesce(first_year, 9999) AS first_year, sum(weight) AS n, sum(weight * value) AS s, count(*) AS items
        FROM ({_MEASURED}) JOIN compared USING (model) WHERE {_IS_ASKED} GROUP BY ALL
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
        SELECT *, {_IN_YEARS.format("from_year", "to_year")} AS span, year - first_year AS years_after
        FROM ({_F1}) JOIN trained USING (model) JOIN asked USING (base, n_parameters, corpus)
        WHERE list_contains({_UNDATED}, wording) AND year BETWEEN from_year AND to_year
    )
    SELECT {_OF_GAPS.removesuffix(", split")}, 'test' AS split,
           'mean of items, by pair of years' AS metric, aggregate, form, cluster,
           sum(1 / whole) AS n, sum(value / whole) AS s, count(*) AS items
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

_OF_UPDATES = "benchmark, release, regime, base, model, alpha, newest_share, steps, years, way, metric, aggregate"
# Each year has the same weight, as in TempLAMA's means.
_SUMS_OF_UPDATES = f"""
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
        SELECT * EXCLUDE (decoder), decoder AS way FROM ({_F1})
        UNION ALL BY NAME
        SELECT benchmark, release, model, scorer AS way, variant AS wording, r.window_start,
               year(r.window_start) AS year, r.cluster_id AS cluster,
               'share of pairs, by year' AS metric, 'prefers_right' AS aggregate, '{SHARE}' AS form,
               (r.log_prob_nats > p.log_prob_nats)::INTEGER AS value
        FROM scored AS r JOIN scored AS p USING (release, item_id, variant, model, scorer)
        JOIN {FACT_RELEASES.name} USING (release)
        WHERE r.role = 'current' AND p.role = 'previous'
    ), placed AS (
        SELECT *, CASE WHEN window_start < since THEN 'old' ELSE 'new' END AS years, {_TOLD}
        FROM measured JOIN compared USING (model)
        WHERE window_start >= first_period AND window_start < until AND {_IS_ASKED}
    )
    SELECT {_OF_UPDATES}, form, cluster, count(*) AS items, sum(1 / whole) AS n, sum(value / whole) AS s
    FROM (SELECT *, count(*) OVER (PARTITION BY {_OF_UPDATES}, year) AS whole FROM placed) GROUP BY ALL
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
    query=estimates(_SUMS_OF_UPDATES, _OF_UPDATES.split(", ")),
    needs=(MODEL_TRAININGS.name,),
    optional=(JUDGED_ANSWERS.name, "fact_scores", FACT_RELEASES.name),
)

VIEWS = (ANSWERS_BY_REGIME, ANSWERS_BY_YEARS_APART)
