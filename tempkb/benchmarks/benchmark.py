"""What a benchmark declares: its tables, and what people may ask of it. Plain data, without Dagster, click or code.

What a benchmark does with a release, its `Methods`, is code that reading commands do not need. It is named here and
imported when a release is made, built or exported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tempkb.errors import DesignError
from tempkb.room import Room
from tempkb.store.tables import Table

if TYPE_CHECKING:
    from tempkb.benchmarks.methods import Methods


@dataclass(frozen=True)
class Option:
    """A value that people give: an option or an argument of a command, and a field of a run's configuration.

    Attributes:
        name: with underscores; the command's option has hyphens.
        meaning: one or two sentences.
        default: used when nothing is given.
        many: may it be given several times?
        metavar: what stands for the value in `--help`; empty for the name.
        is_file: does it name a file, which must exist?
    """

    name: str
    meaning: str = ""
    default: str = ""
    many: bool = False
    metavar: str = ""
    is_file: bool = False


@dataclass(frozen=True)
class Action:
    """A command that makes a release from one that is built: the same release with more in it, or another one.

    Attributes:
        name: of the command.
        meaning: one sentence.
        arguments: beside the release's name.
        examples: what may follow `tempkb release`.
    """

    name: str
    meaning: str
    arguments: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """A command that adds a table to a release that is built, as often as people like.

    Attributes:
        name: of the command.
        table: that it fills; the job that builds a release leaves it out.
        meaning: of the command, in sentences.
        arguments: beside the release's name.
        examples: what may follow `tempkb release`.
        done: what is said when it is done; `{name}` is the release.
        view: where the result can be read.
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


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        name: in the register of releases, and, with hyphens, of its command.
        title: as people write it.
        room: its tables and views.
        methods: dotted name of the module whose `METHODS` says what it does with a release.
        meaning: of its command, in one sentence.
        study: the argument that its command must be given: of which windows or snapshots a release is.
        options: of its command, beside those that all benchmarks have.
        presets: names of its presets; the first is the default.
        examples: what may follow `tempkb release`.
        details: further sentences for `--help`.
        shared: tables that its releases share with those of another benchmark.
        export_options: of `tempkb release export`, for its releases alone.
        actions: commands that make a release from one of its releases.
        measurements: commands that add a table to one of its releases.
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
    export_options: tuple[Option, ...] = ()
    actions: tuple[Action, ...] = ()
    measurements: tuple[Measurement, ...] = ()

    @property
    def command(self) -> str:
        """Name of the command that makes a release."""
        return self.name.replace("_", "-")

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
        """The tables that a release is built into, in the order of the data."""
        measured = [one.table for one in self.measurements]
        return (*self.shared, *(table for table in self.room.tables if table not in measured))

    @property
    def all_options(self) -> tuple[Option, ...]:
        """What may be asked of a release to be made, but for its name and single parts of its design."""
        preset = Option("preset", f"{_listed(self.presets)}.", default=self.presets[0])
        return (self.study, preset, *self.options)

    def key_of(self, table: Table) -> tuple[str, ...]:
        """Return the key of the asset that writes a table; a table that two benchmarks share has an asset in each.

        An asset has one set of partitions, and the releases of two benchmarks are two sets.
        """
        return (self.name, table.name) if table in self.shared else (table.name,)

    def loaded(self) -> "Methods":
        """Import what the benchmark does with its releases."""
        methods: Methods = import_module(self.methods).METHODS
        return methods


def benchmark_named(benchmarks: Iterable[Benchmark], name: str) -> Benchmark:
    """Return the benchmark of a name.

    Raises:
        DesignError: there is none, as when a home was made by a later version of tempkb.
    """
    known = {one.name: one for one in benchmarks}
    if name not in known:
        raise DesignError(f"benchmark {name!r}: no such benchmark; expected {', '.join(known)}")
    return known[name]


def _listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> _listed(("tempkb", "paper", "small"))
    'tempkb, paper or small'
    """
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]
