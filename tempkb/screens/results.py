"""The screens of `tempkb knows` and `tempkb results`: what models know of a window, and how sure that is."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from tempkb.api import open_store
from tempkb.engine.progress import Meter, on_terminal
from tempkb.errors import SettingsError
from tempkb.models.known import known_models, until_in_words
from tempkb.results.answering import Answering, answering_of
from tempkb.results.knowing import Known, known_of
from tempkb.results.plots import levels_figure
from tempkb.results.questions import Question
from tempkb.results.reading import passed_over, read_answers, read_questions, releases_asked
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.tables import ALL, LINKING_EFFECTS, TABLES
from tempkb.results.tabling import TITLES, as_csv, as_latex, cells_of, level_in_words, questions_of
from tempkb.screens.answers import print_names
from tempkb.screens.console import console, grid, print_next, say
from tempkb.screens.failure import tell
from tempkb.screens.files import write_file, write_picture
from tempkb.screens.linking import print_effects
from tempkb.screens.remarks import remarks
from tempkb.statistics import Calibration
from tempkb.store.store import Store
from tempkb.wording import counted, rounded

_DISPENSABLE = ("knows until", "clusters", "earlier", "detectable")
"""Columns that a narrow terminal does without, in this order."""


def print_knowledge(
    request: KnowledgeRequest,
    csv_file: Path | None,
    latex_file: Path | None,
    picture: Path | None,
    *,
    with_answers: bool = False,
) -> None:
    """Print what models know of a window, and write it to the files that are asked for.

    Raises:
        SettingsError: there is no such model or release, or nothing that is asked for has scores.
    """
    store = open_store()
    _refuse_unknown(store, request)
    for line in passed_over(store):
        tell(line)
    questions = [*read_questions(store, request)]
    known = known_of(questions)
    unanswered = [_why_unanswered(one) for one in questions if not one.models]
    if not known:
        raise _nothing_known(questions, unanswered)
    for title, own in questions_of(known):
        # The title is wider than the table of a narrow terminal.
        say(title)
        table, left_out = _fitting(own)
        console().print(table)
        if left_out:
            say(f"This terminal is too narrow for {', '.join(left_out)}; --csv writes all columns.")
        for line in remarks(store, request, own):
            say(line)
        _print_withheld(store, own)
        print_names(store, own)
    for line in unanswered:
        say(f"{line}.")
    if with_answers:
        _print_answering(store, request)
    say(
        "level: in the window (of a model that knows nothing of the subjects about 50 % new objects); earlier: the "
        "model's own level in the earlier period; difference: in percentage points, or as a factor of perplexities "
        "(above 1: the window is harder); detectable: the smallest difference that these items would show with a "
        "probability of 80 %; rank: the places that the items allow (none: as controls, if the earlier level is not "
        "clearly above that of objects of which the model cannot know); verdict: whether the model knows more or less "
        "of the window than of the earlier period. Intervals are 95 %, clustered by subject or entity. tempkb "
        "docs results explains each figure."
    )
    _write(known, csv_file, latex_file, picture)


def _nothing_known(questions: Sequence[Question], unanswered: Sequence[str]) -> SettingsError:
    """The error of a command that has nothing to show: no scores, or no items."""
    if any(one.n_asked for one in questions) or not questions:
        return SettingsError(
            "knows: found no scores of such models and releases by such a scorer; score them: tempkb score --all"
        )
    return SettingsError(f"knows: {'; '.join(unanswered)}; name another period: --window A..B")


def _write(known: Sequence[Known], csv_file: Path | None, latex_file: Path | None, picture: Path | None) -> None:
    """Write the files that are asked for."""
    if csv_file:
        write_file(csv_file, as_csv(known).encode())
    if latex_file:
        write_file(latex_file, as_latex(known).encode())
    if picture:
        with levels_figure(known) as figure:
            write_picture(picture, figure)


def _fitting(known: Sequence[Known]) -> tuple[Table, list[str]]:
    """The table of a question as far as it fits the terminal, and the columns that it lacks.

    A table in which all columns are wrapped can hardly be read.
    """
    names, left_out = list(TITLES), []
    rows = [dict(zip(TITLES, row, strict=True)) for row in map(cells_of, known)]
    for name in (*_DISPENSABLE, None):
        table = grid(names, [[row[column] for column in names] for row in rows])
        if name is None or console().width_of(table) <= console().width:
            break
        names.remove(name)
        left_out.append(name)
    return table, left_out


def _print_answering(store: Store, request: KnowledgeRequest) -> None:
    """Print what each model's answers over all windows of its release say of it."""
    every = list(read_answers(store, request))
    if not every:
        return
    found, n_done = [], 0
    n_changes = sum(len(one.starts) for one in every)
    with on_terminal(), Meter("looking at all windows", n_changes, tell, "changes") as meter:
        for answers in every:
            found.append(answering_of(answers))
            n_done += len(answers.starts)
            meter.at(n_done)
    names = [(one.answers.release, one.answers.model) for one in found]
    labels = [
        (release, f"{model} {one.answers.scorer}" if names.count((release, model)) > 1 else model)
        for one, (release, model) in zip(found, names, strict=True)
    ]
    levels = [(*label, len(one.answers.starts), *_levels(one)) for label, one in zip(labels, found, strict=True)]
    heads = ("release", "model", "changes", "prefers new, %", "two ways", "without one relation")
    console().print(grid(heads, levels, title="all windows: how often the new object is preferred"))
    say(
        "prefers new: with its interval by subject; two ways: the interval if subjects and new objects both count as "
        "drawn; without one relation: lowest and highest share if one relation is left out"
    )
    dates = [
        (
            *label,
            until_in_words(one.answers.certainly, one.answers.possibly),
            one.until_in_words,
            *_calibration(one.before),
            *_calibration(one.after),
        )
        for label, one in zip(labels, found, strict=True)
    ]
    errors = ("error before", "Brier before", "error after", "Brier after")
    heads_of_dates = ("release", "model", "knows until", "by its answers", *errors)
    console().print(
        grid(heads_of_dates, dates, title="all windows: until when a model knows, and how sure it rightly is")
    )
    say(
        "by its answers: where the share of preferred new objects, minus that of controls, may have fallen halfway "
        "(first days of windows that a test at 5 % does not reject); error: by how much the model's confidence in the "
        "object that it prefers differs from the share of changes in which that is the new one (0 to 1), for changes "
        "before and after its knowledge ends; Brier: mean squared error of that confidence (a coin has 0.25)"
    )


