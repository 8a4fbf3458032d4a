"""Estimates with intervals that know of clusters, as SQL for views: the formulas of `tempkb.statistics`."""
