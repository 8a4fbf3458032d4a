"""Screens of what models said: whom they name in a window, and answers beside what is right."""

from collections.abc import Sequence
from pathlib import Path

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.generations.naming import NAMES, NEW, NONE, OLD
from tempkb.generations.tables import GENERATIONS
from tempkb.results.currency import are_due
from tempkb.results.judged_tables import JUDGED_CHANGES
from tempkb.results.judged_tabling import read_changes, read_items, read_named
from tempkb.results.requests import AnswersRequest, Period
from tempkb.scores.tables import model_of
from tempkb.screens.console import console, grid, print_next, say
from tempkb.screens.files import write_csv
from tempkb.statistics.estimates import proportion
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.wording import rounded

_SHOWN = {NEW: "new, %", OLD: "old, %", "other": "other, %", NONE: "none, %"}


def print_names(store: Store, release: str, window: Period, models: Sequence[str]) -> None:
    """Print whom models name in the changes of a window; nothing if none of them was asked.

    Args:
        store: of the home.
        release: of DynamicTempLAMA.
        window: first day, and the day after the last.
        models: names; empty for all.
    """
    found = read_named(store, release, window)
    rows = [(*key, len(own), *_shares(own)) for key, own in found.items() if not models or key[0] in models]
    if not rows:
        return
    console().print(grid(("model", "decoder", "changes", *_SHOWN.values()), rows, title="whom they name"))
    say(
        "new, old: the share of all changes of the window in which the model's answer names the object that came, or "
        "the one that left (a stale answer), by any of its names; other: anything else; none: it gave no answer; in "
        "brackets the 95 % interval, clustered by subject"
    )
    if due := are_due(store, (JUDGED_CHANGES.name,)):
        say(due)


def _shares(own: Sequence[tuple[str, str]]) -> list[str]:
    """The share of each kind, with its interval, in per cent."""
    subjects = [subject for _, subject in own]
    cells = []
    for kind in _SHOWN:
        is_named = [name == kind or (kind == "other" and name not in (NEW, OLD, NONE)) for name, _ in own]
        one = proportion(is_named, subjects)
        share = rounded(100 * one.value, 0)
        if one.low is not None and one.high is not None:
            share += f" [{rounded(100 * one.low, 0)}, {rounded(100 * one.high, 0)}]"
        cells.append(share)
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
