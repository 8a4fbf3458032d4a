"""Reliability by hand: answers of which half are right, with a confidence of a fifth; and its picture."""

import math
from datetime import date

import numpy as np
import pytest
from scipy.stats import t

from tempkb.results import reliability
from tempkb.results.answering import Answers
from tempkb.results.papers.items import papers
from tempkb.results.papers.pictures import drawn
from tempkb.results.reliability import ERROR, rows
from tempkb.store.memory import in_memory
from tempkb_tests.results.worlds import T5, World, clustered

RIGHT = [1.0] * 6 + [0.0] * 6


class Asked(World):
    """A store of a few tables, which has no scores."""

    lake = property(lambda self: self)

    def partitions(self, table):
        return [table] if self.rows.get(table) else []

    def ask(self, query, *names):
        with in_memory() as connection:
            for name in names:
                self.show(connection, name)
            return connection.sql(query).to_arrow_table().to_pylist()

    def answer(self, number, right, confidence, decoder="seq2seq.greedy-1.f32", wording="once"):
        about = {"question_id": f"{number}", "model": "m", "decoder": decoder}
        nats = None if confidence is None else math.log(confidence)
        self.add("generations", rank=1, log_prob_nats=nats, **about)
        self.add("generations", rank=2, log_prob_nats=-0.01, **about)
        item = {"release": "r", "item_id": f"{number}", "wording": wording, "cluster_id": f"{number % 10}"}
        self.add("judged_answers", exact_match=right, **about, **item)


def test_answers_have_the_share_of_right_ones_beside_their_confidence():
    world = Asked()
    for number, right in enumerate(RIGHT):
        world.answer(number, right, 0.2)
    # The model tells no probability, the answer runs on, or the query is asked with its date.
    world.answer(20, 1.0, None)
    world.answer(21, 1.0, 0.2, decoder="causal.greedy-1.f32")
    world.answer(22, 1.0, 0.2, wording="dated")
    one, error = rows(world)
    share, spread, *_ = clustered(RIGHT, [number % 10 for number in range(12)])
    # Fewer than ten are right, or wrong: the interval is Wilson's, of so many items as the clusters leave.
    n, z = min(12, 0.25 / spread**2), t.ppf(0.975, 9)
    half = z * math.sqrt(0.25 / n + (z / (2 * n)) ** 2) / (1 + z**2 / n)
    assert (one["bin"], one["value"], one["n_items"], one["n_clusters"]) == ("1", share, 12, 10)
    assert (one["low"], one["high"]) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    assert (one["confidence"], one["minus_confidence"]) == (pytest.approx(0.2), pytest.approx(0.3))
    assert (error["bin"], error["confidence"]) == (ERROR, None)
    assert error["brier"] == pytest.approx((0.8**2 + 0.2**2) / 2)
    assert {(row["model"], row["way"], row["choices"]) for row in (one, error)} == {
        ("m", "seq2seq.greedy-1.f32", "answers")
    }


def test_changes_count_for_confidence_before_or_after_what_the_model_knows(monkeypatch):
    """Always sure of the new object by one nat: the mean squared error is (1 - 1/(1 + 1/e))^2."""
    n = 12
    changes = Answers(
        *("r", "m", "causal.span_end-1.f32", None, None, [date(2021, 1, 1)] * n),
        *(np.arange(n, dtype=np.uint64), np.arange(n, dtype=np.uint64), ["P54"] * n),
        *(np.full(n, np.nan), np.zeros(n), np.full(n, -1.0), np.full(n, -2.0), np.ones(n, bool), np.zeros(n, bool)),
    )
    monkeypatch.setattr(reliability, "read_answers", lambda *_: [changes])
    *_, error = found = rows(Asked())
    assert {row["choices"] for row in found} == {"changes before"}
    assert error["brier"] == pytest.approx((1 - 1 / (1 + math.exp(-1))) ** 2)


def test_a_store_without_answers_and_scores_has_no_rows():
    assert rows(Asked()) == []


def test_the_picture_has_a_panel_for_each_kind_of_choices_with_a_line_for_each_model():
    bins = [
        {
            "release": "r",
            "choices": choices,
            "model": model,
            "way": T5,
            "bin": one,
            "confidence": confidence,
            "value": 0.5,
            "low": 0.4,
            "high": 0.6,
        }
        for choices in ("changes before", "changes after")
        for model in ("early", "late")
        for one, confidence in (("1", 0.6), ("2", 0.8), (ERROR, None))
    ]
    with drawn(papers()["templama"].items["calibration"].picture, bins, "calibration") as figure:
        assert [axis.get_title() for axis in figure.axes] == ["r, changes before", "r, changes after"]
        lines = [line for line in figure.axes[0].lines if line.get_label() in (f"early, {T5}", f"late, {T5}")]
        assert [list(line.get_xdata()) for line in lines] == [[0.6, 0.8], [0.6, 0.8]]
