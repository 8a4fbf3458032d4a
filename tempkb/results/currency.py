"""Says of which versions results are made, and whether these are still the present ones."""

from collections.abc import Mapping

from tempkb.results.tables import MADE_FROM
from tempkb.store.lake import Lake, Version
from tempkb.store.store import inputs_of


def present_inputs(lake: Lake, table: str) -> Mapping[str, str]:
    """Return the present versions of all that a table of results is made from, by table and partition."""
    return {f"{name} {one.partition}": one.version for name in MADE_FROM[table] for one in lake.versions(name)}


def is_current(lake: Lake, version: Version) -> bool:
    """Return whether a table of results would be made from the same versions now."""
    return inputs_of(version) == present_inputs(lake, version.table)
