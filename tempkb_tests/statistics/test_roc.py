"""Areas under ROC curves, against the sums of the paper written out, and by hand."""

import math

import numpy as np
import pytest

from tempkb.errors import ContractError
from tempkb.statistics.roc import clustered_auc, permuted_aucs


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
