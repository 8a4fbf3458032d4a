"""Means and proportions, by hand and against SciPy, statsmodels and inspect_ai."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from tempkb.core.errors import ContractError
from tempkb.core.statistics import Estimate, clustered_mean, exponential, exponentiated, macro_mean, proportion

T9 = 2.2621571628540993  # the 97.5 % quantile of t with nine degrees of freedom, from a table


def test_ten_clusters_by_hand():
    """Nine clusters of one item, 1 or 0 in turn, and one of three ones: 8 of 12.

    Deviations s - 2/3 n: 1/3 five times, -2/3 four times, 1 once; squares add up to 5/9 + 16/9 + 1 = 30/9.
    """
    values = [1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1]
    clusters = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]
    found = clustered_mean(values, clusters)
    error = math.sqrt(10 / 9 * 30 / 9) / 12
    assert found.value == pytest.approx(8 / 12)
    assert found.standard_error == pytest.approx(error)
    assert (found.low, found.high) == (pytest.approx(8 / 12 - T9 * error), pytest.approx(8 / 12 + T9 * error))
    assert (found.n_items, found.n_clusters, found.p_value, found.reason) == (12, 10, None, None)
    # One in three is 0: the variance of items is 12/11 * 2/9, that of their mean a twelfth of it.
    assert found.design_effect == pytest.approx(error**2 / (2 / 9 / 11))
    # The 80 % quantile of t with nine degrees of freedom is 0.883404.
    assert found.mde == pytest.approx((T9 + 0.883404) * error, rel=1e-6)


def test_the_macro_mean_takes_each_cluster_once():
    """Means of clusters are 1 five times, 0 four times and 2 once: 0.7, whose variance is (9 - 4.9) / 9."""
    values = [1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 2, 3]
    clusters = list("abcdefghijjj")
    found = macro_mean(values, clusters)
    error = math.sqrt((9 - 4.9) / 9 / 10)
    assert (found.value, found.standard_error) == (pytest.approx(0.7), pytest.approx(error))
    assert found.high == pytest.approx(0.7 + T9 * error)
    assert (found.n_items, found.n_clusters) == (12, 10)


def test_under_ten_clusters_there_is_no_interval_but_a_sentence():
    found = clustered_mean(range(27), [item % 9 for item in range(27)])
    assert (found.low, found.high, found.mde) == (None, None, None)
    assert found.standard_error > 0
    assert found.reason == "9 clusters; at least 10 are needed for an interval"
    one = clustered_mean([1.0, 2.0], ["a", "a"])
    assert (one.standard_error, one.reason) == (None, "1 cluster; at least 10 are needed for an interval")
    assert clustered_mean(range(20), [item % 10 for item in range(20)]).reason is None
    assert proportion([1, 0] * 9, [item % 9 for item in range(18)]).low is None
    assert macro_mean(range(27), [item % 9 for item in range(27)]).low is None


def test_clusters_that_agree_exactly_have_no_interval_but_a_sentence():
    """0.1 thirty times: rounding alone makes the deviations differ from zero."""
    found = clustered_mean([0.1] * 30, [item % 13 for item in range(30)])
    assert (found.standard_error, found.low, found.mde) == (0, None, None)
    assert found.reason == "all 13 clusters agree exactly, so that their spread cannot be estimated"


@pytest.fixture
def data():
    random = np.random.default_rng(3)
    clusters = random.integers(0, 40, 500)
    return random.normal(size=40)[clusters] + random.normal(size=500), clusters


def test_the_standard_error_is_the_sandwich_of_statsmodels(data):
    values, clusters = data
    fit = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    found = clustered_mean(values, clusters)
    assert found.standard_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-10)


def test_clusters_of_one_item_give_the_t_interval_of_scipy(data):
    values, _ = data
    interval = ttest_1samp(values, 0).confidence_interval(0.95)
    for estimator in (clustered_mean, macro_mean):
        found = estimator(values, np.arange(len(values)))
        assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert clustered_mean(values, np.arange(len(values))).design_effect == pytest.approx(1)


def test_copies_of_each_item_change_the_design_effect_only(data):
    values, _ = data
    single = clustered_mean(values, np.arange(500))
    copied = clustered_mean(np.repeat(values, 4), np.repeat(np.arange(500), 4))
    assert copied.standard_error == pytest.approx(single.standard_error)
    # Four copies as 2,000 independent items would have a quarter of the variance, but for n - 1.
    assert copied.design_effect == pytest.approx(1999 / 499)


def fixed_data():
    """Values and 12 clusters of unequal sizes, without any random numbers."""
    clusters = [(item * item) % 23 for item in range(120)]
    return [((item * 7919 + 13 * cluster) % 101) / 101 for item, cluster in enumerate(clusters)], clusters


# What inspect_ai 0.3.285 gives for `fixed_data`, by `stderr`, `ci` and `ci_wilson` of inspect_ai/scorer/_metrics/std.py
# with cluster="cluster": standard error, ends of the interval of t, ends of Wilson's. Taken for itself, the values
# above .3 (a share in the middle) and those above .04 (one near the edge).
INSPECT = {
    "values": (0.02578544689389561, (0.4240221915979605, 0.5375289635175511), None),
    "share in the middle": (0.022370088855900312, (0.6340970997315654, 0.7325695669351013), None),
    "share near the edge": (
        0.03178374158207667,
        (0.8717111231123283, 1.0116222102210048),
        (0.829387456152416, 0.9816870313832519),
    ),
}


@pytest.mark.parametrize("name", INSPECT)
def test_figures_are_those_that_inspect_ai_gave(name):
    assert_as_inspect(name, *INSPECT[name])


def of_name(name):
    values, clusters = fixed_data()
    above = {"share in the middle": 0.3, "share near the edge": 0.04}.get(name)
    return values if above is None else [value > above for value in values], clusters


def assert_as_inspect(name, error, ends, wilson):
    values, clusters = of_name(name)
    found = clustered_mean(values, clusters)
    assert found.n_clusters == 12
    assert found.standard_error == pytest.approx(error, rel=1e-12)
    assert (found.low, found.high) == pytest.approx(ends, rel=1e-9)
    if name == "share in the middle":
        share = proportion(values, clusters)
        assert (share.low, share.high) == pytest.approx(ends, rel=1e-9)
    if name == "share near the edge":
        share = proportion(values, clusters)
        assert (share.low, share.high) == pytest.approx(wilson, rel=1e-9)


def test_all_true_is_wilson_for_as_many_items_as_clusters():
    """By hand: the lower end is n / (n + z^2) with z the quantile of t."""
    found = proportion([1] * 60, [item % 20 for item in range(60)])
    z = t.ppf(0.975, 19)
    assert (found.value, found.standard_error) == (1, 0)
    assert (found.low, found.high) == (pytest.approx(20 / (20 + z * z)), pytest.approx(1))
    none = proportion([0] * 60, [item % 20 for item in range(60)])
    assert (none.low, none.high) == (pytest.approx(0), pytest.approx(1 - found.low))


def test_an_interval_holds_its_share_to_the_last_digit():
    for n in range(10, 60):
        every, none = (proportion([value] * n, range(n)) for value in (1, 0))
        assert (every.high, none.low) == (1, 0), n


def test_a_share_near_the_edge_is_wilson_for_its_effective_items():
    """Three of 600 single items are true: with t of 599 degrees of freedom nearly Wilson's interval for 3 of 600."""
    found = proportion([1] * 3 + [0] * 597, range(600))
    low, high = proportion_confint(3, 600, method="wilson")
    assert (found.low, found.high) == (pytest.approx(low, rel=0.01), pytest.approx(high, rel=0.01))
    assert found.low > 0


