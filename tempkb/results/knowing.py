"""What models know of a window, compared with what they know of an earlier period: levels, differences, ranks. Pure.

Of changes, the level is the share in which the new object is preferred. Of entities, it is the mean of nats over
entities, shown as a perplexity; the difference of two such means is shown as a factor.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from tempkb.core.statistics import (
    MIN_CLUSTERS,
    Estimate,
    change,
    exponential,
    exponentiated,
    macro_change,
    macro_mean,
    paired_difference,
    paired_macro_difference,
    proportion,
    ranks,
)
from tempkb.core.wording import counted, percent
from tempkb.results.answering import ModelScores, Question, Scored
from tempkb.results.tables import HIGHER, INCONCLUSIVE, LOWER, NOT_COMPARED

Level = Callable[[Any, Any], Estimate]
Change = Callable[[Any, Any, Any, Any], Estimate]


@dataclass(frozen=True)
class Known:
    """What a model knows of a window.

    Attributes:
        question: what was asked.
        scores: what the model gave.
        level: the aggregate in the window; None without an item.
        earlier: the aggregate in the earlier period; None without an item.
        difference: level minus earlier level, of perplexities in nats; None if one of them is missing.
        verdict: one of `VERDICTS`.
        note: why there is no interval or no comparison; empty otherwise.
        rank: best and worst rank that the items allow; None if no other model was asked by the scorer.
        n_ranked: number of models that were ranked.
        is_ranked_by_difference: whether by the difference, and not by the level.
        control: of shares, the level of the earlier items' controls; None without one.
        rank_note: why the model has no rank though there are others; empty otherwise.
    """

    question: Question
    scores: ModelScores
    level: Estimate | None
    earlier: Estimate | None
    difference: Estimate | None
    verdict: str
    note: str = ""
    rank: tuple[int, int] | None = None
    n_ranked: int = 0
    is_ranked_by_difference: bool = False
    control: float | None = None
    rank_note: str = ""

    @property
    def name(self) -> str:
        """The names of the model and of the scorer."""
        return f"{self.scores.model['model']} {self.scores.scorer}"

    @property
    def label(self) -> str:
        """The name of the model, with that of the scorer if the question has rows of the model by several scorers."""
        model = self.scores.model["model"]
        n = sum(one.model["model"] == model for one in self.question.models)
        return self.name if n > 1 else str(model)

    @property
    def is_factor(self) -> bool:
        """Whether differences are shown as factors."""
        return not self.question.aggregate.is_share

    @property
    def figure(self) -> str:
        """What the aggregate is called."""
        return "perplexity" if self.is_factor else "preference rate"

    @property
    def nouns(self) -> str:
        """What its clusters are called."""
        return self.question.aggregate.clusters[-1] + "s" * (len(self.question.aggregate.clusters) == 1)

    @property
    def _metric(self) -> str:
        if not self.is_factor:
            return "share of changes"
        return "pseudo-perplexity" if self.scores.model["family"] == "masked" else "perplexity"

    def row(self) -> dict[str, Any]:
        """Return the row of the tables `knowledge` and `knows`."""
        model, asked = self.scores.model, self.question
        level, earlier, difference = map(self._shown, (self.level, self.earlier, self.difference))
        detectable = self.difference.mde if self.difference else None
        return {
            "release": asked.release,
            "split": asked.aggregate.split,
            "metric": self._metric,
            "aggregate": asked.aggregate.name,
            "model": model["model"],
            "scorer": self.scores.scorer,
            "knows_certainly_until": model["knows_certainly_until"],
            "knows_possibly_until": model["knows_possibly_until"],
            "window_from": asked.window[0],
            "window_to": asked.window[1],
            "is_provisional": asked.is_provisional,
            "n_asked": asked.n_asked,
            "n_unscored": self.scores.n_unscored,
            "n_unclean": self.scores.n_unclean,
            "n_items": len(self.scores.window.values),
            "n_clusters": level.n_clusters if level else 0,
            "value": level and level.value,
            "standard_error": level and level.standard_error,
            "low": level and level.low,
            "high": level and level.high,
            "earlier_from": asked.earlier[0],
            "earlier_to": asked.earlier[1],
            "earlier_n_items": earlier.n_items if earlier else 0,
            "earlier_n_clusters": earlier.n_clusters if earlier else 0,
            "earlier_value": earlier and earlier.value,
            "earlier_low": earlier and earlier.low,
            "earlier_high": earlier and earlier.high,
            "earlier_control": self.control,
            "is_earlier_fallback": asked.is_fallback,
            "difference": difference and difference.value,
            "difference_low": difference and difference.low,
            "difference_high": difference and difference.high,
            "detectable": exponential(detectable) if self.is_factor and detectable is not None else detectable,
            "rank_from": self.rank and self.rank[0],
            "rank_to": self.rank and self.rank[1],
            "n_ranked": self.n_ranked,
            "rank_note": self.rank_note or None,
            "verdict": self.verdict,
            "note": self.note or None,
        }

    def level_of(self, items: Scored) -> Estimate | None:
        """Return the aggregate of some of the model's items, as it is shown; None without an item."""
        return self._shown(_level(_ways(self.question), items))

    def _shown(self, estimate: Estimate | None) -> Estimate | None:
        return exponentiated(estimate) if estimate and self.is_factor else estimate


