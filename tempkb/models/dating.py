"""Models that are told the time: how they are asked about a date, as they were trained. No torch here.

A line of a checkpoint's `config.json` says how, so that the digest to which a model's name is bound covers it. Prompts
with a date begin with it (`year: 2019 `, as the benchmarks of facts write it); what has none is asked about the last
period of the training.

- A *temporal* model reads the date as it did in training: in front, by periods of that length.
- *Yearly experts* are one checkpoint: the weights of the newest expert, and a folder with those of each earlier one. A
  query is answered by the expert of its period, or by the nearest one, without its date.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from tempkb.benchmarks.fact_queries.prompts import date_in_words
from tempkb.core.windows import Granularity, Window, nearest_days, window_of

_LINE = "tempkb_dating"
_DATE = re.compile(rf"(?:{'|'.join(Granularity)}): (\d{{4}})(?:-([QW]?)(\d\d?))? ")


@dataclass(frozen=True)
class Dating:
    """How a model is told a date.

    Attributes:
        periods: of its training, oldest first.
        has_experts: is there an expert for each, and none is told a date?
    """

    periods: tuple[Window, ...]
    has_experts: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Dating | None":
        """Return how `config.json` says that a model is told a date; None if it is told none."""
        line = config.get(_LINE)
        if line is None:
            return None
        kind = Granularity(line["period"])
        return cls(tuple(window_of(date.fromisoformat(day), kind) for day in line["starts"]), line["has_experts"])

    def line(self) -> dict[str, Any]:
        """Return what `config.json` says."""
        starts = [one.start.isoformat() for one in self.periods]
        return {_LINE: {"period": self.periods[0].granularity, "starts": starts, "has_experts": self.has_experts}}

    def folder_of(self, checkpoint: Path, expert: Window) -> Path:
        """Return the folder with the weights of an expert; that of the newest one is the checkpoint's."""
        return checkpoint if expert == self.periods[-1] else checkpoint / expert.label

    def told(self, left: str) -> tuple[Window, str]:
        """Return which period a text before a gap is about, and the text as the model is to read it."""
        day, text = without_date(left)
        period = self.periods[-1] if day is None else window_of(day, self.periods[-1].granularity)
        if not self.has_experts:
            return period, date_in_words(period.granularity, period.label) + text
        (start,) = nearest_days([one.start for one in self.periods], period.start, 1)
        return replace(period, start=start), text

    def stream(
        self, asked: Iterable[Any], answers: Callable[[Iterable[Any]], Iterator[Any]], take: Callable[[Window], None]
    ) -> Iterator[Any]:
        """Yield answers to prompts or questions, in their order.

        Args:
            answers: of the model that is loaded.
            take: loads an expert.
        """
        told = ((self.told(one.left), one) for one in asked)
        for period, some in groupby(told, key=lambda one: one[0][0] if self.has_experts else None):
            if period is not None:
                take(period)
            yield from answers([replace(one, left=left) for (_, left), one in some])


def dating_of(row: Mapping[str, Any]) -> Dating | None:
    """Return how the model of a row is told a date; None if it is told none, or its checkpoint is not there."""
    checkpoint, revision = row["checkpoint"], row["hub_revision"]
    if checkpoint and revision:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(checkpoint, "config.json", revision=revision)
        return read_dating(Path(found).parent) if isinstance(found, str) else None
    return read_dating(Path(checkpoint)) if checkpoint else None


def read_dating(folder: Path) -> Dating | None:
    """Return how the model of a checkpoint is told a date; None if it is told none, or nothing can be read."""
    try:
        return Dating.of(json.loads((folder / "config.json").read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def without_date(text: str) -> tuple[date | None, str]:
    """Return the first day of the date that stands in front of a text, and the text without it.

    >>> without_date("quarter: 2019-Q2 Ada works for "), without_date("In the year: ")
    ((datetime.date(2019, 4, 1), 'Ada works for '), (None, 'In the year: '))
    """
    if not (found := _DATE.match(text)):
        return None, text
    year, kind, number = int(found[1]), found[2], int(found[3] or 1)
    try:
        day = date.fromisocalendar(year, number, 1) if kind == "W" else date(year, number * (3 if kind else 1), 1)
    except ValueError:
        return None, text
    return (day.replace(month=day.month - 2) if kind == "Q" else day), text[found.end() :]
