"""Calibration by hand, and on simulated choices whose calibration is known."""

import math

import numpy as np
import pytest

from tempkb.errors import ContractError
from tempkb.statistics import calibration, forced_choice


def test_a_choice_by_hand():
    """Three to one for the new object, three to one for the old one, and a tie."""
    confidence, right = forced_choice([math.log(0.3), math.log(0.1), -5.0], [math.log(0.1), math.log(0.3), -5.0])
    assert confidence == pytest.approx([0.75, 0.75, 0.5])
    assert right.tolist() == [1, 0, 0]


def test_one_bin_by_hand():
    """Twenty choices with a confidence of .8, of which ten are right.

    The gap is .3, its variance .25/19; Brier's score .5 * .04 + .5 * .64.
    """
    found = calibration([0.8] * 20, [1, 0] * 10, range(20))
    assert found.plain_error == pytest.approx(0.3)
    assert found.squared_error == pytest.approx(0.09 - 0.25 / 19)
    assert found.error == pytest.approx(math.sqrt(0.09 - 0.25 / 19))
    assert found.brier.value == pytest.approx(0.34)
    assert [(one.n_items, one.mean_confidence, one.share_right) for one in found.bins] == [
        (20, pytest.approx(0.8), 0.5)
    ]


def test_briers_score_is_not_below_zero():
    """Eleven of twelve choices are sure and right, and one is sure and wrong."""
    brier = calibration([1.0] * 12, [1] * 11 + [0], range(12)).brier
    half = 2.2009851600916384 * math.sqrt(12 / 11 * (11 * (1 / 12) ** 2 + (11 / 12) ** 2)) / 12
    assert 1 / 12 - half < 0
    assert (brier.low, brier.high) == (0, pytest.approx(1 / 12 + half))


def simulated(random, n_clusters, excess=0.0, size=1):
    """Choices whose confidence exceeds the share of right ones by so much; choices of a cluster are alike."""
    clusters = np.repeat(np.arange(n_clusters), size)
    share = random.uniform(0.5, 0.95 - excess, n_clusters)[clusters]
    right = random.random(n_clusters)[clusters] < share
    return share + excess, right.astype(float), clusters


def test_calibrated_choices_have_no_error_on_average():
    """The usual figure is biased upwards, here to some .05; the squared one is zero on average, also with clusters."""
    random = np.random.default_rng(1)
    for size in (1, 3):
        found = [calibration(*simulated(random, 600, size=size)) for _ in range(200)]
        squares = np.array([one.squared_error for one in found])
        assert abs(squares.mean()) < 3 * squares.std() / math.sqrt(200)
        assert np.mean([one.plain_error for one in found]) > 0.04
        assert {len(one.bins) for one in found} == {15}
        # Were items taken for independent, clusters of three would leave a bias of two thirds of this.
        assert 3 * squares.std() / math.sqrt(200) < np.mean([one.plain_error**2 for one in found]) / 3


def test_overconfident_choices_are_seen():
    random = np.random.default_rng(2)
    found = [calibration(*simulated(random, 2000, excess=0.2)) for _ in range(50)]
    assert np.mean([one.squared_error for one in found]) == pytest.approx(0.04, abs=0.002)
    assert found[0].brier.low < found[0].brier.value < found[0].brier.high


def test_equal_confidences_share_a_bin_and_few_clusters_share_all():
    random = np.random.default_rng(3)
    found = calibration(np.repeat([0.6, 0.9], 500), random.random(1000) < 0.7, np.arange(1000))
    assert [(one.n_items, one.mean_confidence) for one in found.bins] == [
        (500, pytest.approx(0.6)),
        (500, pytest.approx(0.9)),
    ]
    few = calibration(random.uniform(0.5, 1, 90), random.random(90) < 0.7, np.arange(90) % 9)
    assert len(few.bins) == 1
    assert (few.squared_error, few.error) == (None, None)
    assert few.brier.low is None


@pytest.mark.parametrize(
    ("confidence", "right", "told"),
    [([1.2], [1], "outside 0 to 1"), ([0.7], [0.5], "neither right"), ([0.7, 0.8], [1], "choices: 2 values")],
)
def test_what_is_no_choice_is_one_message(confidence, right, told):
    with pytest.raises(ContractError, match=told):
        calibration(confidence, right, list(range(len(confidence))))
