"""What must be known of the figures of `tempkb knows`: the lines below each table."""

from collections.abc import Sequence

import numpy as np

from tempkb.benchmarks.reading import TWO_PERIODS
from tempkb.results.knowing import Known, comparable
from tempkb.results.reading import usual_delay
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.tabling import level_in_words
from tempkb.screens.late import delay_in_words
from tempkb.statistics import MIN_CLUSTERS
from tempkb.store.store import Store
from tempkb.wording import counted

_WITHOUT = {
    "no_left_context": "nothing precedes the target, as causal models need it (no_left_context)",
    "not_alignable": "a token lies on both sides of an edge of the target (not_alignable)",
    "not_finite": "the model gave no finite number (not_finite)",
    "too_long": "the text is longer than the model reads (too_long)",
    TWO_PERIODS: "the name ends with a period that is one token with that of the sentence, and the scorer counts what "
    "ends a name (not_alignable)",
}
"""Why items have no score, by the reasons of `ModelScores.unscored`."""


def remarks(store: Store, request: KnowledgeRequest, known: Sequence[Known]) -> list[str]:
    """Return what must be known of the rows of a question, a sentence or two a line.

    That is what was left out, what may still change, and what has no interval, comparison or rank.
    """
    return [
        *_of_the_earlier_period(request, known),
        *_of_items_without_scores(known),
        *_of_items_left_out(request, known),
        *_of_ranks(known),
        *_of_the_end_of_knowledge(request, known),
        *_of_what_may_change(store, known),
        *_of_missing_figures(known),
    ]


def _of_the_earlier_period(request: KnowledgeRequest, known: Sequence[Known]) -> list[str]:
    question = known[0].question
    if not question.is_fallback:
        return []
    first, end = question.earlier
    return [
        f"Of the same days {counted(request.years_before, 'year')} earlier no model can be asked about "
        f"{counted(MIN_CLUSTERS, *question.aggregate.clusters)}. The earlier period is the first of the same length of "
        f"which one can: {first}..{end}."
    ]


def _of_items_without_scores(known: Sequence[Known]) -> list[str]:
    question, lines = known[0].question, []
    unscored = sorted({one.scores.n_unscored for one in known})
    if unscored[-1]:
        some = f"{unscored[-1]:,}" if len(unscored) == 1 else f"up to {unscored[-1]:,}"
        lines.append(f"Of {counted(question.n_asked, 'item')} of the window, {some} have no score with these scorers.")
    for reason, why in _WITHOUT.items():
        said = [f"{one.label} {numbers}" for one in known if (numbers := _by_relation(one, reason))]
        if said:
            # Only where objects are ranked are whole sentences asked for as well.
            elsewhere = reason == "no_left_context" and not known[0].is_factor
            instead = " Whole sentences are scored instead: --scorer sentence." if elsewhere else ""
            lines.append(f"No score, since {why}: {'; '.join(said)}.{instead}")
    said = [f"{one.label} {levels}" for one in known if (levels := _levels_of_starting(one))]
    if said:
        lines.append(
            "Queries that begin with the object, which nothing precedes (no_left_context), are asked of causal models "
            f"with the object last: {'; '.join(said)}."
        )
    return lines


def _by_relation(known: Known, reason: str) -> str:
    """How many items have no score for a reason: in all, and by relation."""
    numbers = {relation: n for (why, relation), n in sorted(known.scores.unscored.items()) if why == reason}
    relations = ", ".join(f"{relation} {n:,}" for relation, n in numbers.items() if relation)
    return "" if not numbers else f"{sum(numbers.values()):,}{f' ({relations})' if relations else ''}"


def _levels_of_starting(known: Known) -> str:
    """How many items count whose query begins with the object, and their level beside that of the others."""
    window = known.scores.window
    starts = np.isin(window.items, known.scores.starting)
    if not starts.any():
        return ""
    own, others = (level_in_words(known, window.where(mask)) for mask in (starts, ~starts))
    return f"{starts.sum():,} of {len(starts):,}, level {own}{f' (of the others {others})' if others else ''}"


def _of_items_left_out(request: KnowledgeRequest, known: Sequence[Known]) -> list[str]:
    question, lines = known[0].question, []
    if question.n_partly:
        lines.append(
            f"{counted(question.n_partly, 'further item')} may lie outside the window in part, and "
            f"{'does' if question.n_partly == 1 else 'do'} not count: {question.aggregate.coarse}."
        )
    left_out = [one for one in known if one.scores.n_unclean]
    if left_out:
        what = ", ".join(
            f"{one.label} {n:,} of {n + len(one.scores.window.values):,}"
            for one in left_out
            for n in [one.scores.n_unclean]
        )
        lines.append(
            "Left out because the model may have read of them too early (begun or known before the end of its "
            f"knowledge and {request.buffer_days} days): {what}. With --all-items they count."
        )
    return lines


def _of_ranks(known: Sequence[Known]) -> list[str]:
    """Which models were ranked with one another, and why others have no rank."""
    groups = [group for group in comparable(known) if group[0].rank is not None]
    return [
        *(
            f"Ranked by {'difference' if group[0].is_ranked_by_difference else 'level'}: "
            f"{', '.join(one.label for one in group)}."
            for group in groups
        ),
        *(f"No rank: {one.label}, since {one.rank_note}." for one in known if one.rank_note),
    ]


def _of_the_end_of_knowledge(request: KnowledgeRequest, known: Sequence[Known]) -> list[str]:
    lines = []
    mixed = [one for one in known if 0 < one.scores.n_before < len(one.scores.window.values)]
    if mixed:
        what = ", ".join(f"{one.label} {one.scores.n_before:,} of {len(one.scores.window.values):,}" for one in mixed)
        lines.append(
            "The model's knowledge ends within the window, so that its level is of items both before and after that "
            f"day; items before it: {what}."
        )
    undated = [one.label for one in known if one.scores.model["knows_certainly_until"] is None]
    if undated and not request.takes_all:
        lines.append(
            "Nothing was left out, and earlier items count in any case, since it is not known until when the model "
            f"knows: {', '.join(undated)}."
        )
    return lines


def _of_what_may_change(store: Store, known: Sequence[Known]) -> list[str]:
    if not known[0].question.is_provisional:
        return []
    delay = usual_delay(store) or {"days": None, "reason": "compute it: tempkb results"}
    usual = (
        f"of the facts that begin in a window 95 % were there {delay_in_words(delay)} days after its end"
        if delay["days"] is not None
        else f"how long facts take to come is not known ({delay['reason']})"
    )
    return [
        "The window is provisional: its changes are seen in the queries of the window after it, and the dump of "
        f"Wikidata was made less than 90 days after the end of that one; {usual}."
    ]


def _of_missing_figures(known: Sequence[Known]) -> list[str]:
    question = known[0].question
    by_note: dict[str, list[str]] = {}
    for one in known:
        if one.note:
            by_note.setdefault(one.note, []).append(one.label)
    lines = [f"{', '.join(names)}: {note}." for note, names in by_note.items()]
    ends = [one.scores.model["knows_certainly_until"] for one in known]
    end = min([question.window[0], *(day for day in ends if day is not None)])
    if all(one.earlier is None for one in known) and question.first_day < end:
        lines.append(f"To compare with what all models may know of the release: --earlier {question.first_day}..{end}")
    return lines
