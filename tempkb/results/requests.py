"""What people ask of results: which window, compared with which baseline window, of which models. No DuckDB here."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated

import click
from msgspec import Meta

from tempkb.core.errors import SettingsError
from tempkb.core.options import Count, Form, InOrder, Request, listed, option, read_as
from tempkb.core.windows import Days, parse_range
from tempkb.models.generations.measures import NAMES, OLD

LAST = "last"
YEARS_BEFORE = 3
BUFFER_DAYS = 90

Period = tuple[date, date]
"""First day, and the day after the last."""


def _baseline(word: str) -> Period | int:
    """Read a number of years, or a period."""
    return parse_range(word) if ".." in word else int(read_as(Annotated[int, Meta(ge=1, le=99)], word))


@dataclass(frozen=True)
class KnowledgeRequest(Request):
    """Of what the knowledge of models is asked."""

    command = "knows"
    window: Annotated[
        Period | None,
        Form(lambda word: parse_range(word) if ".." in word else {LAST: None}[word], "last, or two days A..B"),
    ] = option(
        None,
        "What happened from A to the day before B; windows of a release that lie only partly in these days do not "
        "count. last: in the last window of each release; a model's line is then of the newest that can be judged.",
        default_in_words=LAST,
        metavar="last|A..B",
    )
    baseline: Annotated[Period | int, Form(_baseline, "a number of years from 1 to 99, or two days A..B")] = option(
        YEARS_BEFORE,
        "The baseline window, with which it is compared: the same days so many years before (where nothing can be "
        "compared with these, the first days of the same length with which it can), or another window.",
        default_in_words=str(YEARS_BEFORE),
        metavar="YEARS|A..B",
    )
    models: InOrder[str] = option(
        (), "Only this model; may be repeated. By default all.", called="model", metavar="NAME"
    )
    releases: InOrder[str] = option(
        (), "Only this release; may be repeated. By default all.", called="release", metavar="NAME"
    )
    scorer: str = option(
        "", "Without its family, such as sentence; by default the one that each benchmark names.", metavar="TEMPLATE"
    )
    buffer_days: Annotated[int, Meta(ge=0, le=10**12 - 1)] = option(
        BUFFER_DAYS,
        "Leave out what became known within so many days after a model's training cutoff.",
        default_in_words=str(BUFFER_DAYS),
        called="buffer",
        metavar="DAYS",
        click_type=click.IntRange(0),
    )
    takes_all: bool = option(False, "Leave nothing out.", called="all_items")

    @property
    def years_before(self) -> int:
        """How many years before the window the period begins with which it is compared, unless that is named."""
        return self.baseline if isinstance(self.baseline, int) else YEARS_BEFORE

    def is_comparable(self, window: Period) -> bool:
        """Does a window begin after the baseline window has ended, if that is named?"""
        return isinstance(self.baseline, int) or self.baseline[1] <= window[0]

    def before(self, window: Period) -> Period:
        """Return the baseline window with which a window is compared.

        Raises:
            SettingsError: the period does not end before the window begins, or would be before the calendar does.
        """
        first, end = (_years_before(day, self.years_before) for day in window)
        period = (first, end) if isinstance(self.baseline, int) else self.baseline
        if period[1] > window[0]:
            raise SettingsError(
                f"--baseline: the window {period[0]}..{period[1]} does not end before the window "
                f"{window[0]}..{window[1]} begins; name an earlier one: --baseline A..B"
            )
        return period


AS_TYPED = {OLD: "stale"}
"""Of what an answer names, how people type and read it where tables have another word."""


def _kind(word: str) -> str:
    """Read what an answer names; as tables have it is allowed, too."""
    names, typed = list(NAMES), [AS_TYPED.get(name, name) for name in NAMES]
    return names[(names if word in names else typed).index(word)]


@dataclass(frozen=True)
class AnswersRequest(Request):
    """Which answers of a model a person looks at."""

    command = "answers"
    releases: InOrder[str] = option(
        (), "Only this release; may be repeated. By default all.", called="release", metavar="NAME"
    )
    window: Days | None = option(None, "Only items whose window begins on or after A and before B.", metavar="A..B")
    kind: Annotated[str, Form(_kind, listed([AS_TYPED.get(name, name) for name in NAMES]))] = option(
        "",
        "Only changes of which the model names new (object), stale (the old one), other_object, other_name, none or "
        "ambiguous (a name that both have).",
        metavar="KIND",
    )
    decoder: str = option("", "Without its family, such as greedy; by default all.", metavar="NAME")
    limit: Count = option(20, "Rows of each table, chosen by hash.", default_in_words="20", metavar="N")


def _years_before(day: date, years: int) -> date:
    """The same day of an earlier year.

    >>> _years_before(date(2024, 2, 29), 3)
    datetime.date(2021, 2, 28)
    """
    if day.year <= years:
        raise SettingsError(f"--baseline {years}: there is no day {years} years before {day}; name fewer years")
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return day.replace(year=day.year - years, day=28)
