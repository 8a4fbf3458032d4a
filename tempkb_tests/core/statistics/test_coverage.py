"""Intervals hold the truth as often as demanded; `make soak` counts it with many more replicates."""

import math

import pytest

from tempkb_tests.soak.coverage import cases

REPLICATES = 400
DEMANDED = [case for case in cases() if case.demand is not None and case.n_clusters <= 100]


@pytest.mark.parametrize("case", DEMANDED, ids=lambda case: f"{case.process}, {case.estimator}, {case.n_clusters}")
def test_intervals_hold_the_truth(case):
    """Three standard deviations of a share of 400 below the demand: a sound interval fails here once in a thousand."""
    margin = 3 * math.sqrt(case.demand * (1 - case.demand) / REPLICATES)
    assert case.coverage(REPLICATES) >= case.demand - margin


def test_intervals_that_ignore_clusters_would_not(monkeypatch):
    """Five items of a cluster are alike: taken for independent they give intervals that are 1.7 times too short."""
    from tempkb.core.statistics import clustered_mean
    from tempkb_tests.soak import coverage

    monkeypatch.setattr(coverage, "clustered_mean", lambda values, _: clustered_mean(values, range(len(values))))
    (case,) = (
        one
        for one in coverage.cases()
        if (one.process, one.estimator, one.n_clusters) == ("equal normal", "clustered_mean", 30)
    )
    assert case.coverage(REPLICATES) < case.demand - 3 * math.sqrt(case.demand * (1 - case.demand) / REPLICATES)
