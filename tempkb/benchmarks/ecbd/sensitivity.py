"""How sensitive spans are to the entity: by how much their perplexity grows where the mention is gone (section 2.2)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tempkb.benchmarks.ecbd.reading import CLOZE_SCORES, CLOZE_TABLES, PARADIGMS, PROMPTING
from tempkb.benchmarks.reading import NUMBERS
from tempkb.core.statistics.estimates import LEVEL, Floats
from tempkb.core.statistics.resampling import Resampled, cluster_bootstrap
from tempkb.store.quoting import literals
from tempkb.store.store import Store

FORMS = ("no_ent_released", "no_ent_chunk", "no_ent")
"""Variants without the mention: the mention alone is gone, the noun phrase around it, or mention and article."""
NEAR = 10
"""The most words from the mention to a span, by the paper's rule."""
STATISTICS = ("median of ratios", "ratio of medians")
N_REPLICATES, SEED = 1000, 13

_PAIRS = f"""
    WITH scored AS (SELECT *, {NUMBERS} FROM ({CLOZE_SCORES}) WHERE {PROMPTING.is_by_own_template}),
    pairs AS (
        SELECT w.*, o.nats AS original FROM scored AS w
        JOIN (FROM scored WHERE variant = 'original') AS o USING (release, model, scorer, item_id)
        WHERE w.variant IN ({literals(FORMS)})
    ), grouped AS (
        SELECT release, paradigm, model, numbers, subset, variant, list(hash(cluster) ORDER BY item_id) AS clusters,
               list(nats ORDER BY item_id) AS without, list(original ORDER BY item_id) AS original,
               list(abs(n_words_after_mention) <= {NEAR} ORDER BY item_id) AS is_near
        FROM pairs GROUP BY ALL
    )
    FROM grouped ORDER BY release, subset DESC, list_position([{literals(PARADIGMS)}], paradigm), model, numbers,
                          list_position([{literals(FORMS)}], variant)
"""


def rows(store: Store) -> list[dict[str, Any]]:
    """Return the median growth of perplexity for each model, subset and form without the mention.

    The perplexity of a span is exp of the mean negative log-probability of its tokens. Growths are shares: 0.322 for
    the 32.2 % of the paper. Each is computed with the paper's rule of distance, and without it.
    """
    return [row for one in store.ask(_PAIRS, *CLOZE_TABLES) for row in _growths(one)]


def _growths(pairs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    clusters, is_near = np.array(pairs["clusters"], np.uint64), np.array(pairs["is_near"])
    # What is rarer than any number can tell is as rare as one can.
    without, original = (np.minimum(pairs[name], 700.0) for name in ("without", "original"))
    rules = {
        f"within {NEAR} words": (is_near, "no scored span"),
        "at any distance": (np.full(len(is_near), not is_near.all()), "every scored span"),
    }
    for spans, (kept, lacking) in rules.items():
        found = growths(without[kept], original[kept], clusters[kept]) if kept.any() else {}
        for statistic in STATISTICS:
            one = found.get(statistic)
            yield {name: pairs[name] for name in ("release", "paradigm", "model", "numbers")} | {
                "entities": "POPULAR" if pairs["subset"] == "popular" else "ECBD",
                "without": pairs["variant"],
                "growth": f"{statistic}, {spans}",
                **{name: one and getattr(one, name) for name in ("value", "low", "high", "n_items", "n_clusters")},
                "reason": None if one else f"{lacking} begins within {NEAR} words of the mention",
            }


def growths(without: Floats, original: Floats, clusters: Any) -> dict[str, Resampled]:
    """Return by how much perplexities grow: the median of their ratios less 1, and the ratio of their medians less 1.

    Args:
        without: nats of each span where the mention is gone.
        original: nats of each span in its sentence.
        clusters: the entity of each span; entities are drawn with replacement for the intervals.
    """
    # Equal seeds draw equal clusters, so that the replicates of two medians are pairs.
    ratio, before, after = (
        cluster_bootstrap(np.exp(nats), clusters, "median", n_replicates=N_REPLICATES, seed=SEED)
        for nats in (without - original, original, without)
    )
    replicates = after.replicates / before.replicates
    ends = (None, None) if ratio.low is None else np.quantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    both = replace(ratio, value=after.value / before.value, replicates=replicates, low=ends[0], high=ends[1])
    return dict(zip(STATISTICS, map(_less_one, (ratio, both)), strict=True))


def _less_one(found: Resampled) -> Resampled:
    low, high = (None if end is None else end - 1 for end in (found.low, found.high))
    return replace(found, value=found.value - 1, replicates=found.replicates - 1, low=low, high=high)
