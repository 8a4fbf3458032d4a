"""Bootstraps against closed forms, and what they cost."""

import time
import tracemalloc

import numpy as np
import pytest

from tempkb.core.errors import ContractError
from tempkb.core.statistics import cluster_bootstrap, clustered_mean, crossed_bootstrap, macro_mean, resampling


def entities(n_items=8_500, n_clusters=3_000):
    """As many items and entities as the pages that were measured by hand have: values of an entity are much alike."""
    random = np.random.default_rng(1)
    clusters = random.integers(0, n_clusters, n_items)
    return random.normal(3, 0.9, n_clusters)[clusters] + random.normal(0, 0.45, n_items), clusters


@pytest.mark.parametrize(("statistic", "estimator"), [("mean", clustered_mean), ("macro_mean", macro_mean)])
def test_ten_thousand_replicates_take_under_four_seconds_and_agree_with_the_formula(statistic, estimator):
    values, clusters = entities()
    start = time.process_time()
    found = cluster_bootstrap(values, clusters, statistic, seed=1)
    assert time.process_time() - start < 4
    expected = estimator(values, clusters)
    assert len(found.replicates) == 10_000
    assert found.value == pytest.approx(expected.value)
    # A standard deviation of 10,000 replicates is known to 0.7 %.
    assert found.standard_error == pytest.approx(expected.standard_error, rel=0.03)
    assert (found.low, found.high) == (
        pytest.approx(expected.low, abs=0.1 * expected.standard_error),
        pytest.approx(expected.high, abs=0.1 * expected.standard_error),
    )


def test_replicates_are_means_of_drawn_clusters_by_hand():
    """Of two clusters, 0 and (3, 3, 3), a replicate is 0, 3, or their mean over four items, half of the time."""
    found = cluster_bootstrap([0, 3, 3, 3], [1, 2, 2, 2], n_replicates=4000, seed=3)
    values, counts = np.unique(found.replicates, return_counts=True)
    assert values.tolist() == [0, 2.25, 3]
    # Five standard deviations of a share of 4,000.
    assert counts / 4000 == pytest.approx([0.25, 0.5, 0.25], abs=0.04)
    assert (found.low, found.high) == (None, None)
    macro = cluster_bootstrap([0, 3, 3, 3], [1, 2, 2, 2], "macro_mean", n_replicates=100, seed=3)
    assert set(macro.replicates.tolist()) == {0, 1.5, 3}
    median = cluster_bootstrap([0, 1, 3, 4], [1, 1, 2, 2], "median", n_replicates=400, seed=3)
    assert median.value == 2
    assert set(median.replicates.tolist()) == {0.5, 2, 3.5}


def test_the_median_of_single_items_is_that_of_numpy():
    values = np.random.default_rng(4).normal(size=101)
    found = cluster_bootstrap(values, range(101), "median", n_replicates=3000, seed=5)
    random = np.random.default_rng(6)
    expected = [np.median(random.choice(values, 101)) for _ in range(3000)]
    assert found.value == np.median(values)
    assert found.standard_error == pytest.approx(np.std(expected, ddof=1), rel=0.1)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(expected, [0.025, 0.975])), abs=0.05)


def test_equal_seeds_give_equal_replicates():
    values, clusters = entities(400, 90)
    first, second = (cluster_bootstrap(values, clusters, n_replicates=50, seed=8).replicates for _ in range(2))
    other = cluster_bootstrap(values, clusters, n_replicates=50, seed=9).replicates
    assert first.tolist() == second.tolist()
    assert first.tolist() != other.tolist()


def test_an_unknown_statistic_is_one_message():
    with pytest.raises(ContractError, match="no statistic 'mode'; there are mean, macro_mean, median"):
        cluster_bootstrap([1.0], [1], "mode", seed=1)


def crossed(random, n_subjects, n_seeds, of_subject, of_seed, noise):
    return (
        random.normal(0, of_subject, (n_subjects, 1))
        + random.normal(0, of_seed, (1, n_seeds))
        + random.normal(0, noise, (n_subjects, n_seeds))
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_subject", "of_seed", "noise"),
    [(1, 0.02, 0.1), (0.1, 1, 0.1), (1, 0.07, 0.3)],
    ids=["subjects", "seeds", "both"],
)
def test_subjects_and_seeds_are_both_random(of_subject, of_seed, noise):
    """Coverage of zero in 400 matrices of 200 subjects and 5 seeds: at least 91 %, two standard deviations below 94 %."""
    random = np.random.default_rng(10)
    covered = 0
    for number in range(400):
        found = crossed_bootstrap(crossed(random, 200, 5, of_subject, of_seed, noise), n_replicates=500, seed=number)
        assert (found.low <= 0 <= found.high) == (found.p_value >= 0.05)
        covered += found.low <= 0 <= found.high
    assert covered >= 0.91 * 400


@pytest.mark.slow
def test_more_subjects_do_not_help_where_seeds_differ():
    random = np.random.default_rng(12)
    small, large = (crossed_bootstrap(crossed(random, n, 5, 0.1, 1, 0.1), seed=1) for n in (50, 5000))
    assert large.high - large.low > 0.3 * (small.high - small.low)
    single = clustered_mean(crossed(random, 5000, 5, 0.1, 1, 0.1).ravel(), np.repeat(range(5000), 5))
    assert large.high - large.low > 20 * (single.high - single.low)


def test_missing_values_count_for_nothing():
    """A row with one value counts once, in the value as in the replicates."""
    matrix = np.random.default_rng(13).normal(size=(30, 4))
    matrix[:10, 1:] = np.nan
    found = crossed_bootstrap(matrix, seed=1)
    assert found.value == pytest.approx(np.nanmean(matrix))
    assert (found.n_items, found.n_clusters) == (90, 30)
    assert found.low < found.value < found.high


@pytest.mark.slow
def test_the_rows_of_all_replicates_are_never_drawn_at_once(monkeypatch):
    """10,000 replicates of 2,000 subjects are 160 MB, and twice as many in two types of numbers."""
    matrix = np.random.default_rng(15).normal(size=(2000, 3))
    matrix[::7, 1] = np.nan
    tracemalloc.start()
    found = crossed_bootstrap(matrix, seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    # However many are drawn at once, they are the same ones.
    monkeypatch.setattr(resampling, "DRAWS_AT_ONCE", 2000 * 7)
    parts = crossed_bootstrap(matrix, seed=1)
    assert (parts.low, parts.high) == pytest.approx((found.low, found.high), rel=1e-12)


def test_one_seed_or_nine_subjects_make_no_interval():
    matrix = np.random.default_rng(14).normal(size=(200, 5))
    assert crossed_bootstrap(matrix[:, :1], seed=1).low is None
    assert crossed_bootstrap(matrix[:9], seed=1).reason == "9 clusters; at least 10 are needed for an interval"
    assert crossed_bootstrap(np.full((20, 3), 0.1), seed=1).low is None
    for odd in (np.full((20, 3), np.inf), np.full((20, 3), np.nan), np.zeros(20)):
        with pytest.raises(ContractError, match="a value in each row and column"):
            crossed_bootstrap(odd, seed=1)
