"""Models that are told the time: how they are asked about a date, as they were trained. No torch here.

A line of a checkpoint's `config.json` says how, so that the digest to which a model's name is bound covers it. Prompts
with a date begin with it (`year: 2019 `, as the benchmarks of facts write it); what has none is asked about the last
period of the training.

- A *temporal* model reads the date as it did in training: in front, by periods of that length.
- *Yearly experts* are one checkpoint: the weights of the newest expert, and a file with those of each earlier one. A
  query is answered by the expert of its period, or by the nearest one, without its date.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from tempkb.benchmarks.fact_queries.prompts import date_in_words
from tempkb.core.windows import Granularity, Window, nearest_days, window_of

LINE = "tempkb_dating"
"""Name in `config.json` of what says how."""
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

    def files_of(self, checkpoint: Path, expert: Window) -> list[Path]:
        """Return the files with the weights of an expert; those of the newest one are the checkpoint's."""
        is_newest = expert == self.periods[-1]
        return sorted(checkpoint.glob("model*.safetensors")) if is_newest else [expert_file(checkpoint, expert.label)]

    def told(self, left: str) -> tuple[Window, str]:
        """Return which period a text before a gap is about, and the text as the model is to read it."""
        day, text = without_date(left)
        period = self.periods[-1] if day is None else window_of(day, self.periods[-1].granularity)
        if not self.has_experts:
            return period, date_in_words(period.granularity, period.label) + text
        (start,) = nearest_days([one.start for one in self.periods], period.start, 1)
        return replace(period, start=start), text

    def stream(
        self,
        answers: Callable[[Iterable[Any]], Iterator[Any]],
        load: Callable[[list[Path]], None],
        checkpoint: str,
        asked: Iterable[Any],
    ) -> Iterator[Any]:
        """Yield what a model answers to prompts or questions, in their order; of experts, that of the date does.

        Args:
            answers: of the model, whatever its weights are.
            load: gives it the weights in some files.
            checkpoint: its folder.
        """
        told = ((self.told(one.left), one) for one in asked)
        for period, some in groupby(told, key=lambda one: one[0][0] if self.has_experts else None):
            if period is not None:
                load(self.files_of(Path(checkpoint), period))
            yield from answers([replace(one, left=left) for (_, left), one in some])


def expert_file(checkpoint: Path, label: str) -> Path:
    """Return the file with the weights of an expert that is not the newest, by the label of its period."""
    return checkpoint / f"expert-{label}.safetensors"


def expert_files(checkpoint: Path) -> list[Path]:
    """Return the files with the weights of all experts but the newest."""
    return sorted(checkpoint.glob(expert_file(checkpoint, "*").name))


def dating_of(row: Mapping[str, Any]) -> Dating | None:
    """Return how the model of a row is told a date; None if it is told none, or nothing can be read."""
    checkpoint, file = row.get("checkpoint"), Path()
    if checkpoint and row["hub_revision"]:
        from huggingface_hub import try_to_load_from_cache

        file = Path(str(try_to_load_from_cache(checkpoint, "config.json", revision=row["hub_revision"])))
    elif checkpoint:
        file = Path(checkpoint) / "config.json"
    try:
        return msgspec.convert(msgspec.json.decode(file.read_bytes())[LINE], Dating)
    except (OSError, ValueError, KeyError):
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
