"""Asks a model about the prompts of releases: what it has not answered yet, and keeps every answer for good.

Finished shards are kept beside the lake at once, and added to the table every ten minutes and at the end. A run that
was killed is continued by the next one for the same prompts; the lock of their folder lets one process at a time ask
a model for answers of one kind.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.engine.progress import Meter
from tempkb.errors import ModelError, SettingsError
from tempkb.models.devices import usable_device
from tempkb.models.known import known_model
from tempkb.models.tables import DIGESTS, MODELS, READY
from tempkb.scores.kinds import Kind
from tempkb.scores.requests import AskRequest, words_for
from tempkb.scores.selecting import Source, Wanted, wanted
from tempkb.scores.shards import Shards, merged
from tempkb.scores.tables import drafts_of, partition_of
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking
from tempkb.store.owned import real_folders, remove_tree
from tempkb.store.quoting import parquet
from tempkb.store.said import note_asked
from tempkb.store.store import Store

if TYPE_CHECKING:
    from tempkb.models.loading import LoadedModel
    from tempkb.models.packing import Limits

Log = Callable[[str], None]
Row = Mapping[str, Any]

_ADDED_EVERY = 600.0  # seconds
_SMALL = 10_000_000  # parameters, below which threads wait for one another longer than they compute


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
    asked = wanted(kind, store, benchmarks, row["family"], request, log)
    with store.lake.resumable(drafts_of(kind.drafts, name)) as drafts:
        releases = [source.release for one in asked for source in one.sources]
        run = _Run(kind, store, row, request, releases, drafts.folder, log)
        for one in _kept_of(drafts.folder):
            if one not in {run.folder_of(it) for it in asked}:
                run.add_leftover(one)
        done = [run.ask(one) for one in asked]
        drafts.is_finished = True
    return done


def counts(done: Sequence[Answered]) -> dict[str, int]:
    """Return what a run has done as numbers for the UI, by name."""
    return {
        f"{one.name}/{what}": n
        for one in done
        for what, n in {"prompts": one.n_prompts, "new": one.n_new, **one.by_status}.items()
    }


def counted(kind: Kind, store: Store, partition: str, query: str) -> dict[str, int]:
    """Return the numbers of some prompts, or questions, by status of their first answers.

    Args:
        partition: of a model and scorer or decoder; what has no row is not counted.
        query: SQL that returns the ids.
    """
    version = store.lake.current(kind.table.name, partition)
    if version is None:
        return {}
    with asking() as memory:
        rows = memory.execute(
            f"SELECT status, count(*) FROM {parquet(version.paths())} SEMI JOIN ({query}) USING ({kind.key}) "
            f"WHERE {kind.first} GROUP BY status ORDER BY count(*) DESC, status"
        ).fetchall()
    return dict(rows)


def _ready(store: Store, name: str) -> dict[str, Any]:
    """The row of a model that can be asked."""
    row = known_model(store.lake, name)
    if row is None:
        there = ", ".join(store.lake.partitions(MODELS.name)) or "none"
        raise SettingsError(
            f"model {name!r}: no such model; there: {there}. Add it first: tempkb model add {name} CHECKPOINT"
        )
    if row["status"] != READY:
        raise ModelError(f"model {name!r}: cannot be asked here: {row['reason']}")
    return row


class _Run:
    """A model that is asked; it is loaded once, when the first prompt without an answer is met."""

    def __init__(
        self,
        kind: Kind,
        store: Store,
        row: Row,
        request: AskRequest,
        releases: Sequence[str],
        folder: Path,
        log: Log,
    ) -> None:
        self._kind, self._table = kind, kind.table
        self._store, self._row, self._request, self._folder, self._log = store, row, request, folder, log
        self._releases = releases
        self._model: LoadedModel | None = None
        self._made_with: Mapping[str, Any] = {}

    def ask(self, one: Wanted) -> Answered:
        """Ask what is missing in one way, and add it to the table."""
        name = self._named(one)
        partition = partition_of(self._row["model"], name)
        self._require_own(partition)
        query = one.query
        shards = Shards(self._kind, self.folder_of(one))
        if shards.is_planned:
            shards.take_back()
        else:
            current = self._store.lake.current(self._table.name, partition)
            shards.plan(query, current.paths() if current is not None else [])
        n_new = shards.n_prompts
        places = shards.having([source.query for source in one.sources]) if n_new else []
        new_sources = [one.sources[place] for place in places]
        try:
            if n_new:
                self._note_asked(new_sources)
                self._ask_shards(one, name, partition, shards)
        finally:
            # Also if a shard fails or the run is interrupted: what is finished is not lost.
            self._add(shards, partition, one)
        remove_tree(self._folder, shards.folder)
        by_status = counted(self._kind, self._store, partition, query)
        return Answered(name, sum(by_status.values()), n_new, by_status, one.sources, new_sources)

    def _note_asked(self, new_sources: Sequence[Source]) -> None:
        """Keep what gives new answers, so that a repair can ask for the same again."""
        # A limit counts the prompts of all releases that are asked for, also those that add nothing.
        releases = self._releases if self._request.limit else [one.release for one in new_sources]
        words = words_for(self._request, releases)
        note_asked(self._store.home.checkpoints, self._row["model"], words, self._kind.noted)

    def _require_own(self, partition: str) -> None:
        """Refuse to add to answers of other files, which may be left if the model's own row was lost.

        Raises:
            ModelError: the answers that are there were made with other files.
        """
        current = self._store.lake.current(self._table.name, partition)
        if current is None:
            return
        inputs = current.inputs
        differing = [name for name in DIGESTS if inputs.get(name) != self._row[name]]
        if differing:
            name = self._row["model"]
            raise ModelError(
                f"model {name!r}: the {self._kind.drafts} that are there ({partition}) were made with other files "
                f"({', '.join(differing)} differ); remove the model with all that it gave, and add it again: "
                f"tempkb model rm {name}"
            )

    def folder_of(self, one: Wanted) -> Path:
        """The folder of the shards of some prompts; its name has everything on which their bytes depend.

        These are the scorer or decoder, the model's files, and a digest of the rest.
        """
        request = self._request
        said = [
            one.digest,
            request.dtype,
            request.device,
            request.batch_tokens,
            self._threads,
            request.fixed_shapes,
        ]
        return self._folder / f"{self._named(one)}-{self._files}-{_short(said)}"

    def _named(self, one: Wanted) -> str:
        return self._kind.named(self._row["family"], one.template, self._request.dtype)

    def add_leftover(self, folder: Path) -> None:
        """Add what an earlier run for other prompts has finished, and remove its folder.

        The model's row may have been lost, and its name given to other files: what is not of its own is not added.

        Raises:
            ModelError: the answers that are there were made with other files.
        """
        name, files, _ = folder.name.rsplit("-", 2)
        if files == self._files:
            partition = partition_of(self._row["model"], name)
            self._require_own(partition)
            shards = Shards(self._kind, folder)
            shards.take_back()
            self._add(shards, partition, None)
        remove_tree(self._folder, folder)

    def _ask_shards(self, one: Wanted, name: str, partition: str, shards: Shards) -> None:
        asker = self._kind.asker(self._loaded(), one.template, self._limits())
        self._made_with = asker.made_with
        n, done, added_at = shards.n_prompts, 0, time.monotonic()
        said = f"{self._kind.doing} with {self._row['model']} ({name})"
        with self._on_threads(), Meter(said, n, self._log, unit="prompts") as meter:
            for number, ids, asked in shards.unfinished():
                answers = []
                for answer in asker.stream(asked):
                    answers.append(answer)
                    meter.at(done + len(answers))
                shards.finish(number, self._kind.rows(self._row["model"], name, ids, answers))
                done += len(answers)
                if time.monotonic() - added_at > _ADDED_EVERY:
                    self._add(shards, partition, one)
                    added_at = time.monotonic()

    @contextmanager
    def _on_threads(self) -> Iterator[None]:
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(self._threads or before)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    def _add(self, shards: Shards, partition: str, one: Wanted | None) -> None:
        """Add finished shards to the table; without what was wanted, those of an earlier run for other prompts."""
        paths = shards.to_add()
        if paths:
            provenance = self._provenance(one) if one is not None else Provenance(self._digests)
            # What was asked for again takes the place of its row; all else that is there already is equal.
            self._store.add(self._table, partition, merged(self._table, paths), provenance, prefer="new")
            shards.mark_added(paths)

    def _loaded(self) -> "LoadedModel":
        """The model, loaded from the files to which its name is bound."""
        if self._model is None:
            from tempkb.models.checkpoints import load_files, read_digests

            name, row = self._row["model"], self._row
            device = self._device()
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
                    found, row["family"], row["context_tokens"], device, self._request.dtype, self._limits()
                )
            except ModelError as error:
                raise ModelError(f"model {name!r}: {error}") from None
        return self._model

    def _limits(self) -> "Limits":
        from tempkb.models.packing import Limits

        return Limits(self._request.batch_tokens, self._request.fixed_shapes)

    @property
    def _threads(self) -> int | None:
        """Threads of a CPU; None for as many as torch takes."""
        return self._request.threads or (1 if self._row["n_parameters"] < _SMALL else None)

    def _device(self) -> str:
        return usable_device(self._kind.command, self._request.device)

    def _provenance(self, one: Wanted) -> Provenance:
        import torch
        import transformers

        made_with = {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "device": self._device(),
            "threads": self._threads or torch.get_num_threads(),
            "batch_tokens": self._request.batch_tokens,
            "fixed_shapes": self._request.fixed_shapes,
            **self._made_with,
        }
        return Provenance({**self._digests, **one.inputs}, made_with)

    @property
    def _files(self) -> str:
        """The model's files, as the folders of shards name them."""
        return _short([self._row[column] for column in DIGESTS])

    @property
    def _digests(self) -> dict[str, str]:
        return {column: self._row[column] for column in DIGESTS if self._row[column] is not None}


def _short(said: Sequence[Any]) -> str:
    """A digest of what JSON can say, for the name of a folder."""
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:24]


def _kept_of(folder: Path) -> list[Path]:
    """Folders of shards that earlier runs have left."""
    return real_folders(folder)
