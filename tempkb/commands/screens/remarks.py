"""What must be known of the figures of `tempkb knows`: the lines below each table."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from tempkb.benchmarks.reading import TWO_PERIODS
from tempkb.commands.screens.answers import delay_in_words
from tempkb.core.statistics import MIN_CLUSTERS
from tempkb.core.wording import counted
from tempkb.results.answering import Question
from tempkb.results.knowing import Known, comparable
from tempkb.results.reading import usual_delay
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.tables import NOT_COMPARED
from tempkb.results.tabling import level_in_words
from tempkb.store.store import Store

_WITHOUT = {
    "no_left_context": "nothing precedes the target, as causal models need it (no_left_context)",
    "not_alignable": "a token lies on both sides of an edge of the target (not_alignable)",
    "not_finite": "the model gave no finite number (not_finite)",
    "too_long": "the text is longer than the model reads (too_long)",
    TWO_PERIODS: "the name ends with a period that is one token with that of the sentence, and the scorer counts what "
    "ends a name (not_alignable)",
}
"""Why items have no score, by the reasons of `ModelScores.unscored`."""


def remarks(store: Store, request: KnowledgeRequest, known: Sequence[Known]) -> Iterator[str]:
    """Yield what must be known of the rows of a question, a sentence or two a line.

    That is what was left out, what may still change, and what has no rank. Where nothing is compared, little is said.
    """
    is_compared = any(one.verdict != NOT_COMPARED for one in known)
    if is_compared:
        yield from _of_the_baseline_window(request, known[0].question)
    yield from _of_items_without_scores(known)
    yield from _of_items_left_out(request, known)
    if is_compared:
        yield from _of_ranks(known)
        yield from _of_the_training_cutoff(request, known)
        yield from _of_what_may_change(store, known[0].question)
    yield from _of_another_baseline(known)


def _of_the_baseline_window(request: KnowledgeRequest, question: Question) -> Iterator[str]:
    if question.is_fallback:
        first, end = question.earlier
        yield (
            f"Of the same days {counted(request.years_before, 'year')} earlier no model can be asked about "
            f"{counted(MIN_CLUSTERS, *question.aggregate.clusters)}. The baseline window is the first of the same "
            f"length of which one can: {first}..{end}."
        )


def _of_items_without_scores(known: Sequence[Known]) -> Iterator[str]:
    unscored = sorted({one.scores.n_unscored for one in known})
    if unscored[-1]:
        some = f"{unscored[-1]:,}" if len(unscored) == 1 else f"up to {unscored[-1]:,}"
        n_asked = counted(known[0].question.n_asked, "item")
        yield f"Of {n_asked} of the window, {some} have no score with these scorers."
    for reason, why in _WITHOUT.items():
        if said := _of_each(known, partial(_by_relation, reason)):
            # Only where objects are ranked are whole sentences asked for as well.
            elsewhere = reason == "no_left_context" and not known[0].is_factor
            instead = " Whole sentences are scored instead: --scorer sentence." if elsewhere else ""
            yield f"No score, since {why}: {said}.{instead}"
    if said := _of_each(known, _figures_of_starting):
        yield (
            "Queries that begin with the object, which nothing precedes (no_left_context), are asked of causal models "
            f"with the object last: {said}."
        )


def _of_each(known: Sequence[Known], say: Callable[[Known], str], between: str = "; ") -> str:
    """What is said of each model, as far as there is something to say."""
    return between.join(f"{one.label} {said}" for one in known if (said := say(one)))


def _by_relation(reason: str, known: Known) -> str:
    """How many items have no score for a reason: in all, and by relation."""
    numbers = {relation: n for (why, relation), n in sorted(known.scores.unscored.items()) if why == reason}
    relations = ", ".join(f"{relation} {n:,}" for relation, n in numbers.items() if relation)
    return "" if not numbers else f"{sum(numbers.values()):,}{f' ({relations})' if relations else ''}"


def _figures_of_starting(known: Known) -> str:
    """How many items count whose query begins with the object, and their figure beside that of the others."""
    window = known.scores.window
    starts = np.isin(window.items, known.scores.starting)
    if not starts.any():
        return ""
    own, others = (level_in_words(known, window.where(mask)) for mask in (starts, ~starts))
    return f"{starts.sum():,} of {len(starts):,}, {known.figure} {own}{f' (of the others {others})' if others else ''}"


def _of_items_left_out(request: KnowledgeRequest, known: Sequence[Known]) -> Iterator[str]:
    question = known[0].question
    if question.n_partly:
        yield (
            f"{counted(question.n_partly, 'further item')} may lie outside the window in part, and "
            f"{'does' if question.n_partly == 1 else 'do'} not count: {question.aggregate.coarse}."
        )
    if said := _of_each(known, _unclean, ", "):
        yield (
            "Left out because they may be in the training texts (begun or known before the training cutoff and "
            f"{request.buffer_days} days): {said}. With --all-items they count."
        )


def _unclean(known: Known) -> str:
    n = known.scores.n_unclean
    return f"{n:,} of {n + len(known.scores.window.values):,}" if n else ""


def _before_the_end(known: Known) -> str:
    n, n_all = known.scores.n_before, len(known.scores.window.values)
    return f"{n:,} of {n_all:,}" if 0 < n < n_all else ""


def _of_ranks(known: Sequence[Known]) -> Iterator[str]:
    """Which models were ranked with one another, and why others have no rank."""
    for group in comparable(known):
        if group[0].rank is not None:
            by = "difference" if group[0].is_ranked_by_difference else group[0].figure
            yield f"Ranked by {by}: {', '.join(one.label for one in group)}."
    yield from (f"Not ranked (baseline like controls): {one.label}: {one.rank_note}." for one in known if one.rank_note)


def _of_the_training_cutoff(request: KnowledgeRequest, known: Sequence[Known]) -> Iterator[str]:
    if said := _of_each(known, _before_the_end, ", "):
        yield (
            "The training cutoff lies within the window, so that the figure is of items both before and after that "
            f"day; items before it: {said}."
        )
    undated = [one.label for one in known if one.scores.model["knows_certainly_until"] is None]
    if undated and not request.takes_all:
        yield (
            "Nothing was left out, and items of the baseline window count in any case, since no training cutoff is "
            f"stated: {', '.join(undated)}."
        )


def _of_what_may_change(store: Store, question: Question) -> Iterator[str]:
    if question.is_provisional:
        delay = usual_delay(store) or {"days": None, "reason": "compute it: tempkb results"}
        usual = (
            f"the reporting lag of 95 % of the facts that begin in a window is {delay_in_words(delay)} days"
            if delay["days"] is not None
            else f"the reporting lag is not known ({delay['reason']})"
        )
        yield (
            "The window is provisional: its changes are seen in the queries of the window after it, and the dump of "
            f"Wikidata was made less than 90 days after the end of that one; {usual}."
        )


def _of_another_baseline(known: Sequence[Known]) -> Iterator[str]:
    question = known[0].question
    ends = [one.scores.model["knows_certainly_until"] for one in known]
    end = min([question.window[0], *(day for day in ends if day is not None)])
    if all(one.earlier is None for one in known) and question.first_day < end:
        yield f"To compare with what all models may know of the release: --baseline {question.first_day}..{end}"
