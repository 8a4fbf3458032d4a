"""What a benchmark does with a release: functions that the common life of releases calls. No Dagster here.

A release is asked for (`design`), built step by step (`steps`), shown (`closing`) and exported (`files`, `card`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.card import Card
from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.releases import AnyRelease, Design
from tempkb.store.lake import Version
from tempkb.store.store import Store
from tempkb.store.tables import Table

Log = Callable[[str], None]
Asked = Mapping[str, Any]


@dataclass(frozen=True)
class Picture:
    """Markdown that the UI shows of a table.

    Attributes:
        markdown: a picture, as a data URL.
    """

    markdown: str


@dataclass(frozen=True)
class Rows:
    """Rows that the UI shows of a table.

    Attributes:
        table: few rows, all of which are shown.
        cell: characters of a cell; longer ones are cut. None: as the UI's other tables.
    """

    table: pa.Table
    cell: int | None = None


Shown = Picture | Rows | str | int | float | bool


@dataclass
class Built:
    """What a step says of its work; the rows are in the lake.

    Attributes:
        warnings: what a person should know.
        fresh: partitions that were written now, as far as promises that may fade are concerned; None: all.
    """

    warnings: Sequence[str] = ()
    fresh: Collection[str] | None = None


@dataclass(frozen=True)
class Made:
    """A table that a step writes.

    Attributes:
        table: of the benchmark's room, or shared.
        meaning: what the UI says of it: a sentence or two, and the key.
        sources: the tables that it is made from.
    """

    table: Table
    meaning: str
    sources: tuple[Table, ...]


Versions = Mapping[str, Sequence[Version]]
Shows = Mapping[str, Mapping[str, Shown]]


def _nothing(_store: Store, _release: Any, _versions: Versions) -> Shows:
    return {}


@dataclass(frozen=True)
class Step:
    """A step of building a release. Either all that it writes of a release stays, or nothing.

    Attributes:
        name: of Dagster's step.
        makes: the tables that it writes.
        run: writes what the release lacks of them. It is given what was asked of a measurement, else nothing.
        promises: what its rows must keep; a release that breaks one is withdrawn.
        shows: what the UI shows of the tables, by the table's name and a word; it is given their versions.
    """

    name: str
    makes: tuple[Made, ...]
    run: Callable[[Store, Any, Log, Asked], Built]
    promises: tuple[Promise, ...] = ()
    shows: Callable[[Store, Any, Versions], Shows] = _nothing


@dataclass(frozen=True)
class Grid:
    """A table on the closing screen.

    Attributes:
        titles: of the columns.
        rows: values in the order of the titles.
    """

    titles: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Closing:
    """The closing screen of a release that was built.

    Attributes:
        headline: what the release holds, behind its name.
        grids: its counts, and perhaps some of its rows.
        columns: of the query that is proposed, as SQL.
        table: that the query reads.
    """

    headline: str
    grids: tuple[Grid, ...]
    columns: str
    table: str


@dataclass(frozen=True)
class Methods:
    """What a benchmark does.

    Attributes:
        design: makes a design of what was asked: its options by name, `preset`, and `changes`, parts of the design as
            people type them. Refuses what cannot be built.
        read_entry: reads a release that the register holds.
        partitions: names the partitions that a whole release has, by table, in the order of the data.
        steps: in their order.
        measures: by the name of the measurement, its step.
        acts: by the name of the action, what it makes of a release that is built.
        files: writes a release's files in the layout of the released data.
        card: describes a release for the dataset card.
        closing: sums a release up.
    """

    design: Callable[[Store, Asked], Design]
    read_entry: Callable[[Mapping[str, Any]], AnyRelease]
    partitions: Callable[[Any], Mapping[str, Sequence[str]]]
    steps: tuple[Step, ...]
    files: Callable[[Store, Any, ExportFolder, Asked], None]
    card: Callable[[Store, Any], Card]
    closing: Callable[[Store, Any], Closing]
    measures: Mapping[str, Step] = field(default_factory=dict)
    acts: Mapping[str, Callable[[Store, Any, Asked], AnyRelease]] = field(default_factory=dict)
