"""What the answers over all windows say of a model, from scores written by hand."""

from datetime import date

import numpy as np
import pytest

from tempkb.results.answering import Answers, answering_of

JANUARY, APRIL = date(2021, 1, 1), date(2021, 4, 1)


def answers(prefers, clusters=None, objects=None, relations=None, starts=None, new=None):
    n = len(prefers)
    values = np.array(prefers, float)
    return Answers(
        "r",
        "m",
        "causal.span_end-1.f32",
        None,
        None,
        starts or [JANUARY, APRIL] * (n // 2) + [JANUARY] * (n % 2),
        np.array(clusters or range(n), np.uint64),
        np.array(objects or range(n), np.uint64),
        relations or ["P54"] * n,
        values,
        np.zeros(n),
        np.array(new or [-1.0] * n),
        np.full(n, -2.0),
        np.ones(n, bool),
        np.zeros(n, bool),
    )


def test_objects_that_many_subjects_share_make_the_share_less_certain():
    # Forty subjects, four of them for each of ten objects, which decide the preference.
    shared = answering_of(answers([1, 0] * 20, objects=[10 * (at % 2) + at // 8 for at in range(40)]))
    assert shared.level.value == shared.two_ways.value == 0.5
    assert shared.two_ways.low < shared.level.low < shared.level.high < shared.two_ways.high
    own = answering_of(answers([1, 0] * 20))
    assert own.two_ways.standard_error == pytest.approx(own.level.standard_error)


@pytest.mark.parametrize("n_true", [0, 1, 58, 60])
def test_the_interval_of_two_ways_is_no_surer_near_the_edges(n_true):
    found = answering_of(answers([1] * n_true + [0] * (60 - n_true), objects=[at % 40 for at in range(60)]))
    assert 0 <= found.two_ways.low <= found.level.low <= found.level.high <= found.two_ways.high <= 1


def test_the_range_over_relations_is_that_without_each_of_them():
    found = answering_of(answers([1] * 10 + [0] * 10 + [1, 0] * 10, relations=["A"] * 10 + ["B"] * 10 + ["C"] * 20))
    # Without A 10 of 30, without B 20 of 30, without C 10 of 20.
    assert found.without_one == pytest.approx((1 / 3, 2 / 3))
    assert answering_of(answers([1, 0] * 10)).without_one is None


def test_changes_without_a_score_of_what_the_subject_adds_count_for_no_level():
    found = answering_of(answers([np.nan] * 12))
    assert (found.level, found.two_ways, found.known_until, found.until_in_words) == (None, None, None, "inconclusive")
