"""Ranks that may be ties, by hand."""

import pytest

from tempkb.core.errors import ContractError
from tempkb.core.statistics import Estimate, holm, ranks


def test_holm_by_hand():
    """Sorted .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06, .04, and never less than the one before."""
    assert holm([0.04, 0.01, 0.005, 0.03]) == pytest.approx([0.06, 0.03, 0.02, 0.06])
    assert holm([]) == []
    assert holm([0.5, 0.9]) == [1, 1]
    with pytest.raises(ContractError, match="from 0 to 1"):
        holm([0.1, float("nan")])


def difference(value, p_value):
    return Estimate(value, None, None, None, 100, 50, p_value)


def test_a_tie_with_a_third_is_no_tie():
    """Only best and worst differ."""
    pairs = {
        ("worst", "middle"): difference(0.5, 0.06),
        ("worst", "best"): difference(1.0, 0.001),
        ("middle", "best"): difference(0.5, 0.07),
    }
    names = ("worst", "middle", "best")
    assert ranks(names, pairs) == {"worst": (2, 3), "middle": (1, 3), "best": (1, 2)}
    assert ranks(names, pairs, higher_is_better=False) == {"worst": (1, 2), "middle": (1, 3), "best": (2, 3)}


def test_all_pairs_are_corrected_for():
    """A p-value of .03 makes a rank alone, but not beside another pair; what has no p-value differs from nothing."""
    pair = {("base", "better"): difference(1.0, 0.03)}
    assert ranks(["base", "better"], pair) == {"base": (2, 2), "better": (1, 1)}
    others = {("base", "other"): difference(0.1, 0.9), ("better", "other"): difference(-9.0, None)}
    assert set(ranks(["base", "better", "other"], pair | others).values()) == {(1, 3)}
    assert ranks(["base"], {}) == {"base": (1, 1)}