def _levels(found: Answering) -> tuple[str, str, str]:
    """The share of preferred new objects, its interval by subjects and objects, and its range over relations."""

    def within(low: float | None, high: float | None) -> str:
        return "" if low is None or high is None else f"[{rounded(100 * low, 0)}, {rounded(100 * high, 0)}]"

    level, two_ways, without_one = found.level, found.two_ways, found.without_one
    if level is None or two_ways is None:
        return "", "", ""
    share = f"{rounded(100 * level.value, 0)} {within(level.low, level.high)}".rstrip()
    ranges = "" if without_one is None else " to ".join(rounded(100 * share, 0) for share in without_one)
    return share, within(two_ways.low, two_ways.high), ranges


def _calibration(found: Calibration | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    return "" if found.error is None else f"{found.error:.2f}", f"{found.brier.value:.2f}"


def print_results() -> None:
    """Print how many rows the tables of results have, and what linkers show of time if there is something."""
    store = open_store()
    for table in TABLES:
        version = store.lake.current(table.name, ALL)
        say(f"{table.name}: {counted(version.rows if version is not None else 0, 'row')}")
    effects = store.ask(f"FROM {LINKING_EFFECTS.name} ORDER BY release, setup, contrast, k", LINKING_EFFECTS.name)
    if effects:
        print_effects(effects)
    print_next('sql "FROM knowledge"', "knows", "ui")


def _print_withheld(store: Store, known: Sequence[Known]) -> None:
    """Print the levels of the demo's models apart for subjects that they have read and that were withheld from them."""
    from tempkb.demo.models.asking import demo_models, withheld_clusters

    readers = {one.name for one in demo_models(store) if one.cut is not None}
    own = [one for one in known if one.scores.model["model"] in readers and not one.is_factor]
    if not own:
        return
    withheld = withheld_clusters(store, own[0].question.release)
    rows = []
    for one in own:
        periods = one.scores.window, one.scores.earlier
        hidden = [np.isin(scored.clusters, withheld) for scored in periods]
        parts = [scored.where(~mask) for scored, mask in zip(periods, hidden, strict=True)]
        parts += [scored.where(mask) for scored, mask in zip(periods, hidden, strict=True)]
        rows.append((one.label, *(level_in_words(one, part) for part in parts)))
    heads = ("model", "read: level", "read: earlier", "withheld: level", "withheld: earlier")
    say("The levels of subjects whose articles the demo's models have read, and of those withheld from all models:")
    console().print(grid(heads, rows))


def _refuse_unknown(store: Store, request: KnowledgeRequest) -> None:
    there = [row["model"] for row in known_models(store.lake)]
    odd = sorted(set(request.models) - set(there))
    if odd:
        raise SettingsError(f"--models {odd[0]}: no such model; there: {', '.join(there) or 'none'}")
    able = releases_asked(store)
    odd = sorted(set(request.releases) - set(able))
    if odd:
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
