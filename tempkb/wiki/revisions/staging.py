"""Rows on their way from a worker to the lake: sorted runs in Arrow files, per partition.

A worker collects rows of all partitions in columns, and flushes them from time to
time as one file with one batch per partition. Pages usually come in increasing
order, so the batches of a partition follow one another: they form one run, and
none of their bytes is written again. The step then merges, for each partition,
the runs of all workers.
"""

from array import array
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tempkb.core.windows import Granularity, Window, epoch_seconds, instant, window_of
from tempkb.store.tables import Table
from tempkb.store.types import INSTANT
from tempkb.wiki.dumps.elements import SHA1_CHARS
from tempkb.wiki.dumps.tables import PAGES
from tempkb.wiki.revisions.history import MINOR, NO_SHA1, SUPPRESSED, PageHistory
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS

_LOG_ROWS = 1 << 17
_SNAPSHOT_ROWS = 1 << 15
_TEXT_BYTES = 1 << 24
_PAGE_ROWS = 1 << 16
# A batch takes as long to write and to read as a hundred rows, so with many windows more rows are collected: this many
# for each window. The most windows, the weeks since 2001, make it 170,000 rows, and a worker some 100 MB larger.
_ROWS_OF_WINDOW = 128

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Rows of one partition in key order, from the pages of one worker: batches that follow one another.

    Attributes:
        folder: where the files of rows are.
        first: key of the first row.
        files: numbers of the files that hold the batches, in key order.
        batches: place of each batch in its file.
    """

    table: str
    partition: str
    folder: Path
    first: tuple[int, ...]
    files: tuple[int, ...]
    batches: tuple[int, ...]

    def paths(self) -> list[Path]:
        """The files with the batches."""
        return [_path(self.folder, self.table, number) for number in self.files]

    def read(self, without: Numbers) -> Iterator[pa.Table]:
        """Yield the rows one batch at a time; a file is opened when its batch is due.

        Args:
            without: pages, in increasing order, whose rows are left out.
        """
        for path, number in zip(self.paths(), self.batches, strict=True):
            with pa.memory_map(str(path)) as source:
                table = pa.Table.from_batches([pa.ipc.open_file(source).get_batch(number)])
            if len(without):
                pages = table["page_id"].to_numpy()
                places = np.searchsorted(without, pages).clip(max=len(without) - 1)
                table = table.filter(pa.array(without[places] != pages))
            yield table


class _Chains:
    """Joins batches of one partition into as few runs as possible; keeps the last key of each run.

    A batch is appended to the run that ends nearest before it, so batches that come in key order form one run.
    """

    def __init__(self) -> None:
        self._firsts: list[tuple[int, ...]] = []
        self._batches: list[tuple[array[int], array[int]]] = []
        self._lasts: list[tuple[tuple[int, ...], int]] = []

    def add(self, first: tuple[int, ...], last: tuple[int, ...], file: int, batch: int) -> None:
        """Add a batch."""
        n_before = bisect_left(self._lasts, (first,))
        if n_before:
            _, number = self._lasts.pop(n_before - 1)
        else:
            number = len(self._firsts)
            self._firsts.append(first)
            self._batches.append((array("L"), array("L")))
        insort(self._lasts, (last, number))
        for column, value in zip(self._batches[number], (file, batch), strict=True):
            column.append(value)

    def runs(self, table: str, partition: str, folder: Path) -> Iterator[Run]:
        """Yield the runs, in the order in which they began."""
        for first, (files, batches) in zip(self._firsts, self._batches, strict=True):
            yield Run(table, partition, folder, first, tuple(files), tuple(batches))


@dataclass
class Staging:
    """Collects a worker's rows and writes them as runs.

    Args:
        dump_id: of the dump that is read; page headers are written under it.
        dump_ids: by rank of the source file.
        windows: all windows of the home up to the horizon, oldest first.
        to_build: keys of the windows to build.
    """

    folder: Path
    wiki: str
    dump_id: str
    dump_ids: Sequence[str]
    windows: Sequence[Window]
    to_build: frozenset[str]
    rule: str = "standing"

    def __post_init__(self) -> None:
        self._starts = np.array([epoch_seconds(window.start) for window in self.windows], np.int64)
        self._end = epoch_seconds(self.windows[-1].end)
        self._by_key = {window.key: window for window in self.windows}
        self._enough = _ROWS_OF_WINDOW * len(self.to_build)
        self._n_files: Counter[str] = Counter()
        self._chains: defaultdict[tuple[str, str], _Chains] = defaultdict(_Chains)
        # Revisions outside the windows to build, and after all windows, by page, because a page may be read again.
        self._outside: list[tuple[Numbers, Numbers]] = []
        self._after: list[tuple[Numbers, Numbers]] = []
        self._heads: list[tuple[int, int, str, bool]] = []
        self._clear_log()
        self._snapshots: dict[str, list[tuple[Any, ...]]] = {}
        self._n_snapshots = 0
        self._texts: list[tuple[int, int, int, int, str]] = []
        self._text_bytes = 0

    def add_log(self, page: PageHistory) -> None:
        """Add the revisions of a settled page."""
        self._pages.extend([page.page_id] * len(page))
        for own, its in zip(self._log, _log_columns(page), strict=True):
            own.extend(its)
        self._sha1s += page.sha1s
        if len(self._pages) >= max(_LOG_ROWS, self._enough):
            self.flush_log()

    def add_snapshot(self, window: str, row: tuple[Any, ...]) -> None:
        """Add a row of a snapshot, in the order of `SNAPSHOT_COLUMNS`."""
        self._snapshots.setdefault(window, []).append(row)
        self._n_snapshots += 1
        if self._n_snapshots >= max(_SNAPSHOT_ROWS, self._enough):
            self.flush_snapshots()

    def add_text(self, page_id: int, revision_id: int, time: int, source: int, text: str) -> None:
        """Add the wikitext of a chosen revision."""
        self._texts.append((page_id, revision_id, time, source, text))
        self._text_bytes += len(text)
        if self._text_bytes >= _TEXT_BYTES:
            self.flush_texts()

    def flush(self) -> None:
        """Write all collected rows."""
        self.flush_log()
        self.flush_snapshots()
        self.flush_texts()
        self.flush_heads()

    def runs(self) -> list[Run]:
        """Return all runs that were written, by table and partition."""
        found = sorted(self._chains.items(), key=lambda one: one[0])
        return [run for (table, key), chains in found for run in chains.runs(table, key, self.folder)]

    def n_outside(self, without: Sequence[int] = ()) -> int:
        """Count revisions in none of the windows to build, leaving out the pages in `without`."""
        return _sum_without(self._outside, without)

    def n_after(self, without: Sequence[int] = ()) -> int:
        """Count revisions after all windows, leaving out the pages in `without`."""
        return _sum_without(self._after, without)

    def add_head(self, page_id: int, namespace: int, title: str, *, is_redirect: bool) -> None:
        """Add a page with the name that it has in its newest dump."""
        self._heads.append((page_id, namespace, title, is_redirect))
        if len(self._heads) >= _PAGE_ROWS:
            self.flush_heads()

    def flush_log(self) -> None:
        """Write the collected revisions, sorted by window and key; those of other windows are only counted."""
        if not self._pages:
            return
        pages = np.array(self._pages, np.int64)
        ids, parents, times, sizes, people, flags, sources = (np.array(column) for column in self._log)
        # The first window also holds everything before it.
        windows = np.maximum(np.searchsorted(self._starts, times, "right") - 1, 0)
        # Revisions after all windows get a number behind the last one, which is never built.
        windows[times >= self._end] = len(self.windows)
        to_build = np.array([window.key in self.to_build for window in self.windows] + [False])
        self._outside.append(np.unique(pages[~to_build[windows]], return_counts=True))
        self._after.append(np.unique(pages[times >= self._end], return_counts=True))
        # By window, then page, then revision: lexsort takes the most significant column last.
        order = np.lexsort((ids, pages, windows))
        rows = order[to_build[windows[order]]]
        names = _contributors(people)
        hashes = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(SHA1_CHARS), len(pages), [None, pa.py_buffer(bytes(self._sha1s))]
        )
        known = pc.not_equal(hashes, pa.scalar(NO_SHA1, pa.binary(SHA1_CHARS)))
        hashes = pc.cast(pc.cast(pc.if_else(known, hashes, None), pa.binary()), pa.string())
        starts = pa.array([window.start for window in self.windows], pa.date32())
        whole = _batch(
            REVISION_LOG,
            wiki=pa.repeat(self.wiki, len(rows)),
            dump_id=self._dumps_of(sources[rows]),
            window_start=starts.take(pa.array(windows[rows])),
            page_id=pages[rows],
            revision_id=ids[rows],
            parent_id=pa.array(parents[rows], mask=parents[rows] == 0),
            revision_timestamp=_instants(times[rows]),
            contributor=names.take(pa.array(rows)),
            text_sha1=hashes.take(pa.array(rows)),
            text_bytes=pa.array(sizes[rows], mask=sizes[rows] < 0),
            is_minor=pa.array((flags[rows] & MINOR) > 0),
            is_suppressed=pa.array((flags[rows] & SUPPRESSED) > 0),
        )
        built, begins = np.unique(windows[rows], return_index=True)
        self._write(REVISION_LOG, whole, [self.windows[number].key for number in built.tolist()], begins.tolist())
        self._clear_log()

    def flush_snapshots(self) -> None:
        """Write the collected snapshot rows, sorted by window and page."""
        if not self._snapshots:
            return
        keys, begins = sorted(self._snapshots), list[int]()
        lists: list[list[Any]] = [[] for _ in SNAPSHOT_COLUMNS]
        for key in keys:
            begins.append(len(lists[0]))
            for values, own in zip(lists, zip(*sorted(self._snapshots.pop(key)), strict=True), strict=True):
                values.extend(own)
        columns: dict[str, Any] = dict(zip(SNAPSHOT_COLUMNS, lists, strict=True))
        sources = columns.pop("source")
        for name in ("revision_timestamp", "page_created_at", "article_since", "last_stood_at"):
            columns[name] = _instants(columns[name])
        n = len(sources)
        windows = [self._by_key[key] for key in keys]
        numbers = pa.array(np.repeat(np.arange(len(keys)), np.diff([*begins, n])))
        whole = _batch(
            STABLE_SNAPSHOTS,
            wiki=pa.repeat(self.wiki, n),
            dump_id=self._dumps_of(sources),
            window_start=pa.array([window.start for window in windows], pa.date32()).take(numbers),
            cut=pa.array([window.cut for window in windows], pa.date32()).take(numbers),
            stability_rule=pa.repeat(self.rule, n),
            entity_id=pa.nulls(n, pa.string()),
            entity_id_source=pa.nulls(n, pa.string()),
            **columns,
        )
        self._write(STABLE_SNAPSHOTS, whole, keys, begins)
        self._n_snapshots = 0

    def flush_texts(self) -> None:
        """Write the collected wikitexts, sorted by quarter and key."""
        if not self._texts:
            return
        rows = sorted(((_quarter(row[2]), *row) for row in self._texts), key=lambda row: row[:3])
        quarters, pages, ids, times, sources, texts = zip(*rows, strict=True)
        whole = _batch(
            PAGE_WIKITEXTS,
            wiki=pa.repeat(self.wiki, len(rows)),
            dump_id=self._dumps_of(sources),
            quarter=list(quarters),
            page_id=list(pages),
            revision_id=list(ids),
            revision_timestamp=_instants(list(times)),
            wikitext=list(texts),
        )
        built = sorted(set(quarters))
        begins = [bisect_left(quarters, quarter) for quarter in built]
        self._write(PAGE_WIKITEXTS, whole, [quarter.isoformat() for quarter in built], begins)
        self._texts, self._text_bytes = [], 0

    def flush_heads(self) -> None:
        """Write the collected page headers, as rows of `pages` whose other columns are null."""
        if not self._heads:
            return
        pages, namespaces, titles, redirects = zip(*sorted(self._heads), strict=True)
        n = len(pages)
        rows = _batch(
            PAGES,
            wiki=pa.repeat(self.wiki, n),
            dump_id=pa.repeat(self.dump_id, n),
            page_id=list(pages),
            namespace=list(namespaces),
            title=list(titles),
            entity_id=pa.nulls(n, pa.string()),
            entity_id_source=pa.nulls(n, pa.string()),
            is_redirect=list(redirects),
            redirect_namespace=pa.nulls(n, pa.int32()),
            redirect_title=pa.nulls(n, pa.string()),
            is_disambiguation=pa.nulls(n, pa.bool_()),
        )
        self._write(PAGES, rows, [self.dump_id], [0])
        self._heads = []

    def _clear_log(self) -> None:
        self._pages = array("q")
        self._log = [array("q"), array("q"), array("q"), array("q"), array("q"), array("B"), array("H")]
        self._sha1s = bytearray()

    def _dumps_of(self, sources: Any) -> pa.Array:
        return pa.array(self.dump_ids, pa.string()).take(pa.array(sources, pa.int64()))

    def _write(self, table: Table, rows: pa.RecordBatch, partitions: Sequence[str], begins: Sequence[int]) -> None:
        """Write rows that are sorted by partition and key as one file with a batch for each partition.

        Args:
            rows: of all partitions together, since columns of few rows take as long to make as those of many.
            partitions: in the order of their rows.
            begins: number of the first row of each partition.
        """
        if not partitions:
            return
        file = self._n_files[table.name]
        self._n_files[table.name] += 1
        ends = [*begins[1:], rows.num_rows]
        firsts, lasts = (_keys(rows, table, places) for places in (begins, [end - 1 for end in ends]))
        path = _path(self.folder, table.name, file)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            for number, partition in enumerate(partitions):
                writer.write_batch(rows.slice(begins[number], ends[number] - begins[number]))
                self._chains[table.name, partition].add(firsts[number], lasts[number], file, number)


# The values that `add_snapshot` takes, in this order; page_id is first, so that rows sort by it.
SNAPSHOT_COLUMNS = (
    "page_id",
    "namespace",
    "title",
    "title_source",
    "revision_id",
    "revision_timestamp",
    "page_created_at",
    "article_since",
    "standing_seconds",
    "standing_share",
    "last_stood_at",
    "n_revisions_in_interval",
    "n_revisions",
    "n_contributors",
    "text_sha1",
    "has_text",
    "is_blank",
    "redirect_namespace",
    "redirect_title",
    "redirect_section",
    "is_disambiguation",
    "source",
)


def _sum_without(counts: Sequence[tuple[Numbers, Numbers]], without: Sequence[int]) -> int:
    skip = np.array(without, np.int64)
    return sum(int(n[~np.isin(pages, skip)].sum()) for pages, n in counts)


def _path(folder: Path, table: str, number: int) -> Path:
    return folder / f"{table}-{number:05}.arrow"


def _log_columns(page: PageHistory) -> "tuple[array[int], ...]":
    return page.ids, page.parents, page.times, page.sizes, page.people, page.flags, page.sources


def _quarter(second: int) -> date:
    return window_of(instant(second).date(), Granularity.QUARTER).start


def _keys(rows: pa.RecordBatch, table: Table, places: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the keys of the rows at some places."""
    at = pa.array(places, pa.int64())
    return list(zip(*(rows.column(name).take(at).to_pylist() for name in table.key), strict=True))


def _batch(declared: Table, **columns: Any) -> pa.RecordBatch:
    arrays = []
    for column in declared.columns:
        values = columns[column.name]
        arrays.append(values if isinstance(values, pa.Array) else pa.array(values, column.arrow))
    fitted = [values.cast(field.type) for values, field in zip(arrays, declared.schema, strict=True)]
    return pa.RecordBatch.from_arrays(fitted, schema=declared.schema)


def _instants(seconds: Any) -> pa.Array:
    return pc.multiply(pa.array(seconds, pa.int64()), 1_000_000).cast(pa.timestamp("us")).cast(INSTANT.arrow)


def _contributors(people: Numbers) -> pa.Array:
    """Turn account numbers into `u<number>`, hashes into `x<hex>`, and hidden people into null."""
    accounts = pc.binary_join_element_wise("u", pc.cast(pa.array(people), pa.string()), "")
    hashed = people < 0
    if hashed.any():
        hexes = np.full(len(people), None, object)
        hexes[hashed] = [f"x{-number:016x}" for number in people[hashed].tolist()]
        accounts = pc.if_else(pa.array(hashed), pa.array(hexes, pa.string()), accounts)
    return pc.if_else(pa.array(people == 0), pa.scalar(None, pa.string()), accounts)
