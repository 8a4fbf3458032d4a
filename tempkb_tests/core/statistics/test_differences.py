"""Differences and changes, by hand and against SciPy and statsmodels."""

import math

import numpy as np
import pytest
from scipy.stats import t, ttest_rel
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups

from tempkb.core.errors import ContractError
from tempkb.core.statistics import (
    change,
    clustered_mean,
    leave_one_out,
    macro_change,
    macro_mean,
    paired_difference,
    paired_macro_difference,
    proportion,
    two_way,
    two_way_proportion,
)


@pytest.fixture
def random():
    return np.random.default_rng(5)


def test_a_paired_difference_of_single_items_is_the_paired_t_test_of_scipy(random):
    first, second = random.normal(size=30), random.normal(0.4, 1, 30)
    found, expected = paired_difference(first, second, range(30)), ttest_rel(second, first)
    interval = expected.confidence_interval(0.95)
    assert found.value == pytest.approx((second - first).mean())
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert found.p_value == pytest.approx(expected.pvalue)


def test_a_paired_macro_difference_is_the_paired_t_test_of_the_clusters_means(random):
    clusters = random.integers(0, 25, 200)
    first, second = random.normal(size=200), random.normal(0.1, 1, 200)
    means = [[side[clusters == cluster].mean() for cluster in range(25)] for side in (first, second)]
    found = paired_macro_difference(first, second, clusters)
    assert found.p_value == pytest.approx(ttest_rel(means[1], means[0]).pvalue)
    assert found.value == pytest.approx(np.mean(means[1]) - np.mean(means[0]))


def test_a_difference_in_which_all_clusters_agree_has_the_p_value_of_signs():
    """Ten of ten clusters rise by the same: two of 1,024 ways of signs are as extreme."""
    found = paired_difference([0.0] * 10, [1.0] * 10, range(10))
    assert (found.value, found.low, found.p_value) == (1, None, pytest.approx(2 / 1024))
    same = paired_difference([0.3] * 10, [0.3] * 10, range(10))
    assert (same.value, same.p_value) == (0, 1)


def test_a_difference_of_few_clusters_has_no_p_value(random):
    assert (
        paired_difference(random.normal(size=18), random.normal(size=18), [item % 9 for item in range(18)]).p_value
        is None
    )


def test_a_change_on_the_same_items_is_the_paired_difference(random):
    clusters = random.integers(0, 20, 150)
    first, second = random.normal(size=150), random.normal(size=150)
    found, expected = change(first, clusters, second, clusters), paired_difference(first, second, clusters)
    assert found.value == pytest.approx(expected.value)
    assert found.standard_error == pytest.approx(expected.standard_error)
    assert (found.low, found.high, found.p_value) == (
        pytest.approx(expected.low),
        pytest.approx(expected.high),
        pytest.approx(expected.p_value),
    )
    macro, expected = macro_change(first, clusters, second, clusters), paired_macro_difference(first, second, clusters)
    assert (macro.low, macro.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


@pytest.mark.parametrize("estimator", [change, macro_change])
@pytest.mark.parametrize("kinds", [("int64", "int64"), ("int32", "uint8"), ("bool", "int64"), ("uint64", "int64")])
def test_a_change_is_the_same_to_the_last_digit_for_arrays_of_clusters_and_for_lists(random, estimator, kinds):
    for n in (12, 300, 3000):
        before, after = random.normal(size=n), random.normal(0.2, 1, n // 2)
        first, second = (random.integers(0, 2 if kind == "bool" else 200, n).astype(kind) for kind in kinds)
        second = second[: n // 2]
        found, expected = (
            estimator(before, one(first), after, one(second)) for one in (np.asarray, lambda side: side.tolist())
        )
        assert repr(found) == repr(expected)


def test_a_change_without_common_clusters_adds_two_variances(random):
    """The factor is 50/49 for all clusters in place of 20/19 and 30/29; degrees of freedom are those of the twenty."""
    first, second = random.normal(size=20), random.normal(1, 2, 30)
    found = change(first, range(20), second, range(100, 130))
    variance = 50 / 49 * (first.var() / 20 + second.var() / 30)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert found.high - found.value == pytest.approx(t.ppf(0.975, 19) * math.sqrt(variance))
    assert (found.n_items, found.n_clusters) == (50, 20)


def test_a_change_of_three_clusters_by_hand():
    """a and b before (means 0 of two items, 1), b and c after (1 of two items, 4): means 1/3 and 2.

    psi: a -(0 - 2/3)/3 = 2/9; b (2 - 4)/3 - (1 - 1/3)/3 = -8/9; c (4 - 2)/3 = 2/3.
    """
    found = change([0, 0, 1], ["a", "a", "b"], [1, 1, 4], ["b", "b", "c"])
    assert found.value == pytest.approx(5 / 3)
    assert found.standard_error == pytest.approx(math.sqrt(3 / 2 * (4 + 64 + 36) / 81))
    assert (found.n_clusters, found.low) == (2, None)
    # Means of clusters: 0 and 1 before, 1 and 4 after; psi: a 1/4, b -3/4 - 1/4 = -1, c 3/4.
    macro = macro_change([0, 0, 1], ["a", "a", "b"], [1, 1, 4], ["b", "b", "c"])
    assert (macro.value, macro.standard_error) == (
        pytest.approx(2),
        pytest.approx(math.sqrt(3 / 2 * (1 + 16 + 9) / 16)),
    )


def test_one_side_with_few_clusters_makes_no_interval(random):
    found = change(random.normal(size=300), range(300), random.normal(size=9), range(9))
    assert found.reason == "9 clusters; at least 10 are needed for an interval"


def test_two_ways_take_the_largest_of_three_variances(random):
    """Once the subject's, once the object's, once both are the largest."""
    subject, thing = random.integers(0, 30, 400), random.integers(0, 15, 400)
    of_subject, of_thing = random.normal(size=30)[subject], random.normal(size=15)[thing]
    noise = random.normal(size=400)
    largest = set()
    for values in (of_subject * 3 + noise, of_thing * 3 + noise, of_subject + of_thing + noise / 5):
        fit = OLS(values, np.ones(400)).fit()
        variances = [float(matrix[0, 0]) for matrix in cov_cluster_2groups(fit, subject, thing)]
        largest.add(int(np.argmax(variances)))
        found = two_way(values, [f"Q{one}" for one in subject], thing)
        assert found.standard_error == pytest.approx(math.sqrt(max(variances)))
        assert found.value == pytest.approx(values.mean())
        assert found.n_clusters == 15
        assert found.high - found.value == pytest.approx(t.ppf(0.975, 14) * found.standard_error)
    assert 0 in largest
    assert len(largest) > 1


def test_a_share_of_two_ways_near_the_edge_is_wilson_for_its_effective_items():
    """All but two of sixty single items are true; forty objects, twenty of which have two items.

    The two false ones are of objects 0 and 1, which have a true one each: by object their deviations from a share of
    29/30 are -14/15 instead of -29/30, so that items by themselves are the less certain way.
    """
    values = [0, 0] + [1] * 58
    found = two_way_proportion(values, range(60), [item % 40 for item in range(60)])
    variance = 60 / 59 * (2 * (29 / 30) ** 2 + 58 / 30**2) / 60**2
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    share, n, z2 = 29 / 30, 29 / 30**2 / variance, t.ppf(0.975, 39) ** 2
    centre, half = share + z2 / (2 * n), math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2)))
    assert (found.low, found.high) == pytest.approx(((centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)))
    assert (found.n_items, found.n_clusters) == (60, 40)


