"""Asks a model about the prompts of releases: what it has not answered yet, and keeps every answer for good.

The prompts that are left are in a fixed order, in shards that are finished one by one. Finished shards are kept beside
the lake at once, and added to the table every ten minutes and at the end, with what has then all its answers. A run
that was killed is continued by the next one, which cuts the rest into the same pieces, so that each prompt is computed
in the same company, and the scores have the same bytes. The lock of their folder lets one process at a time ask a
model for answers of one kind.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.core.errors import ModelError
from tempkb.core.files import open_parquet, parquet_writer, real_folders
from tempkb.engine.progress import Meter
from tempkb.engine.steps import Log
from tempkb.models.dating import dating_of
from tempkb.models.devices import on_threads, threads_for, usable_device
from tempkb.models.known import require_model
from tempkb.models.scores.kinds import Kind
from tempkb.models.scores.requests import AskRequest
from tempkb.models.scores.selecting import Source, Wanted, wanted
from tempkb.models.scores.steps import Row, other_files, partition_for
from tempkb.models.tables import DIGESTS, READY, drafts_of
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking, spilling_to
from tempkb.store.quoting import parquet
from tempkb.store.said import note_asked
from tempkb.store.store import Store
from tempkb.store.tables import SEPARATOR

if TYPE_CHECKING:
    from tempkb.models.batching import Limits
    from tempkb.models.loading import LoadedModel


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
                yield rows[self.kind.key], [self.kind.asked(*text) for text in texts]

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


_ADDED_EVERY = 600.0  # seconds


@dataclass(frozen=True)
class Answered:
    """What a run has done in one way of asking.

    Attributes:
        name: of the scorer or decoder.
        n_prompts: number of prompts, or questions, that were wanted.
        n_new: how many of them were asked: those without a row before the run.
        by_status: numbers of what was wanted by status.
        sources: the prompts of each release.
        new_sources: those of them that have such a prompt.
    """

    name: str
    n_prompts: int
    n_new: int
    by_status: Mapping[str, int]
    sources: Sequence[Source]
    new_sources: Sequence[Source]


def ask_model(
    kind: Kind, store: Store, benchmarks: Sequence[Benchmark], name: str, request: AskRequest, log: Log
) -> list[Answered]:
    """Ask a model what it has not answered yet of the prompts that are wanted.

    Args:
        name: of a model that is ready.
        request: which prompts, and how.
        log: takes lines about the progress.

    Returns:
        an entry for each scorer or decoder; empty if no release has such prompts.

    Raises:
        SettingsError: there is no such model, release, variant or template.
        ModelError: the model is not ready, its files have changed, or they cannot be loaded.
        LockTimeoutError: another process asks this model for answers of this kind.
    """
    row = _ready(store, name)
    asked = wanted(kind, store, benchmarks, row, request, log)
    with store.lake.resumable(drafts_of(kind.drafts, name)) as drafts:
        run = _Run(kind, store, row, request, asked, drafts.folder, log)
        own = {run.folder_of(one) for one in asked}
        for folder in real_folders(drafts.folder):
            if folder not in own:
                run.add_leftover(folder)
        done = [run.ask(one) for one in asked]
        drafts.is_finished = True
    return done


def _ready(store: Store, name: str) -> dict[str, Any]:
    """The row of a model that can be asked."""
    row = require_model(store.lake, name)
    if row["status"] != READY:
        raise ModelError(f"model {name!r}: cannot be asked here: {row['reason']}")
    return row


@dataclass
class _Run:
    """A model that is asked; it is loaded once, when the first prompt without an answer is met."""

    kind: Kind
    store: Store
    row: Row
    request: AskRequest
    asked: Sequence[Wanted]
    folder: Path
    log: Log
    _model: "LoadedModel | None" = None
    _made_with: Mapping[str, Any] = field(default_factory=dict)

    def ask(self, one: Wanted) -> Answered:
        """Ask what is missing in one way, and add it to the table."""
        partition = partition_for(self.row, one, self.request)
        name, shards = partition.partition(SEPARATOR)[2], Shards(self.kind, self.folder_of(one))
        n_new = shards.plan(one.lacking([*self._answered(partition), *shards.finished()]))
        places = shards.having([source.query for source in one.sources]) if n_new else []
        new_sources = [one.sources[place] for place in places]
        try:
            if n_new:
                self._note_asked(new_sources)
                self._ask_shards(one, partition, shards, n_new)
        finally:
            # Also if a shard fails or the run is interrupted: what is finished is not lost.
            self._add(shards, partition, one)
        by_status = one.by_status(self.store.lake.current(self.kind.table.name, partition))
        return Answered(name, sum(by_status.values()), n_new, by_status, one.sources, new_sources)

    def _note_asked(self, new_sources: Sequence[Source]) -> None:
        """Keep what gives new answers, so that a repair can ask for the same again."""
        # A limit counts the prompts of all releases that are asked for, also those that add nothing.
        sources = [source for one in self.asked for source in one.sources] if self.request.limit else new_sources
        words = self.request.words_for([one.release for one in sources])
        note_asked(self.store.home.checkpoints, self.row["model"], words, self.kind.noted)

    def _answered(self, partition: str) -> list[Path]:
        """The files of the table; refuses answers of other files, which may be left if the model's own row was lost.

        Raises:
            ModelError: the answers that are there were made with other files.
        """
        current = self.store.lake.current(self.kind.table.name, partition)
        if current is None:
            return []
        if differing := other_files(current, self.row):
            name = self.row["model"]
            raise ModelError(
                f"model {name!r}: the {self.kind.drafts} that are there ({partition}) were made with other files "
                f"({', '.join(differing)} differ); remove the model with all that it gave, and add it again: "
                f"tempkb model rm {name}"
            )
        return current.paths()

    def folder_of(self, one: Wanted) -> Path:
        """The folder of the shards of a scorer or decoder; its name has a digest of the model's files."""
        return self.folder / f"{partition_for(self.row, one, self.request)}-{self._files}"

    def add_leftover(self, folder: Path) -> None:
        """Add what an earlier run has finished that asked in another way.

        The model's row may have been lost, and its name given to other files: what is not of its own is not added.
        """
        partition, _, files = folder.name.rpartition("-")
        if files == self._files:
            self._add(Shards(self.kind, folder), partition, None)

    def _ask_shards(self, one: Wanted, partition: str, shards: Shards, n: int) -> None:
        from tempkb.models.batching import Limits
        from tempkb.models.checkpoints import load_expert

        name, limits = partition.partition(SEPARATOR)[2], Limits(self.request.batch_tokens, self.request.fixed_shapes)
        model, dating = self._loaded(limits), dating_of(self.row)
        asker = self.kind.asker(model, one.template, limits)
        self._made_with = asker.made_with
        stream = asker.stream
        if dating is not None:
            stream = partial(dating.stream, asker.stream, partial(load_expert, model), self.row["checkpoint"])
        done, added_at = 0, time.monotonic()
        said = f"{self.kind.doing} with {self.row['model']} ({name})"
        with on_threads(self._threads), Meter(said, n, self.log, unit="prompts") as meter:
            for ids, asked in shards.planned():
                answers = []
                for answer in stream(asked):
                    answers.append(answer)
                    meter.at(done + len(answers))
                shards.finish(self.kind.rows(self.row["model"], name, ids, answers))
                done += len(answers)
                if time.monotonic() - added_at > _ADDED_EVERY:
                    self._add(shards, partition, one)
                    added_at = time.monotonic()

    def _add(self, shards: Shards, partition: str, one: Wanted | None) -> None:
        """Add finished shards to the table; without what was wanted, those of an earlier run that asked otherwise.

        Raises:
            ModelError: the answers that are there were made with other files.
        """
        if not (paths := shards.finished()):
            return
        there, provenance = [*self._answered(partition), *paths], Provenance(self._digests)
        if one is not None:
            provenance = self._provenance(one, [] if one.n_lacking(there) else one.fillers)
        # Rows that a run added before it was killed are there already, and equal.
        self.store.add(self.kind.table, partition, shards.merged(), provenance, prefer="new")
        for path in paths:
            path.unlink()

    def _loaded(self, limits: "Limits") -> "LoadedModel":
        """The model, loaded from the files to which its name is bound."""
        if self._model is None:
            from tempkb.models.checkpoints import load_files, read_digests

            name, row = self.row["model"], self.row
            device = usable_device(self.kind.request.command, self.request.device)
            try:
                if row["hub_revision"] is None and not Path(row["checkpoint"]).is_dir():
                    where = f"name the folder where they are now: tempkb model add {name} FOLDER"
                    raise ModelError(f"found no {row['checkpoint']}; expected the files of its checkpoint; {where}")
                found = read_digests(row["checkpoint"], row["hub_revision"], may_fetch=True)
                differing = [column for column in DIGESTS if row[column] != getattr(found, column)]
                if differing:
                    raise ModelError(
                        f"the files in {row['checkpoint']} are not those to which the name is bound "
                        f"({', '.join(differing)} differ); put them back, or add the new ones under another name: "
                        "tempkb model add NAME CHECKPOINT"
                    )
                self._model = load_files(
                    found, row["family"], row["context_tokens"], device, self.request.dtype, limits
                )
            except ModelError as error:
                raise ModelError(f"model {name!r}: {error}") from None
        return self._model

    @property
    def _threads(self) -> int | None:
        """Threads of a CPU; None for as many as torch takes."""
        return self.request.threads or threads_for(self.row["n_parameters"])

    def _provenance(self, one: Wanted, fillers: Sequence[str]) -> Provenance:
        import torch
        import transformers

        made_with = {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "device": usable_device(self.kind.request.command, self.request.device),
            "threads": self._threads or torch.get_num_threads(),
            "batch_tokens": self.request.batch_tokens,
            "fixed_shapes": self.request.fixed_shapes,
            **self._made_with,
        }
        inputs = self._digests
        for source in one.sources:
            inputs |= source.inputs
        return Provenance(inputs, made_with, filled_by=fillers)

    @property
    def _files(self) -> str:
        """The model's files, as the folders of shards name them."""
        return hashlib.sha256(json.dumps(self._digests, sort_keys=True).encode()).hexdigest()[:24]

    @property
    def _digests(self) -> dict[str, str]:
        return {column: self.row[column] for column in DIGESTS if self.row[column] is not None}
