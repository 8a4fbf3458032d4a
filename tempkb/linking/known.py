"""The linkers that a home knows, read from the lake without Arrow, which commands that only read do without."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tempkb.errors import SettingsError
from tempkb.linking.requests import command_of
from tempkb.linking.tables import BASELINES, KINDS, LINKERS
from tempkb.options import Words
from tempkb.store.lake import Lake
from tempkb.store.memory import declared_rows
from tempkb.store.said import readable_said


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


def require_linker(lake: Lake, name: str) -> dict[str, Any]:
    """Return the row of a linker.

    Raises:
        SettingsError: there is none of that name.
    """
    row = known_linker(lake, name)
    if row is None:
        there = ", ".join(one["linker"] for one in known_linkers(lake))
        raise SettingsError(
            f"linker {name!r}: no such linker; there: {there}. Train it first: tempkb linker train RELEASE, or add an "
            "encoder: tempkb linker add NAME CHECKPOINT"
        )
    return row


def words_of(row: Mapping[str, Any]) -> Words:
    """Return the words with which a linker was trained or added; of one that was trained nothing if they are lost."""
    if row["kind"] == KINDS[0]:
        return readable_said(Path(row["checkpoint"]).parent, row["linker"]).words
    return {"checkpoint": row["checkpoint"]} | ({"revision": row["hub_revision"]} if row["hub_revision"] else {})


def gone(row: Mapping[str, Any]) -> str:
    """Return what is found if the folder of a checkpoint is not there, else nothing; the hub is not asked."""
    place, is_of_hub = row["checkpoint"], row["hub_revision"] is not None
    is_there = place is None or is_of_hub or Path(place).is_dir()
    return "" if is_there else f"found no {place}; expected the files of its checkpoint"


def mend_in_words(row: Mapping[str, Any]) -> str:
    """Return what to do about a linker whose files are not those to which its name is bound."""
    name = row["linker"]
    again = command_of(name, words_of(row))
    if row["hub_revision"]:
        return f"Fetch them again: {again}"
    if row["kind"] == KINDS[1]:
        return f"Put them back, or name the folder where they are now: tempkb linker add {name} FOLDER"
    return (
        "Put them back, or remove the linker with its vectors and scores and train it again: "
        f"tempkb linker rm {name} && {again}"
    )


def _located(lake: Lake, row: dict[str, Any]) -> dict[str, Any]:
    """A row in which the folder of a linker that was trained in the home is absolute."""
    if row["kind"] == KINDS[0] and row["checkpoint"] is not None:
        row["checkpoint"] = str(lake.root.parent / row["checkpoint"])
    return row
