"""What was asked of models, what they gave, and what that says: until when they know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from tempkb.benchmarks.reading import Aggregate
from tempkb.core.statistics import (
    Estimate,
    KnowledgeDate,
    knowledge_date,
    leave_one_out,
    proportion,
    two_way_proportion,
)
from tempkb.results.requests import Period

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


@dataclass(frozen=True)
class Answering:
    """What a model's answers say of it.

    Attributes:
        answers: from which it follows.
        level: share of all changes in which the new object is preferred, clustered by subject; None without a change.
        two_ways: the same, clustered by subject and by new object; each end is the less certain one.
        without_one: lowest and highest such share if one relation is left out; None with a single relation.
        known_until: where the preference for new objects falls to half of what it was.
    """

    answers: Answers
    level: Estimate | None
    two_ways: Estimate | None
    without_one: tuple[float, float] | None
    known_until: KnowledgeDate | None

    @property
    def until_in_words(self) -> str:
        """The estimated training cutoff with its 95 % interval, in words."""
        found = self.known_until
        if found is None or found.answer == "cannot tell":
            return "inconclusive"
        if found.answer == "interval":
            return f"{found.best} [{found.low}, {found.high}]"
        return f"not before {found.low}" if found.answer == "not before" else f"not after {found.high}"


def answering_of(answers: Answers) -> Answering:
    """Return what a model's answers say of it."""
    known = ~(np.isnan(answers.prefers) | np.isnan(answers.control))
    until = None
    if known.any():
        starts = [start for start, is_known in zip(answers.starts, known, strict=True) if is_known]
        until = knowledge_date(
            starts, answers.prefers[known], answers.control[known], answers.clusters[known], seed=_SEED
        )
    return Answering(answers, *_levels(answers), until)


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
