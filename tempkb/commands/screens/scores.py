"""The screens of `tempkb score` and `tempkb model`: what was scored, and the models of a home."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.dynamic_templama.preferences import SCORED_CHANGES, preferences
from tempkb.benchmarks.dynamic_templama.views import CHANGE_SCORES
from tempkb.benchmarks.ecbd.reading import ECBD_RESULTS
from tempkb.commands.screens.console import FIELDS, print_next, say, show
from tempkb.core.estimates_sql import ALL
from tempkb.core.options import Words, as_word
from tempkb.core.wording import counted
from tempkb.models.known import known_model, known_models, require_model, training_of, until_in_words
from tempkb.models.scores.kinds import SCORES, Kind
from tempkb.models.scores.selecting import Source, Wanted, wanted
from tempkb.models.scores.steps import partition_for
from tempkb.models.scores.tables import STATUSES
from tempkb.models.training.requests import train_request
from tempkb.platform.api import open_store
from tempkb.store.listings import Across, Listing, estimate, in_order, named
from tempkb.store.quoting import literal, literals
from tempkb.store.store import Store
from tempkb.store.tables import SEPARATOR

if TYPE_CHECKING:
    from tempkb.models.generations.importing import Imported


_WAITING = "no score yet"  # after a run that failed, in place of a status
_PREFERENCES = Listing(
    named("model", "scorer", "release")
    | {
        "changes": "n_pairs",
        "shares": Across(
            "aggregate",
            estimate,
            {
                "prefers_new": "preference rate, %",
                "prefers_new_raw": "raw, %",
                "control_prefers_new_raw": "controls, %",
            },
        ),
    },
    "changes{when}",
    "preference rate: the share of changes in which the subject adds more to the log-probability of the new object "
    "than to that of the old one; raw: by the log-probability alone; controls: the same as raw for two objects of "
    "another subject's change; in brackets the 95 % interval, clustered by subject",
    f"""
    SELECT *, max(n_items) FILTER (aggregate = 'prefers_new_raw') OVER (PARTITION BY model, scorer, release) AS n_pairs
    FROM ({{preferences}}) WHERE window_start IS NULL AND split = {literal(ALL)} AND pairs = {literal(ALL)}
    ORDER BY model, scorer, release
    """,
    (SCORED_CHANGES.name,),
)
_PERPLEXITIES = Listing(
    named("model", "scorer", "release"),
    "perplexity of spans about entities (test, original)",
    "perplexity: by token, so that only models with equal scorers and tokenizers can be compared; of masked models it "
    "is a pseudo-perplexity",
    f"""
    SELECT model, scorer, release, origin_year, round(value, 1) AS perplexity FROM {ECBD_RESULTS.name}
    WHERE aggregate = 'ppl_entity_macro' AND variant = 'original' AND split = 'test' AND subset = 'odie'
      AND span_kind = {literal(ALL)} AND {{conditions}} ORDER BY ALL
    """,
    (ECBD_RESULTS.name,),
)


def print_nothing(kind: Kind, models: Sequence[str]) -> None:
    """Print that there was nothing left to ask models, if there are any."""
    if models:
        of = counted(len(models), "model")
        say(f"Nothing to {kind.request.command}: {kind.table.name} has a row for all that is asked for, of {of}.")
        print_next("knows")


def print_asked(
    kind: Kind, statuses: Iterable[str], models: Sequence[str], words: Words
) -> tuple[Sequence[str], Sequence[Source]]:
    """Print how many prompts models were asked about, and what became of them.

    Args:
        kind: of the answers.
        statuses: that an answer may have, in the order of their columns.
        models: names of models that were asked.
        words: what was asked for.

    Returns:
        The names of the scorers or decoders, none if there are no such prompts, and what the prompts were of.
    """
    store, request = open_store(), kind.request.of(words)
    asked, rows = list[Wanted](), list[tuple[str, str, int, Counter[str]]]()
    for model in (row for row in known_models(store.lake) if row["model"] in models):
        for one in wanted(kind, store, BENCHMARKS, model, request, lambda _line: None):
            key, n_asked = partition_for(model, one, request), one.n_lacking()
            n = Counter(one.by_status(store.lake.current(kind.table.name, key)))
            n[_WAITING] = n_asked - n.total()
            asked.append(one)
            # Some may have no prompt in these windows.
            rows += [(model["model"], key.partition(SEPARATOR)[2], n_asked, n)] if n_asked else []
    # Reasons that no prompt has would be empty columns.
    reasons = [status for status in (*statuses, _WAITING) if any(n[status] for *_, n in rows)]
    if rows:
        what = "questions" if kind.key == "question_id" else "prompts"
        cells = [(*row, *(n[reason] for reason in reasons)) for *row, n in rows]
        show(Listing(in_order("model", kind.column, what, *reasons), kind.drafts), cells)
    return sorted({way for _, way, *_ in rows}), [source for one in asked for source in one.sources]


def print_scores(models: Sequence[str], words: Words) -> None:
    """Print what models were asked, and first figures of what they know.

    Args:
        models: names of models that were scored.
        words: what was asked for.
    """
    scorers, sources = print_asked(SCORES, STATUSES, models, words)
    if not scorers:
        return
    store, windows = open_store(), SCORES.request.of(words).windows
    known = [row["knows_certainly_until"] for row in known_models(store.lake) if row["model"] in models]
    asked_of = {"model": models, "release": sorted({one.release for one in sources}), "scorer": scorers}
    condition = " AND ".join(f"{column} IN ({literals(names)})" for column, names in asked_of.items())
    _print_preferences(store, condition, windows, sorted({day for day in known if day}))
    _print_perplexities(store, condition, windows)
    views = {
        one.prompting.view: None for one in BENCHMARKS if one.prompting and one.name in {s.benchmark for s in sources}
    }
    print_next("knows", *(f'sql "FROM {view} LIMIT 5"' for view in views))


def print_imported(imported: "Sequence[Imported]", model: str) -> None:
    """Print what was imported of a model."""
    rows = [(one.kind.table.name, one.partition, n, status) for one in imported for status, n in one.by_status.items()]
    show(Listing(in_order("table", "partition", "rows", "status"), "imported"), rows)
    print_next(f"knows --model {model}")


def _print_preferences(store: Store, condition: str, windows: tuple[date, date] | None, days: Sequence[date]) -> None:
    """Print the share of changes in which each model prefers the new object.

    Windows are those whose prompts were scored, the first ones in which the old objects no longer hold. Without
    windows, only changes that happened between the days until which the models know are shown, if these differ.
    """
    if not all(store.lake.partitions(name) for name in CHANGE_SCORES.needs):
        return
    between = windows or ((days[0], days[-1]) if len(days) > 1 else None)
    if between:
        first, end = ("window_start", "window_start + 1") if windows else ("change_from", "change_to")
        condition += f" AND {first} >= DATE '{between[0]}' AND {end} <= DATE '{between[1]}'"
    when = f" from {between[0]} to {between[1]}" if between else ""
    listing = _PREFERENCES.filled(when=when, preferences=preferences(condition))
    if rows := listing.rows(store):
        show(listing, rows)


def _print_perplexities(store: Store, condition: str, windows: tuple[date, date] | None) -> None:
    """Print the perplexity of each model on spans of entities, by year of origin; the years that windows touch."""
    if not all(store.lake.partitions(name) for name in ECBD_RESULTS.needs):
        return
    if windows:
        condition += f" AND origin_year BETWEEN {windows[0].year} AND {(windows[1] - timedelta(days=1)).year}"
    listing = _PERPLEXITIES.filled(conditions=condition)
    if rows := listing.rows(store):
        years = {year: f"origin {year}" for year in sorted({row["origin_year"] for row in rows if row["origin_year"]})}
        across = Across("origin_year", "perplexity", years if windows else {**years, 0: "all"})
        show(replace(listing, columns={**listing.columns, "origin": across}), rows)


_MODELS = Listing(
    named("model", "family", parameters="n_parameters", context="context_tokens")
    | {"stated cutoff": lambda row: until_in_words(row["knows_certainly_until"], row["knows_possibly_until"])}
    | named("status", "checkpoint")
)


def print_models(names: Collection[str] | None = None) -> None:
    """Print the models of the home, and why some of them cannot be used.

    Args:
        names: only these, as far as they are there; None for all.
    """
    found = [row for row in known_models(open_store().lake) if names is None or row["model"] in names]
    if not found:
        # If none of those that were asked for could be added, the errors say so.
        if names is None:
            say("The home has no models yet.")
            print_next("model add t5-large google-t5/t5-large", "model add --preset timelms")
        return
    show(_MODELS, found)
    for row in found if names is None else ():
        say(f"{row['model']}: {row['reason']}" if row["reason"] else "")


def print_plan_of_training(name: str, words: Words) -> None:
    """Print what the training of a model would read and take; see `tempkb.models.training.making.plan` for errors."""
    from tempkb.models.training.making import plan

    for line in plan(open_store(), train_request(name, words)):
        say(line)


def print_trained(name: str) -> None:
    """Print a model that was trained, and how its loss fell; nothing if it is not there."""
    row = known_model(open_store().lake, name)
    if row is None:
        return
    print_models([name])
    for label, course in training_of(Path(row["checkpoint"])).get("courses", {}).items():
        (_, first), (_, last) = course["losses"][0], course["losses"][-1]
        say(f"{label}: {course['steps']:,} steps; the loss went from {first:.3g} to {last:.3g} nats a token")
    print_next(f"score {name}", f"model show {name}")


def print_model(name: str) -> None:
    """Print all that is known about a model.

    Raises:
        SettingsError: there is no such model.
    """
    row = require_model(open_store().lake, name)
    training = training_of(Path(row["checkpoint"] or ""))
    told = {name: as_word(found) for name, found in training.get("numbers", {}).items() if name != "read"}
    told |= {f"sum of the mixture's {name}": digest for name, digest in training.get("mixture", {}).items()}
    show(FIELDS, [*row.items(), *((f"trained: {name}", found) for name, found in told.items())])
