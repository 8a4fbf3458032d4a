"""What is asked of models, and what they gave, item by item. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from tempkb.benchmarks.reading import Aggregate
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
