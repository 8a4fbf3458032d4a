"""Knowledge dates on simulated changes whose date is known, and by hand."""

from collections import Counter
from datetime import date

import numpy as np
import pytest

from tempkb.core.errors import ContractError
from tempkb.core.statistics import knowledge_date, knowledge_dates

MONTHS = [date(2018 + month // 12, month % 12 + 1, 1) for month in range(60)]


def simulated(random, n, n_months, until, height, n_clusters):
    """Changes of which the new object is preferred to its control by `height` in months before one, and not later.

    Half of the changes of a subject are decided by the same draw.
    """
    month, cluster = random.integers(0, n_months, n), random.integers(0, n_clusters, n)
    draw = np.where(random.random(n) < 0.5, random.random(n_clusters)[cluster], random.random(n))
    preference = draw < np.where(month < until, 0.5 + height, 0.5)
    return [MONTHS[one] for one in month], preference.astype(int), (random.random(n) < 0.5).astype(int), cluster


def test_a_sharp_fall_is_found_to_the_month():
    """Subjects prefer the new object in all changes before 2019-01, and in none later."""
    starts = [month for month in MONTHS[:24] for _ in range(6)]
    found = knowledge_date(starts, [start.year == 2018 for start in starts], [0] * 144, range(144), seed=1)
    assert (found.answer, found.low, found.high, found.best) == ("interval", *[date(2019, 1, 1)] * 3)
    assert found.p_values[date(2019, 1, 1)] == 1
    assert found.no_fall == pytest.approx(1 / 1001)
    assert list(found.p_values) == MONTHS[1:24]
    assert found.level.value == 0.5


@pytest.mark.slow
def test_the_true_month_is_in_the_set_nineteen_times_of_twenty():
    """60 simulations; with 95 % there are fewer than 52 once in a thousand times."""
    random = np.random.default_rng(1)
    found = [
        knowledge_date(*simulated(random, 500, 12, 6, 0.35, 250), n_permutations=199, seed=seed) for seed in range(60)
    ]
    assert sum(one.p_values[MONTHS[6]] > 0.05 for one in found) >= 52
    intervals = [one for one in found if one.answer == "interval"]
    assert len(intervals) > 50
    assert np.median([(one.high - one.low).days for one in intervals]) < 100


@pytest.mark.slow
@pytest.mark.parametrize(("until", "height"), [(0, 0.3), (12, 0.3)], ids=["knows none", "knows all"])
def test_flat_data_cannot_tell(until, height):
    """Each hypothesis is rejected once in twenty times by chance, so some of forty may tell something."""
    random = np.random.default_rng(2)
    found = [
        knowledge_date(*simulated(random, 400, 12, until, height, 200), n_permutations=199, seed=seed)
        for seed in range(40)
    ]
    assert Counter(one.answer for one in found)["cannot tell"] >= 32
    # The level tells apart what the date cannot.
    is_above = [one.level.low > 0 for one in found]
    assert sum(is_above) == (40 if until else sum(is_above))
    assert sum(is_above) < 6 or until


def test_a_rise_is_no_fall():
    starts = [month for month in MONTHS[:12] for _ in range(6)]
    found = knowledge_date(starts, [start.month > 6 for start in starts], [0] * 72, range(72), seed=1)
    assert (found.answer, found.best) == ("cannot tell", None)
    assert found.no_fall == 1


@pytest.mark.parametrize(
    ("kept", "may_be_outside", "expected"),
    [
        ([3, 4], False, ("interval", 3, 4)),
        ([1, 9], False, ("interval", 1, 9)),
        ([5, 9], True, ("not before", 5, None)),
        ([1, 2], True, ("not after", None, 2)),
        ([1, 5, 9], True, ("cannot tell", None, None)),
        ([4], True, ("cannot tell", None, None)),
        ([], True, ("cannot tell", None, None)),
        ([], False, ("cannot tell", None, None)),
    ],
)
def test_what_is_kept_of_ten_windows_is_an_answer(kept, may_be_outside, expected):
    """Starts of windows are numbered; the first, 0, is no place for a fall."""
    assert knowledge_dates._set(np.array(kept, int), 9, may_be_outside=may_be_outside) == expected


def test_changes_of_a_cluster_move_together():
    """Ten clusters of thirty equal changes each, all early or all late: as good as ten changes, five on either side.

    Of 252 ways to choose five of ten clusters as the early ones, one is as extreme: p is some 1/252. Changes moved
    one by one would give the smallest possible p-value, 1/2001.
    """
    starts = [MONTHS[cluster] for cluster in range(10) for _ in range(30)]
    clusters = [cluster for cluster in range(10) for _ in range(30)]
    preferences = [int(cluster < 5) for cluster in clusters]
    found = knowledge_date(starts, preferences, [0] * 300, clusters, n_permutations=2000, seed=1)
    assert found.no_fall == pytest.approx(1 / 252, abs=0.005)
    assert found.no_fall > 2 / 2001
    assert found.best == MONTHS[5]


def test_few_clusters_or_one_window_cannot_tell():
    starts = [MONTHS[one % 6] for one in range(90)]
    few = knowledge_date(starts, [1, 0] * 45, [0] * 90, [one % 9 for one in range(90)], seed=1)
    assert (few.answer, few.p_values, few.no_fall) == ("cannot tell", {}, None)
    assert knowledge_date([MONTHS[0]] * 20, [1, 0] * 10, [0] * 20, range(20), seed=1).answer == "cannot tell"


@pytest.mark.slow
def test_equal_seeds_give_equal_sets():
    """`make bench` times a thousand permutations of 5,000 changes over 60 months."""
    data = simulated(np.random.default_rng(3), 2000, 60, 30, 0.3, 1200)
    first, second, other = (knowledge_date(*data, n_permutations=100, seed=seed) for seed in (2, 2, 3))
    assert first == second
    assert first.p_values != other.p_values
    assert first.answer == other.answer == "interval"
    assert first.low <= MONTHS[30] <= first.high


def test_lists_of_unequal_lengths_are_one_message():
    with pytest.raises(ContractError, match="starts of windows: 2 values, but 1 ids"):
        knowledge_date([MONTHS[0]], [1, 0], [0, 0], [1, 2], seed=1)
