"""Screens of what models said: whom they name in a window, and answers beside what is right."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.generations.naming import NAMES, NEW, NONE, OLD
from tempkb.generations.tables import GENERATIONS
from tempkb.results.judged_tables import JUDGED_CHANGES
from tempkb.results.judged_tabling import read_changes, read_items, read_named
from tempkb.results.knowing import Known
from tempkb.results.requests import AnswersRequest
from tempkb.results.steps import are_due
from tempkb.results.tabling import share_in_words
from tempkb.scores.tables import model_of
from tempkb.screens.console import console, grid, print_next, say
from tempkb.screens.files import write_csv
from tempkb.statistics.estimates import proportion
from tempkb.store.quoting import literal
from tempkb.store.store import Store

_SHOWN = {
    "new, %": ("names", NEW),
    "placebo new, %": ("placebo_names", NEW),
    "old, %": ("names", OLD),
    "placebo old, %": ("placebo_names", OLD),
    "other, %": ("names", ""),
    "none, %": ("names", NONE),
}


def print_names(store: Store, known: Sequence[Known]) -> None:
    """Print whom models name in the changes by which it was measured what they know; nothing if none was asked."""
    asked: dict[str, set[int]] = {}
    for one in known:
        asked.setdefault(one.scores.model["model"], set()).update(one.scores.window.items.tolist())
    named = read_named(store, known[0].question.release)
    counted = {key: [row for row in every if row["item"] in asked.get(key[0], ())] for key, every in named.items()}
    rows = [(*key, len(own), *_shares(own)) for key, own in counted.items() if own]
    if not rows:
        return
    console().print(grid(("model", "decoder", "changes", *_SHOWN), rows, title="whom they name"))
    say(
        "new, old: the share of the changes counted above in which the model's answer names the object that came, or "
        "the one that left (a stale answer), by any of its names; placebo: the same answers by another subject's "
        "change, so what models name that do not know the subjects; other: anything else; none: it gave no answer; in "
        "brackets the 95 % interval, clustered by subject"
    )
    if due := are_due(store, (JUDGED_CHANGES.name,)):
        say(due)


def _shares(own: Sequence[Mapping[str, Any]]) -> list[str]:
    """The share of each kind, with its interval, in per cent."""
    cells = []
    for column, kind in _SHOWN.values():
        told = [(row[column], row["subject_id"]) for row in own if row[column] is not None]
        is_named = [name == kind or (not kind and name not in (NEW, OLD, NONE)) for name, _ in told]
        cells.append(share_in_words(proportion(is_named, [subject for _, subject in told])) if told else "")
    return cells


def print_answers(model: str, request: AnswersRequest, csv_file: Path | None) -> None:
    """Print what a model said beside what is right.

    Raises:
        SettingsError: it was not asked, or its answers were not judged yet.
    """
    store = open_store()
    asked = sorted({model_of(key) for key in store.lake.partitions(GENERATIONS.name)})
    if model not in asked:
        raise SettingsError(
            f"answers: found no answers of a model {model!r}; there: {', '.join(asked) or 'none'}. Let it answer: "
            f"tempkb generate {model}"
        )
    if not store.lake.partitions(JUDGED_CHANGES.name):
        raise SettingsError(f"answers: those of {model} were not judged yet; judge them: tempkb results")
    conditions = _conditions(model, request, "window_start")
    changes = read_changes(store, [*conditions, *_of_kind(request.kind)], request.limit)
    items = None if request.kind else read_items(store, conditions, request.limit)
    for title, rows in (("changes", changes), ("items", items)):
        if rows is not None and rows.num_rows:
            cells = [list(row.values()) for row in rows.to_pylist()]
            console().print(grid(rows.column_names, cells, title=f"{title}: what {model} said"))
    if not changes.num_rows and (items is None or not items.num_rows):
        say(f"Found no such answers of {model}.")
    if due := are_due(store, (JUDGED_CHANGES.name,)):
        say(due)
    if csv_file:
        every = (
            read_items(store, conditions, None)
            if items is not None
            else read_changes(store, [*conditions, *_of_kind(request.kind)], None)
        )
        write_csv(csv_file, every)
    print_next(*(f"answers {model} --kind {kind}" for kind in NAMES if kind == OLD and not request.kind), "knows")


def _conditions(model: str, request: AnswersRequest, day: str) -> list[str]:
    found = [f"model = {literal(model)}"]
    if request.releases:
        found.append(f"release IN ({', '.join(map(literal, request.releases))})")
    if request.window:
        first, end = request.window
        found.append(f"{day} >= DATE '{first}' AND {day} < DATE '{end}'")
    if request.decoder:
        found.append(f"decoder LIKE {literal(f'%.{request.decoder}-%')}")
    return found


def _of_kind(kind: str) -> list[str]:
    return [f"names = {literal(kind)}"] if kind else []
