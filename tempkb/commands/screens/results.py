"""The screens of `tempkb knows` and `tempkb results`: what models know of a window, and how sure that is."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from tempkb.commands.screens.answers import print_names
from tempkb.commands.screens.console import print_next, say, show, write_file, write_picture
from tempkb.commands.screens.failure import tell
from tempkb.commands.screens.linking import print_effects
from tempkb.commands.screens.remarks import remarks
from tempkb.core.errors import SettingsError
from tempkb.core.wording import counted, percent
from tempkb.models.known import known_models
from tempkb.platform.api import open_store
from tempkb.results.answering import Question
from tempkb.results.knowing import Known, known_of
from tempkb.results.plots import levels_figure
from tempkb.results.popularity import read_thirds
from tempkb.results.reading import Asking, passed_over, read_asked, read_cutoffs, releases_asked
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.steps import are_due
from tempkb.results.tables import ALL, ESTIMATED_CUTOFFS, LINKING_EFFECTS, NOT_COMPARED, TABLES
from tempkb.results.tabling import (
    cutoff_in_words,
    known_csv,
    known_latex,
    level_in_words,
    listings_of,
    newest_in_words,
    newest_judged,
    stated_in_words,
)
from tempkb.store.listings import Listing, estimate, in_order, named
from tempkb.store.store import Store


def _range(low: str, high: str, form: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: "" if row[low] is None else form.format(percent(row[low]), percent(row[high]))


_RATES = Listing(
    named("release", "model")
    | {
        "changes": "n_changes",
        "preference rate": estimate,
        "two-way clustered": _range("two_way_low", "two_way_high", "[{}, {}]"),
        "leave one relation out": _range("without_one_low", "without_one_high", "{} to {}"),
    },
    "preference rate over all windows",
    "preference rate: share of changes in which the new object is preferred, %, with its interval by subject; two-way "
    "clustered: the interval if subjects and new objects both count as drawn; leave one relation out: lowest and "
    "highest rate if one relation is left out",
)
_CUTOFFS = Listing(
    {**named("release", "model"), "stated cutoff": stated_in_words, "estimated cutoff [95 %]": cutoff_in_words},
    "training cutoffs, from all windows",
    "estimated cutoff: where the preference rate, minus that of controls, falls halfway, and the first days of windows "
    "that a test at 5 % does not reject; how well models are calibrated: tempkb paper templama calibration",
)


def print_knowledge(
    request: KnowledgeRequest,
    csv_file: Path | None,
    latex_file: Path | None,
    picture: Path | None,
    *,
    is_full: bool = False,
    by_popularity: str | None = None,
) -> None:
    """Print a line for each model, or all tables of what models know; write what is asked for to files.

    Raises:
        SettingsError: there is no such model or release, or nothing that is asked for has scores.
    """
    store = open_store()
    for line in passed_over(store):
        tell(line)
    asked, known, unanswered = read_knowledge(store, request)
    every, due = read_cutoffs(store, request), are_due(store, (ESTIMATED_CUTOFFS.name,))
    newest = newest_judged(asked)
    _print_newest(newest, every, "not computed" if due else "inconclusive (no changes scored)")
    say(due)
    for listing, rows in listings_of(known):
        own = [row["known"] for row in rows]
        if is_full:
            show(listing, rows)
            _print_about(store, request, own)
        _print_by_popularity(store, own, by_popularity)
    for line in unanswered if is_full else ():
        say(f"{line}.")
    if is_full:
        _print_all_windows(every)
        say("tempkb docs results explains each figure.")
    else:
        print_next("knows --full", f"answers {newest[0].scores.model['model']}")
    if csv_file:
        write_file(csv_file, known_csv(known))
    if latex_file:
        write_file(latex_file, known_latex(known))
    if picture:
        with levels_figure(known) as figure:
            write_picture(picture, figure)


def read_knowledge(store: Store, request: KnowledgeRequest) -> tuple[list[Asking], list[Known], list[str]]:
    """Return what is asked of each release, what models know of its window, and why no model has a row of some.

    Raises:
        SettingsError: there is no such model or release, or nothing that is asked for has scores.
    """
    _refuse_unknown(store, request)
    every = [*read_asked(store, request)]
    asked = [one for one in every if request.window or request.is_comparable(one.last)]
    questions = [one.chosen for one in asked or every]
    known = known_of(questions)
    unanswered = [_why_unanswered(one) for one in questions if not one.models] + [
        f"{one.release['release']} has no window after the baseline window" for one in every if one not in asked
    ]
    if not known:
        raise _nothing_known(questions, unanswered)
    return asked, known, unanswered


def _nothing_known(questions: Sequence[Question], unanswered: Sequence[str]) -> SettingsError:
    """The error of a command that has nothing to show: no scores, or no items."""
    if any(one.n_asked for one in questions) or not questions:
        return SettingsError(
            "knows: found no scores of such models and releases by such a scorer; score them: tempkb score --all"
        )
    return SettingsError(f"knows: {'; '.join(unanswered)}; name another period: --window A..B")


def _print_newest(newest: Sequence[Known], every: Sequence[Mapping[str, Any]], otherwise: str) -> None:
    """Print a line for each model: its training cutoffs, and what it knows of the newest window that can be judged."""
    # By the release with the most changes.
    estimated = {one["model"]: cutoff_in_words(one) for one in sorted(every, key=itemgetter("n_changes"))}
    longest = max(len(one.scores.model["model"]) for one in newest)
    for one in newest:
        model = one.scores.model["model"]
        say(f"{model:{longest}}  {newest_in_words(one, estimated.get(model, otherwise))}")
    say(
        "Training cutoffs are stated by a model's makers, and estimated from its own answers (95 % interval). Its "
        "knowledge of a window, by default the newest that can be judged, is lower or higher than that of an earlier "
        "baseline window, or inconclusive. tempkb docs glossary explains each word."
    )


def _print_about(store: Store, request: KnowledgeRequest, known: Sequence[Known]) -> None:
    """Print what must be known of the table of a question, and further figures; little if nothing was compared."""
    for line in remarks(store, request, known):
        say(line)
    if any(one.verdict != NOT_COMPARED for one in known):
        _print_withheld(store, known)
        print_names(store, known)


def _print_all_windows(every: Sequence[dict[str, Any]]) -> None:
    """Print what each model's answers over all windows of its release say of it."""
    if not every:
        return
    names = [(one["release"], one["model"]) for one in every]
    rows = [
        {**one, "model": f"{name[1]} {one['scorer']}"} if names.count(name) > 1 else one
        for one, name in zip(every, names, strict=True)
    ]
    show(_RATES, rows)
    show(_CUTOFFS, rows)


