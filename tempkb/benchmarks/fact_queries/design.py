"""The design of a release of facts: its dump, study, relations, subjects and rules."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from tempkb.benchmarks import benchmark as designs
from tempkb.benchmarks import register
from tempkb.benchmarks.fact_queries.prompts import Template, number_templates, read_templates, template_set
from tempkb.core.errors import DesignError
from tempkb.core.options import AtLeastOne, Share, listed, option
from tempkb.core.windows import Granularity, Window, parse_range, windows_between

TEMPLAMA, DYNAMIC = "templama", "dynamic_templama"
SPLITS = ("train", "val", "test")
ANY_RELATION = "*"


@dataclass(frozen=True)
class Design(designs.Design):
    """A release's design.

    Attributes:
        dump_id: the Wikidata dump from which it is made.
        granularity: the length of its windows, which need not be the home's.
        first: first day of the first window.
        end: first day after the last window; not after the dump's date.
        templates: wordings of relations.
    """

    dump_id: str
    granularity: Granularity
    first: date
    end: date
    templates: tuple[Template, ...]
    language: str = option("en", "The language of names; templates in other languages are left out.")
    max_subjects: AtLeastOne = option(
        1_000, "The largest number of subjects of a relation; the most popular are chosen (TempLAMA: 1,000)."
    )
    popularity: Literal["statements", "site_links", "inlinks"] = option(
        "statements", "The number of `statements` (as in the papers), `site_links`, or `inlinks` in the newest window."
    )
    min_objects: AtLeastOne = option(
        2, "The number of objects that a subject must have in the study, so that there is something to ask."
    )
    ranks: Literal["not_deprecated", "best", "all"] = option(
        "not_deprecated",
        "The statements that are used: `not_deprecated`, the `best` of a property, or `all` (as in the papers).",
    )
    answers: Literal["possible", "certain"] = option(
        "possible", "`possible` for some reading of the dates, or `certain` for every one."
    )
    points_in_time: bool = option(False, "Whether points in time (P585) are used as facts of their day, month or year.")
    close_at_death: bool = option(
        True, "Whether the day on which a subject died or was dissolved closes an end that is not known."
    )
    # Nobody plays for a team for more than 30 years or is taught for more than 15 (docs/decisions.md).
    max_open_years: str = option(
        "P54:30,P69:15",
        "A statement without a known end that began more years before a window is not an answer in it: `none`, a "
        "number for all relations, or numbers by relation; `P54:30,80` is 30 for P54 and 80 for all others.",
    )
    linked_objects: bool = option(True, "Whether an object must have a page in the wiki, as subjects must.")
    ambiguous: Literal["qualify", "drop", "keep"] = option(
        "qualify", "Subjects with the same name: `qualify` them by their page's title, `drop` them, or `keep` them."
    )
    aliases: bool = option(True, "Whether the other names of an answer are listed with it.")
    shares: tuple[Share, Share] = option(
        (0.2, 0.1),
        "Shares of subjects in train and in validation; the others are in test.",
        allowed="two numbers from 0 to 1, as 0.2,0.1",
    )
    seed: int = option(42, "The seed of the split.")
    min_year: int = option(
        2010, "The year in which or after which a fact must begin or end (only in the papers' rules)."
    )
    rules: Literal["tempkb", "paper"] = option("tempkb", "`tempkb`, or `paper` for the rules of the released code.")
    changes: Literal["handover", "sets", "released"] = option(
        "handover",
        "How changes are found: by `handover` from one object to another, by the `sets` of answers of two windows, or "
        "as `released`, by texts and names; with the papers' rules only the last is possible.",
    )

    def __post_init__(self) -> None:
        """Check the design.

        Raises:
            DesignError: a value is not allowed; the message names the hyperparameter, the value and what is expected.
        """
        self.open_years()
        if sum(self.shares) > 1:
            raise DesignError(f"shares: found {self.shares}; expected two numbers of at most 1 together, as 0.2,0.1")
        if self.rules == "paper" and self.changes != "released":
            raise DesignError(
                f"changes: found {self.changes!r} with rules 'paper', which fill in the dates that are missing; "
                "expected released: --set changes=released"
            )
        windows = self.windows()
        if not windows:
            raise DesignError(f"windows: no {self.granularity} begins from {self.first} on and before {self.end}")
        if windows[0].start != self.first or windows[-1].end != self.end:
            raise DesignError(
                f"windows: {self.first}..{self.end} is not made of whole {self.granularity}s; "
                f"expected {windows[0].start}..{windows[-1].end}"
            )
        number_templates(self.templates)
        if not any(one.language == self.language for one in self.templates):
            there = ", ".join(sorted({one.language for one in self.templates}))
            raise DesignError(
                f"language: no template is in {self.language!r}, they are in {there}; add some with --templates, or "
                f"choose another language, such as --set language={there.split(', ')[0]}"
            )

    def windows(self) -> list[Window]:
        """Return the windows of the study, oldest first."""
        return list(windows_between(self.first, self.end, self.granularity))

    def numbered_templates(self) -> Mapping[Template, int]:
        """Return the templates in the release's language, with their numbers."""
        return number_templates([one for one in self.templates if one.language == self.language])

    def open_years(self) -> Mapping[str, int]:
        """Return the years for which an open statement counts, by relation; `ANY_RELATION` means all others.

        Raises:
            DesignError: `max_open_years` cannot be read.
        """
        found: dict[str, int] = {}
        for part in [] if self.max_open_years == "none" else self.max_open_years.split(","):
            match = re.fullmatch(r"\s*(?:(P[1-9]\d*)\s*:\s*)?(\d{1,4})\s*", part)
            name = (match[1] or ANY_RELATION) if match else ""
            if match is None or name in found:
                raise DesignError(
                    f"max_open_years: found {self.max_open_years!r}; expected none, a number of years such as 80, or "
                    "numbers by relation, each once, such as P54:30,P69:15"
                )
            found[name] = int(match[2])
        return found

    def unworded(self) -> list[str]:
        """Return the relations that have templates in other languages only, and are therefore left out."""
        used = {one.relation for one in self.numbered_templates()}
        return list(dict.fromkeys(one.relation for one in self.templates if one.relation not in used))

    def to_json(self) -> dict[str, Any]:
        """Return the design as plain values, for files and for the release's row."""
        return {**super().to_json(), "templates": [one.to_json() for one in self.templates]}

    def days(self) -> tuple[date, date]:
        """Return the first day of the study, and the first day after it."""
        return self.first, self.end


