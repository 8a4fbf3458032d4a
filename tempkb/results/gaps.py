"""Declares the view of scores by the time between a window and the end of a model's knowledge."""

from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.models.tables import MODELS
from tempkb.results.clustered_sql import EXP, estimates
from tempkb.results.fragments import ALL, PERPLEXITY_METRIC, end_of_window, window_of
from tempkb.results.perplexities import CLOZE_SCORES, DYNAMIC_TEMPLAMA_RESULTS, ONCE, TEMPLAMA_RESULTS
from tempkb.results.preferences import SCORED_CHANGES, preferences
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.tables import View

# An entity counts in the window of its origin, which is as long as the origin is known finely, and in that of the year.
_SUMS_BY_ORIGIN = f"""
    WITH placed AS (
        SELECT *, unnest(list_distinct([origin_granularity, 'year'])) AS granularity FROM ({CLOZE_SCORES})
        WHERE subset = 'odie' AND variant = 'original'
    ), entities AS (
        SELECT release, model, scorer, split, variant, granularity,
               {window_of("origin_from", "granularity")} AS window_start, cluster, count(*) AS items,
               avg(nats) AS s
        FROM placed GROUP BY ALL
    )
    SELECT *, '{EXP}' AS form, 1 AS n, {PERPLEXITY_METRIC} AS metric, 'ppl_entity_macro' AS aggregate FROM entities
"""
_BY_ORIGIN = estimates(
    _SUMS_BY_ORIGIN,
    ("release", "model", "scorer", "split", "variant", "granularity", "window_start", "metric", "aggregate"),
)
_SHOWN = """release, model, scorer, split, {variant} AS variant, window_start, metric, aggregate, value, standard_error,
    low, high, n_items, n_clusters"""
_OF_CHANGES = "'prefers_new', 'prefers_new_raw', 'control_prefers_new', 'prefers_new_minus_control'"

SCORES_BY_GAP = View(
    name="scores_by_gap",
    meaning="Scores of all benchmarks by window, with the time from the end of the model's knowledge to the window: "
    "gap_days is the window's first day minus the day from which on the model knows nothing, gap_days_at_most that "
    "minus the day until which it certainly knows; position says whether the window lies before, inside (even in "
    "part) or after these days. All three are null for models without them. ECBD: ppl_entity_macro of the variant "
    "original by window of origin, as fine as each origin is known, and by year. TempLAMA and DynamicTempLAMA: "
    "ppl_token of the window's answers, each once. DynamicTempLAMA: aggregates of prefers_new over all pairs, by the "
    "window in which the new object has begun.",
    query=f"""
    WITH facts AS (
        SELECT 'templama' AS benchmark, {_SHOWN.format(variant="variant")} FROM {TEMPLAMA_RESULTS.name}
        WHERE window_start IS NOT NULL AND variant = '{ONCE}'
        UNION ALL
        SELECT 'dynamic_templama', {_SHOWN.format(variant=f"'{ONCE}'")} FROM {DYNAMIC_TEMPLAMA_RESULTS.name}
        WHERE window_start IS NOT NULL AND change = '{ALL}' AND aggregate = 'ppl_token'
        UNION ALL
        SELECT 'dynamic_templama', {_SHOWN.format(variant=f"'{ONCE}'")} FROM ({preferences("arrival_window_start")})
        WHERE window_start IS NOT NULL AND pairs = '{ALL}' AND aggregate IN ({_OF_CHANGES})
    ), every AS (
        SELECT facts.*, r.granularity FROM facts JOIN {FACT_RELEASES.name} AS r USING (release)
        UNION ALL BY NAME
        SELECT 'ecbd' AS benchmark, * FROM ({_BY_ORIGIN})
    ), ended AS (SELECT *, {end_of_window("window_start", "granularity")} AS window_end FROM every)
    SELECT e.benchmark, e.release, e.model, e.scorer, e.split, e.variant, e.granularity, e.window_start, e.window_end,
           date_diff('day', m.knows_possibly_until, e.window_start) AS gap_days,
           date_diff('day', m.knows_certainly_until, e.window_start) AS gap_days_at_most,
           CASE WHEN m.knows_possibly_until IS NULL THEN NULL WHEN e.window_end <= m.knows_certainly_until THEN 'before'
                WHEN e.window_start >= m.knows_possibly_until THEN 'after' ELSE 'inside' END AS position,
           e.metric, e.aggregate, e.value, e.standard_error, e.low, e.high, e.n_items, e.n_clusters
    FROM ended AS e JOIN {MODELS.name} AS m USING (model)
    """,
    needs=(MODELS.name, PROMPT_SCORES.name),
    optional=(
        ECBD_PROMPTS.name,
        ECBD_CLOZE.name,
        FACT_RELEASES.name,
        TEMPLAMA_RESULTS.name,
        DYNAMIC_TEMPLAMA_RESULTS.name,
        SCORED_CHANGES.name,
    ),
)

VIEWS = (SCORES_BY_GAP,)
