"""The linkers that a home knows, read from the lake without Arrow, which commands that only read do without."""

from typing import Any

from tempkb.linking.tables import BASELINES, KINDS, LINKERS
from tempkb.store.lake import Lake
from tempkb.store.memory import declared_rows


def known_linkers(lake: Lake) -> list[dict[str, Any]]:
    """Return the rows of `linkers`, sorted by name, and behind them those of the baselines, which no table has.

    The checkpoint of a linker that was trained here is where it is now, also in a home that was copied or moved.
    """
    found = [_located(lake, row) for row in declared_rows(lake.files(LINKERS.name), LINKERS)]
    baselines = [{**dict.fromkeys(LINKERS.column_names()), "linker": name, "kind": name} for name in BASELINES]
    return [*found, *baselines]


def known_linker(lake: Lake, name: str) -> dict[str, Any] | None:
    """Return the row of a linker; None if there is none of that name."""
    return next((row for row in known_linkers(lake) if row["linker"] == name), None)


def _located(lake: Lake, row: dict[str, Any]) -> dict[str, Any]:
    """A row in which the folder of a linker that was trained in the home is absolute."""
    if row["kind"] == KINDS[0] and row["checkpoint"] is not None:
        row["checkpoint"] = str(lake.root.parent / row["checkpoint"])
    return row
