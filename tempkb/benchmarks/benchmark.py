"""The declaration of a benchmark: its tables, commands and options; and what all designs of releases share.

The code that builds and exports releases, its `Methods`, is not needed by commands that only read. The declaration has
its name, and it is imported when a release is made, built or exported.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self, get_type_hints

import msgspec

from tempkb.benchmarks.linkable.declaration import Linkable
from tempkb.benchmarks.prompting import Prompting
from tempkb.benchmarks.reading import Reading
from tempkb.core.errors import DesignError, SettingsError
from tempkb.core.options import Option, listed, nearest, options_of, read_all
from tempkb.engine.room import Room
from tempkb.store.tables import Table

if TYPE_CHECKING:
    from tempkb.benchmarks.methods import Methods


@dataclass(frozen=True)
class Action:
    """A command that makes a release from one that is built: an extension of it, or another release.

    Attributes:
        arguments: its arguments after the release's name.
        examples: what can follow `tempkb release`.
    """

    name: str
    meaning: str
    arguments: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """A command that adds rows to a table of a release that is built; it can be used any number of times.

    Attributes:
        table: the table that it fills, which the job that builds a release does not write.
        meaning: what the command does, in sentences.
        arguments: its arguments after the release's name.
        examples: what can follow `tempkb release`.
        done: the message at its end; `{name}` is the release.
        view: the view that shows the result.
    """

    name: str
    table: Table
    meaning: str
    arguments: tuple[Option, ...]
    examples: tuple[str, ...]
    done: str
    view: str

    @property
    def job(self) -> str:
        """Name of the job that fills the table."""
        return f"count_{self.table.name}"


LM_EVAL = Option(
    "lm_eval",
    "Adds tasks of lm-evaluation-harness, whose logs tempkb scores import reads (not of TempEL).",
    default=False,
)
"""The option of an export that adds the tasks of `Methods.lm_eval`."""

URL = Option("url", "Where it will be found, for croissant.json; by default tempkb's own page.", metavar="URL")
CREATOR = Option("creator", "Who publishes it, for croissant.json; by default tempkb's founders.", metavar="NAME")
"""The options of every export, of what the rows do not tell."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        name: its name in the register of releases and, with hyphens, that of its command.
        methods: dotted name of the module with its `METHODS`.
        meaning: what its command does, in one sentence.
        study: the required argument of its command: the windows or snapshots of a release.
        options: options of its command, besides those that all benchmarks have.
        presets: names of its presets; the first is the default.
        examples: what can follow `tempkb release`.
        details: further sentences for `--help`.
        shared: tables that its releases share with those of another benchmark.
        own_export_options: options of `tempkb release export` for its releases, besides those of every export.
        actions: commands that make a release from one of its releases.
        measurements: commands that add rows to a table of one of its releases.
        derivations: tables that its later steps derive from a release, besides prompts.
    """

    name: str
    title: str
    room: Room
    methods: str
    meaning: str
    study: Option
    options: tuple[Option, ...]
    presets: tuple[str, ...]
    examples: tuple[str, ...]
    details: str = ""
    shared: tuple[Table, ...] = ()
    own_export_options: tuple[Option, ...] = ()
    actions: tuple[Action, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    prompting: Prompting | None = None
    reading: Reading | None = None
    linkable: Linkable | None = None
    derivations: tuple[Table, ...] = ()

    @property
    def export_options(self) -> tuple[Option, ...]:
        """The options of `tempkb release export` for its releases."""
        return (*self.own_export_options, URL, CREATOR)

    @property
    def derived(self) -> tuple[Table, ...]:
        """All tables that its later steps derive from a release, prompts first; exports leave them out."""
        return (*([self.prompting.table] if self.prompting else []), *self.derivations)

    @property
    def command(self) -> str:
        """Name of the command that makes a release."""
        return self.name.replace("_", "-")

    @property
    def proposed(self) -> str:
        """The command that makes a release, with the name of what it needs."""
        return f"tempkb release {self.command} {self.study.name.upper()}"

    @property
    def job(self) -> str:
        """Name of the job that builds a release."""
        return f"build_{self.name}"

    @property
    def partition_set(self) -> str:
        """Name of Dagster's set of partitions, which are the benchmark's releases."""
        return f"{self.name}_releases"

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that are written when a release is built, in the order of the data."""
        measured = [one.table for one in self.measurements]
        return (*self.shared, *(table for table in self.room.tables if table not in measured))

    @property
    def all_options(self) -> tuple[Option, ...]:
        """The options for making a release, without its name and its hyperparameters."""
        preset = Option("preset", f"{listed(self.presets)}.", default=self.presets[0], kind=Literal[self.presets])
        return (self.study, preset, *self.options)

    def key_of(self, table: Table) -> tuple[str, ...]:
        """Return the key of the asset that writes a table; a table that two benchmarks share has one asset in each.

        An asset has one set of partitions, and each benchmark has its own set of releases.
        """
        return (self.name, table.name) if table in self.shared else (table.name,)

    def loaded(self) -> "Methods":
        """Import and return the benchmark's methods."""
        methods: Methods = import_module(self.methods).METHODS
        return methods


def benchmark_named(benchmarks: Iterable[Benchmark], name: str) -> Benchmark:
    """Return the benchmark with a name.

    Raises:
        DesignError: there is none.
    """
    known = {one.name: one for one in benchmarks}
    if name not in known:
        raise DesignError(f"benchmark {name!r}: no such benchmark; expected {', '.join(known)}")
    return known[name]


Preset = Mapping[str, Any]
"""Values of some parts of a design."""


@dataclass(frozen=True)
class Design(ABC):
    """A release's design: dates, sources, rules and hyperparameters. Equal designs give equal releases.

    Of its fields a person may change those that are options.
    """

    @classmethod
    def of(cls, presets: Mapping[str, Preset], preset: str, changes: Mapping[str, str] | None, **given: Any) -> Self:
        """Return a design of a preset, the parts that are given, and changes as people type them.

        Raises:
            DesignError: an unknown preset or part, or a value that it cannot have.
        """
        if preset not in presets:
            raise DesignError(f"preset {preset!r}: no such preset{nearest(preset, list(presets))}")
        try:
            changed = read_all("", options_of(cls), changes or {}, "part of a design")
        except SettingsError as error:
            raise DesignError(str(error)) from None
        # Values are checked together: templates in German need a language that another change sets.
        return cls(**{**presets[preset], **given, **changed})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return a design from the values that `to_json` wrote."""
        kinds = get_type_hints(cls, include_extras=True)
        return cls(**{name: msgspec.convert(value, kinds.get(name, Any)) for name, value in values.items()})

    def to_json(self) -> dict[str, Any]:
        """Return the design as plain values, for files and for the release's row."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values

    @abstractmethod
    def days(self) -> tuple[date, ...]:
        """Return the days for a release's default name, such as the first and the last of its study."""
