"""The methods of a benchmark: functions that make, build, show and export its releases. Does not use Dagster.

A release is requested (`design`), built step by step (`steps`), shown (`closing`) and exported (`files`, `card`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tempkb.benchmarks.card import Card
from tempkb.benchmarks.designs import Design
from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.lm_eval import LmEvalTask
from tempkb.benchmarks.loading import Config
from tempkb.benchmarks.releases import AnyRelease
from tempkb.benchmarks.work import ReleaseWork
from tempkb.engine.tasks import Shows
from tempkb.listings import Sheet
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
