"""What a model's answers over all windows say of it: until when it knows changes, and how sure it rightly is. Pure."""

from dataclasses import dataclass
from datetime import date

import numpy as np

from tempkb.results.questions import Flags, Floats, Ids
from tempkb.statistics import (
    Calibration,
    Estimate,
    KnowledgeDate,
    calibration,
    forced_choice,
    knowledge_date,
    leave_one_out,
    proportion,
    two_way_proportion,
)

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
        before: how well the model's confidence fits changes that it may know; None without such a change.
        after: the same for changes after its knowledge.
    """

    answers: Answers
    level: Estimate | None
    two_ways: Estimate | None
    without_one: tuple[float, float] | None
    known_until: KnowledgeDate | None
    before: Calibration | None
    after: Calibration | None

    @property
    def until_in_words(self) -> str:
        """The dates that the answers allow, in words."""
        found = self.known_until
        if found is None or found.answer == "cannot tell":
            return "cannot tell"
        if found.answer == "interval":
            return f"{found.low}" if found.low == found.high else f"{found.low} to {found.high}"
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
    level, two_ways, without_one = _levels(answers)
    return Answering(
        answers,
        level,
        two_ways,
        without_one,
        until,
        _calibrated(answers, answers.is_before),
        _calibrated(answers, answers.is_after),
    )


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


def _calibrated(answers: Answers, some: Flags) -> Calibration | None:
    """How well the confidence in the preferred object fits the share of changes in which it is the new one."""
    if not some.any():
        return None
    return calibration(*forced_choice(answers.new[some], answers.old[some]), answers.clusters[some])
