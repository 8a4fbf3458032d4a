"""The models that a home knows, read from the lake without Arrow, which commands that only read do without."""

from datetime import date
from typing import Any

from tempkb.models.tables import MODELS
from tempkb.store.lake import Lake
from tempkb.store.memory import declared_rows


def known_models(lake: Lake) -> list[dict[str, Any]]:
    """Return the rows of `models`, sorted by name."""
    return declared_rows(lake.files(MODELS.name), MODELS)


def known_model(lake: Lake, name: str) -> dict[str, Any] | None:
    """Return the row of a model; None if there is none of that name."""
    return next((row for row in known_models(lake) if row["model"] == name), None)


def until_in_words(certainly: date | None, possibly: date | None) -> str:
    """Return until when a model knows: a day, two of them, or nothing if that is not known."""
    return "" if certainly is None else str(certainly) if certainly == possibly else f"{certainly}..{possibly}"
