"""The methods of a benchmark: functions that make, build, show and export its releases. Does not use Dagster.

A release is requested (`design`), built step by step (`steps`), shown (`closing`) and exported (`files`, `card`). It
is built when all of its partitions exist and keep their promises; then its versions are listed. If a step fails, entry
and lake are as the list says; of a release without one nothing is kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tempkb.benchmarks.benchmark import Design
from tempkb.benchmarks.card import Card
from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.lm_eval import LmEvalTask
from tempkb.benchmarks.loading import Config
from tempkb.benchmarks.promises import require
from tempkb.benchmarks.register import (
    AnyRelease,
    alone,
    as_listed,
    entry_if_any,
    is_built,
    is_registered,
    keep,
    lost_parts,
    mark_built,
    release_versions,
)
from tempkb.benchmarks.work import ReleaseWork, working
from tempkb.core.errors import DesignError, TempkbError
from tempkb.engine.tasks import Shows
from tempkb.store.listings import Sheet
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version

Log = Callable[[str], None]
Options = Mapping[str, Any]


@dataclass(frozen=True)
class Made:
    """A table that a step writes, and what it is made from."""

    table: Table
    sources: tuple[Table, ...]


Versions = Mapping[str, Sequence[Version]]


def _nothing(_store: Store, _release: Any, _versions: Versions) -> Shows:
    return {}


@dataclass(frozen=True)
class Step:
    """A step of building a release. If it fails, nothing that it wrote of the release is kept.

    Attributes:
        run: writes what is missing of them.
        promises: the promises of its rows; of a release that breaks one nothing is kept.
        shows: returns the metadata of the tables for the UI, by table and label, from their versions.
    """

    name: str
    makes: tuple[Made, ...]
    run: Callable[[ReleaseWork], None]
    promises: tuple[Promise, ...] = ()
    shows: Callable[[Store, Any, Versions], Shows] = _nothing


@dataclass(frozen=True)
class Closing:
    """The closing screen of a release that was built.

    Attributes:
        headline: what the release contains; it follows the release's name.
        grids: its counts, and perhaps some of its rows.
        columns: the columns of the proposed query, as SQL.
    """

    headline: str
    grids: tuple[Sheet, ...]
    columns: str
    table: str


@dataclass(frozen=True)
class Methods:
    """The methods of a benchmark.

    Attributes:
        design: returns a design from the options by name, `preset`, and `changes`, hyperparameters as people type
            them; it refuses what cannot be built.
        partitions: returns the partitions of a complete release, by table, in the order of the data.
        measures: the step of each measurement, by the measurement's name.
        acts: the function of each action, by the action's name; it returns a release made from one that is built.
        configs: the tables of the export that `datasets.load_dataset` gives by split, the default first.
        lm_eval: the tasks of lm-evaluation-harness that are exported with `--lm-eval`.
    """

    design: Callable[[Store, Options], Design]
    read_entry: Callable[[Mapping[str, Any]], AnyRelease]
    partitions: Callable[[Any], Mapping[str, Sequence[str]]]
    steps: tuple[Step, ...]
    files: Callable[[Store, Any, ExportFolder, Options], None]
    card: Callable[[Store, Any, Options], Card]
    closing: Callable[[Store, Any], Closing]
    measures: Mapping[str, Step] = field(default_factory=dict)
    acts: Mapping[str, Callable[[Store, Any, Options], AnyRelease]] = field(default_factory=dict)
    configs: tuple[Config, ...] = ()
    lm_eval: tuple[LmEvalTask, ...] = ()


def begin(store: Store, release: AnyRelease) -> None:
    """Write down a release that is to be built. Tables whose entry is gone may be of another design, and are removed.

    Raises:
        DesignError: another program has changed the release since it was read.
    """
    if not is_registered(store.home, release.name):
        as_listed(store, release.name)
    keep(store.home, release)


def build_step(store: Store, methods: Methods, step: Step, release: AnyRelease, log: Log) -> list[str]:
    """Run one step for a release, which of a whole one does nothing, and return warnings for people.

    Raises:
        DesignError: the design does not fit the home, or the data does not suffice for it.
        ContractError: a source is not built, or the rows break a promise; the release is then as it was before.
    """
    with _whole_or_as_listed(store, release.name):
        if is_whole(store, methods, release):
            return []
        warnings = _run(store, step, release, log, {})
        require(store, step.promises, release.name)
        places = methods.partitions(release)
        # Only the last step: the promises of those behind an earlier one may not have been checked, although a run that
        # was killed has written their tables. In the UI the last step may run while tables of others are missing.
        if step is methods.steps[-1] and all(
            store.lake.current(table, key) for table, keys in places.items() for key in keys
        ):
            mark_built(store, release.name)
    return warnings


def measure(store: Store, step: Step, release: AnyRelease, log: Log, options: Options) -> list[str]:
    """Add a measurement's table to a release, and to its list if it is built; return warnings for people."""
    with _whole_or_as_listed(store, release.name):
        warnings = _run(store, step, release, log, options)
        if is_built(store.home, release.name):
            mark_built(store, release.name)
    return warnings


def _run(store: Store, step: Step, release: AnyRelease, log: Log, options: Options) -> list[str]:
    with working(store, release, log, options) as work:
        step.run(work)
    return work.warnings


def is_whole(store: Store, methods: Methods, release: AnyRelease) -> bool:
    """Return whether a release is built as asked, and nothing that is built is lost; it is as its list says then.

    Its tables are frozen: what they were made from, or by which code, is not asked.
    """
    entry = entry_if_any(store.home, release.name)
    places = {(table, key) for table, keys in methods.partitions(release).items() for key in keys}
    if lost_parts(store, release.name) or entry.asked != entry.built or not places <= entry.versions.keys():
        return False
    as_listed(store, release.name)
    return True


def versions_of(store: Store, step: Step, release: AnyRelease) -> dict[str, list[Version]]:
    """Return the versions of the tables that a step makes, by table, in the order of the release's partitions."""
    return {made.table.name: release_versions(store, made.table, release.name) for made in step.makes}


@contextmanager
def _whole_or_as_listed(store: Store, name: str) -> Iterator[None]:
    """Hold a release; if the block fails, leave it as its list says, and let the error say what there is of it.

    Raises:
        DesignError: the release is not in the register.
    """
    with alone(store.home, name):
        if not is_registered(store.home, name):
            raise DesignError(
                f"release {name!r}: is not in the register; perhaps an earlier run of it failed; request it again: "
                "tempkb release"
            )
        try:
            yield
        except BaseException as error:
            outcome = as_listed(store, name)
            if isinstance(error, TempkbError):
                error.args = (f"{error}. {outcome}",)
            raise