_PAPER: designs.Preset = {
    "ranks": "all",
    "close_at_death": False,
    "max_open_years": "none",
    "ambiguous": "keep",
    "aliases": False,
    "rules": "paper",
    "changes": "released",
}
PRESETS: Mapping[str, Mapping[str, designs.Preset]] = {
    TEMPLAMA: {"tempkb": {}, "paper": _PAPER, "small": {"max_subjects": 50}},
    DYNAMIC: {
        "tempkb": {},
        "paper": {**_PAPER, "max_subjects": 5_000, "shares": (0.0, 0.0)},
        "small": {"max_subjects": 50},
    },
}
_TEMPLATES = {TEMPLAMA: "templama", DYNAMIC: "dynamic"}


def make_design(
    benchmark: str,
    preset: str,
    dump_id: str,
    windows: str,
    granularity: str,
    templates: Iterable[str] = (),
    changes: Mapping[str, str] | None = None,
) -> Design:
    """Return a design from a preset and changes given as text.

    Args:
        windows: `A..B`, windows whose start lies in [A, B).
        templates: names of sets, and CSV files; empty for the benchmark's own set.
        changes: hyperparameter -> value as people type it, such as `{"max_subjects": "50"}`.

    Raises:
        DesignError: an unknown preset, hyperparameter or value.
    """
    if granularity not in list(Granularity):
        raise DesignError(f"granularity: found {granularity!r}; expected {listed(list(Granularity))}")
    first, end = parse_range(windows)
    given = {
        "dump_id": dump_id,
        "granularity": Granularity(granularity),
        "first": first,
        "end": end,
        "templates": tuple(one for name in tuple(templates) or (_TEMPLATES[benchmark],) for one in _templates(name)),
    }
    return Design.of(PRESETS[benchmark], preset, changes, **given)


def _templates(name: str) -> tuple[Template, ...]:
    return read_templates(Path(name)) if name.endswith(".csv") else template_set(name)


Release = register.Release[Design]

read_entry = register.reader(Design)
