"""Estimates with intervals that know of clusters: pure functions over arrays, without DuckDB and without Dagster.

A cluster is what was drawn at random, mostly a subject or an entity: its items resemble one another, and count for
less than so many independent ones. docs/decisions.md says why these estimators.
"""

from tempkb.core.statistics.calibration import Calibration, calibration, forced_choice
from tempkb.core.statistics.differences import (
    change,
    leave_one_out,
    macro_change,
    paired_difference,
    paired_macro_difference,
    two_way,
    two_way_proportion,
)
from tempkb.core.statistics.estimates import (
    MIN_CLUSTERS,
    Estimate,
    clustered_mean,
    equivalence,
    exponential,
    exponentiated,
    macro_mean,
    proportion,
)
from tempkb.core.statistics.knowledge_dates import KnowledgeDate, knowledge_date
from tempkb.core.statistics.ranks import holm, ranks
from tempkb.core.statistics.resampling import Resampled, cluster_bootstrap, crossed_bootstrap

__all__ = [
    "MIN_CLUSTERS",
    "Calibration",
    "Estimate",
    "KnowledgeDate",
    "Resampled",
    "calibration",
    "change",
    "cluster_bootstrap",
    "clustered_mean",
    "crossed_bootstrap",
    "equivalence",
    "exponential",
    "exponentiated",
    "forced_choice",
    "holm",
    "knowledge_date",
    "leave_one_out",
    "macro_change",
    "macro_mean",
    "paired_difference",
    "paired_macro_difference",
    "proportion",
    "ranks",
    "two_way",
    "two_way_proportion",
]
