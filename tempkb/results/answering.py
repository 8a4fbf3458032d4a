"""What was asked of models, what they gave, and what that says: until when they know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from tempkb.benchmarks.reading import Aggregate
from tempkb.core.statistics import (
    Estimate,
    knowledge_date,
    leave_one_out,
    proportion,
    two_way_proportion,
)
from tempkb.results.requests import Period
from tempkb.results.tables import INCONCLUSIVE

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ids = np.ndarray[Any, np.dtype[np.uint64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Scored:
    """What a model gave for the items of a period, one row each, of equal length.

    Attributes:
        values: of prefers_new 1 if the new object is preferred and else 0; of perplexities nats of a token.
        clusters: of which subject or entity each is.
        items: which item each is; equal in all models.
        controls: of prefers_new 1 if of the control's two objects the one in place of the new one is preferred, else 0;
            NaN without a control. None if there are no controls at all.
    """

    values: Floats
    clusters: Ids
    items: Ids
    controls: Floats | None = None

    def where(self, mask: Flags) -> "Scored":
        """Return the rows for which a mask is true."""
        controls = None if self.controls is None else self.controls[mask]
        return Scored(self.values[mask], self.clusters[mask], self.items[mask], controls)


@dataclass(frozen=True)
class ModelScores:
    """What a model gave for a window and for the earlier period.

    Attributes:
        model: the row of the table of models.
        scorer: by which it was asked.
        window: the items of the window that count.
        earlier: the items of the earlier period.
        n_unscored: items of the window without a score.
        n_unclean: items of the window with a score that do not count, since the model may have read too early of them.
        n_before: how many of those that count lie before the end of what the model certainly knows; 0 if that is not
            known, or if items count whenever they happened.
        unscored: of items of the window without a score, how many have which reason, of which relation (empty for
            entities).
        starting: items of the window whose query begins with the object. A causal model cannot be asked that, and has
            a score of them by another wording.
    """

    model: Mapping[str, Any]
    scorer: str
    window: Scored
    earlier: Scored
    n_unscored: int
    n_unclean: int
    n_before: int = 0
    unscored: Mapping[tuple[str, str], int] = field(default_factory=dict)
    starting: Ids = field(default_factory=lambda: np.empty(0, np.uint64))


@dataclass(frozen=True)
class Question:
    """One aggregate of one release: what is asked, and what each model gave.

    Attributes:
        aggregate: by which models are compared.
        release: the release.
        window: what happened in these days.
        earlier: with which period it is compared.
        is_provisional: whether much may still be entered about the window.
        n_asked: number of items that lie wholly in the window.
        n_partly: number of further items that lie in the window in part, or may do so; they do not count.
        n_earlier: number of items that lie wholly in the earlier period.
        first_day: first day of the release's study.
        models: by name and scorer.
        is_fallback: whether the earlier period is the first that can be compared, since that which was asked for
            cannot be.
    """

    aggregate: Aggregate
    release: str
    window: Period
    earlier: Period
    is_provisional: bool
    n_asked: int
    n_partly: int
    n_earlier: int
    first_day: date
    models: Sequence[ModelScores]
    is_fallback: bool = False


_SEED = 0


@dataclass(frozen=True)
class Answers:
    """A model's scores of the changes of a release, one row each, of equal length.

    Attributes:
        release: the release.
        model: name of the model.
        scorer: by which it was asked.
        certainly: day before which its training texts certainly reach; None if unknown.
        possibly: day from which on none of its training texts is; None if unknown.
        starts: first day of the window in which the new object began.
        clusters: of which subject each change is.
        objects: which object is the new one.
        relations: of which relation it is.
        prefers: 1 if the subject adds more to the new object; NaN if it is not known.
        control: the same for the change's control.
        new: log-probability of the new object (nats).
        old: likewise of the old one.
        is_before: whether the window ended before the model's knowledge certainly does.
        is_after: whether it began after the last day of which the model may know.
    """

    release: str
    model: str
    scorer: str
    certainly: date | None
    possibly: date | None
    starts: list[date]
    clusters: Ids
    objects: Ids
    relations: list[str]
    prefers: Floats
    control: Floats
    new: Floats
    old: Floats
    is_before: Flags
    is_after: Flags


def cutoff_row(answers: Answers) -> dict[str, Any]:
    """Return the row of `estimated_cutoffs`: what a model's answers say of its training cutoff."""
    known = ~(np.isnan(answers.prefers) | np.isnan(answers.control))
    found = None
    if known.any():
        starts = [start for start, is_known in zip(answers.starts, known, strict=True) if is_known]
        found = knowledge_date(
            starts, answers.prefers[known], answers.control[known], answers.clusters[known], seed=_SEED
        )
    level, two_ways, without_one = _levels(answers)
    answer = found.answer if found and found.answer != "cannot tell" else INCONCLUSIVE
    return {
        "release": answers.release,
        "model": answers.model,
        "scorer": answers.scorer,
        "knows_certainly_until": answers.certainly,
        "knows_possibly_until": answers.possibly,
        "n_changes": len(answers.starts),
        "n_clusters": level.n_clusters if level else 0,
        "value": level and level.value,
        "low": level and level.low,
        "high": level and level.high,
        "two_way_low": two_ways and two_ways.low,
        "two_way_high": two_ways and two_ways.high,
        "without_one_low": without_one and without_one[0],
        "without_one_high": without_one and without_one[1],
        "answer": answer,
        "cutoff": found.best if found and answer == "interval" else None,
        "cutoff_low": found and found.low,
        "cutoff_high": found and found.high,
    }


def _levels(answers: Answers) -> tuple[Estimate | None, Estimate | None, tuple[float, float] | None]:
    """The share of all changes in which the new object is preferred, and what makes it less certain."""
    known = ~np.isnan(answers.prefers)
    if not known.any():
        return None, None, None
    values, clusters = answers.prefers[known], answers.clusters[known]
    relations = [name for name, is_known in zip(answers.relations, known, strict=True) if is_known]
    left = [one.value for one in leave_one_out(values, clusters, relations, proportion).values()]
    without_one = (min(left), max(left)) if left else None
    return proportion(values, clusters), two_way_proportion(values, clusters, answers.objects[known]), without_one
