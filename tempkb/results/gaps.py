"""Declares the view of scores by the time between a window and the end of a model's knowledge."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.reading import Part, united
from tempkb.models.tables import MODELS
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.sql_estimates.aggregates import end_of_window
from tempkb.store.tables import View

_BY_WINDOW = united(
    [
        Part(f"SELECT '{one.name}' AS benchmark, * FROM ({one.reading.by_window.query})", one.reading.by_window.needs)
        for one in BENCHMARKS
        if one.reading and one.reading.by_window
    ]
)

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
    WITH ended AS (SELECT *, {end_of_window("window_start", "granularity")} AS window_end FROM ({_BY_WINDOW.query}))
    SELECT e.benchmark, e.release, e.model, e.scorer, e.split, e.variant, e.granularity, e.window_start, e.window_end,
           date_diff('day', m.knows_possibly_until, e.window_start) AS gap_days,
           date_diff('day', m.knows_certainly_until, e.window_start) AS gap_days_at_most,
           CASE WHEN m.knows_possibly_until IS NULL THEN NULL WHEN e.window_end <= m.knows_certainly_until THEN 'before'
                WHEN e.window_start >= m.knows_possibly_until THEN 'after' ELSE 'inside' END AS position,
           e.metric, e.aggregate, e.value, e.standard_error, e.low, e.high, e.n_items, e.n_clusters
    FROM ended AS e JOIN {MODELS.name} AS m USING (model)
    """,
    needs=(MODELS.name, PROMPT_SCORES.name),
    optional=_BY_WINDOW.needs,
)

VIEWS = (SCORES_BY_GAP,)
