"""Builds the room's tables from dumps: hands items to workers and merges their sorted runs into the lake."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tempkb.core.errors import ContractError, SourceError
from tempkb.core.windows import Window, epoch_seconds
from tempkb.engine.choose import map_items
from tempkb.engine.items import Noting, Outcome
from tempkb.engine.progress import Meter
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.lake import RESUMABLE
from tempkb.store.merge import SortedRun, merge_sorted
from tempkb.store.store import Store, read_files
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.dumps.catalogue import Dump, DumpFile, day_in, group_items
from tempkb.wiki.dumps.pages import complete_headers, pages_provenance
from tempkb.wiki.dumps.tables import DUMP_FILES, PAGE_PROPS, PAGES
from tempkb.wiki.revisions.accounts import (
    Before,
    ElementCounts,
    after_in_words,
    count_elements,
    damages_in_words,
    decode_receipt,
    describe_read_files,
    encode_receipt,
    exclusions_of,
    item_name,
    new_try,
    plan_name,
)
from tempkb.wiki.revisions.changes import Rebuilt, counts_of, write_changes
from tempkb.wiki.revisions.choice import choice_of
from tempkb.wiki.revisions.entities import EntityIds
from tempkb.wiki.revisions.losses import is_of_other_files, noting_quarters, pages_input, rests_on_lost, setting_of
from tempkb.wiki.revisions.reading import Item, Receipt, SourceFile, read_item
from tempkb.wiki.revisions.sitelinks import link_pages
from tempkb.wiki.revisions.tables import ALL, PAGE_WIKITEXTS, REBUILD_CHANGES, REVISION_LOG, STABLE_SNAPSHOTS

_PRELOAD = ("tempkb.wiki.revisions.reading",)
Log = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to build from one dump.

    Attributes:
        dump: the dump whose history is read.
        tables: partition of `pages` that was made from SQL tables and has the Wikidata items; None if there is no
            table `page`. The pass then writes the dump's own pages from their headers.
        windows: those that the dump serves, oldest first.
        beside: without a table `page`, the dump whose other tables (`page_props`, `redirect`) complete the headers.
    """

    dump: Dump
    tables: str | None
    windows: tuple[Window, ...]
    beside: Dump | None = None

    @property
    def pages(self) -> str:
        """The partition of `pages` that gives the windows' items."""
        return self.tables or self.dump.dump_id


@dataclass
class Report:
    """Result of a build.

    Attributes:
        versions: the new or confirmed version of each (table, window key).
        bad: window key -> why it was not built; its old version is kept.
        kept: keys of windows that were built from another dump before.
        changes: for rebuilt windows, how many pages have changed, by kind of change.
        counts: per dump, what became of its `<revision>` elements.
        damages: file name -> where it is damaged.
        texts: versions of `page_wikitexts` by quarter.
        peak_mb: largest memory of a worker, in megabytes.
        cpu_seconds: processor time of all workers.
    """

    versions: dict[tuple[str, str], Version] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    changes: dict[str, dict[str, int]] = field(default_factory=dict)
    counts: dict[str, ElementCounts] = field(default_factory=dict)
    damages: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    texts: dict[str, Version] = field(default_factory=dict)
    peak_mb: int = 0
    cpu_seconds: float = 0.0


def build(
    store: Store,
    plans: Sequence[Plan],
    known: Sequence[Window],
    log: Log,
    *,
    wanted: frozenset[str] = ALL,
    rebuild: bool = False,
) -> Report:
    """Read the dump of each plan once and write log, texts and snapshots of its windows.

    Good windows are written. A window that fails is named in the report and keeps its old
    version.

    Args:
        plans: which dump builds which windows.
        known: all windows of the home up to the newest horizon, oldest first.
        rebuild: also build windows that were built from another dump before.
    """
    report = Report()
    for plan in plans:
        try:
            for file in (*plan.dump.history, *_tables_beside(plan)):
                file.verify()
        except SourceError as error:
            report.bad |= {window.key: str(error) for window in plan.windows}
            continue
        store.claim(plan.dump.wiki)
        windows = _to_build(store, plan, report, wanted, rebuild=rebuild)
        if windows:
            chosen = replace(plan, windows=windows)
            _Build(store, chosen, known, wanted, report, log, rebuild=rebuild).run()
    return report


