"""What people ask of results: which window, compared with which earlier period, of which models. No DuckDB here."""

import re
from dataclasses import dataclass
from datetime import date

import click

from tempkb.errors import SettingsError
from tempkb.generations.naming import NAMES
from tempkb.options import Words, option, read_request
from tempkb.values import digits, in_order, one_of, text, truth
from tempkb.windows import parse_range

LAST = "last"
YEARS_BEFORE = 3
BUFFER_DAYS = 90

Period = tuple[date, date]
"""First day, and the day after the last."""


def _window(word: str) -> Period | None:
    return None if word == LAST else parse_range(word)


def _earlier(word: str) -> Period | int:
    """Read a number of years, or a period."""
    if re.fullmatch(r"[1-9]\d?", word):
        return int(word)
    if ".." not in word:
        raise SettingsError(f"--earlier {word}: expected a number of years from 1 to 99, or two days A..B")
    return parse_range(word)


@dataclass(frozen=True)
class KnowledgeRequest:
    """Of what the knowledge of models is asked."""

    window: Period | None = option(
        None,
        _window,
        "What happened from A to the day before B; windows of a release that lie only partly in these days do not "
        "count. last: in the last window of each release.",
        default_in_words=LAST,
        metavar="last|A..B",
    )
    earlier: Period | int = option(
        YEARS_BEFORE,
        _earlier,
        "With what the window is compared: the same days so many years before (where nothing can be compared with "
        "these, the first period of the same length with which it can), or another period.",
        default_in_words=str(YEARS_BEFORE),
        metavar="YEARS|A..B",
    )
    models: tuple[str, ...] = option(
        (), in_order(), "Only this model; may be repeated. By default all.", metavar="NAME"
    )
    releases: tuple[str, ...] = option(
        (), in_order(), "Only this release; may be repeated. By default all.", flag="--release", metavar="NAME"
    )
    scorer: str = option(
        "",
        text,
        "Without its family, such as sentence; by default the one that each benchmark names.",
        metavar="TEMPLATE",
    )
    buffer_days: int = option(
        BUFFER_DAYS,
        digits(0),
        "Leave out what became known within so many days after the end of a model's knowledge.",
        default_in_words=str(BUFFER_DAYS),
        flag="--buffer",
        metavar="DAYS",
        click_type=click.IntRange(0),
    )
    takes_all: bool = option(False, truth, "Leave nothing out.", flag="--all-items")

    @property
    def years_before(self) -> int:
        """How many years before the window the period begins with which it is compared, unless that is named."""
        return self.earlier if isinstance(self.earlier, int) else YEARS_BEFORE

    def before(self, window: Period) -> Period:
        """Return the earlier period with which a window is compared.

        Raises:
            SettingsError: the period does not end before the window begins, or would be before the calendar does.
        """
        first, end = (_years_before(day, self.years_before) for day in window)
        period = (first, end) if isinstance(self.earlier, int) else self.earlier
        if period[1] > window[0]:
            raise SettingsError(
                f"--earlier: the period {period[0]}..{period[1]} does not end before the window "
                f"{window[0]}..{window[1]} begins; name an earlier one: --earlier A..B"
            )
        return period


@dataclass(frozen=True)
class AnswersRequest:
    """Which answers of a model a person looks at."""

    releases: tuple[str, ...] = option(
        (), in_order(), "Only this release; may be repeated. By default all.", flag="--release", metavar="NAME"
    )
    window: Period | None = option(
        None,
        parse_range,
        "Only items whose window begins on or after A and before B.",
        metavar="A..B",
    )
    kind: str = option(
        "",
        one_of(*NAMES),
        "Only changes of which the model names new, old, other_object, other_name, none or ambiguous.",
        allowed=", ".join(NAMES),
        metavar="KIND",
    )
    decoder: str = option("", text, "Without its family, such as greedy; by default all.", metavar="NAME")
    limit: int = option(
        20,
        digits(1),
        "Rows of each table, chosen by hash.",
        allowed="a number from 1 on",
        default_in_words="20",
        metavar="N",
    )


def answers_request_of(words: Words) -> AnswersRequest:
    """Return the request that words make.

    Raises:
        SettingsError: a word is not allowed.
    """
    return read_request(AnswersRequest, "answers", words)


def request_of(words: Words) -> KnowledgeRequest:
    """Return what the words of a command ask for.

    Raises:
        SettingsError: a word is not allowed.
    """
    return read_request(KnowledgeRequest, "knows", words)


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
