"""The models that a home knows, read from the lake without Arrow, which commands that only read do without."""

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.core.errors import SettingsError, StoredDamageError
from tempkb.core.options import Words, nearest
from tempkb.models.tables import MODELS, NOT_LOADED
from tempkb.store.lake import Lake
from tempkb.store.memory import declared_rows
from tempkb.store.said import read_said

if TYPE_CHECKING:
    from tempkb.store.store import Store


def known_models(lake: Lake) -> list[dict[str, Any]]:
    """Return the rows of `models`, sorted by name; a checkpoint inside the home is where the home is now."""
    rows, home = declared_rows(lake.files(MODELS.name), MODELS), lake.root.parent
    # Of models whose scores were imported no checkpoint is known.
    return [{**row, "checkpoint": row["checkpoint"] and located(home, row["checkpoint"])} for row in rows]


def located(home: Path, checkpoint: str) -> str:
    """Return where a checkpoint is: one that is written relative to the home, or as inside a home that was moved."""
    place = Path(checkpoint)
    inside = home / place if not place.is_absolute() or place.is_dir() else home / "models" / place.name
    return str(inside) if inside.is_dir() else checkpoint


def unless_damaged(read: Callable[[Lake], list[dict[str, Any]]], lake: Lake) -> list[dict[str, Any]]:
    """Return the rows of models or linkers; none if their table is damaged, which is told with all other damage."""
    try:
        return read(lake)
    except StoredDamageError:
        return []


def known_model(lake: Lake, name: str) -> dict[str, Any] | None:
    """Return the row of a model; None if there is none of that name."""
    return next((row for row in known_models(lake) if row["model"] == name), None)


def require_model(lake: Lake, name: str) -> dict[str, Any]:
    """Return the row of a model.

    Raises:
        SettingsError: there is none of that name.
    """
    row = known_model(lake, name)
    if row is None:
        there = [one["model"] for one in known_models(lake)]
        how = f"there: {', '.join(there) or 'none'}. Add it first: tempkb model add {name} CHECKPOINT"
        raise SettingsError(f"model {name!r}: no such model{nearest(name, there, how)}")
    return row


def unusable_models(lake: Lake) -> dict[str, str]:
    """Return why models cannot be used, in words with what to type, by name."""
    return {
        name: f"model {name!r}: its checkpoint could not be used: {reason.rstrip('.')}; once it can, add it again: "
        f"tempkb model add {name}"
        for name, reason in ((row["model"], row["reason"]) for row in known_models(lake) if row["status"] == NOT_LOADED)
    }


def said_of(store: "Store", name: str) -> Words:
    """Return the words with which a model was added; empty if there is none of that name.

    They are in a file beside the lake, from which the row is made, or in the row if the file was damaged.

    Raises:
        SettingsError: the file was damaged, and the row is lost.
    """
    row = known_model(store.lake, name)
    try:
        said = read_said(store.home.checkpoints, name).words
    except SettingsError:
        if row is None:
            raise
        said = {}
    if said:
        place = {"checkpoint": located(store.home.path, said["checkpoint"])} if "checkpoint" in said else {}
        return {**said, **place}
    return words_of_row(row) if row is not None else {}


def refuse_other(what: str, held: Mapping[str, Any], asked: Mapping[str, Any], remove: str) -> None:
    """Refuse a name that is bound to something of which other things were said; `remove` is the command to free it."""
    differing = [
        f"{one} {_short(held.get(one))}, found {_short(asked.get(one))}"
        for one in {**held, **asked}
        if held.get(one) != asked.get(one)
    ]
    if differing:
        said = "; ".join(differing) if held else "not trained here"
        raise SettingsError(
            f"{what}: expected the {what.split()[0]} to which the name is bound ({said}). A name keeps its files for "
            f"good, because scores refer to it. Choose another name, or remove it first: {remove}"
        )


def _short(value: Any) -> str:
    found = "none" if value is None else str(value)
    return found[:12] if len(found) == 64 else found  # noqa: PLR2004 - digits of a digest


TRAINING = "training.json"
"""File of a checkpoint that was trained here: how, from what, and how it went."""


def training_of(checkpoint: Path) -> dict[str, Any]:
    """Return what a checkpoint says of its training; nothing if it was not trained by tempkb."""
    try:
        found = json.loads((checkpoint / TRAINING).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def words_of_row(row: Mapping[str, Any]) -> Words:
    """Return the words of a request that adds the model of a row again."""
    words = {
        "checkpoint": row["checkpoint"],
        "revision": row["hub_revision"],
        "family": row["family"],
        "knows_until": until_in_words(row["knows_certainly_until"], row["knows_possibly_until"]),
    }
    return {key: word for key, word in words.items() if word}


def until_in_words(certainly: date | None, possibly: date | None) -> str:
    """Return until when a model knows: a day, two of them, or nothing if that is not known."""
    return "" if certainly is None else str(certainly) if certainly == possibly else f"{certainly}..{possibly}"
