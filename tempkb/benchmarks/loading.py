"""Declares what `datasets.load_dataset` gives of an export: configs, with a Parquet file for each split.

The card names the files, since the library would otherwise guess which files of a folder are data.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.register import AnyRelease, release_files, release_versions
from tempkb.store.columns import Column
from tempkb.store.materialise import escaped
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version

WINDOWS = "windows"
"""Name of the config that has a split for each window."""
_SPLITS = ("train", "validation", "test")
_NAMES = {"val": "validation", "dev": "validation"}
_FEW = 4


class Part(NamedTuple):
    """The rows of a file; there are some, because the library refuses a split without rows.

    Attributes:
        window: label of the window; empty if the file has the rows of all windows.
        split: the benchmark's name for the split.
        rows: the rows, a table at a time.
    """

    window: str
    split: str
    schema: pa.Schema
    rows: Iterable[pa.Table]


@dataclass(frozen=True)
class Config:
    """A table that is loaded by its name.

    Attributes:
        folder: where its files are below `parquet/`.
        meaning: what a row is, as a phrase.
        columns: of its rows.
        key: columns that identify a row; empty if there are none.
    """

    name: str
    folder: str
    meaning: str
    parts: Callable[[Store, Any], Iterator[Part]]
    columns: Sequence[Column]
    key: tuple[str, ...] = ()


def config_of_table(
    name: str, table: Table, meaning: str, split: str, window: str = "", beside: Sequence[Table] = ()
) -> Config:
    """Return the config of a table of a benchmark.

    Args:
        meaning: what a row is, as a phrase.
        split: SQL of the split of a row of `rows`, by the benchmark's name for it.
        window: SQL of the label of a row's window; empty if a file has the rows of all windows.
        beside: further tables of the release that the SQL reads.
    """

    def parts(store: Store, release: AnyRelease) -> Iterator[Part]:
        versions = release_versions(store, table, release.name)
        # A window is in one partition, so the others need not be read for it.
        for group in [[one] for one in versions] if window else [versions]:
            with asking() as connection:
                for other in beside:
                    view_files(connection, other.name, release_files(store, other, release.name))
                yield from _parts_of(connection, table, group, split, window or "''")

    key = tuple(dict.fromkeys((*table.partition_columns, *table.key)))
    return Config(name, table.name, meaning, parts, table.columns, key)


def _parts_of(connection: Any, table: Table, versions: Sequence[Version], split: str, window: str) -> Iterator[Part]:
    """The files of some partitions."""
    paths = [path for one in versions for path in one.paths()]
    if not paths:
        return
    schema = table.schema
    key = ", ".join(table.key)
    found = connection.execute(
        f"SELECT DISTINCT {window} AS label, {split} AS part FROM {parquet(paths)} AS rows ORDER BY label, part"
    ).fetchall()

    def rows(values: Mapping[str, str], path: Path) -> pa.Table:
        chosen = f"SELECT * FROM {parquet([path])} AS rows WHERE {window} = $label AND {split} = $part ORDER BY {key}"
        return connection.sql(chosen, params=values).to_arrow_table().cast(schema)

    for label, part in found:
        yield Part(label, part, schema, filter(len, map(partial(rows, {"label": label, "part": part}), paths)))


class Loadable(NamedTuple):
    """A config of an export that was written.

    Attributes:
        meaning: what a row is, as a phrase.
        splits: its splits, each with the pattern of its files.
        config: of which it is; None if its rows are those of another.
        example: its first row, as JSON.
    """

    name: str
    meaning: str
    n_rows: int
    splits: Sequence[tuple[str, str]]
    config: Config | None = None
    example: str = ""


def write_config(store: Store, release: AnyRelease, out: ExportFolder, config: Config) -> list[Loadable]:
    """Write the files of a config, and return what can be loaded: the config, and its rows by window if they have any.

    The files are `parquet/<folder>/<split>.parquet`, or `parquet/<folder>/<window>/<split>.parquet`.
    """
    folder, n_rows, example = f"parquet/{config.folder}", 0, ""
    windows: dict[str, None] = {}
    splits: set[str] = set()
    for part in config.parts(store, release):
        place = f"{folder}/{part.window}" if part.window else folder
        split = _NAMES.get(part.split, part.split)
        rows = iter(part.rows)
        first = next(rows)
        n_rows += out.write_parquet(f"{place}/{split}.parquet", part.schema, chain([first], rows))
        example = example or json.dumps(plain_rows(first.slice(0, 1))[0], ensure_ascii=False, default=str)
        windows[part.window] = None
        splits.add(split)
    if not splits:
        return []
    has_windows = any(windows)
    by_split = [(one, f"{folder}/{'*/' if has_windows else ''}{one}.parquet") for one in _SPLITS if one in splits]
    whole = Loadable(config.name, config.meaning, n_rows, by_split, config, example)
    if not has_windows:
        return [whole]
    # The name of a split has no hyphen.
    by_window = [(re.sub(r"\W", "_", one), f"{folder}/{one}/*.parquet") for one in windows]
    return [
        whole,
        Loadable(WINDOWS, f"the same as in `{config.name}`, with a split for each window", n_rows, by_window),
    ]


def front_matter(loadables: Sequence[Loadable]) -> str:
    """Return the `configs` of the card's front matter, of which the first is the default; empty if there are none."""
    lines: list[str] = []
    for one in loadables:
        lines += [f"- config_name: {one.name}", *([] if lines else ["  default: true"]), "  data_files:"]
        lines += [
            line
            for split, path in one.splits
            for line in (f"  - split: {json.dumps(split)}", f"    path: {json.dumps(path)}")
        ]
    return "\n".join(["configs:", *lines, ""]) if lines else ""


def section(frame: str, name: str, loadables: Sequence[Loadable]) -> str:
    """Return the card's sections about loading and columns in their frame; empty if there is nothing to load."""
    if not loadables:
        return ""
    rows = [f"| `{one.name}` | {_listed(one.splits)} | {one.n_rows:,} | {one.meaning} |" for one in loadables]
    columns: list[str] = []
    for one in (one.config for one in loadables if one.config):
        columns += [f"\nColumns of `{one.name}`:\n", "| column | type | meaning |", "| --- | --- | --- |"]
        columns += [f"| `{column.name}` | {column.sql_type} | {escaped(column.meaning)} |" for column in one.columns]
    first, last = loadables[0], loadables[-1]
    return frame.format(
        name=name,
        other=last.name,
        split=last.splits[0][0],
        rows="\n".join(rows),
        columns="\n".join(columns),
        first=first.name,
        example=first.example,
    )


def _listed(splits: Sequence[tuple[str, str]]) -> str:
    names = [f"`{one}`" for one, _ in splits]
    return ", ".join(names if len(names) <= _FEW else [names[0], "...", names[-1]])
