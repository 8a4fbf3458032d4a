"""Shards: the prompts that a run has still to score, in a fixed order and in pieces that are finished one by one.

A shard is a unit of what a run that was killed leaves behind: the next run of the same kind continues with the same
shards, so that each prompt is computed in the same company, and the scores have the same bytes.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tempkb.scores.kinds import Kind
from tempkb.store.memory import asking, spilling_to
from tempkb.store.parquet import open_parquet, parquet_writer
from tempkb.store.quoting import parquet
from tempkb.store.tables import Table

_PLAN = "plan.parquet"
_FINISHED, _ADDED = "finished", "added"
_ROWS = 8192


@dataclass(frozen=True)
class Shards:
    """The prompts that a run has still to score.

    Attributes:
        kind: of what is asked.
        folder: has the plan, and a file for each shard that is finished.
    """

    kind: Kind
    folder: Path

    @property
    def _texts(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in (self.kind.key, *self.kind.plan_texts)])

    @property
    def is_planned(self) -> bool:
        """Whether the plan is written."""
        return (self.folder / _PLAN).exists()

    def plan(self, query: str, scored: Sequence[Path]) -> None:
        """Write down the prompts that have no score yet.

        Args:
            query: SQL that returns all prompts that are wanted.
            scored: files with the prompts that have one.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = f"FROM ({query}) AS p"
        if scored:
            missing += f" ANTI JOIN {parquet(scored)} AS s ON s.{self.kind.key} = p.{self.kind.key}"
        # Prompts that begin alike are neighbours, so that what they have in common is computed once.
        columns = ", ".join(self._texts.names)
        ordered = f"SELECT {columns} {missing} ORDER BY {', '.join(self.kind.texts)}"
        draft = self.folder / f"{_PLAN}.draft"
        size = self.kind.n_of_shard
        with spilling_to(self.folder) as connection, parquet_writer(draft, self._texts) as writer:
            for part in _sized(connection.sql(ordered).to_arrow_reader(size), size, self._texts):
                writer.write_table(part, row_group_size=size)
        _put(draft, self.folder / _PLAN)

    @property
    def n_prompts(self) -> int:
        """Number of prompts of the plan."""
        with open_parquet(self.folder / _PLAN) as plan:
            return int(plan.metadata.num_rows)

    def having(self, queries: Sequence[str]) -> list[int]:
        """Return the places of those queries that give a prompt of the plan; each is SQL from FROM on."""
        key = self.kind.key
        ids = f"SELECT {{}} AS place, {self.kind.key_sql} AS {key} {{}}"
        each = " UNION ALL ".join(ids.format(at, query) for at, query in enumerate(queries))
        plan = f"(SELECT {key} FROM {parquet([self.folder / _PLAN])})"
        with asking() as memory:
            query = f"SELECT DISTINCT place FROM ({each}) SEMI JOIN {plan} USING ({key}) ORDER BY ALL"
            return [place for (place,) in memory.execute(query).fetchall()]

    def unfinished(self) -> Iterator[tuple[int, list[str], list[Any]]]:
        """Yield the shards that are not finished: number, ids and what is asked."""
        with open_parquet(self.folder / _PLAN) as plan:
            for number in range(plan.num_row_groups):
                if self._path(number).exists() or self._path(number, _ADDED).exists():
                    continue
                rows = plan.read_row_group(number).to_pydict()
                texts = zip(*(rows[name] for name in self.kind.plan_texts), strict=True)
                yield number, rows[self.kind.key], [self.kind.asked(text) for text in texts]

    def finish(self, number: int, rows: pa.Table) -> None:
        """Keep the answers of a shard for good."""
        draft = self.folder / f"{number}.draft"
        with parquet_writer(draft, rows.schema, compression="zstd") as writer:
            writer.write_table(rows)
        _put(draft, self._path(number))

    def to_add(self) -> list[Path]:
        """Return the shards that are finished and not yet added to the table."""
        return sorted(self.folder.glob(f"{_FINISHED}-*.parquet"))

    def mark_added(self, paths: Sequence[Path]) -> None:
        """Note that shards were added to the table."""
        for path in paths:
            path.replace(path.with_name(path.name.replace(_FINISHED, _ADDED)))

    def take_back(self) -> None:
        """Let shards that were added be added again, which changes no row: the table may have lost them meanwhile."""
        for path in self.folder.glob(f"{_ADDED}-*.parquet"):
            path.replace(path.with_name(path.name.replace(_ADDED, _FINISHED)))

    def _path(self, number: int, state: str = _FINISHED) -> Path:
        return self.folder / f"{state}-{number:06}.parquet"


def merged(table: Table, paths: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the answers of shards in the order of the table's key; DuckDB sorts what does not fit in memory."""
    columns = ", ".join(table.schema.names)
    with spilling_to(paths[0].parent) as connection:
        ordered = connection.sql(f"SELECT {columns} FROM {parquet(paths)} ORDER BY {', '.join(table.key)}")
        for batch in ordered.to_arrow_reader(_ROWS):
            yield pa.Table.from_batches([batch])


def _sized(batches: Iterator[pa.RecordBatch], size: int, texts: pa.Schema) -> Iterator[pa.Table]:
    """Tables of `size` rows; the last one has the rest."""
    waiting = texts.empty_table()
    for batch in batches:
        waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch]).cast(texts)])
        while waiting.num_rows >= size:
            yield waiting.slice(0, size)
            waiting = waiting.slice(size)
    if waiting.num_rows:
        yield waiting


def _put(draft: Path, path: Path) -> None:
    """Give a file its name once it is on disk."""
    with draft.open("rb") as handle:
        os.fsync(handle.fileno())
    draft.replace(path)
