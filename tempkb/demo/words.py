"""The words of the demo world, which are data, and the chance that chooses among them."""

import random
import tomllib
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def words_of(name: str) -> dict[str, Any]:
    """Return what a file of `data/` has: names, sentences, and pages with their edits."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


def chance_of(purpose: str) -> random.Random:
    """Return random numbers that are always the same for a purpose, such as a seed and a title."""
    return random.Random(purpose)  # noqa: S311 - reproducible chance, not secrets
