"""Weighted sums of cells: what they equal of the other estimates, and their part that comes from seeds by hand."""

import math
import random

import numpy as np
import pytest
from scipy.stats import t

from tempkb.core.statistics import change, clustered_mean
from tempkb.core.statistics.differences import UNTRAINED, Cells, weighted_sums

CLUSTERS = 30


def cells_of(items, spots, trainings=None, seeds=None):
    """Cells of items: cell, cluster and value of each; each cell is of a unit of its own."""
    keys = sorted({(cluster, cell) for cell, cluster, _ in items})
    values = {key: [value for cell, cluster, value in items if (cluster, cell) == key] for key in keys}
    untrained = np.full(len(spots), UNTRAINED)
    return Cells(
        np.array([cell for _, cell in keys]),
        np.array([cluster for cluster, _ in keys]),
        np.array([[float(len(values[key]))] for key in keys]),
        np.array([[math.fsum(values[key])] for key in keys]),
        np.array(spots),
        np.arange(len(spots)),
        untrained if trainings is None else np.array(trainings),
        np.zeros(len(spots), np.int64) if seeds is None else np.array(seeds),
    )


@pytest.fixture
def items():
    """Two cells of values from 0 to 1; some clusters are in one of them only."""
    chance = random.Random(3)  # noqa: S311 - reproducible chance, not secrets
    return [
        (cell, cluster, (cluster % 3 + chance.random()) / 3)
        for cell in (0, 1)
        for cluster in range(CLUSTERS - 5 * cell)
        for _ in range(chance.randint(1, 4))
    ]


def figures(estimate):
    return estimate.value, estimate.standard_error, estimate.low, estimate.high, estimate.n_items, estimate.n_clusters


def values_of(items, cell):
    return [[item[at] for item in items if item[0] == cell] for at in (2, 1)]


def test_a_cell_by_itself_is_a_clustered_mean(items):
    (found,) = weighted_sums(cells_of(items, [0, 1]), np.array([1.0, 0.0]))
    assert figures(found.estimate) == pytest.approx(figures(clustered_mean(*values_of(items, 0))))
    assert (found.seed_error, found.n_seeds, found.n_units) == (None, None, 1)


def test_a_cell_minus_another_is_a_change(items):
    (found,) = weighted_sums(cells_of(items, [0, 1]), np.array([-1.0, 1.0]))
    assert figures(found.estimate) == pytest.approx(figures(change(*values_of(items, 0), *values_of(items, 1))))


def test_cells_that_are_pooled_by_their_sizes_are_one_mean(items):
    sizes = np.array([len(values_of(items, cell)[0]) for cell in (0, 1)])
    (found,) = weighted_sums(cells_of(items, [0, 1]), sizes / sizes.sum(), is_pooled=True)
    expected = clustered_mean([value for *_, value in items], [cluster for _, cluster, _ in items])
    assert figures(found.estimate) == pytest.approx(figures(expected))


def test_a_cell_without_items_has_no_sum():
    assert weighted_sums(
        Cells(
            *(np.array(one) for one in ([0, 1], [0, 0], [[1.0], [0.0]], [[1.0], [0.0]])),
            *(np.array(one) for one in ([0, 1], [0, 1], [UNTRAINED] * 2, [0, 0])),
        ),
        np.array([0.5, 0.5]),
    ) == [None]


@pytest.mark.parametrize("n_with", [9, 12])
def test_a_cluster_without_an_item_of_a_measure_is_none_of_its_clusters(n_with):
    # Thirty clusters have an item of the first measure, and the first of them one of the second.
    values = [[(cluster * (7 if at else 3)) % 11 / 10 for cluster in range(CLUSTERS)] for at in (0, 1)]
    n = np.array([[1.0, float(cluster < n_with)] for cluster in range(CLUSTERS)])
    zeros = np.zeros(1, np.int64)
    cells = Cells(
        np.zeros(CLUSTERS, np.int64), np.arange(CLUSTERS), n, n * np.transpose(values), zeros, zeros, zeros - 1, zeros
    )
    first, second = weighted_sums(cells, np.array([1.0]))
    assert figures(first.estimate) == pytest.approx(figures(clustered_mean(values[0], range(CLUSTERS))))
    assert figures(second.estimate) == pytest.approx(figures(clustered_mean(values[1][:n_with], range(n_with))))
    assert (second.estimate.low is None) == (n_with < 10)


def test_seeds_are_drawn_too():
    """Two seeds give 0.2 and 0.6 of 40 items, each of its own cluster.

    The mean is 0.4. Their sample variance is 0.08, that of their mean 0.04. Clusters: each adds the mean of both seeds
    minus 0.4, over 40.
    """
    hits = [[cluster < n for cluster in range(40)] for n in (8, 24)]
    items = [(seed, cluster, float(hits[seed][cluster])) for seed in (0, 1) for cluster in range(40)]
    (found,) = weighted_sums(cells_of(items, [0, 0], [5, 5], [1, 2]), np.array([1.0]))
    squares = 8 * (1 - 0.4) ** 2 + 16 * (0.5 - 0.4) ** 2 + 16 * (0 - 0.4) ** 2
    by_cluster = 40 / 39 * squares / 40**2
    freedom = (by_cluster + 0.04) ** 2 / (by_cluster**2 / 39 + 0.04**2)
    assert 1 < freedom < 2
    half = t.ppf(0.975, freedom) * math.sqrt(by_cluster + 0.04)
    assert half > 0.6
    # So the interval would be wider than what a share can be.
    assert figures(found.estimate) == pytest.approx((0.4, math.sqrt(by_cluster + 0.04), 0, 1, 80, 40))
    assert found.estimate.freedom == pytest.approx(freedom)
    assert (found.seed_error, found.n_seeds, found.n_units) == (pytest.approx(0.2), 2, 2)


def test_an_interval_stays_within_what_the_sum_can_be():
    """Of 15 clusters nearly all are 1 in one cell and 0 in the other: the difference is near -1, with a wide interval."""
    items = [(0, cluster, float(cluster != 3)) for cluster in range(15)]
    items += [(1, cluster, float(cluster == 14)) for cluster in range(15)]
    (found,) = weighted_sums(cells_of(items, [0, 1]), np.array([-1.0, 1.0]))
    theta, deviations = -13 / 15, [(one == 14) - (one != 3) + 13 / 15 for one in range(15)]
    half = t.ppf(0.975, 14) * math.sqrt(15 / 14 * sum(one**2 for one in deviations)) / 15
    assert theta - half < -1
    assert (found.estimate.low, found.estimate.high) == (-1, pytest.approx(theta + half))
    # Half of a difference has half of its range.
    (found,) = weighted_sums(cells_of(items, [0, 1]), np.array([-0.5, 0.5]))
    assert (found.estimate.low, found.estimate.high) == (-0.5, pytest.approx((theta + half) / 2))
