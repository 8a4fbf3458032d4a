"""The closing screen of `tempkb score`: what was scored, what has no score and why, and first figures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from tempkb.api import open_store
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.dynamic_templama.preferences import SCORED_CHANGES, preferences
from tempkb.benchmarks.dynamic_templama.views import CHANGE_SCORES
from tempkb.benchmarks.ecbd.reading import ECBD_RESULTS
from tempkb.models.known import known_models
from tempkb.options import Words
from tempkb.results.steps import are_due
from tempkb.results.tables import KNOWLEDGE, KNOWS
from tempkb.scores.kinds import SCORES, Kind
from tempkb.scores.selecting import Source, Wanted, wanted
from tempkb.scores.steps import partition_for
from tempkb.scores.tables import STATUSES
from tempkb.screens.console import console, grid, print_next, say
from tempkb.sql_estimates.aggregates import ALL
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.store.tables import SEPARATOR
from tempkb.wording import counted

if TYPE_CHECKING:
    from tempkb.generations.importing import Imported

_WAITING = "no score yet"  # after a run that failed, in place of a status


@dataclass(frozen=True)
class Asked:
    """What models were asked.

    Attributes:
        about: rows of the models that can be asked, by name.
        names: of scorers or decoders.
        sources: the prompts of releases.
        windows: about which these are; None for all.
    """

    about: Mapping[str, Mapping[str, Any]]
    names: Sequence[str]
    sources: Sequence[Source]
    windows: tuple[date, date] | None


def print_nothing(kind: Kind, models: Sequence[str]) -> None:
    """Print that there was nothing left to ask models, if there are any."""
    if models:
        of = counted(len(models), "model")
        say(f"Nothing to {kind.request.command}: {kind.table.name} has a row for all that is asked for, of {of}.")
        print_next("knows")


def print_asked(kind: Kind, statuses: Iterable[str], models: Sequence[str], words: Words) -> Asked | None:
    """Print how many prompts models were asked about, and what became of them; None if there are none.

    Args:
        kind: of the answers.
        statuses: that an answer may have, in the order of their columns.
        models: names of models that were asked.
        words: what was asked for.
    """
    store = open_store()
    about = {row["model"]: row for row in known_models(store.lake) if row["model"] in models}
    request = kind.request.of(words)
    asked, rows = list[Wanted](), list[tuple[str, str, int, Counter[str]]]()
    for name, row in about.items():
        for one in wanted(kind, store, BENCHMARKS, row["family"], request, lambda _line: None):
            key, n_asked = partition_for(row, one, request), one.n_lacking()
            n = Counter(one.by_status(store.lake.current(kind.table.name, key)))
            n[_WAITING] = n_asked - n.total()
            asked.append(one)
            # Some may have no prompt in these windows.
            rows += [(name, key.partition(SEPARATOR)[2], n_asked, n)] if n_asked else []
    if not rows:
        return None
    # Reasons that no prompt has would be empty columns.
    reasons = [status for status in (*statuses, _WAITING) if any(n[status] for *_, n in rows)]
    cells = [(name, way, n_asked, *(n[reason] for reason in reasons)) for name, way, n_asked, n in rows]
    what = "questions" if kind.key == "question_id" else "prompts"
    console().print(grid(("model", kind.column, what, *reasons), cells, title=kind.drafts))
    sources = [source for one in asked for source in one.sources]
    return Asked(about, sorted({way for _, way, *_ in rows}), sources, request.windows)


def print_scores(models: Sequence[str], words: Words) -> None:
    """Print what models were asked, and first figures of what they know.

    Args:
        models: names of models that were scored.
        words: what was asked for.
    """
    asked = print_asked(SCORES, STATUSES, models, words)
    if asked is None:
        return
    store, about, sources = open_store(), asked.about, asked.sources
    days = sorted({row["knows_certainly_until"] for row in about.values() if row["knows_certainly_until"]})
    condition = (
        f"model IN ({_listed(about)}) AND release IN ({_listed({one.release for one in sources})}) "
        f"AND scorer IN ({_listed(asked.names)})"
    )
    _print_preferences(store, condition, asked.windows, days)
    _print_perplexities(store, condition, asked.windows)
    views = {
        one.prompting.view: None for one in BENCHMARKS if one.prompting and one.name in {s.benchmark for s in sources}
    }
    if due := are_due(store, (KNOWLEDGE.name, KNOWS.name)):
        say(due)
    print_next("knows", *(f'sql "FROM {view} LIMIT 5"' for view in views))


def print_imported(imported: "Sequence[Imported]", model: str) -> None:
    """Print what was imported of a model, and publish it."""
    store = open_store()
    publication = store.publish()
    rows = [(one.kind.table.name, one.partition, n, status) for one in imported for status, n in one.by_status.items()]
    console().print(grid(("table", "partition", "rows", "status"), rows, title="imported"))
    if publication.left:
        say(publication.reason)
    if due := are_due(store, (KNOWLEDGE.name, KNOWS.name)):
        say(due)
    print_next("results", f"knows --models {model}")


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
    shares = ", ".join(map(_in_per_cent, ("prefers_new", "prefers_new_raw", "control_prefers_new_raw")))
    rows = store.ask(
        f"""
        SELECT model, scorer, release, max(n_items) FILTER (aggregate = 'prefers_new_raw') AS n_pairs, {shares}
        FROM ({preferences(condition)})
        WHERE window_start IS NULL AND split = {literal(ALL)} AND pairs = {literal(ALL)} GROUP BY ALL ORDER BY ALL
        """,
        SCORED_CHANGES.name,
    )
    if rows:
        when = f" from {between[0]} to {between[1]}" if between else ""
        titles = ("model", "scorer", "release", "changes", "prefers new, %", "raw, %", "controls, %")
        console().print(grid(titles, [list(row.values()) for row in rows], title=f"changes{when}"))
        say(
            "prefers new: the share of changes in which the subject adds more to the log-probability of the new object "
            "than to that of the old one; raw: by the log-probability alone; controls: the same as raw for two objects "
            "of another subject's change; in brackets the 95 % interval, clustered by subject"
        )


def _print_perplexities(store: Store, condition: str, windows: tuple[date, date] | None) -> None:
    """Print the perplexity of each model on spans of entities, by year of origin; the years that windows touch."""
    if not all(store.lake.partitions(name) for name in ECBD_RESULTS.needs):
        return
    if windows:
        condition += f" AND origin_year BETWEEN {windows[0].year} AND {(windows[1] - timedelta(days=1)).year}"
    rows = store.ask(
        f"""
        SELECT model, scorer, release, origin_year, round(value, 1) AS perplexity FROM {ECBD_RESULTS.name}
        WHERE aggregate = 'ppl_entity_macro' AND variant = 'original' AND split = 'test' AND subset = 'odie'
          AND span_kind = {literal(ALL)} AND {condition} ORDER BY ALL
        """,
        ECBD_RESULTS.name,
    )
    years = sorted({row["origin_year"] for row in rows if row["origin_year"]})
    by_scorer: dict[tuple[str, str, str], dict[Any, Any]] = {}
    for row in rows:
        by_scorer.setdefault((row["model"], row["scorer"], row["release"]), {})[row["origin_year"]] = row["perplexity"]
    if rows:
        titles = ("model", "scorer", "release", *(f"born {year}" for year in years), *(() if windows else ("all",)))
        shown = years if windows else [*years, 0]
        cells = [(*key, *(found.get(year) for year in shown)) for key, found in by_scorer.items()]
        console().print(grid(titles, cells, title="perplexity of spans about entities (test, original)"))
        say(
            "perplexity: by token, so that only models with equal scorers and tokenizers can be compared; of masked "
            "models it is a pseudo-perplexity"
        )


def _in_per_cent(aggregate: str) -> str:
    """SQL of a share in per cent, with the ends of its interval if it has one; null without the share."""
    value, low, high = (
        f"round(100 * max({column}) FILTER (aggregate = '{aggregate}'))::BIGINT" for column in ("value", "low", "high")
    )
    return f"concat({value}, ' (' || {low} || '-' || {high} || ')') AS {aggregate}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(literal, sorted(names)))