@dataclass(frozen=True)
class _Ways:
    """How an aggregate is estimated, up to which level from 0 on, and whether a higher one means that more is known."""

    level: Level
    paired: Callable[[Any, Any, Any], Estimate]
    change: Change
    most: float
    sign: int


_OF_SHARES = _Ways(proportion, paired_difference, change, 1, 1)
_OF_PERPLEXITIES = _Ways(macro_mean, paired_macro_difference, macro_change, math.inf, -1)


def _ways(question: Question) -> _Ways:
    return _OF_SHARES if question.aggregate.is_share else _OF_PERPLEXITIES


def known_of(questions: Iterable[Question]) -> list[Known]:
    """Return what models know, in the order of questions, models and scorers."""
    return [one for question in questions for one in _ranked(question)]


def _ranked(question: Question) -> list[Known]:
    """What each model knows, with ranks among those that can be compared: by one scorer, of perplexities one tokenizer.

    Models are ranked by their differences, or, if one of them has no earlier level, all by their levels. One that knew
    nothing has nothing to lose, and would be ranked above those that have: it has no rank.
    """
    known = {one.name: one for one in map(partial(known_by, question), question.models)}
    for group in comparable(known.values()):
        by_difference = all(one.difference is not None for one in group)
        for name, rank in _ranks({one.name: one for one in group}, by_difference=by_difference).items():
            known[name] = replace(known[name], rank=rank, n_ranked=len(group), is_ranked_by_difference=by_difference)
    return list(known.values())


def known_by(question: Question, scores: ModelScores) -> Known:
    """Return what a model knows, without a rank."""
    ways = _ways(question)
    level, earlier = (_level(ways, period) for period in (scores.window, scores.earlier))
    difference = None
    if level is not None and earlier is not None:
        before, after = scores.earlier, scores.window
        difference = ways.change(before.values, before.clusters, after.values, after.clusters)
        difference = difference.within(-ways.most, ways.most)
    control = _control(scores.earlier)
    return Known(
        question,
        scores,
        level,
        earlier,
        difference,
        _verdict(difference, ways.sign),
        _note(question, scores, earlier) or (difference.reason if difference else None) or "",
        control=control,
        rank_note=_rank_note(earlier, control),
    )


def _control(earlier: Scored) -> float | None:
    """The share of preferred controls, of the items that have one."""
    has_control = np.zeros(0, bool) if earlier.controls is None else ~np.isnan(earlier.controls)
    return float(earlier.controls[has_control].mean()) if earlier.controls is not None and has_control.any() else None


