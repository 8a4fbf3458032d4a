"""Calibration by hand, and on simulated choices whose calibration is known.

Areas under ROC curves, against the sums of the paper written out, and by hand.
"""

import math

import numpy as np
import pytest

from tempkb.core.errors import ContractError
from tempkb.core.statistics import calibration, forced_choice
from tempkb.core.statistics.calibration import clustered_auc, permuted_aucs


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
    assert [(one.right.n_items, one.mean_confidence, one.right.value) for one in found.bins] == [
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
    assert [(one.right.n_items, one.mean_confidence) for one in found.bins] == [
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


def of_pairs(high, low):
    return [[1.0 if one > other else 0.5 if one == other else 0.0 for other in low] for one in high]


def obuchowski(high, low, high_clusters, low_clusters):
    """AUC and its variance as Obuchowski (1997) writes them: S10 / M + S01 / N + 2 S11 / (M N)."""
    pairs = of_pairs(high, low)
    m, n = len(high), len(low)
    auc = sum(map(sum, pairs)) / (m * n)
    v10 = [sum(row) / n for row in pairs]
    v01 = [sum(row[at] for row in pairs) / m for at in range(n)]
    clusters = sorted({*high_clusters, *low_clusters})
    i10, i01, i = len(set(high_clusters)), len(set(low_clusters)), len(clusters)

    def deviation(values, of, cluster):
        own = [value for value, one in zip(values, of, strict=True) if one == cluster]
        return sum(own) - len(own) * auc

    a = [deviation(v10, high_clusters, one) for one in clusters]
    b = [deviation(v01, low_clusters, one) for one in clusters]
    s10 = i10 / ((i10 - 1) * m) * sum(one**2 for one in a)
    s01 = i01 / ((i01 - 1) * n) * sum(one**2 for one in b)
    s11 = i / (i - 1) * sum(one * other for one, other in zip(a, b, strict=True))
    return auc, s10 / m + s01 / n + 2 * s11 / (m * n)


@pytest.mark.parametrize("shared", [False, True])
def test_the_sums_of_the_paper(shared):
    random = np.random.default_rng(3)
    for _ in range(20):
        high_clusters, low_clusters = random.integers(0, 12, 60), random.integers(0 if shared else 12, 24, 40)
        high, low = random.integers(1, 9, 60) / 2, random.integers(0, 8, 40) / 2
        found = clustered_auc(high, low, high_clusters, low_clusters)
        auc, variance = obuchowski(high.tolist(), low.tolist(), high_clusters.tolist(), low_clusters.tolist())
        assert found.value == pytest.approx(auc, abs=1e-12)
        assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-9)
        assert found.n_clusters == min(len(set(high_clusters.tolist())), len(set(low_clusters.tolist())))


def test_with_a_cluster_for_each_item_it_is_that_of_delong():
    high, low = [3, 5, 4, 2], [1, 3, 2]
    v10 = [5 / 6, 1, 1, 1 / 2]
    v01 = [1, 5 / 8, 7 / 8]
    auc = sum(v10) / 4
    assert auc == pytest.approx(sum(v01) / 3)
    variance = np.var(v10, ddof=1) / 4 + np.var(v01, ddof=1) / 3
    found = clustered_auc(high, low, "abcd", "efg")
    assert (found.value, found.standard_error) == (pytest.approx(auc), pytest.approx(math.sqrt(variance)))
    assert found.reason == "3 clusters; at least 10 are needed for an interval"


def test_what_is_told_perfectly_has_an_interval_up_to_one():
    found = clustered_auc(range(20, 40), range(20), range(20), range(20, 40))
    assert (found.value, found.high) == (1, 1)
    assert 0.8 < found.low < 1


def test_a_side_without_values_is_refused():
    with pytest.raises(ContractError, match="at least one value"):
        clustered_auc([], [1.0], [], ["a"])


def test_permuted_labels_keep_units_together_and_give_one_half():
    # Two units of three items and two of one, which is high: by hand each choice of two units of four is as likely.
    values, units = [1, 2, 3, 4, 5, 6, 7, 8], np.array([0, 0, 0, 1, 1, 1, 2, 3])
    of = {0: [1, 2, 3], 1: [4, 5, 6], 2: [7], 3: [8]}
    expected = set()
    for one in range(4):
        for other in range(one):
            high = [*of[one], *of[other]]
            low = [value for value in values if value not in high]
            expected.add(round(float(np.mean(of_pairs(high, low))), 9))
    is_high = units >= 2
    found = permuted_aucs(values, is_high, units, np.zeros(8, int), n=400, seed=1)
    assert {round(float(one), 9) for one in found} == expected
    assert found.mean() == pytest.approx(0.5, abs=0.05)


def test_permuted_labels_stay_in_their_stratum():
    # In the first stratum all are high, in the second none: nothing can be permuted.
    found = permuted_aucs([1, 2, 3, 4], [True, True, False, False], np.arange(4), np.array([0, 0, 1, 1]), n=5, seed=1)
    assert found.tolist() == [0.0] * 5
