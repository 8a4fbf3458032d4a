"""Links the mentions of releases with a linker, and writes where it ranks their entities.

One partition of `linking_scores` is written at a time, and what was made from the present versions of its sources is
not computed again. So a run that was killed is continued by the next one, which ends with the same bytes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.benchmarks.linkable.declaration import mention_sentence
from tempkb.benchmarks.linkable.pools import Pool, Snapshots, page_ids_of, pool_of
from tempkb.benchmarks.register import need_version
from tempkb.core.errors import ContractError, SettingsError
from tempkb.core.files import read_parquet
from tempkb.core.wording import counted
from tempkb.engine.steps import Look, bring
from tempkb.models.devices import on_threads, threads_for
from tempkb.models.linking.baselines import index_of, mean_similarity, priors_at, rank_by_links, words_of
from tempkb.models.linking.candidates import Candidates, described, of_release
from tempkb.models.linking.known import linked_releases, require_linker
from tempkb.models.linking.requests import LinkRequest
from tempkb.models.linking.searching import rank
from tempkb.models.linking.steps import (
    NIL,
    SCORES,
    STEPS,
    are_thresholds_due,
    fills_of,
    is_trained_on_present,
    vectors_of_linker,
)
from tempkb.models.linking.tables import BASELINES, LINKING_SCORES, N_TOP, scores_partition
from tempkb.models.linking.vectors import (
    encode_missing,
    encoder_of,
    made_with,
    vectors_of,
    version_of,
)
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking
from tempkb.store.quoting import literal, parquet
from tempkb.store.said import note_asked
from tempkb.store.store import Store
from tempkb.store.versions import Version

Log = Callable[[str], None]
Row = Mapping[str, Any]
Integers = npt.NDArray[np.int64]
Best = tuple[Integers, npt.NDArray[np.float64], npt.NDArray[Any]]
"""The best candidates of a mention: page_ids, scores, and numbers of other candidates with the same score."""

ACCURACIES = (1, 4, 16, 64)
"""The K of the numbers that a run reports."""
_KEY = ("target_page_id", "anchor_page_id", "start_char")
_ASKED = (*_KEY, "category", "mention", "context_left", "context_right")


@dataclass(frozen=True)
class Target:
    """Mentions and candidates of which scores are asked for.

    Attributes:
        cut: of the mentions.
        pool_name: of the candidates.
    """

    snapshots: Snapshots
    cut: date
    pool_name: str

    @property
    def release(self) -> str:
        """The name of the release of the mentions."""
        return self.snapshots.name

    def key(self, linker: str) -> str:
        """Return the key of a linker's partition."""
        return scores_partition(linker, self.release, self.cut.isoformat(), self.pool_name)


@dataclass(frozen=True)
class Linked(Target):
    """What there is of the mentions of a target after a run.

    Attributes:
        partition: of the scores.
        n_found: for each K of `ACCURACIES`, how many have their entity among the first K.
    """

    partition: str
    n_mentions: int
    n_found: Mapping[int, int]


def link_mentions(store: Store, name: str, request: LinkRequest, log: Log) -> list[Linked]:
    """Link mentions with a linker: encode what is missing, search, and write `linking_scores`.

    Returns:
        An entry for each release, snapshot and pool, also for those that were up to date; empty without releases.

    Raises:
        SettingsError: there is no such linker, release or snapshot.
        ContractError: a release lacks a table.
        LockTimeoutError: another process encodes with this linker.
        ModelError: the linker's files have changed, or its vectors overflow or were made in another way, or it was
            trained on an earlier release of the same name.
    """
    from tempkb.models.linking.training.examples import require_same_examples

    row, targets = require_linker(store.lake, name), targets_of(store, request, log)
    with store.lake.staging() as folder:
        if any(one.release == row["release"] for one in targets):
            require_same_examples(store, row, folder)
        due = due_of(Look(store, STEPS), name, request, targets)
        if len(due) < len(targets):
            log(f"{name}: {len(targets) - len(due)} of {len(targets)} are up to date and not linked again")
        run = _Run(store, row, request, folder, log)
        tasks = run.tasks(due)
        if due:
            asked = request.words_for((one.release for one in due), (one.cut for one in due))
            note_asked(store.home.linkers, name, asked)
        run.encode(tasks)
        # Those with the same candidates follow one another, so that these are read once.
        for task in sorted(tasks, key=lambda one: (one.release, one.pool.cut, one.pool.name, one.cut)):
            # Of those whose vectors alone were lost, nothing is left to do.
            if due_of(Look(store, STEPS), name, request, [task]):
                run.link(task)
        write_nil_thresholds(store, name, log)
        return [run.linked(one) for one in targets]


