"""Links the mentions of releases with a linker, and writes where it ranks their entities.

One partition of `linking_scores` is written at a time, and what was made from the present versions of its sources is
not computed again. So a run that was killed is continued by the next one, which ends with the same bytes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.benchmarks.linkable.methods import Snapshots
from tempkb.benchmarks.linkable.pools import Pool, page_ids_of, pool_of
from tempkb.benchmarks.linkable.sentences import mention_sentence
from tempkb.benchmarks.register import entry_of, need_version, releases_of
from tempkb.errors import SettingsError
from tempkb.linking.asked import LINKED
from tempkb.linking.bm25 import Bm25, index_of
from tempkb.linking.candidates import Candidates, described, n_of, of_release
from tempkb.linking.known import known_linker, known_linkers
from tempkb.linking.nil import write_nil_thresholds
from tempkb.linking.priors import priors_at, rank_by_links
from tempkb.linking.requests import LinkRequest, link_words
from tempkb.linking.searching import rank
from tempkb.linking.tables import BASELINES, DIGESTS, LINKING_SCORES, N_TOP, scores_partition
from tempkb.linking.training.examples import require_same_examples
from tempkb.linking.vectors import device_of, encode_missing, encoder_of, has_lost_vectors, on_threads, vectors_of
from tempkb.linking.words import mean_similarity, words_of
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking
from tempkb.store.parquet import read_parquet
from tempkb.store.quoting import literal, parquet
from tempkb.store.said import note_asked
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wording import counted

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
class Linked:
    """What a run has done with the mentions of a snapshot and a pool.

    Attributes:
        pool: among which candidates.
        n_found: for each K of `ACCURACIES`, how many have their entity among the first K.
        n_texts: number of candidates whose vectors were wanted first for this pool; 0 for a baseline.
        n_encoded: how many texts had to be encoded for them.
    """

    release: str
    cut: date
    pool: str
    n_mentions: int
    n_found: Mapping[int, int]
    n_texts: int
    n_encoded: int


@dataclass(frozen=True)
class _Target:
    """A partition of scores to be written, unless it is up to date."""

    partition: str
    snapshots: Snapshots
    cut: date
    mentions: Version
    pool: Pool
    inputs: Mapping[str, str]

    @property
    def release(self) -> str:
        """The name of the release of the mentions."""
        return self.snapshots.name


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
    row = known_linker(store.lake, name)
    if row is None:
        there = ", ".join(one["linker"] for one in known_linkers(store.lake))
        raise SettingsError(
            f"linker {name!r}: no such linker; there: {there}. Train it first: tempkb linker train RELEASE, or add "
            f"one: tempkb linker add {name} CHECKPOINT"
        )
    with store.lake.staging() as folder:
        run = _Run(store, row, request, folder, log)
        targets = run.targets()
        if any(one.release == row["release"] for one in targets):
            require_same_examples(store, row, folder)
        stale = [one for one in targets if not run.is_current(one)]
        if len(stale) < len(targets):
            log(f"{name}: {len(targets) - len(stale)} of {len(targets)} are up to date and not linked again")
        if stale:
            note_asked(store.home.linkers, name, run.words_of(stale))
        encoded = run.encode(targets if has_lost_vectors(store, name) else stale)
        # Those with the same candidates follow one another, so that these are read once.
        for one in sorted(stale, key=lambda one: (one.release, one.pool.cut, one.pool.name, one.cut)):
            run.link(one)
        write_nil_thresholds(store, row)
        return [run.linked(one, encoded) for one in targets]


class _Run:
    """A linker that links mentions."""

    def __init__(self, store: Store, row: Row, request: LinkRequest, folder: Path, log: Log) -> None:
        self._store, self._row, self._request, self._folder, self._log = store, row, request, folder, log
        self._has_weights = row["linker"] not in BASELINES
        # The vectors of the mentions of a release by snapshot, which are the same for each pool.
        self._queries: dict[tuple[str, date], npt.NDArray[np.float32]] = {}
        # The candidates that were read last, with what finds them.
        self._held: tuple[tuple[str, date, bytes], Any] | None = None

    def targets(self) -> list[_Target]:
        """Return what was asked for: each release, snapshot and pool."""
        releases = list(self._releases())
        known = sorted({cut for one in releases for cut in one.cuts})
        if odd := [cut for cut in self._request.cuts if cut not in known]:
            there = ", ".join(map(str, known)) or "none"
            raise SettingsError(
                f"linker score: found the snapshot {odd[0]}; expected one that a release of TempEL has; there: {there}"
            )
        pools = {one.name: self._pools(one, known) for one in releases}
        return [
            self._target(release, cut, pool)
            for release in releases
            for cut in release.cuts
            if not self._request.cuts or cut in self._request.cuts
            for pool in pools[release.name]
        ]

    def is_current(self, target: _Target) -> bool:
        """Return whether the scores of a partition cover what is wanted, and follow from the present sources."""
        held = self._store.lake.current(LINKING_SCORES.name, target.partition)
        return held is not None and self._covers(held, target)

    def encode(self, targets: Sequence[_Target]) -> dict[tuple[str, date, str], tuple[int, int]]:
        """Encode what is missing; return for partitions how many candidates were wanted first, and how many encoded."""
        if not self._has_weights or not targets:
            return {}
        wanted: dict[tuple[str, date, bytes], tuple[_Target, Candidates]] = {}
        for one in targets:
            found = self._candidates(one)
            pages = b"" if found.page_ids is None else found.page_ids.tobytes()
            wanted.setdefault((one.release, found.cut, pages), (one, found))
        # Candidates of a pool of fixed size are among those of their snapshot.
        wanted = {key: one for key, one in wanted.items() if not key[2] or (*key[:2], b"") not in wanted}
        savings = encode_missing(
            self._store, self._row, [found for _, found in wanted.values()], self._request, self._log
        )
        by_cut = dict(savings.by_cut)
        # What was encoded for a snapshot is said once, with the first of its pools.
        return {
            (one.release, one.cut, one.pool.name): (n_of(found), by_cut.pop(found.cut, 0))
            for one, found in wanted.values()
        }

    def words_of(self, targets: Sequence[_Target]) -> Mapping[str, str]:
        """Return the words of a request for some of the partitions that were asked for."""
        return link_words(self._request, (one.release for one in targets), (one.cut for one in targets))

    def link(self, target: _Target) -> None:
        """Link the mentions of a partition, and write it."""
        mentions = self._mentions(target)
        page_ids, best = self._ranked(target, mentions)
        rows = self._rows(target, mentions, page_ids, best, self._similarities(target, best))
        held = self._store.lake.current(LINKING_SCORES.name, target.partition)
        subsets = {self._request.subset: self._request.limit}
        if held is not None and self._has_sources(held, target):
            # Mentions of the other subset stay as they are.
            others = read_parquet(held.paths())
            others = others.filter(pa.compute.not_equal(others["subset"], self._request.subset))
            rows = pa.concat_tables([others, rows]).sort_by([(name, "ascending") for name in _KEY])
            subsets = {**_limits_of(held), **subsets}
        provenance = Provenance(target.inputs, {"subsets": subsets, **self._made_with()})
        self._store.write(LINKING_SCORES, target.partition, [rows], provenance)

    def linked(self, target: _Target, encoded: Mapping[tuple[str, date, str], tuple[int, int]]) -> Linked:
        """Say what is in a partition now of the subset that was asked for."""
        (held,) = self._store.lake.versions(LINKING_SCORES.name, [target.partition])
        counts = ", ".join(f"count(*) FILTER (WHERE rank <= {k})" for k in ACCURACIES)
        with asking() as memory:
            n, *found = memory.execute(
                f"SELECT count(*), {counts} FROM {parquet(held.paths())} WHERE subset = {literal(self._request.subset)}"
            ).fetchall()[0]
        n_texts, n_encoded = encoded.get((target.release, target.cut, target.pool.name), (0, 0))
        hits = dict(zip(ACCURACIES, found, strict=True))
        if n:
            shares = ", ".join(f"{k}: {hit / n:.3f}" for k, hit in hits.items())
            self._log(f"{target.partition}: {n:,} mentions, accuracy at {shares}")
        return Linked(target.release, target.cut, target.pool.name, n, hits, n_texts, n_encoded)

    def _releases(self) -> Iterator[Snapshots]:
        """The built releases that are wanted, as they were last built."""
        home = self._store.home
        there = {
            name: linkable.loaded().snapshots(entry)
            for benchmark, linkable in LINKED.values()
            for name in releases_of(home, benchmark.name)
            if (entry := entry_of(home, name).built) is not None
        }
        if odd := [name for name in self._request.releases if name not in there]:
            raise SettingsError(
                f"linker score: found the release {odd[0]!r}; expected a release of TempEL that is built; there: "
                f"{', '.join(there) or 'none'}"
            )
        for name, release in there.items():
            if not self._request.releases or name in self._request.releases:
                yield release

    def _pools(self, release: Snapshots, known: Sequence[date]) -> list[str]:
        """The pools that are wanted, without the days that are snapshots of other releases alone."""
        of_others = {cut.isoformat() for cut in known if cut not in release.cuts}
        for pool in self._request.pools:
            if pool in of_others:
                self._log(f"release {release.name}: left out of pool {pool}, which is no snapshot of it")
        return [pool for pool in self._request.pools if pool not in of_others]

    def _target(self, release: Snapshots, cut: date, name: str) -> _Target:
        pool = pool_of(self._store, release, cut, name, self._request.subset, self._log)
        mentions = need_version(self._store, release.tables.mentions, release.name, cut)
        # The texts are an input of each linker, since the similarity of the first candidates follows from them.
        inputs = {
            f"{mentions.table} {mentions.partition}": mentions.version,
            **pool.inputs,
            **of_release(self._store, release.name, pool.cut).inputs,
            **{column: self._row[column] for column in DIGESTS if self._row[column] is not None},
        }
        if self._row["linker"] == "prior":
            priors = priors_at(self._store, pool.cut)
            inputs[f"{priors.table} {priors.partition}"] = priors.version
        partition = scores_partition(self._row["linker"], release.name, cut.isoformat(), name)
        return _Target(partition, release, cut, mentions, pool, inputs)

    def _candidates(self, target: _Target) -> Candidates:
        return of_release(self._store, target.release, target.pool.cut, target.pool.page_ids)

    def _covers(self, held: Version, target: _Target) -> bool:
        """Whether scores follow from the present sources, and are of all mentions that are wanted."""
        limits = _limits_of(held)
        if not self._has_sources(held, target) or self._request.subset not in limits:
            return False
        limit, wanted = limits[self._request.subset], self._request.limit
        return limit is None or (wanted is not None and wanted <= limit)

    def _has_sources(self, held: Version, target: _Target) -> bool:
        """Whether scores were made from the present sources, in the precision that is wanted."""
        same = held.inputs == dict(target.inputs) and held.fits(LINKING_SCORES)
        same = same and held.is_of_present_code(LINKING_SCORES)
        return same and held.settings.get("dtype") == self._made_with().get("dtype")

    def _mentions(self, target: _Target) -> pa.Table:
        """The mentions that are wanted, in key order."""
        limit = f"LIMIT {self._request.limit}" if self._request.limit is not None else ""
        with asking() as memory:
            return memory.sql(
                f"""
                FROM (
                    SELECT {", ".join(_ASKED)} FROM {parquet(target.mentions.paths())}
                    WHERE subset = {literal(self._request.subset)}
                    ORDER BY md5(concat_ws('|', {", ".join(_KEY)})), {", ".join(_KEY)} {limit}
                ) ORDER BY {", ".join(_KEY)}
                """
            ).to_arrow_table()

    def _ranked(self, target: _Target, mentions: pa.Table) -> tuple[Integers, list[Best]]:
        """The page_ids of the candidates, and the best of them for each mention."""
        name = self._row["linker"]
        if name == "prior":
            page_ids = page_ids_of(self._store, target.snapshots, target.pool)
            priors = priors_at(self._store, target.pool.cut)
            return page_ids, list(rank_by_links(priors, mentions["mention"].to_pylist(), page_ids, N_TOP))
        if name == "bm25":
            page_ids, index = self._found_by(target, self._indexed)
            self._log(f"searching {len(page_ids):,} candidates for {counted(mentions.num_rows, 'mention')}: BM25")
            sentences = (mention_sentence(*one) for one in _contexts(mentions))
            return page_ids, list(index.rank(sentences, N_TOP, mentions["anchor_page_id"].to_pylist()))
        queries = self._encoded(target, mentions)
        page_ids, vectors = self._found_by(target, self._vectors)
        found = rank(queries, vectors, page_ids, N_TOP, self._log, self._request.device)
        return page_ids, list(zip(found.page_ids, found.scores, found.n_tied, strict=True))

    def _found_by(self, target: _Target, read: Callable[[Candidates], Any]) -> Any:
        """What `read` makes of candidates; the last of it is kept."""
        wanted = self._candidates(target)
        key = (target.release, wanted.cut, b"" if wanted.page_ids is None else wanted.page_ids.tobytes())
        if self._held is None or self._held[0] != key:
            self._held = None  # let go of it before the next is read
            self._held = key, read(wanted)
        return self._held[1]

    def _vectors(self, wanted: Candidates) -> tuple[Integers, npt.NDArray[np.float16]]:
        return vectors_of(self._store, self._row, wanted, self._folder)

    def _indexed(self, wanted: Candidates) -> tuple[Integers, Bm25]:
        return index_of(self._store, wanted, self._folder / "described.parquet")

    def _encoded(self, target: _Target, mentions: pa.Table) -> npt.NDArray[np.float32]:
        """The vectors of mentions, which are encoded once for all pools of a snapshot."""
        from tempkb.linking.inputs import MentionText

        key = (target.release, target.cut)
        if key not in self._queries:
            with on_threads(self._row["n_parameters"], self._device):
                texts = [MentionText(*one) for one in _contexts(mentions)]
                self._queries[key] = encoder_of(self._row, self._request).mentions(texts)
        return self._queries[key]

    def _similarities(self, target: _Target, best: Sequence[Best]) -> list[float | None]:
        """How similar the descriptions of consecutive candidates are, for each mention."""
        if not best:
            return []
        shown = np.unique(np.concatenate([pages for pages, _, _ in best]))
        rows = described(self._store, self._candidates(target), shown, self._folder / "shown.parquet")
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
        target: _Target,
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
            "release": pa.repeat(target.release, n),
            "cut": pa.repeat(pa.scalar(target.cut, pa.date32()), n),
            "pool": pa.repeat(target.pool.name, n),
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
        """Settings and versions that the manifest records."""
        if self._row["linker"] == "prior":
            return {}
        if self._row["linker"] == "bm25":
            return {"bm25s": _version_of("bm25s")}
        return {
            "dtype": self._request.dtype,
            "device": self._device,
            "batch_tokens": self._request.batch_tokens,
            **{name: _version_of(name) for name in ("torch", "transformers", "numpy")},
            "faiss": self._faiss,
        }

    @cached_property
    def _device(self) -> str:
        return device_of(self._request)

    @cached_property
    def _faiss(self) -> str:
        import faiss

        return str(faiss.__version__)


def _contexts(mentions: pa.Table) -> Iterator[tuple[str, str, str]]:
    """What precedes each mention, the mention, and what follows it."""
    return zip(*(mentions[name].to_pylist() for name in ("context_left", "mention", "context_right")), strict=True)


def _version_of(library: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _limits_of(version: Version) -> dict[str, int | None]:
    """The subsets that a partition has, each with the number of mentions to which it was limited, or None."""
    found: dict[str, int | None] = version.settings.get("subsets", {})
    return found