def test_a_share_of_two_ways_of_which_all_or_none_are_true_is_wilson_for_the_fewer_clusters():
    objects = [item % 20 for item in range(60)]
    every, none = (two_way_proportion([value] * 60, range(60), objects) for value in (1, 0))
    z2 = t.ppf(0.975, 19) ** 2
    assert (every.low, every.high) == (pytest.approx(20 / (20 + z2)), 1)
    assert (none.low, none.high) == (0, pytest.approx(1 - every.low))


def test_a_share_of_two_ways_is_nowhere_surer_than_by_either_way(random):
    """For shares from none to all, with effects of either way."""
    for n_true in (0, 1, 2, 5, 12, 20, 60, 100, 108, 115, 119, 120):
        for _ in range(5):
            first, second = random.integers(0, 60, 120), random.integers(0, 25, 120)
            leaning = random.normal(size=60)[first] + 2 * random.normal(size=25)[second]
            values = np.argsort(np.argsort(leaning)) < n_true
            found = two_way_proportion(values, first, second)
            ways = proportion(values, first), proportion(values, second)
            assert 0 <= found.low <= min(way.low for way in ways), n_true
            assert max(way.high for way in ways) <= found.high <= 1, n_true
            assert found.standard_error == two_way(values, first, second).standard_error


def test_a_share_of_two_ways_is_of_zeros_and_ones_and_has_no_interval_under_ten_clusters():
    found = two_way_proportion([1, 0] * 10, range(20), [item % 9 for item in range(20)])
    assert (found.low, found.reason) == (None, "9 clusters; at least 10 are needed for an interval")
    with pytest.raises(ContractError, match=r"such as 0\.5; expected 0 and 1 only"):
        two_way_proportion([1, 0.5], [1, 2], [1, 2])


def test_one_way_twice_is_the_clustered_mean(random):
    values, clusters = random.normal(size=100), random.integers(0, 12, 100)
    found, expected = two_way(values, clusters, clusters), clustered_mean(values, clusters)
    assert found.standard_error == pytest.approx(expected.standard_error)
    fit = OLS(values, np.ones(100)).fit()
    assert found.standard_error**2 == pytest.approx(float(cov_cluster(fit, clusters)[0, 0]))


def test_nine_relations_are_too_few(random):
    values = random.normal(size=300)
    found = two_way(values, random.integers(0, 80, 300), [f"P{item % 9}" for item in range(300)])
    assert found.reason == "9 clusters; at least 10 are needed for an interval"
    assert two_way([1.0, 2.0], ["a", "a"], ["x", "y"]).standard_error is None


def test_each_relation_is_left_out_once():
    values, clusters = [1, 1, 0, 0, 1, 0], [1, 2, 3, 4, 5, 6]
    found = leave_one_out(values, clusters, ["P39", "P39", "P54", "P54", "P54", "P69"])
    assert {name: one.value for name, one in found.items()} == {"P39": 0.25, "P54": 2 / 3, "P69": 0.6}
    assert [one.n_clusters for one in found.values()] == [4, 3, 5]
    assert leave_one_out(values, clusters, ["P39"] * 6) == {}
    assert leave_one_out(values, clusters, [1, 1, 2, 2, 2, 3], macro_mean)[1].value == 0.25
    assert leave_one_out(values, clusters, [1, 1, 2, 2, 2, 3], proportion)[2].value == pytest.approx(2 / 3)


@pytest.mark.parametrize("estimator", [paired_difference, paired_macro_difference])
def test_sides_of_a_pair_are_equally_long(estimator):
    with pytest.raises(ContractError, match="differences: 2 values, but 1 ids"):
        estimator([1.0, 2.0], [1.0], [1, 2])
