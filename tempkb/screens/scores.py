"""The closing screen of `tempkb score`: what was scored, what has no score and why, and first figures."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tempkb.api import open_store
from tempkb.models.known import known_models
from tempkb.rooms import BENCHMARKS
from tempkb.scores.requests import Words, request_of
from tempkb.scores.scoring import counted
from tempkb.scores.selecting import wanted
from tempkb.scores.tables import STATUSES, partition_of
from tempkb.screens.console import console, grid
from tempkb.store.store import Store


def print_scores(models: Sequence[str], words: Words) -> None:
    """Print what models were asked, and first figures of what they know.

    Args:
        models: names of models that were scored.
        words: what was asked for.
    """
    store, out = open_store(), console()
    rows = [row for name in models for row in _rows(store, name, words)]
    if not rows:
        return
    # Reasons that nothing has would be empty columns.
    reasons = [status for status in STATUSES[1:] if any(row[-1][status] for row in rows)]
    titles = ("model", "scorer", "prompts", "scored", *reasons)
    out.print(grid(titles, [(*row[:-1], row[-1]["scored"], *(row[-1][one] for one in reasons)) for row in rows]))


def _rows(store: Store, name: str, words: Words) -> list[tuple[Any, ...]]:
    from tempkb.models.scorers import scorer_name

    request = request_of(words)
    (row,) = [row for row in known_models(store.lake) if row["model"] == name]
    found = []
    for one in wanted(store, BENCHMARKS, row["family"], request, lambda _line: None):
        scorer = scorer_name(row["family"], one.template, request.dtype)
        n = Counter(counted(store, partition_of(name, scorer), one.query))
        found.append((name, scorer, n.total(), n))
    return found
