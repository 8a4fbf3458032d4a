"""How often choices and answers are right that a model gives with some confidence.

The confidence in an answer is the probability that the model gave all of its tokens; of a masked model a
pseudo-probability, which depends on the number of masks. An answer that runs on behind the name (of causal.greedy) has
no probability of its own, and served models may tell none: they have no rows.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tempkb.core.statistics import Calibration, calibration, forced_choice
from tempkb.models.generations.tables import GENERATIONS
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.results.judging import RUNNING_ON
from tempkb.results.reading import read_answers
from tempkb.store.store import Store

Row = Mapping[str, Any]
ERROR = "error"
"""Stands in the place of a bin in the row of a calibration error."""


def rows(store: Store) -> list[dict[str, Any]]:
    """Return a row for each bin of confidence of a release, a model's scorer or decoder and a kind of choices.

    Behind them, of each, a row with the calibration error of all of its choices.
    """
    found: list[dict[str, Any]] = []
    for answers in read_answers(store):
        for choices, some in (("changes before", answers.is_before), ("changes after", answers.is_after)):
            if some.any():
                chosen = calibration(*forced_choice(answers.new[some], answers.old[some]), answers.clusters[some])
                found += _rows((answers.release, answers.model, answers.scorer, choices), chosen)
    return sorted([*found, *_of_answers(store)], key=_place)


def _place(row: Row) -> tuple[object, ...]:
    return (row["release"], row["choices"], row["way"], row["bin"] == ERROR, len(row["bin"]), row["bin"], row["model"])


def _of_answers(store: Store) -> Iterator[dict[str, Any]]:
    """The rows of answers to queries about facts, which are right if they are a right name."""
    groups = store.ask(
        f"""
        SELECT j.release, j.model, j.decoder, list(exp(g.log_prob_nats) ORDER BY j.item_id) AS confidences,
               list(j.exact_match ORDER BY j.item_id) AS is_right, list(j.cluster_id ORDER BY j.item_id) AS clusters
        FROM {JUDGED_ANSWERS.name} AS j JOIN {GENERATIONS.name} AS g USING (question_id, model, decoder)
        WHERE j.wording = 'once' AND j.exact_match IS NOT NULL AND g.rank = 1 AND g.log_prob_nats IS NOT NULL
          AND NOT starts_with(j.decoder, '{RUNNING_ON}')
        GROUP BY ALL ORDER BY ALL
        """,
        JUDGED_ANSWERS.name,
        GENERATIONS.name,
    )
    for one in groups:
        # Rounding may leave a certain answer just above one.
        confidences = np.minimum(one["confidences"], 1.0)
        found = calibration(confidences, one["is_right"], one["clusters"])
        yield from _rows((one["release"], one["model"], one["decoder"], "answers"), found)


def _rows(of: tuple[str, ...], found: Calibration) -> Iterator[dict[str, Any]]:
    """A row for each bin, and one for the calibration error of all."""
    about = dict(zip(("release", "model", "way", "choices"), of, strict=True))
    for number, one in enumerate(found.bins, 1):
        right = one.right
        yield {
            **about,
            "bin": str(number),
            "confidence": one.mean_confidence,
            "value": right.value,
            "low": right.low,
            "high": right.high,
            "minus_confidence": right.value - one.mean_confidence,
            "n_items": right.n_items,
            "n_clusters": right.n_clusters,
            "brier": None,
        }
    figures = {"value": found.error, "n_items": found.brier.n_items, "n_clusters": found.brier.n_clusters}
    unknown = dict.fromkeys(("confidence", "low", "high", "minus_confidence"))
    yield {**about, "bin": ERROR, **unknown, **figures, "brier": found.brier.value}
