"""A requested release of TempLAMA or DynamicTempLAMA."""

from collections.abc import Mapping
from typing import Any

from tempkb.benchmarks import releases
from tempkb.benchmarks.fact_queries.design import Design, from_json

Release = releases.Release[Design]


def read_entry(entry: Mapping[str, Any]) -> Release:
    """Return a release from its entry in the register."""
    return Release(entry["name"], entry["benchmark"], entry["preset"], from_json(entry["design"]))
