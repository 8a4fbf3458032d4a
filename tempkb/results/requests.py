"""What people ask of results: which window, compared with which earlier period, of which models. No DuckDB here."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from tempkb.errors import SettingsError
from tempkb.windows import parse_range

LAST = "last"
YEARS_BEFORE = 3
BUFFER_DAYS = 90

Period = tuple[date, date]
"""First day, and the day after the last."""


@dataclass(frozen=True)
class KnowledgeRequest:
    """Of what the knowledge of models is asked.

    Attributes:
        window: what happened in these days; None for the last window of each release.
        earlier: the period with which it is compared; None for the same days some years before, or, where nothing can
            be compared with these, the first period of the same length with which it can.
        years_before: how many years before; not used if the period is named.
        models: names; empty for all that have scores.
        releases: names; empty for all that have scores.
        template: of the scorer; empty for the one that each benchmark names.
        buffer_days: days after a model's knowledge date in which it may still have read of what was to come.
        takes_all: whether items are taken of which a model may have read too early.
    """

    window: Period | None = None
    earlier: Period | None = None
    years_before: int = YEARS_BEFORE
    models: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    template: str = ""
    buffer_days: int = BUFFER_DAYS
    takes_all: bool = False

    def before(self, window: Period) -> Period:
        """Return the earlier period with which a window is compared.

        Raises:
            SettingsError: the period does not end before the window begins, or would be before the calendar does.
        """
        first, end = (_years_before(day, self.years_before) for day in window)
        period = self.earlier or (first, end)
        if period[1] > window[0]:
            raise SettingsError(
                f"--earlier: the period {period[0]}..{period[1]} does not end before the window "
                f"{window[0]}..{window[1]} begins; name an earlier one: --earlier A..B"
            )
        return period


def request_of(
    window: str = LAST,
    earlier: str = str(YEARS_BEFORE),
    models: Iterable[str] = (),
    releases: Iterable[str] = (),
    template: str = "",
    buffer_days: int = BUFFER_DAYS,
    *,
    takes_all: bool = False,
) -> KnowledgeRequest:
    """Return what the words of a command ask for.

    Args:
        window: `last` or A..B.
        earlier: a number of years, or A..B.
        models: names; each may be several, separated by commas.
        releases: likewise.
        template: of the scorer.
        buffer_days: days after a model's knowledge date.
        takes_all: whether all items are taken.

    Raises:
        SettingsError: a word is not allowed.
    """
    asked = None if window == LAST else parse_range(window)
    if re.fullmatch(r"[1-9]\d?", earlier):
        return KnowledgeRequest(
            asked, None, int(earlier), _names(models), _names(releases), template, buffer_days, takes_all
        )
    if ".." not in earlier:
        raise SettingsError(f"--earlier {earlier}: expected a number of years from 1 to 99, or two days A..B")
    return KnowledgeRequest(
        asked, parse_range(earlier), YEARS_BEFORE, _names(models), _names(releases), template, buffer_days, takes_all
    )


def _names(words: Iterable[str]) -> tuple[str, ...]:
    """Names in their alphabetical order, each once.

    >>> _names(["b, a", "b"])
    ('a', 'b')
    """
    return tuple(sorted({name for word in words for part in word.split(",") if (name := part.strip())}))


def _years_before(day: date, years: int) -> date:
    """The same day of an earlier year.

    >>> _years_before(date(2024, 2, 29), 3)
    datetime.date(2021, 2, 28)
    """
    if day.year <= years:
        raise SettingsError(f"--earlier {years}: there is no day {years} years before {day}; name fewer years")
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return day.replace(year=day.year - years, day=28)
