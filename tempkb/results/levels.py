"""Declares the view `knows`: what models know of each window, compared with what they know of three years earlier.

The same figures as those of `knowing`, by closed formulas, so that SQL has them for all windows at once. Ranks need all
pairs of models, and are in the table `knowledge` and on the screen only.
"""

from tempkb.benchmarks.dynamic_templama.preferences import SCORED_CHANGES
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS
from tempkb.benchmarks.reading import PERPLEXITY_METRIC
from tempkb.models.tables import MODELS
from tempkb.results.leaks import LEAK_FREE_ITEMS
from tempkb.results.requests import BUFFER_DAYS, YEARS_BEFORE
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.sql_estimates.clustered_sql import change, detectable, exponentiated, macro_mean, proportion
from tempkb.store.tables import View

_GROUPS = ("release", "split", "metric", "aggregate", "model", "scorer", "window_from", "window_to")


def _clean(end: str) -> str:
    """SQL: does an item lie wholly in what the model may know, or wholly after it, as far as that is known?"""
    return (
        f"(m.knows_certainly_until IS NULL OR {end} <= m.knows_certainly_until OR f.days_after >= {BUFFER_DAYS}) "
        "AS is_clean"
    )


# Items of both aggregates: their window, their value, and whether they count in it. Any of them may count as earlier.
_CHANGES = f"""
    SELECT c.release, 'all' AS split, 'share of changes' AS metric, 'prefers_new' AS aggregate, c.model, c.scorer,
           c.change_from AS window_from, c.change_to AS window_to, c.subject_id AS cluster,
           (c.preference_nats > 0)::INTEGER::DOUBLE AS value,
           m.knows_certainly_until AS certainly, {_clean("c.change_to")}
    FROM {SCORED_CHANGES.name} AS c JOIN {MODELS.name} AS m USING (model)
    LEFT JOIN {LEAK_FREE_ITEMS.name} AS f ON f.model = c.model AND f.release = c.release
        AND f.item_id = c.item_id AND f.target_id = c.new_object_id
    WHERE c.preference_nats IS NOT NULL
"""
# Origins are known to the day, the month or the year: only of a year can it be said of all that they are in it.
_ENTITIES = f"""
    SELECT s.release, s.split, {PERPLEXITY_METRIC} AS metric, 'ppl_entity_macro' AS aggregate, s.model, s.scorer,
           CAST(date_trunc('year', c.origin_from) AS DATE) AS window_from,
           CAST(date_trunc('year', c.origin_from) + INTERVAL 1 YEAR AS DATE) AS window_to, s.cluster_id AS cluster,
           -s.log_prob_nats / s.n_tokens AS value, m.knows_certainly_until AS certainly, {_clean("c.origin_to")}
    FROM ecbd_scores AS s JOIN {MODELS.name} AS m USING (model)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = s.release AND c.cloze_id = s.item_id
    LEFT JOIN {LEAK_FREE_ITEMS.name} AS f
        ON f.model = s.model AND f.release = s.release AND f.item_id = s.item_id
    WHERE s.status = 'scored' AND s.variant = 'original' AND s.split = 'test' AND c.origin_to <= window_to
"""


def _sums(items: str, *, is_earlier: bool) -> str:
    """A row for each window and cluster; of earlier items, in the window so many years later."""
    keys = [f"CAST({name} + INTERVAL {YEARS_BEFORE} YEAR AS DATE) AS {name}" for name in ("window_from", "window_to")]
    shown = ", ".join([*_GROUPS[:-2], *keys]) if is_earlier else ", ".join(_GROUPS)
    counts = "certainly IS NULL OR window_to <= certainly" if is_earlier else "is_clean"
    return f"""
        SELECT {shown}, cluster, count(*) AS n, sum(value) AS s FROM ({items}) AS items WHERE {counts} GROUP BY ALL
    """


def _compared(items: str, *, is_macro: bool) -> str:
    now, before = (_sums(items, is_earlier=is_earlier) for is_earlier in (False, True))
    level = macro_mean if is_macro else proportion
    difference = f"""
        SELECT *, CASE WHEN low IS NOT NULL THEN {detectable("n_clusters", "standard_error")} END AS detectable
        FROM ({change(before, now, _GROUPS, is_macro=is_macro)})
    """
    shown = exponentiated if is_macro else _unchanged
    exp = "exp" if is_macro else ""
    better = "<" if is_macro else ">"
    keys = ", ".join(_GROUPS)
    return f"""
        SELECT {keys}, n.value, n.standard_error, n.low, n.high, n.n_items, n.n_clusters,
               b.value AS earlier_value, b.n_items AS earlier_n_items, b.n_clusters AS earlier_n_clusters,
               {exp}(d.value) AS difference, {exp}(d.low) AS difference_low, {exp}(d.high) AS difference_high,
               {exp}(d.detectable) AS detectable,
               CASE WHEN d.detectable IS NULL THEN 'no comparison' WHEN abs(d.value) < d.detectable THEN 'cannot tell'
                    WHEN d.value {better} 0 THEN 'more' ELSE 'less' END AS verdict
        FROM ({shown(level(now, _GROUPS))}) AS n
        LEFT JOIN ({shown(level(before, _GROUPS))}) AS b USING ({keys})
        LEFT JOIN ({difference}) AS d USING ({keys})
    """


def _unchanged(estimates: str) -> str:
    return estimates


KNOWS = View(
    name="knows",
    meaning="What each model knows of each window, compared with its own level in the window three years earlier: the "
    "figures of tempkb knows, without ranks, always of the scores that are there. The command takes another period "
    "where nothing can be compared with that of three years earlier; the view does not. prefers_new: by window of a "
    "release of DynamicTempLAMA, the share of changes in which the new object is preferred; ppl_entity_macro: by year "
    "of origin, the perplexity of test spans of ECBD. Items count that the model certainly may know, or that are "
    f"leak-free at least {BUFFER_DAYS} days after; of models without a knowledge date all. difference is window minus "
    "earlier window, or for perplexities window divided by earlier window; columns are those of knowledge.",
    query=f"{_compared(_CHANGES, is_macro=False)} UNION ALL BY NAME {_compared(_ENTITIES, is_macro=True)}",
    needs=(MODELS.name, LEAK_FREE_ITEMS.name, PROMPT_SCORES.name),
    optional=(SCORED_CHANGES.name, "ecbd_scores", ECBD_CLOZE.name, ECBD_PROMPTS.name),
)

VIEWS = (KNOWS,)
