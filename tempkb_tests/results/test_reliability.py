"""Reliability by hand: answers of which half are right, with a confidence of a fifth; and its picture."""

import math

import pytest
from scipy.stats import t

from tempkb.results.reliability import ERROR, reliability_figure, rows
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


def test_a_store_without_answers_and_scores_has_no_rows():
    assert rows(Asked()) == []


def test_the_picture_has_a_panel_for_each_kind_of_choices_with_a_line_for_each_model():
    drawn = [
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
    with reliability_figure(None, drawn) as figure:
        assert [axis.get_title() for axis in figure.axes] == ["r, changes after", "r, changes before"]
        lines = [line for line in figure.axes[0].lines if line.get_label() in (f"early {T5}", f"late {T5}")]
        assert [list(line.get_xdata()) for line in lines] == [[0.6, 0.8], [0.6, 0.8]]