def print_results() -> None:
    """Print how many rows the tables of results have, and what linkers show of time if there is something."""
    store = open_store()
    for table in TABLES:
        version = store.lake.current(table.name, ALL)
        say(f"{table.name}: {counted(version.rows if version is not None else 0, 'row')}")
    order = "ORDER BY release, setup, contrast, k"
    if effects := store.ask(f"FROM {LINKING_EFFECTS.name} {order}", LINKING_EFFECTS.name):
        print_effects(effects)
    print_next('sql "FROM knowledge"', "knows", "ui")


def _print_withheld(store: Store, known: Sequence[Known]) -> None:
    """Print the figures of the demo's models apart for subjects that are in their training texts and held-out ones."""
    from tempkb.demo.models.recipe import demo_models, withheld_clusters

    readers = {one.name for one in demo_models(store) if one.cut is not None}
    own = [one for one in known if one.scores.model["model"] in readers and not one.is_factor]
    if not own:
        return
    withheld = withheld_clusters(store, own[0].question.release)
    rows = []
    for one in own:
        hidden = [(scored, np.isin(scored.clusters, withheld)) for scored in (one.scores.window, one.scores.earlier)]
        parts = (*(scored.where(~mask) for scored, mask in hidden), *(scored.where(mask) for scored, mask in hidden))
        rows.append((one.label, *(level_in_words(one, part) for part in parts)))
    title = "preference rate of subjects in the training texts of the demo's models, and of held-out subjects"
    heads = in_order("model", "seen", "seen: baseline", "held-out", "held-out: baseline")
    show(Listing(heads, title), rows)


def _print_by_popularity(store: Store, known: Sequence[Known], popular_by: str | None) -> None:
    """Print the figures of the window apart for thirds of the subjects or entities, if they are asked for."""
    if popular_by is None:
        return
    groups = {name: np.array(own, np.uint64) for name, own in read_thirds(store, known[0].question, popular_by).items()}
    rows = []
    for one in known:
        window = one.scores.window
        parts = (window.where(np.isin(window.clusters, own)) for own in groups.values())
        rows.append((one.label, *(level_in_words(one, part) for part in parts)))
    nouns = known[0].nouns
    title = f"{known[0].figure} in the window by the popularity of the {nouns} ({popular_by})"
    show(Listing(in_order("model", *(f"{name} ({len(own):,})" for name, own in groups.items())), title), rows)
    say(
        f"In brackets above: how many {nouns} the window's items have. An article's {popular_by} are those at the last "
        "cut at or before the window's end; a third has those than whom fewer than one or two thirds are less popular, "
        "so that equally popular ones are together; unknown: without an article at that cut."
    )


def _refuse_unknown(store: Store, request: KnowledgeRequest) -> None:
    there = [row["model"] for row in known_models(store.lake)]
    if odd := sorted(set(request.models) - set(there)):
        raise SettingsError(f"--model {odd[0]}: no such model; there: {', '.join(there) or 'none'}")
    able = releases_asked(store)
    if odd := sorted(set(request.releases) - set(able)):
        raise SettingsError(
            f"--release {odd[0]}: no such release of ecbd or dynamic-templama; there: {', '.join(able) or 'none'}"
        )


def _why_unanswered(question: Question) -> str:
    """Why no model has a row for a question."""
    first, end = question.window
    if question.n_asked:
        n = counted(question.n_asked, "item")
        return f"{question.release}: no such model has a score of the {n} from {first} to {end} by such a scorer"
    partly = f" ({counted(question.n_partly, 'item')} in part)" if question.n_partly else ""
    return f"{question.release}: no item lies wholly in the window from {first} to {end}{partly}"