def _rank_note(earlier: Estimate | None, control: float | None) -> str:
    """Say why a model is not ranked: its earlier level is not above that of objects of which it cannot know.

    The interval contains the level of these controls, or lies below it: controls vary, too, so that of models which
    know nothing about every twelfth is on either side.
    """
    if earlier is None or earlier.low is None or earlier.high is None or control is None or control < earlier.low:
        return ""
    value, low, high, controls = map(percent, (earlier.value, earlier.low, earlier.high, control))
    return f"its baseline, {value} % [{low}, {high}], is not clearly above that of the controls, {controls} %"


def _level(ways: _Ways, scored: Scored) -> Estimate | None:
    return ways.level(scored.values, scored.clusters).within(0, ways.most) if len(scored.values) else None


def _verdict(difference: Estimate | None, sign: int) -> str:
    if difference is None or difference.mde is None:
        return NOT_COMPARED
    if abs(difference.value) < difference.mde:
        return INCONCLUSIVE
    return HIGHER if sign * difference.value > 0 else LOWER


def _note(question: Question, scores: ModelScores, earlier: Estimate | None) -> str:
    """Say why a model has no interval, or nothing to compare with."""
    what, n = question.aggregate.clusters, len(set(scores.window.clusters.tolist()))
    if not n:
        if not question.n_asked:
            return "the release has no item that lies wholly in the window"
        return "no item of the window is left" if scores.n_unclean else "no item of the window has a score"
    if n < MIN_CLUSTERS:
        return f"the items are about {counted(n, *what)}; an interval needs at least {MIN_CLUSTERS}"
    certainly = scores.model["knows_certainly_until"]
    if earlier is None:
        if not question.n_earlier:
            if question.earlier[0] < question.first_day:
                return f"the release begins on {question.first_day}, so that it has no item of the baseline window"
            return "the release has no item that lies wholly in the baseline window"
        if certainly is not None and certainly < question.earlier[1]:
            return f"its stated training cutoff is {certainly}, and the baseline window ends later"
        return "no item of the baseline window has a score"
    if earlier.n_clusters < MIN_CLUSTERS:
        n = earlier.n_clusters
        return f"the items of the baseline window are about {counted(n, *what)}; an interval needs {MIN_CLUSTERS}"
    return ""


def by_question(known: Iterable[Known]) -> list[list[Known]]:
    """Return what is known of each question, in their order."""
    groups: dict[int, list[Known]] = {}
    for one in known:
        groups.setdefault(id(one.question), []).append(one)
    return list(groups.values())


def comparable(known: Iterable[Known]) -> list[list[Known]]:
    """Return the models that may be ranked among one another, in groups of two or more."""
    groups: dict[tuple[str, str], list[Known]] = {}
    for one in known:
        if one.level is not None and not one.rank_note:
            # Perplexities are by token, so they can be compared only where the tokens are the same.
            tokens = one.scores.model["tokenizer_sha256"] if one.is_factor else ""
            groups.setdefault((one.scores.scorer, tokens), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _ranks(known: Mapping[str, Known], *, by_difference: bool) -> dict[str, tuple[int, int]]:
    """The ranks of models that are compared on the items that two of them share."""
    pairs = {
        (first, second): estimate
        for first, second in combinations(known, 2)
        if (estimate := _between(known[first], known[second], by_difference=by_difference)) is not None
    }
    is_loss = next(iter(known.values())).is_factor
    return ranks(list(known), pairs, higher_is_better=not is_loss) if pairs else {}


def _between(first: Known, second: Known, *, by_difference: bool) -> Estimate | None:
    """By how much the second model's difference (or level) exceeds the first one's; None without shared items."""
    ways = _ways(first.question)
    window = _minus(first.scores.window, second.scores.window)
    if not len(window.values):
        return None
    if not by_difference:
        return ways.paired(np.zeros(len(window.values)), window.values, window.clusters)
    earlier = _minus(first.scores.earlier, second.scores.earlier)
    if not len(earlier.values):
        return None
    return ways.change(earlier.values, earlier.clusters, window.values, window.clusters)


def _minus(first: Scored, second: Scored) -> Scored:
    """Second minus first, on the items that both have."""
    items, at_first, at_second = np.intersect1d(first.items, second.items, return_indices=True)
    return Scored(second.values[at_second] - first.values[at_first], first.clusters[at_first], items)
