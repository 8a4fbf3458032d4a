"""An ECBD release as it was asked for."""

from collections.abc import Mapping
from typing import Any

from tempkb.benchmarks import releases
from tempkb.benchmarks.ecbd.design import Design, from_json

Release = releases.Release[Design]


def read_entry(said: Mapping[str, Any]) -> Release:
    """Read a release that the register holds."""
    return Release(said["name"], said["benchmark"], said["preset"], from_json(said["design"]))
