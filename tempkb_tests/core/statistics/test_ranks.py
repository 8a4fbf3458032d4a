"""Ranks that may be ties, by hand."""

import numpy as np
import pytest

from tempkb.core.errors import ContractError
from tempkb.core.statistics import Scored, holm, paired_macro_difference, rank_intervals


def test_holm_by_hand():
    """Sorted .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06, .04, and never less than the one before."""
    assert holm([0.04, 0.01, 0.005, 0.03]) == pytest.approx([0.06, 0.03, 0.02, 0.06])
    assert holm([]) == []
    assert holm([0.5, 0.9]) == [1, 1]
    with pytest.raises(ContractError, match="from 0 to 1"):
        holm([0.1, float("nan")])


def scored(values, items=None):
    items = range(len(values)) if items is None else items
    return Scored([f"item {item}" for item in items], list(values), [item // 2 for item in items])


def test_a_tie_with_a_third_is_no_tie():
    """Best, middle and worst lie half a step apart; noise of each model is so large that only a whole step is seen."""
    random = np.random.default_rng(2)
    noise = random.normal(size=(3, 400))
    scores = {name: scored(noise[i] + 0.12 * i) for i, name in enumerate(("worst", "middle", "best"))}
    found = rank_intervals(scores)
    assert found == {"worst": (2, 3), "middle": (1, 3), "best": (1, 2)}
    losses = rank_intervals(scores, higher_is_better=False)
    assert losses == {"worst": (1, 2), "middle": (1, 3), "best": (2, 3)}


def test_clear_differences_are_ranks_and_equal_models_share_all():
    noise = np.random.default_rng(3).normal(size=100)
    found = rank_intervals(
        {name: scored(noise + step * np.linspace(0.9, 1.1, 100)) for name, step in (("b", 1), ("c", 0), ("a", 2))}
    )
    assert found == {"b": (2, 2), "c": (3, 3), "a": (1, 1)}
    assert rank_intervals({"a": scored(noise), "b": scored(noise)}) == {"a": (1, 2), "b": (1, 2)}
    assert rank_intervals({"a": scored(noise)}) == {"a": (1, 1)}
    assert rank_intervals({}) == {}


def test_all_pairs_are_corrected_for():
    """A p-value of .03 makes a rank alone, but not beside eight other models that are all alike."""
    random = np.random.default_rng(11)
    base = random.normal(size=60)
    steps = random.normal(size=60)
    # A mean difference of 2.5 standard errors over 30 clusters.
    pairs = steps.reshape(30, 2).sum(axis=1)
    pairs = (pairs - pairs.mean()) / pairs.std(ddof=1) * 0.5 + 2.3 * 0.5 / np.sqrt(30)
    better = scored(base + np.repeat(pairs, 2))
    assert rank_intervals({"base": scored(base), "better": better}) == {"base": (2, 2), "better": (1, 1)}
    others = {f"other {i}": scored(base + 1e-3 * random.normal(size=60)) for i in range(8)}
    assert set(rank_intervals({"base": scored(base), "better": better, **others}).values()) == {(1, 10)}


def test_pairs_are_compared_on_the_items_that_both_have():
    """The second model has other, easier items besides: on the common ones it is worse."""
    random = np.random.default_rng(4)
    first = random.normal(size=60)
    second = np.concatenate([first - random.uniform(0.2, 0.4, 60), random.normal(50, 1, 60)])
    assert rank_intervals({"first": scored(first), "second": scored(second)}) == {"first": (1, 1), "second": (2, 2)}


def test_a_pair_with_few_common_clusters_or_none_is_a_tie():
    first = scored(np.zeros(100))
    few, none = scored(np.ones(18), range(82, 100)), scored(np.ones(18), range(100, 118))
    assert rank_intervals({"first": first, "few": few}) == {"first": (1, 2), "few": (1, 2)}
    assert rank_intervals({"first": first, "none": none}) == {"first": (1, 2), "none": (1, 2)}


def test_entities_may_count_once_each():
    """One entity of a thousand items is better in the second model; twenty of one item each are better in the first."""
    clusters = [0] * 1000 + list(range(1, 21))
    items = list(range(1020))
    gain = np.concatenate([np.full(1000, 1.0), -np.linspace(0.9, 1.1, 20)])
    scores = {"first": Scored(items, np.zeros(1020), clusters), "second": Scored(items, gain, clusters)}
    assert rank_intervals(scores, difference=paired_macro_difference) == {"first": (1, 1), "second": (2, 2)}
    assert rank_intervals(scores) != {"first": (1, 1), "second": (2, 2)}


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"m": Scored(["a", "a"], [1, 2], [1, 1])}, "m: 2 values for 1 items"),
        ({"m": Scored(["a"], [1], [1]), "n": Scored(["a"], [1], [2])}, "n: the item 'a' is in another cluster"),
        ({"m": Scored(["a"], [1, 2], [1])}, "items of m: 2 values, but 1 ids"),
    ],
)
def test_items_that_contradict_one_another_are_one_message(scores, told):
    with pytest.raises(ContractError, match=told):
        rank_intervals(scores)
