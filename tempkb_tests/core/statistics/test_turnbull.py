"""Turnbull's estimate: by hand, against the conditions of a greatest likelihood, and its intervals."""

import numpy as np
import pytest

from tempkb.core.errors import ContractError
from tempkb.core.statistics.turnbull import turnbull


def of(*times, clusters=None, seed=1, **options):
    """Arrivals of (first, last, number) of items, each group a cluster of its own."""
    first, last, numbers = (np.array(column, np.int64) for column in zip(*times, strict=True))
    return turnbull(first, last, numbers, clusters or np.arange(len(times)), seed=seed, **options)


def test_what_is_known_to_the_day_is_counted():
    found = of((0, 0, 6), (30, 30, 3), (90, 90, 1))
    assert found.last.tolist() == [0, 30, 90]
    assert found.shares == pytest.approx([0.6, 0.9, 1.0])
    by = [share for day in (0, 29, 30, 1000) for share in found.by(day)]
    assert by == pytest.approx([0.6, 0.6, 0.6, 0.6, 0.9, 0.9, 1, 1])
    assert [found.days_to(share)[0] for share in (0.6, 0.61, 0.9, 0.95, 1)] == [0, 30, 30, 90, 90]


def test_on_which_day_of_a_stretch_is_not_known():
    """Two came by day 0, and of one only is known that it came from day 1 to 92; between, both ends are possible."""
    found = of((0, 0, 2), (1, 92, 1))
    assert (found.first.tolist(), found.last.tolist()) == ([0, 1], [0, 92])
    assert found.by(50) == (pytest.approx(2 / 3), pytest.approx(1))
    assert found.days_to(0.95)[0] == 92


def test_four_items_by_hand():
    """Let a be the mass of [2, 3] and 1-a that of [5, 6]. [2, 3] once, [2, 6] once, [5, 6] once, [1, 4] once (like
    the first): the likelihood a * 1 * (1-a) * a is greatest at a = 2/3."""
    found = of((2, 3, 1), (2, 6, 1), (5, 6, 1), (1, 4, 1))
    assert (found.first.tolist(), found.last.tolist()) == ([2, 5], [3, 6])
    assert found.shares == pytest.approx([2 / 3, 1], abs=1e-4)


def observed(seed, n):
    """Random times, each seen between two of some random looks."""
    chance = np.random.default_rng(seed)
    first, last = np.zeros(n, np.int64), np.full(n, 900, np.int64)
    for at, time in enumerate((chance.exponential(90, n) * (chance.random(n) < 0.7)).astype(int)):
        looks = chance.choice(np.arange(0, 600, 30), 4, replace=False) + chance.integers(0, 5)
        first[at] = max((look + 1 for look in looks if look < time), default=0)
        last[at] = min((look for look in looks if look >= time), default=900)
    return first, last, chance.integers(1, 4, n)


@pytest.mark.parametrize("seed", range(4, 8))
def test_no_mass_can_be_moved_to_a_better_place(seed):
    """The conditions of Gentleman and Geyer (1994): derivatives are 1 where there is mass, and nowhere greater."""
    first, last, numbers = observed(seed, 80)
    found = turnbull(first, last, numbers, np.arange(80), n_replicates=1, seed=1)
    masses = np.diff(found.shares, prepend=0)
    assert masses.sum() == pytest.approx(1)
    derivatives = np.zeros(len(masses))
    for one, other, n in zip(first, last, numbers, strict=True):
        within = (found.first >= one) & (found.last <= other)
        derivatives += n / numbers.sum() * within / masses[within].sum()
    assert derivatives.max() < 1 + 1e-5
    assert derivatives[masses > 0.01].min() > 1 - 1e-3


def test_items_of_a_cluster_count_for_less_than_independent_ones():
    """Each of 40 subjects has ten facts that came together: drawn by subject the interval is as wide as of 40."""
    late = [(91, 180, 10)] * 8
    together = of(*[(0, 0, 10)] * 32, *late)
    low, high = together.intervals[:, 0]
    assert together.n_clusters == 40
    # A binomial share of 40 has a standard error of 6.3 points.
    assert (high - low) / 2 == pytest.approx(1.96 * 0.063, rel=0.15)
    assert together.days_to(0.95) == (180, 180, 180)
    assert together.days_to(0.80) == (0, 0, 180)


def test_equal_seeds_give_equal_replicates_and_few_clusters_none():
    times = [(0, 0, 3), (0, 90, 2), (1, 90, 1), (91, 180, 1)] * 3
    assert (of(*times).replicates == of(*times).replicates).all()
    few = of(*times[:9])
    assert few.days_to(0.5)[1:] == (None, None)
    assert np.isnan(few.intervals).all()


@pytest.mark.parametrize("times", [[(3, 2, 1)], []])
def test_what_is_no_time_is_refused(times):
    first, last, numbers = (np.array([row[at] for row in times], np.int64) for at in range(3))
    with pytest.raises(ContractError, match="no last day before the first"):
        turnbull(first, last, numbers, np.arange(len(times)), seed=1)
