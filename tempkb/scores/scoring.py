"""Scores the prompts of releases with a model: asks for what has no score yet, and keeps every score for good.

Finished shards are kept beside the lake at once, and added to the table every ten minutes and at the end. A run that
was killed is continued by the next one for the same prompts; the lock of their folder lets one process at a time score
with a model.
"""

import hashlib
import json
import shutil
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
from tempkb.models.scorers import scorer_name
from tempkb.models.tables import DIGESTS, MODELS, READY
from tempkb.scores.requests import ScoreRequest, words_for
from tempkb.scores.selecting import Source, Wanted, wanted
from tempkb.scores.shards import Shards, merged, rows_of
from tempkb.scores.tables import PROMPT_SCORES, drafts_of, partition_of
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.said import note_asked
from tempkb.store.store import Store, inputs_of

if TYPE_CHECKING:
    from tempkb.models.batching import Limits
    from tempkb.models.loading import LoadedModel

Log = Callable[[str], None]
Row = Mapping[str, Any]

_ADDED_EVERY = 600.0  # seconds
_SMALL = 10_000_000  # parameters, below which threads wait for one another longer than they compute


@dataclass(frozen=True)
class Scored:
    """What a run has done with one scorer.

    Attributes:
        n_prompts: number of prompts that were wanted.
        n_new: how many of them were asked for: those without a row before the run.
        by_status: numbers of the wanted prompts by status.
        sources: the prompts of each release.
        new_sources: those of them that have such a prompt.
    """

    scorer: str
    n_prompts: int
    n_new: int
    by_status: Mapping[str, int]
    sources: Sequence[Source]
    new_sources: Sequence[Source]


def score_model(
    store: Store, benchmarks: Sequence[Benchmark], name: str, request: ScoreRequest, log: Log
) -> list[Scored]:
    """Score what has no score yet of the prompts that are wanted.

    Returns:
        an entry for each scorer; empty if no release has such prompts.

    Raises:
        SettingsError: there is no such model, release, variant or template.
        ModelError: the model is not ready, its files have changed, or they cannot be loaded.
        LockTimeoutError: another process scores with this model.
    """
    row = _ready(store, name)
    asked = wanted(store, benchmarks, row["family"], request, log)
    with store.lake.resumable(drafts_of(name)) as drafts:
        releases = [source.release for one in asked for source in one.sources]
        run = _Run(store, row, request, releases, drafts.folder, log)
        for one in _kept_of(drafts.folder):
            if one not in {run.folder_of(it) for it in asked}:
                run.add_leftover(one)
        done = [run.score(one) for one in asked]
        drafts.is_finished = True
    return done


def counted(store: Store, partition: str, query: str) -> dict[str, int]:
    """Return the numbers of some prompts by status of their scores.

    Args:
        partition: of a model and scorer; those of its prompts that have no row are not counted.
        query: SQL that returns the prompts' ids.
    """
    version = store.lake.current(PROMPT_SCORES.name, partition)
    if version is None:
        return {}
    with asking() as memory:
        rows = memory.execute(
            f"SELECT status, count(*) FROM {parquet(version.paths())} SEMI JOIN ({query}) USING (prompt_id) "
            "GROUP BY status ORDER BY count(*) DESC, status"
        ).fetchall()
    return dict(rows)


def _ready(store: Store, name: str) -> dict[str, Any]:
    """The row of a model that can be scored."""
    row = known_model(store.lake, name)
    if row is None:
        there = ", ".join(store.lake.partitions(MODELS.name)) or "none"
        raise SettingsError(
            f"model {name!r}: no such model; there: {there}. Add it first: tempkb model add {name} CHECKPOINT"
        )
    if row["status"] != READY:
        raise ModelError(f"model {name!r}: its checkpoint could not be used: {row['reason']}")
    return row