def test_clusters_that_balance_exactly_count_their_items_and_no_more():
    """Each cluster has a true item and a false one, so the standard error is zero: 24 items, not infinitely many."""
    found = proportion([1, 0] * 12, [item // 2 for item in range(24)])
    z2 = t.ppf(0.975, 11) ** 2
    half = math.sqrt(z2) * math.sqrt(0.25 / 24 + z2 / (4 * 24**2)) / (1 + z2 / 24)
    assert found.standard_error == 0
    assert (found.low, found.high) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))


def test_an_interval_is_cut_at_what_is_possible_and_holds_its_value():
    found = Estimate(0.1, 0.2, -0.3, 0.5, 20, 20)
    assert (found.within(0, 1).low, found.within(0, 1).high) == (0, 0.5)
    assert (found.within(-1, 0.4).low, found.within(-1, 0.4).high) == (-0.3, 0.4)
    # What rounding leaves outside stays in its interval.
    odd = Estimate(1 + 1e-16 * 3, 0.2, 0.7, 1.3, 20, 20)
    assert odd.within(0, 1).high == odd.value
    few = Estimate(0.1, 0.2, None, None, 3, 3)
    assert few.within(0, 1) is few


def test_a_perplexity_has_the_exponentiated_ends():
    nats = Estimate(2.0, 0.1, 1.8, 2.2, 50, 20, 0.03, 1.5)
    found = exponentiated(nats)
    assert (found.value, found.low, found.high) == (math.exp(2), math.exp(1.8), math.exp(2.2))
    assert found.standard_error == pytest.approx(0.1 * math.exp(2))
    assert (found.n_items, found.n_clusters, found.p_value) == (50, 20, 0.03)
    assert exponentiated(Estimate(0.0, None, None, None, 1, 1)) == Estimate(1.0, None, None, None, 1, 1)