def write_nil_thresholds(store: Store, linker: str, log: Log) -> None:
    """Choose the thresholds of a linker from its present scores, if it has, or had, any that tell.

    Raises:
        ContractError: they break the promises of their table.
    """
    if are_thresholds_due(Look(store, STEPS), linker):
        # Alone, since some of the scores may be older than their sources.
        for reason in bring(store, [NIL], NIL, [linker], log).bad.values():
            raise ContractError(reason)


def due_linkers(store: Store, names: Sequence[str], request: LinkRequest) -> list[str]:
    """Return the linkers for which `link_mentions` would make, or refuse, anything; no encoder is loaded to know it.

    Raises:
        SettingsError: there is no such linker, release or snapshot.
    """
    targets, look = targets_of(store, request, lambda _line: None), Look(store, STEPS)
    rows = [require_linker(store.lake, name) for name in names]
    return [
        row["linker"]
        for row in rows
        if (any(one.release == row["release"] for one in targets) and not is_trained_on_present(store, row))
        or due_of(look, row["linker"], request, targets)
        or are_thresholds_due(look, row["linker"])
    ]


def targets_of(store: Store, request: LinkRequest, log: Log) -> list[Target]:
    """Return what is asked for: each release, snapshot and pool, but no days of other releases' snapshots.

    Raises:
        SettingsError: there is no such release or snapshot.
    """
    there = linked_releases(store.home)
    if odd := [name for name in request.releases if name not in there]:
        raise SettingsError(
            f"linker score: found the release {odd[0]!r}; expected a release of TempEL that is built; there: "
            f"{', '.join(there) or 'none'}"
        )
    releases = [one for name, one in there.items() if not request.releases or name in request.releases]
    known = sorted({cut for one in releases for cut in one.cuts})
    if odd := [str(cut) for cut in request.cuts if cut not in known]:
        raise SettingsError(
            f"linker score: found the snapshot {odd[0]}; expected one that a release of TempEL has; there: "
            f"{', '.join(map(str, known)) or 'none'}"
        )
    targets = []
    for release in releases:
        of_others = {cut.isoformat() for cut in known if cut not in release.cuts}
        for pool in (pool for pool in request.pools if pool in of_others):
            log(f"release {release.name}: left out of pool {pool}, which is no snapshot of it")
        targets += [
            Target(release, cut, pool)
            for cut in release.cuts
            if not request.cuts or cut in request.cuts
            for pool in request.pools
            if pool not in of_others
        ]
    return targets


def due_of(look: Look, linker: str, request: LinkRequest, targets: Sequence[Target]) -> list[Target]:
    """Return those whose scores are not current, or not of all mentions that are asked for."""
    due = []
    for one in targets:
        held = look.store.lake.current(LINKING_SCORES.name, one.key(linker))
        if held is None or not look.is_current(held.table, held.partition) or not _covers(held, request):
            due.append(one)
    return due


def _covers(held: Version, request: LinkRequest) -> bool:
    """Whether scores are of all mentions that are wanted, in the precision that is wanted."""
    limits, wanted = held.settings["subsets"], request.limit
    if request.subset not in limits or not _is_like(held, request):
        return False
    limit = limits[request.subset]
    return limit is None or (wanted is not None and bool(wanted <= limit))


def _is_like(held: Version, request: LinkRequest) -> bool:
    """Whether scores have the present columns, and the precision of a request; those of a baseline have none."""
    return held.fits(LINKING_SCORES) and bool(held.settings.get("dtype", request.dtype) == request.dtype)


@dataclass(frozen=True)
class _Task(Target):
    """A partition of scores that is to be written, with what it is made from."""

    provenance: Provenance
    mentions: Version
    pool: Pool
    candidates: Candidates