def _to_build(store: Store, plan: Plan, report: Report, wanted: frozenset[str], *, rebuild: bool) -> tuple[Window, ...]:
    windows = []
    for window in plan.windows:
        if rebuild or not is_of_other_files(store, plan.dump, window, wanted):
            windows.append(window)
            continue
        report.kept.append(window.key)
        snapshot = store.lake.current(STABLE_SNAPSHOTS.name, window.key)
        if snapshot is not None and rests_on_lost(store, snapshot):
            report.bad[window.key] = (
                f"some of its texts, or of the tables of its dump, were lost to damage. Found the files of "
                f"{plan.dump.dump_id}; expected those of {setting_of(snapshot, 'dump_id')}, from which it was built. "
                f"Put those files back, or build it from the available dump: tempkb build --rebuild --window "
                f"{window.start}..{window.end}"
            )
    return tuple(windows)


class _Build:
    """Builds the windows of one dump."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        known: Sequence[Window],
        wanted: frozenset[str],
        report: Report,
        log: Log,
        *,
        rebuild: bool,
    ) -> None:
        self.store, self.plan, self.known, self.wanted, self.report, self.log = store, plan, known, wanted, report, log
        # If a revision's text is in the lake and in a dump, the lake's is kept, except in a rebuild.
        self.prefer = "new" if rebuild else "old"
        settings = store.home.settings
        self.settings = settings
        self.provenance = Provenance(
            inputs={file.path.name: file.sha256 for file in plan.dump.history},
            settings={
                "dump_id": plan.dump.dump_id,
                "tables": sorted(wanted),
                "granularity": str(settings.granularity),
                "lookback_days": settings.lookback_days,
                "namespaces": settings.namespaces,
                "stability_rule": settings.stability_rule,
                "pages": settings.pages,
                # This rule looks past every cut but the last, so its results are valid for this list of cuts only.
                **(
                    {"cuts": [str(window.cut) for window in plan.windows]}
                    if settings.stability_rule == "tempel"
                    else {}
                ),
            },
        )

    def run(self) -> None:
        items = self._items()
        if not items:
            self._refuse_nothing()
            return
        # Before the long pass, so that missing pages are reported at once.
        self._refuse_missing_pages()
        first, last = self.plan.windows[0], self.plan.windows[-1]
        labels = first.label if first is last else f"{first.label} to {last.label}"
        held = self.store.lake.resumable(RESUMABLE + plan_name(items[0]), f"{labels} from {self.plan.dump.dump_id}")
        with held as drafts, self.store.lake.staging() as staging:
            self.staging = staging
            self.before = Before(self.store.lake, drafts.folder)
            receipts, failures = self._read(items, drafts.folder)
            if not failures and not any(receipt.pages.total() for receipt in receipts):
                self._refuse_nothing()
                return
            if failures:
                why = "; ".join(_failure_of(outcome) for outcome in failures)
                for window in self.plan.windows:
                    self.report.bad[window.key] = why
                return
            self._write(receipts)
            drafts.is_finished = True

    def _refuse_nothing(self) -> None:
        why = (
            f"no page of {self.plan.dump.dump_id} is in the part of the wiki that the home holds (pages = "
            f"{self.settings.pages}); name a dump that has some, or use another home for another list or sample"
        )
        self.report.bad |= {window.key: why for window in self.plan.windows}

    def _items(self) -> list[Item]:
        settings = self.settings
        choice = choice_of(self.store.home)
        namespaces = None if settings.namespaces == "all" else frozenset(settings.namespaces)
        return [
            Item(
                name=_name_of(files),
                files=tuple(_source_file(self.plan.dump, file) for file in files),
                wiki=self.plan.dump.wiki,
                windows=tuple(self.known),
                to_build=frozenset(window.key for window in self.plan.windows),
                dump_id=self.plan.dump.dump_id,
                lookback_days=settings.lookback_days,
                namespaces=namespaces,
                salt=self.store.home.contributor_salt,
                strict=settings.strict,
                rule=settings.stability_rule,
                choice=choice,
            )
            for files in group_items(self.plan.dump.history)
            if any(choice.may_take_from(file.page_range) for file in files)
        ]

    def _read(self, items: Sequence[Item], folder: Path) -> tuple[list[Receipt], list[Outcome[Item, Receipt]]]:
        """Read the items that no earlier run finished; the receipts are in the order of the items."""
        noting = Noting(read_item, folder / "receipts", item_name, encode_receipt)
        noting.receipts.mkdir(exist_ok=True)
        done = {item.name: found for item in items if (found := noting.finished(item, decode_receipt)) is not None}
        if done:
            self.log(f"{len(done)} of {len(items)} items were finished by an earlier run and are not read again")
        rest = [item for item in items if item.name not in done]
        failures = []
        total = sum(file.path.stat().st_size for item in rest for file in item.files)
        with Meter(f"reading {self.plan.dump.dump_id}", total, self.log) as meter:
            own = new_try(folder, done.values())
            for outcome in map_items(self.settings, noting, rest, own, meter.at, _PRELOAD):
                if outcome.result is None:
                    failures.append(outcome)
                    continue
                done[outcome.item.name] = outcome.result
                self.report.cpu_seconds += outcome.result.cpu_seconds
                self.report.peak_mb = max(self.report.peak_mb, outcome.result.peak_mb)
                for name, program in outcome.result.notes.items():
                    self.log(f"{name}: read by {program}")
        return [done[item.name] for item in items if item.name in done], failures

    def _write(self, receipts: Sequence[Receipt]) -> None:
        self.before.note([window.key for window in self.plan.windows], (REVISION_LOG.name, STABLE_SNAPSHOTS.name))
        self.runs = _runs_by_partition(receipts)
        try:
            pages = self._pages()
            if PAGE_WIKITEXTS.name in self.wanted:
                self._write_texts()
        except (ContractError, SourceError) as error:
            self.report.bad |= {window.key: str(error) for window in self.plan.windows}
            return
        self.with_items = replace(self.provenance, inputs={**self.provenance.inputs, **pages_input(pages)})
        entities = EntityIds(pages.paths())
        # Written first, as if every window succeeds. If this run is killed from here on, no later run reads the files
        # again, and what the pass found in them would otherwise be lost.
        self._account(receipts, self._expected())
        for window in self.plan.windows:
            try:
                if REVISION_LOG.name in self.wanted:
                    self._write_log(window)
                if STABLE_SNAPSHOTS.name in self.wanted:
                    self._write_snapshot(window, entities, receipts)
            except ContractError as error:
                self.report.bad[window.key] = str(error)
        if self.prefer == "new":
            self._forget_hidden_texts()
        self._report_counts(receipts)
        for window in self.plan.windows:
            self._write_changes(window)

    def _write_log(self, window: Window) -> None:
        rows = self._merged(REVISION_LOG, window.key)
        version = self.store.write(REVISION_LOG, window.key, rows, self.provenance, staging=self.staging)
        self.report.versions[REVISION_LOG.name, window.key] = version

    def _write_snapshot(self, window: Window, entities: EntityIds, receipts: Sequence[Receipt]) -> None:
        quarters = set[str]()
        with_texts = {quarter for table, quarter in self.runs if table == PAGE_WIKITEXTS.name}
        rows = map(entities.attach, noting_quarters(self._merged(STABLE_SNAPSHOTS, window.key), with_texts, quarters))
        made_with = replace(self.with_items, fills={PAGE_WIKITEXTS.name: quarters})
        elsewhere = sum(receipt.other_namespace[window.key] for receipt in receipts)
        ended = sum(receipt.not_in_newer[window.key] for receipt in receipts)
        exclusions = [
            Exclusion("other_namespace", elsewhere, "page lay in a namespace that the home does not hold"),
            Exclusion("not_in_newer", ended, "the newer dump lacks the page or has it damaged: its text is not known"),
        ]
        version = self.store.write(STABLE_SNAPSHOTS, window.key, rows, made_with, exclusions, self.staging)
        self.report.versions[STABLE_SNAPSHOTS.name, window.key] = version

    def _write_changes(self, window: Window) -> None:
        """Of a window that was built before from other files and has changed, say how, page by page."""
        old = self.before.of(window.key)
        new = {name: one for (name, key), one in self.report.versions.items() if key == window.key}
        rebuilt = Rebuilt(window, {name: one for name, one in old.items() if name in new}, new)
        if not rebuilt.is_changed:
            return
        pages = self.store.lake.versions(PAGES.name, [self.plan.pages])
        version = write_changes(self.store, rebuilt, pages, self.with_items)
        self.report.versions[REBUILD_CHANGES.name, window.key] = version
        counts = counts_of(version, self.store.read(REBUILD_CHANGES.name, window_start=window.key))
        if counts:
            self.report.changes[window.key] = counts

    def _write_texts(self) -> None:
        for quarter in sorted(partition for table, partition in self.runs if table == PAGE_WIKITEXTS.name):
            rows = self._merged(PAGE_WIKITEXTS, quarter)
            filling = replace(self.provenance, filled_by=[window.key for window in self.plan.windows])
            self.report.texts[quarter] = self.store.add(
                PAGE_WIKITEXTS, quarter, rows, filling, prefer=self.prefer, staging=self.staging
            )

    def _forget_hidden_texts(self) -> None:
        """Remove texts from the lake that are suppressed in the dump of a rebuild, according to its log."""
        logs = [version for (name, _), version in self.report.versions.items() if name == REVISION_LOG.name]
        paths = [path for version in logs for path in version.paths()]
        logged = read_files(paths, ["revision_id", "is_suppressed"])
        ids = [rows.filter(rows["is_suppressed"])["revision_id"].combine_chunks() for rows in logged]
        hidden = pa.concat_arrays([pa.array([], pa.int64()), *ids])
        for quarter in self.store.lake.partitions(PAGE_WIKITEXTS.name):
            if self.store.forget(PAGE_WIKITEXTS, quarter, "revision_id", hidden, self.provenance):
                self.log(f"texts that are suppressed now were removed from the quarter {quarter}")

    def _pages(self) -> Version:
        """Return the pages that give the windows' items: from SQL tables, else from the headers that were read."""
        plan, dump_id = self.plan, self.plan.pages
        if plan.tables is None:
            rows = self._merged(PAGES, dump_id)
            if plan.beside is not None:
                rows = complete_headers(rows, plan.beside)
            files = (*plan.dump.history, *_tables_beside(plan))
            self.store.write(PAGES, dump_id, rows, pages_provenance(plan.dump, files, dump_id))
        version = link_pages(self.store, dump_id)
        if version is None:
            raise self._no_pages()
        if plan.tables is None:
            self.report.versions[PAGES.name, dump_id] = version
        return version

    def _merged(self, table: Table, partition: str) -> Iterator[pa.Table]:
        return merge_sorted(self.runs.get((table.name, partition), ()), table.key)

    def _expected(self) -> set[str]:
        """Return the windows whose log this build writes if everything succeeds."""
        return {window.key for window in self.plan.windows} if REVISION_LOG.name in self.wanted else set()

    def _account(self, receipts: Sequence[Receipt], written: set[str], logged: int = 0) -> ElementCounts:
        """Write what the pass found in each file, and what became of its revisions.

        Args:
            written: windows whose log is written, or will be.
            logged: rows of these logs; needed only if windows have failed.
        """
        dump = self.plan.dump
        counts = count_elements(receipts, logged, all_written=len(written) == len(self.plan.windows))
        damages = damages_in_words(receipts)
        exclusions = exclusions_of(counts, self._logged_before(written), damages)
        rows = pa.Table.from_pylist(describe_read_files(dump, receipts, damages), DUMP_FILES.schema)
        self.store.write(DUMP_FILES, dump.dump_id, [rows], self.provenance, exclusions)
        return counts

    def _report_counts(self, receipts: Sequence[Receipt]) -> None:
        """Report what became of the revisions, and correct the written counts if a window has failed."""
        dump = self.plan.dump
        # The report also covers windows that were built from other dumps.
        written = {
            window.key: version
            for window in self.plan.windows
            if (version := self.report.versions.get((REVISION_LOG.name, window.key))) is not None
        }
        logged = sum(version.rows for version in written.values())
        if written.keys() == self._expected():
            all_written = len(written) == len(self.plan.windows)
            self.report.counts[dump.dump_id] = count_elements(receipts, logged, all_written=all_written)
        else:
            self.report.counts[dump.dump_id] = self._account(receipts, set(written), logged)
        damages = damages_in_words(receipts)
        self.report.damages |= damages
        for name, damage in damages.items():
            self.log(f"{name} is damaged: {damage}. Every complete page that could be read was kept.")
        listed = choice_of(self.store.home).n_listed
        found = sum(receipt.pages.total() for receipt in receipts)
        if found < listed:
            self.report.warnings.append(f"{dump.dump_id} has {found} of the {listed} pages that the home's list names")
        if said := after_in_words(dump, receipts, self.known[-1], datetime.now(UTC).date()):
            self.report.warnings.append(said)

    def _logged_before(self, written: set[str]) -> int:
        """Return the rows of this dump in the logs of windows that were built earlier and not now."""
        versions = [one for one in self.store.lake.versions(REVISION_LOG.name) if one.partition not in written]
        return sum(version.rows for version in versions if setting_of(version, "dump_id") == self.plan.dump.dump_id)

    def _refuse_missing_pages(self) -> None:
        """Check, before the long pass, that the pages of SQL tables have been built."""
        if self.plan.tables is None:
            if self.plan.beside is None:
                self.log(
                    f"dump {self.plan.dump.dump_id} has no SQL tables: pages come from the XML headers, and their "
                    "items from Wikidata's site links once a Wikidata dump is read"
                )
            return
        version = self.store.lake.current(PAGES.name, self.plan.tables)
        if version is None or not version.fits(PAGES):
            raise self._no_pages()

    def _no_pages(self) -> SourceError:
        return SourceError(
            f"pages of {self.plan.pages} are not built yet; build them first: tempkb build --select pages, "
            f"or materialise `pages` for {self.plan.pages}"
        )


