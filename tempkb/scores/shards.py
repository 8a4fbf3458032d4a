"""Shards: the prompts that a run has still to score, in a fixed order and in pieces that are finished one by one.

A shard is a unit of what a run that was killed leaves behind. What is in finished shards counts as answered, and the
next run cuts the rest into the same pieces, so that each prompt is computed in the same company, and the scores have
the same bytes.
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

_ROWS = 8192


@dataclass(frozen=True)
class Shards:
    """The prompts that a run has still to score.

    Attributes:
        kind: of what is asked.
        folder: has the plan, and a file for each shard that is finished and not yet added to the table.
    """

    kind: Kind
    folder: Path

    @property
    def _plan(self) -> Path:
        return self.folder / "plan.parquet"

    def plan(self, lacking: str) -> int:
        """Write down the prompts that have no score yet, and return how many these are.

        Args:
            lacking: SQL, from FROM on, that gives them.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        names, size = (self.kind.key, *self.kind.plan_texts), self.kind.n_of_shard
        texts = pa.schema([(name, pa.string()) for name in names])
        # Prompts that begin alike are neighbours, so that what they have in common is computed once.
        ordered = f"SELECT {', '.join(names)} {lacking} ORDER BY {', '.join(self.kind.texts)}"
        with spilling_to(self.folder) as connection, parquet_writer(self._plan, texts) as writer:
            for part in _sized(connection.sql(ordered).to_arrow_reader(size), size, texts):
                writer.write_table(part, row_group_size=size)
        with open_parquet(self._plan) as plan:
            return int(plan.metadata.num_rows)

    def having(self, queries: Sequence[str]) -> list[int]:
        """Return the places of those queries that give a prompt of the plan; each is SQL from FROM on."""
        key = self.kind.key
        ids = f"SELECT {{}} AS place, {self.kind.key_sql} AS {key} {{}}"
        each = " UNION ALL ".join(ids.format(at, query) for at, query in enumerate(queries))
        plan = f"(SELECT {key} FROM {parquet([self._plan])})"
        with asking() as memory:
            query = f"SELECT DISTINCT place FROM ({each}) SEMI JOIN {plan} USING ({key}) ORDER BY ALL"
            return [place for (place,) in memory.execute(query).fetchall()]

    def planned(self) -> Iterator[tuple[list[str], list[Any]]]:
        """Yield the shards of the plan: ids and what is asked."""
        with open_parquet(self._plan) as plan:
            for number in range(plan.num_row_groups):
                rows = plan.read_row_group(number).to_pydict()
                texts = zip(*(rows[name] for name in self.kind.plan_texts), strict=True)
                yield rows[self.kind.key], [self.kind.asked(text) for text in texts]

    def finish(self, rows: pa.Table) -> None:
        """Keep the answers of a shard until they are added to the table."""
        path = self.folder / f"finished-{rows[self.kind.key][0]}.parquet"
        draft = path.with_suffix(".draft")
        with parquet_writer(draft, rows.schema, compression="zstd") as writer:
            writer.write_table(rows)
        with draft.open("rb") as handle:
            os.fsync(handle.fileno())
        draft.replace(path)

    def finished(self) -> list[Path]:
        """Return the files of shards that are finished and not yet added to the table."""
        return sorted(self.folder.glob("finished-*.parquet"))

    def merged(self) -> Iterator[pa.Table]:
        """Yield the answers of these in the order of the table's key; DuckDB sorts what does not fit in memory."""
        table = self.kind.table
        with spilling_to(self.folder) as connection:
            query = f"SELECT {', '.join(table.schema.names)} FROM {parquet(self.finished())}"
            for batch in connection.sql(f"{query} ORDER BY {', '.join(table.key)}").to_arrow_reader(_ROWS):
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
