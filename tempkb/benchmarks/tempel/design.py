"""The design of a TempEL release: the hyperparameters of the paper's table 3, by their names, and ours."""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import date, timedelta
from typing import Any, Literal

from tempkb.errors import DesignError
from tempkb.windows import Granularity, window_of, windows_between

SUBSETS = ("train", "validation", "test")
CATEGORIES = ("continual", "new")

Rules = Literal["tempkb", "paper"]
_INTERVALS = {
    "weekly": Granularity.WEEK,
    "monthly": Granularity.MONTH,
    "quarterly": Granularity.QUARTER,
    "yearly": Granularity.YEAR,
}
_DAY = 86_400
_MIDNIGHT = "T00:00:00Z"


@dataclass(frozen=True)
class Design:
    """A release's design, with the names of table 3 in the paper (appendix A.4) where it has them.

    Attributes:
        snapshots: the cuts, oldest first.
        nr_ct_ents_per_cut: number of continual entities per snapshot.
        min_mens_per_ent: least number of links from a surface to an entity.
        min_men_prior, max_men_prior: bounds of P(entity | surface).
        min_men_prior_rank: least rank of the entity among those that the surface may mean; 2 leaves out the likeliest.
            (The attribute `men_prior_rank` of a mention is another rank: that of the surface within the entity.)
        min_ent_prior, max_ent_prior: bounds of the entity's share of all links.
        min_nr_inlinks: least number of links to the entity.
        min_len_target_ent: least number of words of the entity's page.
        max_mens_per_ent: largest number of mentions of an entity in train, validation and test.
        ed_men_title: least normalised edit distance of surface and title without its parenthesis.
        ed_men_subsets: least normalised edit distance of an entity's surfaces in different subsets.
        stable_interval: the home's lookback in seconds: the interval before a cut whose most stable text is used.
        equal_snapshots: whether all snapshots have the same numbers of entities and mentions.
        min_nr_distinct_mentions_per_entity: least number of surfaces that an entity must keep at a snapshot (not in
            table 3, but in the code).
        first_cut_from: day since which an entity must be an article to be new at the first snapshot; None for one
            interval before it (not in table 3, but in the code).
        seed: the seed of all random choices.
        max_shortfall: largest share by which an extension may fall short of the frozen plan.
        context_words: number of words of context on either side of a mention.
        target_words: number of words of the target's page in a mention's row; the export has the whole page.
        rules: `tempkb` for what the paper means, `paper` for what its code does (see the room's README).
    """

    snapshots: tuple[date, ...]
    nr_ct_ents_per_cut: int = 10_000
    min_mens_per_ent: int = 1
    min_men_prior: float = 0.0001
    max_men_prior: float = 0.5
    min_men_prior_rank: int = 2
    min_ent_prior: float = 0.0
    max_ent_prior: float = 1.0
    min_nr_inlinks: int = 10
    min_len_target_ent: int = 10
    max_mens_per_ent: tuple[int, int, int] = (500, 10, 10)
    ed_men_title: float = 0.2
    ed_men_subsets: float = 0.2
    stable_interval: int = 2_592_000
    equal_snapshots: bool = True
    min_nr_distinct_mentions_per_entity: int = 3
    first_cut_from: date | None = None
    seed: int = 13
    max_shortfall: float = 0.05
    context_words: int = 128
    target_words: int = 200
    rules: Rules = "tempkb"

    def __post_init__(self) -> None:
        """Check the design.

        Raises:
            DesignError: a value is not allowed; the message names the hyperparameter, the value and what is expected.
        """
        if not self.snapshots or list(self.snapshots) != sorted(set(self.snapshots)):
            raise DesignError(
                f"snapshots: found {_days(self.snapshots)}; expected one day or more, oldest first, none twice"
            )
        for name in (
            "min_men_prior",
            "max_men_prior",
            "min_ent_prior",
            "max_ent_prior",
            "ed_men_title",
            "ed_men_subsets",
            "max_shortfall",
        ):
            if not 0 <= getattr(self, name) <= 1:
                raise DesignError(f"{name}: found {getattr(self, name)}; expected a number from 0 to 1")
        for name in (
            "nr_ct_ents_per_cut",
            "min_mens_per_ent",
            "min_men_prior_rank",
            "min_nr_distinct_mentions_per_entity",
            "stable_interval",
            "context_words",
            "target_words",
        ):
            if getattr(self, name) < 1:
                raise DesignError(f"{name}: found {getattr(self, name)}; expected 1 or more")
        if len(self.max_mens_per_ent) != len(SUBSETS) or min(self.max_mens_per_ent) < 1:
            raise DesignError(f"max_mens_per_ent: found {self.max_mens_per_ent}; expected three numbers, as 500,10,10")
        if self.first_cut_from is not None and self.first_cut_from >= self.snapshots[0]:
            raise DesignError(
                f"first_cut_from: found {self.first_cut_from}; expected a day before the first snapshot "
                f"{self.snapshots[0]}"
            )

    def new_since(self, cut: date) -> date:
        """Return the day since which an entity must be an article to be new at `cut`, a snapshot of the design."""
        at = self.snapshots.index(cut)
        if at:
            return self.snapshots[at - 1]
        if self.first_cut_from is not None:
            return self.first_cut_from
        if len(self.snapshots) > 1:
            return _before(self.snapshots[0], self.snapshots[1])
        return self.snapshots[0] - timedelta(days=365)

    def to_json(self) -> dict[str, Any]:
        """Return the design as plain values, for files and for the release's row."""
        values = asdict(self)
        values["snapshots"] = [day.isoformat() for day in self.snapshots]
        values["first_cut_from"] = self.first_cut_from.isoformat() if self.first_cut_from else None
        values["max_mens_per_ent"] = list(self.max_mens_per_ent)
        return values

    def days(self) -> tuple[date, date]:
        """Return the first and the last snapshot."""
        return self.snapshots[0], self.snapshots[-1]