class _Run:
    """A model that is scored; it is loaded once, when the first prompt without a score is met."""

    def __init__(
        self, store: Store, row: Row, request: ScoreRequest, releases: Sequence[str], folder: Path, log: Log
    ) -> None:
        self._store, self._row, self._request, self._folder, self._log = store, row, request, folder, log
        self._releases = releases
        self._model: LoadedModel | None = None

    def score(self, one: Wanted) -> Scored:
        """Score what is missing for one scorer, and add it to the table."""
        scorer = scorer_name(self._row["family"], one.template, self._request.dtype)
        partition = partition_of(self._row["model"], scorer)
        self._require_own(partition)
        query = one.query
        shards = Shards(self.folder_of(one))
        if shards.is_planned:
            shards.take_back()
        else:
            current = self._store.lake.current(PROMPT_SCORES.name, partition)
            shards.plan(query, current.paths() if current is not None else [])
        n_new = shards.n_prompts
        places = shards.having([source.query for source in one.sources]) if n_new else []
        new_sources = [one.sources[place] for place in places]
        try:
            if n_new:
                self._note_asked(new_sources)
                self._score_shards(one, scorer, partition, shards)
        finally:
            # Also if a shard fails or the run is interrupted: what is finished is not lost.
            self._add(shards, partition, one)
        shutil.rmtree(shards.folder)
        by_status = counted(self._store, partition, query)
        return Scored(scorer, sum(by_status.values()), n_new, by_status, one.sources, new_sources)

    def _note_asked(self, new_sources: Sequence[Source]) -> None:
        """Keep what gives new scores, so that a repair can ask for the same again."""
        # A limit counts the prompts of all releases that are asked for, also those that add nothing.
        releases = self._releases if self._request.limit else [one.release for one in new_sources]
        note_asked(self._store.home.checkpoints, self._row["model"], words_for(self._request, releases))

    def _require_own(self, partition: str) -> None:
        """Refuse to add to scores of other files, which may be left if the model's own row was lost.

        Raises:
            ModelError: the scores that are there were made with other files.
        """
        current = self._store.lake.current(PROMPT_SCORES.name, partition)
        if current is None:
            return
        inputs = inputs_of(current)
        differing = [name for name in DIGESTS if inputs.get(name) != self._row[name]]
        if differing:
            name = self._row["model"]
            raise ModelError(
                f"model {name!r}: the scores that are there ({partition}) were made with other files "
                f"({', '.join(differing)} differ); remove the model with its scores, and add it again: "
                f"tempkb model rm {name}"
            )

    def folder_of(self, one: Wanted) -> Path:
        """The folder of the shards of some prompts; its name has everything on which their bytes depend.

        These are the scorer, the model's files, and a digest of the rest.
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
        scorer = scorer_name(self._row["family"], one.template, request.dtype)
        return self._folder / f"{scorer}-{self._files}-{_short(said)}"

    def add_leftover(self, folder: Path) -> None:
        """Add what an earlier run for other prompts has finished, and remove its folder.

        The model's row may have been lost, and its name given to other files: what is not of its own is not added.

        Raises:
            ModelError: the scores that are there were made with other files.
        """
        scorer, files, _ = folder.name.rsplit("-", 2)
        if files == self._files:
            partition = partition_of(self._row["model"], scorer)
            self._require_own(partition)
            shards = Shards(folder)
            shards.take_back()
            self._add(shards, partition, None)
        shutil.rmtree(folder)

    def _score_shards(self, one: Wanted, scorer: str, partition: str, shards: Shards) -> None:
        from tempkb.models.scoring import Scorer

        asker = Scorer(self._loaded(), one.template, self._limits())
        unfinished = shards.unfinished()
        n, done, added_at = shards.n_prompts, 0, time.monotonic()
        name = self._row["model"]
        with self._on_threads(), Meter(f"scoring with {name} ({scorer})", n, self._log, unit="prompts") as meter:
            for number, ids, prompts in unfinished:
                scores = []
                for score in asker.stream(prompts):
                    scores.append(score)
                    meter.at(done + len(scores))
                shards.finish(number, rows_of(name, scorer, ids, scores))
                done += len(scores)
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
            self._store.add(PROMPT_SCORES, partition, merged(paths), provenance, prefer="new")
            shards.mark_added(paths)

    def _loaded(self) -> "LoadedModel":
        """The model, loaded from the files to which its name is bound."""
        if self._model is None:
            from tempkb.models.checkpoints import load_files, read_digests

            name, row = self._row["model"], self._row
            device = self._device()
            try:
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
        from tempkb.models.batching import Limits

        return Limits(self._request.batch_tokens, self._request.fixed_shapes)

    @property
    def _threads(self) -> int | None:
        """Threads of a CPU; None for as many as torch takes."""
        return self._request.threads or (1 if self._row["n_parameters"] < _SMALL else None)

    def _device(self) -> str:
        return usable_device("score", self._request.device)

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
    return sorted(path for path in folder.iterdir() if path.is_dir())
