"""Shards: the prompts that a run has still to score, in a fixed order and in pieces that are finished one by one.

A shard is a unit of what a run that was killed leaves behind: the next run of the same kind continues with the same
shards, so that each prompt is computed in the same company, and the scores have the same bytes.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tempkb.models.scores import Score
from tempkb.prompts import Prompt
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.memory import asking, spilling_to
from tempkb.store.parquet import open_parquet, parquet_writer
from tempkb.store.quoting import parquet

N_PROMPTS = 8192
"""Prompts of a shard."""

_PLAN = "plan.parquet"
_FINISHED, _ADDED = "finished", "added"
_TEXTS = pa.schema([(name, pa.string()) for name in ("prompt_id", "left_context", "target", "right_context")])


@dataclass(frozen=True)
class Shards:
    """The prompts that a run has still to score.

    Attributes:
        folder: has the plan, and a file for each shard that is finished.
    """

    folder: Path

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
            missing += f" ANTI JOIN {parquet(scored)} AS s ON s.prompt_id = p.prompt_id"
        # Prompts that begin alike are neighbours, so that what they have in common is computed once.
        columns = ", ".join(_TEXTS.names)
        ordered = f"SELECT {columns} {missing} ORDER BY left_context, right_context, target"
        draft = self.folder / f"{_PLAN}.draft"
        with spilling_to(self.folder) as connection, parquet_writer(draft, _TEXTS) as writer:
            for part in _sized(connection.sql(ordered).to_arrow_reader(N_PROMPTS), N_PROMPTS):
                writer.write_table(part, row_group_size=N_PROMPTS)
        _put(draft, self.folder / _PLAN)

    @property
    def n_prompts(self) -> int:
        """Number of prompts of the plan."""
        with open_parquet(self.folder / _PLAN) as plan:
            return int(plan.metadata.num_rows)

    def having(self, queries: Sequence[str]) -> list[int]:
        """Return the places of those queries that give a prompt of the plan; each is SQL from FROM on."""
        each = " UNION ALL ".join(f"SELECT {at} AS place, prompt_id {query}" for at, query in enumerate(queries))
        plan = f"(SELECT prompt_id FROM {parquet([self.folder / _PLAN])})"
        with asking() as memory:
            query = f"SELECT DISTINCT place FROM ({each}) SEMI JOIN {plan} USING (prompt_id) ORDER BY ALL"
            return [place for (place,) in memory.execute(query).fetchall()]

    def unfinished(self) -> Iterator[tuple[int, list[str], list[Prompt]]]:
        """Yield the shards that are not finished: number, ids and prompts."""
        with open_parquet(self.folder / _PLAN) as plan:
            for number in range(plan.num_row_groups):
                if self._path(number).exists() or self._path(number, _ADDED).exists():
                    continue
                rows = plan.read_row_group(number).to_pydict()
                texts = zip(rows["left_context"], rows["target"], rows["right_context"], strict=True)
                yield number, rows["prompt_id"], [Prompt(*text) for text in texts]

    def finish(self, number: int, rows: pa.Table) -> None:
        """Keep the scores of a shard for good."""
        draft = self.folder / f"{number}.draft"
        with parquet_writer(draft, PROMPT_SCORES.schema, compression="zstd") as writer:
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


def merged(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the scores of shards, in the order of their prompts' ids; DuckDB sorts what does not fit in memory."""
    columns = ", ".join(PROMPT_SCORES.schema.names)
    with spilling_to(paths[0].parent) as connection:
        ordered = connection.sql(f"SELECT {columns} FROM {parquet(paths)} ORDER BY prompt_id")
        for batch in ordered.to_arrow_reader(N_PROMPTS):
            yield pa.Table.from_batches([batch])


def rows_of(model: str, scorer: str, prompt_ids: Sequence[str], scores: Sequence[Score]) -> pa.Table:
    """Return scores as rows of `prompt_scores`, in the order of the prompts."""
    n = len(prompt_ids)
    columns = {
        "prompt_id": prompt_ids,
        "model": [model] * n,
        "scorer": [scorer] * n,
        **{
            name: [getattr(score, name) for score in scores]
            for name in PROMPT_SCORES.column_names()
            if name not in ("prompt_id", "model", "scorer")
        },
    }
    return pa.table(columns, schema=PROMPT_SCORES.schema)


def _sized(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Tables of `size` rows; the last one has the rest."""
    waiting = _TEXTS.empty_table()
    for batch in batches:
        waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch]).cast(_TEXTS)])
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