def from_json(values: Mapping[str, Any]) -> Design:
    """Return a design from the values that `to_json` wrote."""
    first = values["first_cut_from"]
    return Design(
        **{
            **values,
            "snapshots": tuple(date.fromisoformat(day) for day in values["snapshots"]),
            "first_cut_from": date.fromisoformat(first) if first else None,
            "max_mens_per_ent": tuple(values["max_mens_per_ent"]),
        }
    )


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Appendix A.4 and the released configuration, whose upper bound of the prior is 1 and not 0.5 as printed.
    "paper": {"rules": "paper", "max_men_prior": 1.0},
    "tempkb": {},
    # For small wikis and the demo wiki: the same rules with lower thresholds.
    "small": {
        "nr_ct_ents_per_cut": 20,
        "min_nr_inlinks": 3,
        "max_mens_per_ent": (50, 5, 5),
        "min_men_prior_rank": 1,
        "max_men_prior": 1.0,
        "context_words": 64,
    },
}


def make_design(preset: str, snapshots: Iterable[date], changes: Mapping[str, str] | None = None) -> Design:
    """Return a design from a preset and changes given as text.

    Args:
        snapshots: the cuts, in any order.
        changes: hyperparameter -> value as people type it, such as `{"min_nr_inlinks": "5"}`.

    Raises:
        DesignError: an unknown preset or hyperparameter, or a value that it cannot have.
    """
    if preset not in PRESETS:
        raise DesignError(f"preset {preset!r}: no such preset; known: {', '.join(PRESETS)}")
    design = Design(tuple(sorted(set(snapshots))), **PRESETS[preset])
    known = {one.name: one for one in fields(Design) if one.name != "snapshots"}
    for name, text in (changes or {}).items():
        if name not in known:
            raise DesignError(f"{name}: no such hyperparameter; known: {', '.join(known)}")
        value: Any = _read_value(name, text, getattr(design, name))
        design = replace(design, **{name: value})
    return design


def read_snapshots(text: str) -> list[date]:
    """Return the days in `2013-01-01,2014-01-01` or `2013-01-01..2022-01-01/yearly`; seconds may name the interval.

    Both ends of a span are snapshots (appendix A.4, options 1 and 2). A day may end in `T00:00:00Z`, as in the exports.

    Raises:
        DesignError: the text is not of this form, or the days of the span cannot be counted out.
        SettingsError: the span ends in a window whose end is no day of the calendar.

    >>> [f"{day:%Y}" for day in read_snapshots("2013-01-01..2015-01-01/yearly")]
    ['2013', '2014', '2015']
    """
    span = re.fullmatch(r"(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)/(\w+)", text.strip())
    try:
        if span is None:
            return sorted({date.fromisoformat(part.strip().removesuffix(_MIDNIGHT)) for part in text.split(",")})
        start, end = date.fromisoformat(span[1]), date.fromisoformat(span[2])
    except ValueError:
        raise DesignError(
            f"snapshots: found {text!r}; expected days, as 2013-01-01,2014-01-01, or 2013-01-01..2022-01-01/yearly"
        ) from None
    if end < start:
        raise DesignError(f"snapshots {text}: {end} lies before {start}; expected the first day, then the last")
    return _spaced(start, end, span[3])


def _spaced(start: date, end: date, interval: str) -> list[date]:
    if interval.isdigit() and int(interval) and int(interval) % _DAY == 0:
        step = timedelta(seconds=int(interval))
        return [start + step * number for number in range((end - start) // step + 1)]
    if interval not in _INTERVALS:
        raise DesignError(
            f"snapshots: the interval is {interval!r}; expected {', '.join(_INTERVALS)}, or "
            "seconds that make whole days"
        )
    granularity = _INTERVALS[interval]
    if window_of(start, granularity).start != start:
        raise DesignError(f"snapshots: no {granularity} begins on {start}, so {interval} snapshots cannot start there")
    return [window.start for window in windows_between(start, window_of(end, granularity).end, granularity)]


def _before(first: date, second: date) -> date:
    """The day as long before `first` as `second` is after it; in whole months if they have the same day of the month.

    If the month that is found is too short for that day, it is the month's last day.
    """
    if first.day == second.day:
        months = (second.year - first.year) * 12 + second.month - first.month
        year, month = divmod(first.year * 12 + first.month - 1 - months, 12)
        return date(year, month + 1, min(first.day, monthrange(year, month + 1)[1]))
    return first - (second - first)


def _read_value(name: str, text: str, like: object) -> object:
    try:
        if name == "first_cut_from":
            return None if text in ("", "none") else date.fromisoformat(text)
        if name == "rules":
            if text not in ("tempkb", "paper"):
                raise ValueError
            return text
        if isinstance(like, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(like, tuple):
            return tuple(int(part) for part in re.split(r"[,/]", text))
        return type(like)(text)  # type: ignore[call-arg]  # int or float
    except (ValueError, KeyError):
        raise DesignError(f"{name}: found {text!r}; expected a value like {_shown(like)}") from None


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _days(days: Iterable[date]) -> str:
    return ", ".join(day.isoformat() for day in days) or "none"
