"""Screens of what models said: whom they name in a window, and answers beside what is right."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.generations.naming import NEW, NONE, OLD
from tempkb.generations.tables import GENERATIONS
from tempkb.listings import Listing, as_csv, estimate
from tempkb.results.judged_tables import JUDGED_CHANGES
from tempkb.results.judged_tabling import CHANGES, ITEMS, read_named
from tempkb.results.knowing import Known
from tempkb.results.requests import AnswersRequest
from tempkb.results.steps import are_due
from tempkb.scores.tables import model_of
from tempkb.screens.console import print_next, say, show
from tempkb.screens.files import write_file
from tempkb.statistics.estimates import proportion
from tempkb.store.quoting import literal, literals
from tempkb.store.store import Store


def _share(column: str, kind: str, row: Sequence[Any]) -> str:
    """The share of the changes of a row in which a kind is named, with its interval, in per cent."""
    told = [(one[column], one["subject_id"]) for one in row[-1] if one[column] is not None]
    is_named = [name == kind or (not kind and name not in (NEW, OLD, NONE)) for name, _ in told]
    return estimate(vars(proportion(is_named, [subject for _, subject in told]))) if told else ""


_NAMED = Listing(
    {
        "model": 0,
        "decoder": 1,
        "changes": lambda row: len(row[-1]),
        "new, %": partial(_share, "names", NEW),
        "placebo new, %": partial(_share, "placebo_names", NEW),
        "old, %": partial(_share, "names", OLD),
        "placebo old, %": partial(_share, "placebo_names", OLD),
        "other, %": partial(_share, "names", ""),
        "none, %": partial(_share, "names", NONE),
    },
    "whom they name",
    "new, old: the share of the changes counted above in which the model's answer names the object that came, or the "
    "one that left (a stale answer), by any of its names; placebo: the same answers by another subject's change, so "
    "what models name that do not know the subjects; other: anything else; none: it gave no answer; in brackets the "
    "95 % interval, clustered by subject",
)


def print_names(store: Store, known: Sequence[Known]) -> None:
    """Print whom models name in the changes by which it was measured what they know; nothing if none was asked."""
    asked: dict[str, set[int]] = {}
    for one in known:
        asked.setdefault(one.scores.model["model"], set()).update(one.scores.window.items.tolist())
    named = read_named(store, known[0].question.release)
    rows = [(*key, [row for row in every if row["item"] in asked.get(key[0], ())]) for key, every in named.items()]
    if rows := [row for row in rows if row[-1]]:
        show(_NAMED, rows)
        say(are_due(store, (JUDGED_CHANGES.name,)))


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
    listings = (CHANGES,) if request.kind else (CHANGES, ITEMS)
    words = {"model": model, "conditions": " AND ".join(_conditions(model, request))}
    found = [one.filled(**words, limit=f"LIMIT {request.limit}") for one in listings]
    shown = [(listing, rows) for listing in found if (rows := listing.rows(store))]
    for listing, rows in shown:
        show(listing, rows)
    if not shown:
        say(f"Found no such answers of {model}.")
    say(are_due(store, (JUDGED_CHANGES.name,)))
    if csv_file:
        every = store.query(listings[-1].filled(**words, limit="").query, *listings[-1].needs)
        write_file(csv_file, as_csv(every.to_pylist(), every.column_names))
    print_next(*(() if request.kind else (f"answers {model} --kind {OLD}",)), "knows")


def _conditions(model: str, request: AnswersRequest) -> Iterator[str]:
    yield f"model = {literal(model)}"
    if request.kind:
        yield f"names = {literal(request.kind)}"
    if request.releases:
        yield f"release IN ({literals(request.releases)})"
    if request.window:
        yield f"window_start >= DATE '{request.window[0]}' AND window_start < DATE '{request.window[1]}'"
    if request.decoder:
        yield f"decoder LIKE {literal(f'%.{request.decoder}-%')}"
