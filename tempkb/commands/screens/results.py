"""The screens of `tempkb knows` and `tempkb results`: what models know of a window, and how sure that is."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tempkb.commands.screens.answers import print_names
from tempkb.commands.screens.console import print_next, say, show, write_file, write_picture
from tempkb.commands.screens.failure import tell
from tempkb.commands.screens.linking import print_effects
from tempkb.commands.screens.remarks import remarks
from tempkb.core.errors import SettingsError
from tempkb.core.statistics import Estimate
from tempkb.core.wording import counted, percent
from tempkb.engine.progress import Meter, on_terminal
from tempkb.models.known import known_models, until_in_words
from tempkb.platform.api import open_store
from tempkb.results.answering import Question, answering_of
from tempkb.results.knowing import Known, known_of
from tempkb.results.plots import levels_figure
from tempkb.results.popularity import read_thirds
from tempkb.results.reading import passed_over, read_answers, read_questions, releases_asked
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.tables import ALL, LINKING_EFFECTS, TABLES
from tempkb.results.tabling import known_csv, known_latex, level_in_words, listings_of
from tempkb.store.listings import Listing, estimate, in_order
from tempkb.store.store import Store


def _within(share: Estimate | None) -> str:
    if share is None or share.low is None or share.high is None:
        return ""
    return f"[{percent(share.low)}, {percent(share.high)}]"


_LEVELS = Listing(
    in_order("release", "model")
    | {
        "changes": lambda row: len(row[2].answers.starts),
        "prefers new, %": lambda row: estimate(vars(row[2].level)) if row[2].level else "",
        "two ways": lambda row: _within(row[2].two_ways),
        "without one relation": lambda row: " to ".join(map(percent, row[2].without_one or ())),
    },
    "all windows: how often the new object is preferred",
    "prefers new: with its interval by subject; two ways: the interval if subjects and new objects both count as "
    "drawn; without one relation: lowest and highest share if one relation is left out",
)
_DATES = Listing(
    in_order("release", "model")
    | {
        "knows until": lambda row: until_in_words(row[2].answers.certainly, row[2].answers.possibly),
        "by its answers": lambda row: row[2].until_in_words,
    },
    "all windows: until when a model knows",
    "by its answers: where the share of preferred new objects, minus that of controls, may have fallen halfway (first "
    "days of windows that a test at 5 % does not reject); how sure it rightly is: tempkb paper templama calibration",
)


def print_knowledge(
    request: KnowledgeRequest,
    csv_file: Path | None,
    latex_file: Path | None,
    picture: Path | None,
    *,
    with_answers: bool = False,
    by_popularity: str | None = None,
) -> None:
    """Print what models know of a window, and write it to the files that are asked for.

    Raises:
        SettingsError: there is no such model or release, or nothing that is asked for has scores.
    """
    store = open_store()
    for line in passed_over(store):
        tell(line)
    known, unanswered = read_knowledge(store, request)
    for listing, rows in listings_of(known):
        show(listing, rows)
        own = [row["known"] for row in rows]
        for line in remarks(store, request, own):
            say(line)
        _print_withheld(store, own)
        _print_by_popularity(store, own, by_popularity)
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
    if csv_file:
        write_file(csv_file, known_csv(known))
    if latex_file:
        write_file(latex_file, known_latex(known))
    if picture:
        with levels_figure(known) as figure:
            write_picture(picture, figure)


def read_knowledge(store: Store, request: KnowledgeRequest) -> tuple[list[Known], list[str]]:
    """Return what models know of a window, and of which releases no model has a row for what reason.

    Raises:
        SettingsError: there is no such model or release, or nothing that is asked for has scores.
    """
    _refuse_unknown(store, request)
    questions = [*read_questions(store, request)]
    known = known_of(questions)
    unanswered = [_why_unanswered(one) for one in questions if not one.models]
    if not known:
        raise _nothing_known(questions, unanswered)
    return known, unanswered


def _nothing_known(questions: Sequence[Question], unanswered: Sequence[str]) -> SettingsError:
    """The error of a command that has nothing to show: no scores, or no items."""
    if any(one.n_asked for one in questions) or not questions:
        return SettingsError(
            "knows: found no scores of such models and releases by such a scorer; score them: tempkb score --all"
        )
    return SettingsError(f"knows: {'; '.join(unanswered)}; name another period: --window A..B")


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
    rows = [
        (release, f"{model} {one.answers.scorer}" if names.count((release, model)) > 1 else model, one)
        for one, (release, model) in zip(found, names, strict=True)
    ]
    show(_LEVELS, rows)
    show(_DATES, rows)


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
    """Print the levels of the demo's models apart for subjects that they have read and that were withheld from them."""
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
    say("The levels of subjects whose articles the demo's models have read, and of those withheld from all models:")
    show(Listing(in_order("model", "read: level", "read: earlier", "withheld: level", "withheld: earlier")), rows)


def _print_by_popularity(store: Store, known: Sequence[Known], popular_by: str | None) -> None:
    """Print the levels of the window apart for thirds of the subjects or entities, if they are asked for."""
    if popular_by is None:
        return
    groups = {name: np.array(own, np.uint64) for name, own in read_thirds(store, known[0].question, popular_by).items()}
    rows = []
    for one in known:
        window = one.scores.window
        parts = (window.where(np.isin(window.clusters, own)) for own in groups.values())
        rows.append((one.label, *(level_in_words(one, part) for part in parts)))
    nouns = counted(0, *known[0].question.aggregate.clusters).removeprefix("0 ")
    say(f"The levels in the window by the popularity of the {nouns} ({popular_by}):")
    show(Listing(in_order("model", *(f"{name} ({len(own):,})" for name, own in groups.items()))), rows)
    say(
        f"In brackets above: how many {nouns} the window's items have. An article's {popular_by} are those at the last "
        "cut at or before the window's end; a third has those than whom fewer than one or two thirds are less popular, "
        "so that equally popular ones are together; unknown: without an article at that cut."
    )


def _refuse_unknown(store: Store, request: KnowledgeRequest) -> None:
    there = [row["model"] for row in known_models(store.lake)]
    if odd := sorted(set(request.models) - set(there)):
        raise SettingsError(f"--models {odd[0]}: no such model; there: {', '.join(there) or 'none'}")
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
