"""The design of a release of facts: its dump, study, relations, subjects and rules."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Literal

from tempkb.benchmarks.designs import read_value, refuse_values
from tempkb.benchmarks.fact_queries.templates import Template, number_templates, read_templates, template_set
from tempkb.errors import DesignError
from tempkb.windows import Granularity, Window, parse_range, windows_between

TEMPLAMA, DYNAMIC = "templama", "dynamic_templama"
SPLITS = ("train", "val", "test")

Rules = Literal["tempkb", "paper"]
Changes = Literal["handover", "sets", "released"]
ANY_RELATION = "*"
# Nobody plays for a team for more than 30 years or is taught for more than 15 (docs/decisions.md).
_OPEN_YEARS = "P54:30,P69:15"
_CHOICES = {
    "popularity": ("statements", "site_links", "inlinks"),
    "ranks": ("not_deprecated", "best", "all"),
    "answers": ("possible", "certain"),
    "ambiguous": ("qualify", "drop", "keep"),
    "rules": ("tempkb", "paper"),
    "changes": ("handover", "sets", "released"),
}


@dataclass(frozen=True)
class Design:
    """A release's design.

    Attributes:
        dump_id: the Wikidata dump from which it is made.
        granularity: the length of its windows, which need not be the home's.
        first: first day of the first window.
        end: first day after the last window; not after the dump's date.
        templates: wordings of relations.
        language: the language of names; templates in other languages are left out.
        max_subjects: the largest number of subjects of a relation; the most popular are chosen (TempLAMA: 1,000).
        popularity: the number of `statements` (as in the papers), `site_links`, or `inlinks` in the newest window.
        min_objects: the number of objects that a subject must have in the study, so that there is something to ask.
        ranks: the statements that are used: `not_deprecated`, the `best` of a property, or `all` (as in the papers).
        answers: `possible` for some reading of the dates, or `certain` for every one.
        points_in_time: whether points in time (P585) are used as facts of their day, month or year.
        close_at_death: whether the day on which a subject died or was dissolved closes an end that is not known.
        max_open_years: a statement without a known end that began more years before a window is not an answer in it:
            `none`, a number for all relations, or numbers by relation; `P54:30,80` is 30 for P54 and 80 for all others.
        linked_objects: whether an object must have a page in the wiki, as subjects must.
        ambiguous: subjects with the same name: `qualify` them by their page's title, `drop` them, or `keep` them.
        aliases: whether the other names of an answer are listed with it.
        shares: shares of subjects in train and in validation; the others are in test.
        seed: the seed of the split.
        min_year: the year in which or after which a fact must begin or end (only in the papers' rules).
        rules: `tempkb`, or `paper` for the rules of the released code.
        changes: how changes are found: by `handover` from one object to another, by the `sets` of answers of two
            windows, or as `released`, by texts and names; with the papers' rules only the last is possible.
    """

    dump_id: str
    granularity: Granularity
    first: date
    end: date
    templates: tuple[Template, ...]
    language: str = "en"
    max_subjects: int = 1_000
    popularity: str = "statements"
    min_objects: int = 2
    ranks: str = "not_deprecated"
    answers: str = "possible"
    points_in_time: bool = False
    close_at_death: bool = True
    max_open_years: str = _OPEN_YEARS
    linked_objects: bool = True
    ambiguous: str = "qualify"
    aliases: bool = True
    shares: tuple[float, float] = (0.2, 0.1)
    seed: int = 42
    min_year: int = 2010
    rules: Rules = "tempkb"
    changes: Changes = "handover"

    def __post_init__(self) -> None:
        """Check the design.

        Raises:
            DesignError: a value is not allowed; the message names the hyperparameter, the value and what is expected.
        """
        refuse_values(self, _CHOICES, {"max_subjects": 1, "min_objects": 1})
        self.open_years()
        # No comparison with NaN is true, so this asks what shares must be, and not what they must not be.
        if len(self.shares) != 2 or not all(0 <= one <= 1 for one in self.shares) or sum(self.shares) > 1:
            raise DesignError(f"shares: found {self.shares}; expected two numbers from 0 to 1, as 0.2,0.1")
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
        return {
            **asdict(self),
            "granularity": str(self.granularity),
            "first": self.first.isoformat(),
            "end": self.end.isoformat(),
            "shares": list(self.shares),
            "templates": [one.to_json() for one in self.templates],
        }

    def days(self) -> tuple[date, date]:
        """Return the first day of the study, and the first day after it."""
        return self.first, self.end


def from_json(values: Mapping[str, Any]) -> Design:
    """Return a design from the values that `to_json` wrote."""
    return Design(
        **{
            **values,
            "granularity": Granularity(values["granularity"]),
            "first": date.fromisoformat(values["first"]),
            "end": date.fromisoformat(values["end"]),
            "templates": tuple(Template(**one) for one in values["templates"]),
            "shares": tuple(values["shares"]),
        }
    )


_PAPER: Mapping[str, Any] = {
    "ranks": "all",
    "close_at_death": False,
    "max_open_years": "none",
    "ambiguous": "keep",
    "aliases": False,
    "rules": "paper",
    "changes": "released",
}
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
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
    presets = PRESETS[benchmark]
    if preset not in presets:
        raise DesignError(f"preset {preset!r}: no such preset; known: {', '.join(presets)}")
    if granularity not in list(Granularity):
        raise DesignError(f"granularity: found {granularity!r}; expected {', '.join(Granularity)}")
    first, end = parse_range(windows)
    named = tuple(templates) or (_TEMPLATES[benchmark],)
    worded = tuple(one for name in named for one in _templates(name))
    fixed = {"dump_id", "granularity", "first", "end", "templates"}
    parts: dict[str, Any] = {one.name: one.default for one in fields(Design) if one.name not in fixed}
    parts.update(presets[preset])
    known = set(parts)
    for name, text in (changes or {}).items():
        if name not in known:
            raise DesignError(f"{name}: no such part of a design; known: {', '.join(sorted(known))}")
        parts[name] = read_value(name, text, parts[name])
    # Values are checked together at the end: templates in German need a language that another change sets.
    return Design(dump_id, Granularity(granularity), first, end, worded, **parts)


def _templates(name: str) -> tuple[Template, ...]:
    return read_templates(Path(name)) if name.endswith(".csv") else template_set(name)