def test_a_perplexity_that_no_number_holds_is_infinite_and_so_is_its_standard_error():
    assert (exponential(709), exponential(710), exponential(-1000)) == (math.exp(709), math.inf, 0)
    found = exponentiated(Estimate(800.0, 100.0, 600.0, 1000.0, 50, 20))
    assert found == Estimate(math.inf, math.inf, math.exp(600), math.inf, 50, 20)
    agree = exponentiated(Estimate(800.0, 0.0, None, None, 50, 20))
    assert agree == Estimate(math.inf, math.inf, None, None, 50, 20)


@pytest.mark.parametrize(
    ("values", "clusters", "told"),
    [
        ([1.0, math.nan, math.inf], [1, 2, 3], "2 of 3 values are not finite, the first at 1"),
        ([1.0, 0.0], [1], "2 values, but 1 ids"),
        ([], [], "at least one value"),
        ([[1.0, 2.0]], [1], "one dimension"),
    ],
)
def test_what_cannot_be_estimated_is_one_message(values, clusters, told):
    for estimator in (clustered_mean, macro_mean, proportion):
        with pytest.raises(ContractError, match=told):
            estimator(values, clusters)


def test_a_proportion_is_of_zeros_and_ones():
    with pytest.raises(ContractError, match=r"such as 0\.5; expected 0 and 1 only"):
        proportion([1, 0.5], [1, 2])


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.floats(-100, 100), st.integers(0, 14)), min_size=15, max_size=60),
    st.randoms(use_true_random=False),
)
def test_neither_order_nor_names_of_clusters_matter(rows, random):
    """Clusters may be whole numbers, an array of them, or names."""
    first = clustered_mean([value for value, _ in rows], np.array([cluster for _, cluster in rows]))
    random.shuffle(rows)
    second = clustered_mean([value for value, _ in rows], [f"Q{cluster}" for _, cluster in rows])
    assert second.value == pytest.approx(first.value, abs=1e-9)
    assert second.n_clusters == first.n_clusters
    if first.standard_error is not None:
        assert second.standard_error == pytest.approx(first.standard_error, abs=1e-9)