def _runs_by_partition(receipts: Sequence[Receipt]) -> dict[tuple[str, str], list[SortedRun]]:
    """Return the runs to merge by table and partition, in the order of the items."""
    runs: defaultdict[tuple[str, str], list[SortedRun]] = defaultdict(list)
    for receipt in receipts:
        superseded = np.array(receipt.superseded, np.int64)
        for run, is_first in receipt.runs:
            without = superseded if is_first else superseded[:0]
            runs[run.table, run.partition].append(SortedRun(run.first, partial(run.read, without)))
    return dict(runs)


def _tables_beside(plan: Plan) -> list[DumpFile]:
    """Return the tables that complete the headers of an export: all but `page`, which does not exist."""
    if plan.tables is not None or plan.beside is None:
        return []
    return [table for kind in (PAGE_PROPS, "redirect") if (table := plan.beside.table(kind)) is not None]


def _name_of(files: Sequence[DumpFile]) -> str:
    names = [file.path.name for file in files]
    return " + ".join(names) if len(names) < 4 else f"{names[0]} + {len(names) - 1} more"


def _failure_of(outcome: Outcome[Item, Receipt]) -> str:
    """Return why an item failed; most messages already begin with the file's name."""
    name, failure = outcome.item.name, outcome.failure
    return failure if failure.startswith(f"{name}: ") else f"{name}: {failure}"


def _source_file(dump: Dump, file: DumpFile) -> SourceFile:
    """Return a file with the dump that it comes from; files named together may come from several."""
    day = day_in(file.path.name)
    if dump.is_named and day and dump.date:
        own, horizon = f"{dump.wiki}-{day:%Y%m%d}", epoch_seconds(day)
    else:
        own, horizon = dump.dump_id, dump.horizon
    return SourceFile(file.path, own, file.sha256, horizon, file.full_range)
