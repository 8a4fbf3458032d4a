"""The design of a TempEL release: the hyperparameters of the paper's table 3, by their names, and ours.

A release can be extended by snapshots, and balanced into a release of its own. A design that cannot be met is refused
with what each filter left, and which one removed most.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Literal

from tempkb.benchmarks import benchmark as designs
from tempkb.benchmarks import register as releases
from tempkb.core.errors import DesignError
from tempkb.core.options import AtLeastOne, Form, Share, option, read_as
from tempkb.core.windows import Granularity, window_of, windows_between
from tempkb.core.wording import counted

SUBSETS = ("train", "validation", "test")
CATEGORIES = ("continual", "new")

_INTERVALS = {
    "weekly": Granularity.WEEK,
    "monthly": Granularity.MONTH,
    "quarterly": Granularity.QUARTER,
    "yearly": Granularity.YEAR,
}
_DAY = 86_400
_MIDNIGHT = "T00:00:00Z"


def _of_subsets(word: str) -> tuple[int, int, int]:
    """Read numbers with commas or slashes between them, as the paper has them."""
    numbers: tuple[int, int, int] = read_as(tuple[AtLeastOne, AtLeastOne, AtLeastOne], word.replace("/", ","))
    return numbers


@dataclass(frozen=True)
class Design(designs.Design):
    """A release's design, with the names of table 3 in the paper (appendix A.4) where it has them.

    Attributes:
        snapshots: the cuts, oldest first.
    """

    snapshots: tuple[date, ...]
    nr_ct_ents_per_cut: AtLeastOne = option(10_000, "Number of continual entities per snapshot.")
    min_mens_per_ent: AtLeastOne = option(1, "Least number of links from a surface to an entity.")
    min_men_prior: Share = option(0.0001, "Least P(entity | surface).")
    max_men_prior: Share = option(0.5, "Largest P(entity | surface).")
    # The attribute `men_prior_rank` of a mention is another rank: that of the surface within the entity.
    min_men_prior_rank: AtLeastOne = option(
        2, "Least rank of the entity among those that the surface may mean; 2 leaves out the likeliest."
    )
    min_ent_prior: Share = option(0.0, "Least share of all links that the entity has.")
    max_ent_prior: Share = option(1.0, "Largest share of all links that the entity has.")
    min_nr_inlinks: int = option(10, "Least number of links to the entity.")
    min_len_target_ent: int = option(10, "Least number of words of the entity's page.")
    max_mens_per_ent: Annotated[tuple[int, int, int], Form(_of_subsets, "three numbers from 1 on, as 500,10,10")] = (
        option((500, 10, 10), "Largest number of mentions of an entity in train, validation and test.")
    )
    ed_men_title: Share = option(0.2, "Least normalised edit distance of surface and title without its parenthesis.")
    ed_men_subsets: Share = option(0.2, "Least normalised edit distance of an entity's surfaces in different subsets.")
    stable_interval: AtLeastOne = option(
        2_592_000, "The home's lookback in seconds: the interval before a cut whose most stable text is used."
    )
    equal_snapshots: bool = option(True, "Whether all snapshots have the same numbers of entities and mentions.")
    min_nr_distinct_mentions_per_entity: AtLeastOne = option(
        3, "Least number of surfaces that an entity must keep at a snapshot (not in table 3, but in the code)."
    )
    first_cut_from: Annotated[
        date | None, Form(lambda word: None if word in ("", "none") else read_as(date, word), "a day, or none")
    ] = option(
        None,
        "Day since which an entity must be an article to be new at the first snapshot; `none` for one interval before "
        "it (not in table 3, but in the code).",
        default_in_words="none",
    )
    seed: int = option(13, "The seed of all random choices.")
    max_shortfall: Share = option(0.05, "Largest share by which an extension may fall short of the frozen plan.")
    context_words: AtLeastOne = option(128, "Number of words of context on either side of a mention.")
    target_words: AtLeastOne = option(
        200, "Number of words of the target's page in a mention's row; the export has the whole page."
    )
    rules: Literal["tempkb", "paper"] = option(
        "tempkb", "`tempkb` for what the paper means, `paper` for what its code does (see the module's README)."
    )

    def __post_init__(self) -> None:
        """Check the design.

        Raises:
            DesignError: a value is not allowed; the message names the hyperparameter, the value and what is expected.
        """
        if not self.snapshots or list(self.snapshots) != sorted(set(self.snapshots)):
            raise DesignError(
                f"snapshots: found {_days(self.snapshots)}; expected one day or more, oldest first, none twice"
            )
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

    def days(self) -> tuple[date, date]:
        """Return the first and the last snapshot."""
        return self.snapshots[0], self.snapshots[-1]


PRESETS: Mapping[str, designs.Preset] = {
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
    return Design.of(PRESETS, preset, changes, snapshots=tuple(sorted(set(snapshots))))


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


def _days(days: Iterable[date]) -> str:
    return ", ".join(day.isoformat() for day in days) or "none"


_RAISED = ("max_men_prior", "max_ent_prior")
_OTHER_ADVICE = {
    "lists": "Take other snapshots, or a wiki with more articles",
    "disambiguations": "Take other snapshots, or a wiki with more articles",
    "no_item": "Give the home the dump's page and page_props tables, without which articles have no Wikidata item",
    "redirects": "Take snapshots at which fewer pages are redirects",
}


@dataclass(frozen=True)
class Left:
    """The numbers that a step of the selection left.

    Attributes:
        step: hyperparameter or filter.
        description: the step in words.
        entities: number of distinct target pages.
        surfaces: number of pairs of surface and target; None if the step is about entities only.
        mentions: number of mentions with these surfaces; None likewise.
    """

    step: str
    description: str
    entities: int
    surfaces: int | None = None
    mentions: int | None = None


def refusal(design: Design, preset: str, poorest: str, steps: Sequence[Left]) -> str:
    """Return the message of a refusal: what each step left, which left none, which removed most, and what to change.

    Args:
        preset: the preset that it began with, which is not recommended again.
        poorest: the snapshot that was counted.
        steps: the steps in order; the first is what is offered.
    """
    taken = [before.entities - after.entities for before, after in zip(steps, steps[1:], strict=False)]
    lines = [
        f"the filters leave no entity that is continual. Of the mentions at {poorest}, the poorest snapshot:",
        *_lines(steps),
    ]
    if not steps[0].entities:
        lines.append("No mention is offered at all; build the windows with their texts and links")
        return "\n".join(lines)
    small = "" if preset == "small" else ", or begin with --preset small, which has low thresholds"
    last = next((at for at, one in enumerate(steps) if not one.entities), len(steps) - 1)
    most = taken.index(max(taken)) + 1
    lines.append(
        f"{steps[last].description} left none of the {counted(steps[last - 1].entities, 'entity', 'entities')} that "
        f"came so far. {_advice(steps[last].step, design)}{small if last == most else ''}"
    )
    if last != most:
        lines.append(
            f"Before, {steps[most].description} removed most: {taken[most - 1]:,} of {steps[most - 1].entities:,} "
            f"entities. {_advice(steps[most].step, design)}{small}"
        )
    return "\n".join(lines)


def _lines(steps: Sequence[Left]) -> list[str]:
    """The steps as aligned lines."""
    heads = ("left by", "mentions", "surfaces", "entities")
    rows = [heads, *((one.description, _n(one.mentions), _n(one.surfaces), _n(one.entities)) for one in steps)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
    return [f"  {step:<{widths[0]}}  {m:>{widths[1]}}  {s:>{widths[2]}}  {e:>{widths[3]}}" for step, m, s, e in rows]


def _n(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _advice(step: str, design: Design) -> str:
    if step == "snapshots":
        return f"Take fewer than these {len(design.snapshots)} snapshots, or later ones"
    if step in _OTHER_ADVICE:
        return _OTHER_ADVICE[step]
    verb = "Raise" if step in _RAISED else "Lower"
    return f"{verb} it (--set {step}=..., now {getattr(design, step)})"


@dataclass(frozen=True)
class Release(releases.Release[Design]):
    """A release of TempEL.

    Attributes:
        added: snapshots added by extensions, oldest first; all are later than the base snapshots in the design.
        made_from: the release from which this one was balanced; empty if it was planned by itself.
    """

    added: tuple[date, ...] = ()
    made_from: str = ""

    @property
    def cuts(self) -> tuple[date, ...]:
        """All snapshots, oldest first."""
        return (*self.design.snapshots, *self.added)

    def before(self, cut: date) -> date:
        """Return the snapshot before an added one."""
        return self.cuts[self.cuts.index(cut) - 1]

    def to_entry(self) -> dict[str, Any]:
        """Return the values for the register, without name and benchmark."""
        added = [day.isoformat() for day in self.added]
        return {**super().to_entry(), "added": added, "made_from": self.made_from}


def extended(release: Release, cuts: Sequence[date]) -> Release:
    """Return a release with further snapshots.

    Raises:
        DesignError: a snapshot is not later than the release's last one, or the release is a balanced one.
    """
    if release.made_from:
        raise DesignError(f"release {release.name!r}: is a balanced view of {release.made_from!r}; extend that one")
    fresh = [cut for cut in sorted(set(cuts)) if cut not in release.cuts]
    if fresh and fresh[0] <= release.cuts[-1]:
        raise DesignError(
            f"release {release.name!r}: snapshot {fresh[0]} is not later than its last one, {release.cuts[-1]}; "
            "only later snapshots can be added"
        )
    added = (*release.added, *fresh)
    return Release(release.name, release.benchmark, release.preset, release.design, added, release.made_from)


def balanced(release: Release) -> Release:
    """Return the balanced release of an extended one, with a name of its own.

    Raises:
        DesignError: the release was never extended.
    """
    if not release.added:
        raise DesignError(f"release {release.name!r}: was never extended, so it is balanced as it is")
    name = f"{release.name}-balanced-{release.cuts[-1]:%Y%m%d}"
    return Release(name, release.benchmark, release.preset, release.design, release.added, release.name)


def read_entry(entry: Mapping[str, Any]) -> Release:
    """Return a release from its entry in the register, or from a new entry without added snapshots."""
    added = tuple(date.fromisoformat(day) for day in entry.get("added", ()))
    design = Design.from_json(entry["design"])
    return Release(entry["name"], entry["benchmark"], entry["preset"], design, added, entry.get("made_from", ""))
