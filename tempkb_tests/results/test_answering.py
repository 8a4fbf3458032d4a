"""What the answers over all windows say of a model, from scores written by hand."""

from datetime import date

import numpy as np
import pytest

from tempkb.results.answering import Answers, cutoff_row
from tempkb.results.tabling import cutoff_in_words

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


def width(row, low, high):
    return row[high] - row[low]


def test_objects_that_many_subjects_share_make_the_share_less_certain():
    # Forty subjects, four of them for each of ten objects, which decide the preference.
    shared = cutoff_row(answers([1, 0] * 20, objects=[10 * (at % 2) + at // 8 for at in range(40)]))
    assert (shared["n_changes"], shared["n_clusters"], shared["value"]) == (40, 40, 0.5)
    assert shared["two_way_low"] < shared["low"] < shared["high"] < shared["two_way_high"]
    own = cutoff_row(answers([1, 0] * 20))
    assert width(own, "two_way_low", "two_way_high") == pytest.approx(width(own, "low", "high"))


@pytest.mark.parametrize("n_true", [0, 1, 58, 60])
def test_the_interval_of_two_ways_is_no_surer_near_the_edges(n_true):
    found = cutoff_row(answers([1] * n_true + [0] * (60 - n_true), objects=[at % 40 for at in range(60)]))
    assert 0 <= found["two_way_low"] <= found["low"] <= found["high"] <= found["two_way_high"] <= 1


def test_the_range_over_relations_is_that_without_each_of_them():
    found = cutoff_row(answers([1] * 10 + [0] * 10 + [1, 0] * 10, relations=["A"] * 10 + ["B"] * 10 + ["C"] * 20))
    # Without A 10 of 30, without B 20 of 30, without C 10 of 20.
    assert (found["without_one_low"], found["without_one_high"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    alone = cutoff_row(answers([1, 0] * 10))
    assert (alone["without_one_low"], alone["without_one_high"]) == (None, None)


def test_changes_without_a_score_of_what_the_subject_adds_count_for_no_level():
    found = cutoff_row(answers([np.nan] * 12))
    assert (found["n_changes"], found["n_clusters"], found["answer"]) == (12, 0, "inconclusive")
    assert {name for name, value in found.items() if value is None} >= {
        *("value", "low", "high", "two_way_low", "without_one_low", "cutoff", "cutoff_low", "cutoff_high")
    }


def test_a_sharp_fall_is_an_interval_of_one_window_and_no_fall_has_no_date():
    """Subjects prefer the new object in all changes before July, and in none later: see `test_knowledge_dates`."""
    months = [date(2021, month, 1) for month in range(1, 13) for _ in range(6)]
    fallen = cutoff_row(answers([start.month < 7 for start in months], starts=months))
    july = date(2021, 7, 1)
    dates = {"cutoff": july, "cutoff_low": july, "cutoff_high": july}
    assert fallen | {"answer": "interval", **dates} == fallen
    assert cutoff_in_words(fallen | {"knows_certainly_until": None}) == "2021-07-01 [2021-07-01, 2021-07-01]"
    for stated, possibly, is_odd in ((july, None, False), (APRIL, july, False), (APRIL, None, True)):
        row = fallen | {"knows_certainly_until": stated, "knows_possibly_until": possibly}
        assert cutoff_in_words(row).endswith("], which excludes the stated one") == is_odd
    level = cutoff_row(answers([1] * len(months), starts=months))
    assert level | {"answer": "inconclusive"} | dict.fromkeys(dates) == level
    assert cutoff_in_words(level) == "inconclusive"


def test_a_set_that_is_open_at_one_end_names_the_other():
    row = {"answer": "not before", "cutoff": None, "cutoff_low": APRIL, "cutoff_high": None}
    assert cutoff_in_words(row) == "not before 2021-04-01"
    row = {"answer": "not after", "cutoff": None, "cutoff_low": None, "cutoff_high": APRIL}
    assert cutoff_in_words(row) == "not after 2021-04-01"