class _Run:
    """A linker that links mentions."""

    def __init__(self, store: Store, row: Row, request: LinkRequest, folder: Path, log: Log) -> None:
        self._store, self._row, self._request, self._folder, self._log = store, row, request, folder, log
        # The vectors of the mentions of a release by snapshot, which are the same for each pool.
        self._queries: dict[tuple[str, date], npt.NDArray[np.float32]] = {}
        # The candidates that were read last, with what finds them.
        self._held: tuple[str, Any] | None = None

    def tasks(self, due: Sequence[Target]) -> list[_Task]:
        """Return what is read for some targets, so that what is not there is refused before anything is made."""
        look, tasks = Look(self._store, STEPS), []
        for one in due:
            provenance = look.provenance(SCORES, LINKING_SCORES, one.key(self._row["linker"]))
            pool = pool_of(self._store, one.snapshots, one.cut, one.pool_name, self._request.subset, self._log)
            mentions = need_version(self._store, one.snapshots.tables.mentions, one.release, one.cut)
            # A baseline needs them as well: the similarity of the first candidates follows from their texts.
            candidates = of_release(self._store, one.release, pool.cut, pool.page_ids)
            tasks.append(_Task(one.snapshots, one.cut, one.pool_name, provenance, mentions, pool, candidates))
        return tasks

    def encode(self, tasks: Sequence[_Task]) -> None:
        """Encode what is missing."""
        wanted = {one.candidates.key: one.candidates for one in tasks}
        # Candidates of a pool of fixed size are among those of their snapshot.
        first = [
            one for one in wanted.values() if one.page_ids is None or replace(one, page_ids=None).key not in wanted
        ]
        if self._row["linker"] not in BASELINES and first:
            encode_missing(self._store, self._row, first, self._request, self._log)

    def link(self, task: _Task) -> None:
        """Link the mentions of a partition, and write it."""
        key, mentions = task.key(self._row["linker"]), self._mentions(task)
        page_ids, best = self._ranked(task, mentions)
        rows = self._rows(task, mentions, page_ids, best, self._similarities(task, best))
        held = self._store.lake.current(LINKING_SCORES.name, key)
        subsets = {self._request.subset: self._request.limit}
        if held is not None and held.stamp == task.provenance.stamp and _is_like(held, self._request):
            # Mentions of the other subset stay as they are.
            others = read_parquet(held.paths())
            others = others.filter(pa.compute.not_equal(others["subset"], self._request.subset))
            rows = pa.concat_tables([others, rows]).sort_by([(name, "ascending") for name in _KEY])
            subsets = {**held.settings["subsets"], **subsets}
        fills = fills_of(vectors_of_linker(self._store.lake, self._row["linker"]))
        made = replace(task.provenance, settings={"subsets": subsets, **self._made_with()}, fills=fills)
        self._store.write(LINKING_SCORES, key, [rows], made)

    def linked(self, target: Target) -> Linked:
        """Say what is in a partition now of the subset that was asked for."""
        key = target.key(self._row["linker"])
        (held,) = self._store.lake.versions(LINKING_SCORES.name, [key])
        counts = ", ".join(f"count(*) FILTER (WHERE rank <= {k})" for k in ACCURACIES)
        with asking() as memory:
            n, *found = memory.execute(
                f"SELECT count(*), {counts} FROM {parquet(held.paths())} WHERE subset = {literal(self._request.subset)}"
            ).fetchall()[0]
        hits = dict(zip(ACCURACIES, found, strict=True))
        if n:
            shares = ", ".join(f"{k}: {hit / n:.3f}" for k, hit in hits.items())
            self._log(f"{key}: {n:,} mentions, accuracy at {shares}")
        return Linked(target.snapshots, target.cut, target.pool_name, key, n, hits)

    def _mentions(self, task: _Task) -> pa.Table:
        """The mentions that are wanted, in key order."""
        limit = f"LIMIT {self._request.limit}" if self._request.limit is not None else ""
        with asking() as memory:
            return memory.sql(
                f"""
                FROM (
                    SELECT {", ".join(_ASKED)} FROM {parquet(task.mentions.paths())}
                    WHERE subset = {literal(self._request.subset)}
                    ORDER BY md5(concat_ws('|', {", ".join(_KEY)})), {", ".join(_KEY)} {limit}
                ) ORDER BY {", ".join(_KEY)}
                """
            ).to_arrow_table()

    def _ranked(self, task: _Task, mentions: pa.Table) -> tuple[Integers, list[Best]]:
        """The page_ids of the candidates, and the best of them for each mention."""
        name = self._row["linker"]
        if name == "prior":
            pool = task.pool
            page_ids = page_ids_of(self._store, task.snapshots, pool)
            priors = priors_at(self._store, pool.cut)
            return page_ids, list(rank_by_links(priors, mentions["mention"].to_pylist(), page_ids, N_TOP))
        if name == "bm25":
            page_ids, index = self._found_by(
                task, lambda wanted: index_of(self._store, wanted, self._folder / "described.parquet")
            )
            self._log(f"searching {len(page_ids):,} candidates for {counted(mentions.num_rows, 'mention')}: BM25")
            sentences = (mention_sentence(*one) for one in _contexts(mentions))
            return page_ids, list(index.rank(sentences, N_TOP, mentions["anchor_page_id"].to_pylist()))
        queries = self._encoded(task, mentions)
        page_ids, vectors = self._found_by(
            task, lambda wanted: vectors_of(self._store, self._row, wanted, self._folder)
        )
        found = rank(queries, vectors, page_ids, N_TOP, self._log, self._request.device)
        return page_ids, list(zip(found.page_ids, found.scores, found.n_tied, strict=True))

    def _found_by(self, task: _Task, read: Callable[[Candidates], Any]) -> Any:
        """What `read` makes of candidates; the last of it is kept."""
        wanted = task.candidates
        if self._held is None or self._held[0] != wanted.key:
            self._held = None  # let go of it before the next is read
            self._held = wanted.key, read(wanted)
        return self._held[1]

    def _encoded(self, task: _Task, mentions: pa.Table) -> npt.NDArray[np.float32]:
        """The vectors of mentions, which are encoded once for all pools of a snapshot."""
        from tempkb.models.linking.inputs import MentionText

        key = (task.release, task.cut)
        if key not in self._queries:
            with on_threads(threads_for(self._row["n_parameters"])):
                texts = [MentionText(*one) for one in _contexts(mentions)]
                self._queries[key] = encoder_of(self._row, self._request).mentions(texts)
        return self._queries[key]

    def _similarities(self, task: _Task, best: Sequence[Best]) -> list[float | None]:
        """How similar the descriptions of consecutive candidates are, for each mention."""
        if not best:
            return []
        shown = np.unique(np.concatenate([pages for pages, _, _ in best]))
        rows = described(self._store, task.candidates, shown, self._folder / "shown.parquet")
        numbers: dict[str, int] = {}
        words = {
            row["page_id"]: np.array(
                [numbers.setdefault(word, len(numbers)) for word in words_of(row["description"])], np.int32
            )
            for row in rows
        }
        return [mean_similarity([words[page].tolist() for page in pages.tolist()]) for pages, _, _ in best]

    def _rows(
        self,
        task: _Task,
        mentions: pa.Table,
        page_ids: Integers,
        best: Sequence[Best],
        similar: Sequence[float | None],
    ) -> pa.Table:
        n = mentions.num_rows
        golds = mentions["target_page_id"].to_numpy()
        places = [np.flatnonzero(pages == gold) for (pages, _, _), gold in zip(best, golds, strict=True)]
        ranks = [int(found[0]) + 1 if len(found) else None for found in places]
        ties = [None if at is None else int(one[2][at - 1]) for at, one in zip(ranks, best, strict=True)]
        columns = {
            "wiki": pa.repeat(self._store.home.wiki or "", n),
            "linker": pa.repeat(self._row["linker"], n),
            "release": pa.repeat(task.release, n),
            "cut": pa.repeat(pa.scalar(task.cut, pa.date32()), n),
            "pool": pa.repeat(task.pool_name, n),
            "subset": pa.repeat(self._request.subset, n),
            **{name: mentions[name] for name in (*_KEY, "category")},
            "model_cut": pa.repeat(pa.scalar(self._row["cut"], pa.date32()), n),
            "seed": pa.repeat(pa.scalar(self._row["seed"], pa.int32()), n),
            "rank": pa.array(ranks, pa.int32()),
            "gold_is_candidate": pa.array(np.isin(golds, page_ids)),
            "anchor_is_candidate": pa.array(np.isin(mentions["anchor_page_id"].to_numpy(), page_ids)),
            "n_candidates": pa.repeat(len(page_ids), n),
            "n_tied": pa.array(ties, pa.int32()),
            "top_page_ids": pa.array([pages for pages, _, _ in best], pa.list_(pa.int64())),
            "top_scores": pa.array([scores for _, scores, _ in best], pa.list_(pa.float64())),
            "top_similarity": pa.array(similar, pa.float64()),
        }
        return LINKING_SCORES.conform(pa.table(columns))

    def _made_with(self) -> dict[str, Any]:
        """Settings and versions that the manifest records, on which no stamp depends."""
        if self._row["linker"] == "prior":
            return {}
        if self._row["linker"] == "bm25":
            return {"bm25s": version_of("bm25s")}
        import faiss

        return {**made_with(self._request, "torch", "transformers", "numpy"), "faiss": str(faiss.__version__)}


def _contexts(mentions: pa.Table) -> Iterator[tuple[str, str, str]]:
    """What precedes each mention, the mention, and what follows it."""
    return zip(*(mentions[name].to_pylist() for name in ("context_left", "mention", "context_right")), strict=True)
