"""The contrasts of models that are told the time: their intervals, by hand, and what is expected of them."""

import io
import sys
from dataclasses import replace

import pytest

from tempkb_tests.soak.dated import CONTRASTS, _report, interval


def test_the_interval_is_students_over_worlds():
    # The standard deviation of 1, 2, 3, 4, 5 is sqrt(2.5), and the quantile of t with four degrees of freedom 2.776445.
    assert interval([1, 2, 3, 4, 5]) == pytest.approx((3, 3 - 2.776445 * 0.5**0.5, 3 + 2.776445 * 0.5**0.5), abs=1e-6)


@pytest.mark.parametrize(
    ("levels", "expected", "is_wrong"),
    [
        ((0.7, 0.8, 0.9), "positive", False),
        ((0.3, 0.8, 0.9), "positive", True),
        ((0.49, 0.5, 0.51), "equal", False),
        # Nothing was seen of it, and it may be large.
        ((0.3, 0.5, 0.7), "equal", True),
        ((0.3, 0.5, 0.7), "zero", False),
        # Hardly anything, but always the same.
        ((0.51, 0.511, 0.512), "zero", False),
        ((0.7, 0.7, 0.71), "zero", True),
    ],
)
def test_what_is_expected_of_a_contrast(levels, expected, is_wrong, monkeypatch):
    one = replace(next(own for own in CONTRASTS if own.minus is None), expected=expected)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert _report("causal", one, [{("causal", one.of): level} for level in levels]) == is_wrong
