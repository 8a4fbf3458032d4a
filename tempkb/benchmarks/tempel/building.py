"""Builds a release of TempEL from the tables of its cuts. Does not use Dagster.

A release is frozen: a cut that is built is never written again, and the plan of its
base cuts decides what later cuts may contain.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.benchmarks.register import need_version, partition_of, release_version
from tempkb.benchmarks.source_files import files_of, with_files
from tempkb.benchmarks.tempel.candidates import filter_counts, judge, kept_sql, left_by_filters, use_mentions
from tempkb.benchmarks.tempel.extension import balance, balanced_mentions, extend_plan, renamed, shortfall_of
from tempkb.benchmarks.tempel.frozen import plan_rows, read_plan
from tempkb.benchmarks.tempel.lists import mark_lists
from tempkb.benchmarks.tempel.planning import Plan, make_plan
from tempkb.benchmarks.tempel.refusal import Left, refusal
from tempkb.benchmarks.tempel.releases import Release, built_cuts
from tempkb.benchmarks.tempel.selection import choose_mentions, pool_sql
from tempkb.benchmarks.tempel.statistics import figures_of
from tempkb.benchmarks.tempel.tables import (
    TEMPEL_ENTITIES,
    TEMPEL_FILTERS,
    TEMPEL_MENTIONS,
    TEMPEL_PLANS,
    TEMPEL_RELEASES,
    TEMPEL_STATISTICS,
)
from tempkb.errors import ContractError, DesignError
from tempkb.mentions.tables import MENTION_PRIORS, MENTIONS, PAGE_TEXTS
from tempkb.mentions.texts import holds_winners, require_all_texts
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.revisions.windows import not_built
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import asking, spilling_to, view_files
from tempkb.store.parquet import read_parquet
from tempkb.store.quoting import file_names, literal
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wikidata.list_items import fill_list_items
from tempkb.wikidata.scope import language_of_wiki
from tempkb.windows import window_ending
from tempkb.wording import counted

Log = Callable[[str], None]
_BATCH_ROWS = 1 << 16
_OF_CUT = (MENTIONS, MENTION_PRIORS, STABLE_SNAPSHOTS)


@dataclass
class Written:
    """The result of writing a release.

    Attributes:
        versions: versions by (table, partition).
        filters: what each filter drops, for the cuts that were just built.
        left: what each filter leaves, by cut.
        fresh: partitions of snapshots whose promises were never checked before.
    """

    versions: dict[tuple[str, str], Version] = field(default_factory=dict)
    filters: dict[date, list[tuple[str, str, int, int]]] = field(default_factory=dict)
    left: dict[date, list[Left]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)


def write_release(store: Store, release: Release, log: Log) -> Written:
    """Write the missing cuts of a release: the base cuts together, each added cut by itself.

    The caller undoes what was written if this fails, or if a promise is broken.

    Raises:
        DesignError: the design does not fit the home, or the data does not suffice for it.
        ContractError: a cut's tables are not built.
    """
    written = Written()
    with store.lake.staging() as folder, spilling_to(folder) as connection:
        _check(store, release)
        builder = _Builder(store, release, folder, connection, written, log)
        if release.made_from:
            builder.write_balanced()
        else:
            builder.write_base()
            for cut in release.added:
                builder.write_extension(cut)
        builder.write_release()
    return written


class _Builder:
    """Builds one release; what the filters keep is in files in `folder`, and all cuts share one connection."""

    def __init__(
        self,
        store: Store,
        release: Release,
        folder: Path,
        connection: duckdb.DuckDBPyConnection,
        written: Written,
        log: Log,
    ) -> None:
        self.store, self.release, self.folder, self.written, self.log = store, release, folder, written, log
        self.connection = connection
        self.design, self.wiki = release.design, store.home.wiki or ""
        # The versions of Wikidata's tables by which list pages were recognised, by cut.
        self._of_lists: dict[date, list[Version]] = {}

    def write_base(self) -> None:
        """Plan the base cuts and write them, unless all are built."""
        cuts = self.design.snapshots
        if all(self._is_built(cut) for cut in cuts):
            self.log(f"{self.release.name}: its {len(cuts)} base snapshots are built already")
            return
        redirects = self._redirects(cuts) if self.design.rules == "paper" else []
        for cut in cuts:
            self._judge(cut, redirects)
        connection = self._over_kept(cuts)
        plan = make_plan(connection, self.design)
        self._refuse_nothing(plan)
        for cut in cuts:
            self._write_cut(cut, plan)

    def _refuse_nothing(self, plan: Plan) -> None:
        """Refuse a plan without continual entities or with unequal snapshots; warn of one without new entities.

        Every design asks for continual entities (`nr_ct_ents_per_cut`), but none asks for new ones. In a wiki, or in
        years, with few new articles, a release without new entities is valid.
        """
        name, cuts, design = self.release.name, self.design.snapshots, self.design
        if not plan.splits["continual"]:
            poorest = min(cuts, key=lambda cut: (self.written.left[cut][-1].entities, cut))
            common = (
                f"kept at {'all' if len(cuts) > 1 else 'the'} {counted(len(cuts), 'snapshot')}, and no new article at "
                "the first"
            )
            shared = f"surfaces for three subsets, ed_men_subsets {design.ed_men_subsets}"
            steps = [
                *self.written.left[poorest],
                Left("snapshots", common, plan.n_common),
                Left("ed_men_subsets", shared, 0),
            ]
            raise DesignError(f"{name}: {refusal(design, self.release.preset, str(poorest), steps)}")
        if design.equal_snapshots and not is_level(plan, cuts):
            raise ContractError(
                f"{name}: the plan's snapshots are not equal; this is a fault of tempkb, please report it"
            )
        if not plan.splits["new"]:
            poorest = min(cuts, key=lambda cut: (plan.n_shared[cut], cut))
            why = "none of them passes the filters"
            if n := plan.n_born[poorest]:
                why = f"none of the {n:,} that pass the filters has surfaces for three subsets"
            self.written.warnings.append(
                f"{name} has no new entities: of those that are new at snapshot {poorest}, {why}"
            )

    def write_extension(self, cut: date) -> None:
        """Add a cut to the frozen plan, unless it is built."""
        if self._is_built(cut):
            return
        # The frozen plan includes earlier extensions, so that surfaces stay in the subsets where these put them.
        frozen = self._frozen_plan(self.release.cuts[: self.release.cuts.index(cut)])
        redirects = self._redirects([*self.design.snapshots, cut]) if self.design.rules == "paper" else []
        self._judge(cut, redirects)
        reasons = self._reasons(cut, frozen)
        connection = self._over_kept([cut])
        plan = extend_plan(connection, self.design, frozen, cut, self.release.before(cut), reasons)
        lacking, where = shortfall_of(plan, frozen, self.design, cut)
        if lacking > self.design.max_shortfall:
            raise DesignError(
                f"{self.release.name}: snapshot {cut} falls short of the frozen plan by {lacking:.1%} ({where}); "
                f"max_shortfall is {self.design.max_shortfall:.1%}. Leave the snapshot out, or make a "
                f"release that allows it, with --set max_shortfall={math.ceil(lacking * 100) / 100}"
            )
        self._write_cut(cut, plan)

    def write_balanced(self) -> None:
        """Write the balanced release of another one, with only the entities that all of its snapshots have."""
        cuts = self.release.cuts
        if all(self._is_built(cut) for cut in cuts):
            return
        for cut in cuts:
            if not self._has_rows(cut, self.release.made_from):
                raise DesignError(f"{self.release.made_from}: snapshot {cut} is not built, so it cannot be balanced")
        source = read_plan(self.store, self.release.made_from, cuts)
        plan = balance(source, self.design, cuts)
        for cut in cuts:
            mentions, entities = (
                need_version(self.store, table, self.release.made_from, cut).paths()
                for table in (TEMPEL_MENTIONS, TEMPEL_ENTITIES)
            )
            chosen = balanced_mentions(mentions, plan, cut, self.release.name, self.design.seed)
            self._write_plan(cut, plan)
            self._write(TEMPEL_MENTIONS, cut, iter([chosen]))
            self._write(TEMPEL_ENTITIES, cut, iter([renamed(entities, self.release.name)]))

    def write_release(self) -> None:
        """Write the release's statistics and its own row."""
        release, cuts = self.release, self.release.cuts
        now = {partition for _, partition in self.written.versions}
        self._write_lost_filters()
        plan = self._frozen_plan(cuts)
        lacking = max(shortfall_of(plan, plan, self.design, cut)[0] for cut in cuts)
        snapshots = [self._need(STABLE_SNAPSHOTS, cut) for cut in cuts]
        row = {
            "wiki": self.wiki,
            "release": release.name,
            "made_from": release.made_from or None,
            "preset": release.preset,
            "granularity": str(self.store.home.settings.granularity),
            "cuts": list(cuts),
            "n_base_cuts": len(self.design.snapshots),
            "dump_ids": _dump_ids(snapshots),
            "design": json.dumps(self.design.to_json(), sort_keys=True),
            "is_equal": lacking == 0 and is_level(plan, cuts),
            "shortfall": lacking,
        }
        inputs = {f"{one.table} {one.partition}": one.version for one in self._own_versions()}
        own_row = pa.Table.from_pylist([row], TEMPEL_RELEASES.schema)
        # Texts may have been cleaned again since earlier snapshots were built, so promises about texts are checked for
        # new snapshots only. The register says which these are, because a killed run may have written snapshots whose
        # promises were never checked.
        known = cuts if release.made_from else built_cuts(self.store.home, release.name)
        fresh = {partition_of(release.name, cut) for cut in cuts if cut not in known}
        # If one base snapshot was damaged, all of them are written again, so all partitions written now are new.
        self.written.fresh = fresh | (set() if release.made_from else now)
        provenance = Provenance(inputs, self.design.to_json())
        figures = sorted(self._statistics(), key=lambda one: tuple(one[name] for name in TEMPEL_STATISTICS.key))
        statistics = [pa.Table.from_pylist(figures, TEMPEL_STATISTICS.schema)]
        self._note(self.store.write(TEMPEL_STATISTICS, release.name, statistics, provenance))
        self._note(self.store.write(TEMPEL_RELEASES, release.name, [own_row], provenance))

    def _frozen_plan(self, cuts: Sequence[date]) -> Plan:
        return read_plan(self.store, self.release.name, cuts)

    def _is_built(self, cut: date) -> bool:
        """Return whether all tables of a cut are written; a run may have been killed between two of them."""
        are_counted = bool(self.release.made_from) or self._version(TEMPEL_FILTERS, cut) or cut in self._figure_6()
        return bool(are_counted) and self._has_rows(cut)

    def _has_rows(self, cut: date, release: str = "") -> bool:
        return all(self._version(table, cut, release) for table in (TEMPEL_PLANS, TEMPEL_MENTIONS, TEMPEL_ENTITIES))

    def _version(self, table: Table, cut: date, release: str = "") -> Version | None:
        name = release or self.release.name
        return release_version(self.store, table, name, partition_of(name, cut))

    def _judge(self, cut: date, redirects: Sequence[int]) -> None:
        """Apply the filters at a cut, count what they drop, and write what they keep to a file."""
        connection = self._over_cut(cut)
        use_mentions(connection, self.design)
        judge(connection, self.design, redirects)
        self.written.filters[cut] = filter_counts(connection, self.design)
        self.written.left[cut] = left_by_filters(connection, self.design)
        path = self.folder / f"kept-{cut}.parquet"
        connection.execute(
            f"COPY (SELECT DATE {literal(cut)} AS cut, * FROM ({kept_sql(self.design)})) TO {literal(path)}"
        )
        counted = {(name, how): mentions for name, how, _, mentions in self.written.filters[cut]}
        self.log(f"{cut}: {counted['all', 'kept']:,} of {counted['all', 'offered']:,} mentions pass the filters")

    def _write_cut(self, cut: date, plan: Plan) -> None:
        self._write_plan(cut, plan)
        # Written with the cut and not with the release, because a later run that finds the cut built needs them too.
        self._write(TEMPEL_FILTERS, cut, _batches(self._filter_rows(cut, self.written.filters[cut]), TEMPEL_FILTERS))
        counts = [
            Exclusion(f"filter {name}, {how}", n, f"{mentions} mentions")
            for name, how, n, mentions in self.written.filters[cut]
            if how == "in_order"
        ]
        assigned = plan.assignments(cut)
        connection = self._over_cut(cut)
        use_mentions(connection, self.design)
        self._over_kept([cut])
        connection.register("assigned", assigned)
        rows = choose_mentions(connection, self.design, self.release.name, cut)
        self._write(TEMPEL_MENTIONS, cut, rows, counts)
        self.log(f"{cut}: mentions of {assigned.num_rows:,} surfaces are written")
        of_plan = assigned.group_by(["page_id", "category"]).aggregate([])
        connection.register("of_plan", of_plan)
        pool = connection.sql(pool_sql(self.design, self.release.name)).to_arrow_reader(_BATCH_ROWS)
        self._write(TEMPEL_ENTITIES, cut, (pa.Table.from_batches([batch]) for batch in pool))

    def _write_lost_filters(self) -> None:
        """Write `tempel_filters` of built cuts again from the release's statistics if it was lost to damage."""
        lost = self.store.lake.lost(TEMPEL_FILTERS.name)
        for cut in self.release.cuts:
            partition = partition_of(self.release.name, cut)
            if partition not in lost:
                continue
            figures = self.store.lake.current(TEMPEL_STATISTICS.name, self.release.name)
            if figures is not None and (counts := self._figure_6().get(cut)):
                inputs = {f"{figures.table} {figures.partition}": figures.version}
                provenance = Provenance(inputs, self.design.to_json())
                rows = _batches(self._filter_rows(cut, counts), TEMPEL_FILTERS)
                self._note(self.store.write(TEMPEL_FILTERS, partition, rows, provenance))

    def _filter_rows(self, cut: date, counts: list[tuple[str, str, int, int]]) -> Iterator[dict[str, object]]:
        for name, how, n, mentions in sorted(counts):
            yield {
                "wiki": self.wiki,
                "release": self.release.name,
                "cut": cut,
                "filter": name,
                "applied": how,
                "n_surfaces": n,
                "n_mentions": mentions,
            }

    def _write_plan(self, cut: date, plan: Plan) -> None:
        rows = plan_rows(plan, cut, self.release.name, self.wiki)
        self._write(TEMPEL_PLANS, cut, _batches(rows, TEMPEL_PLANS))

    def _write(self, table: Table, cut: date, rows: Iterator[pa.Table], left_out: Sequence[Exclusion] = ()) -> None:
        provenance = Provenance(self._inputs(cut), self.design.to_json())
        partition = partition_of(self.release.name, cut)
        self._note(self.store.write(table, partition, rows, provenance, left_out))

    def _statistics(self) -> Iterator[dict[str, Any]]:
        cuts = self.release.cuts
        connection = self.connection
        for name, table in (("release_mentions", TEMPEL_MENTIONS), ("release_entities", TEMPEL_ENTITIES)):
            files = self.store.lake.files(table.name, [partition_of(self.release.name, cut) for cut in cuts])
            view_files(connection, name, files)
        view_files(connection, "texts", self.store.lake.files(PAGE_TEXTS.name), PAGE_TEXTS.schema)
        yield from figures_of(connection, self.wiki, self.release.name, cuts, self._filters())

    def _filters(self) -> dict[date, list[tuple[str, str, int, int]]]:
        """What the filters dropped at each cut; empty for a balanced release."""
        return {
            cut: [(row["filter"], row["applied"], row["n_surfaces"], row["n_mentions"]) for row in _rows_of(version)]
            for cut in self.release.cuts
            if (version := self._version(TEMPEL_FILTERS, cut)) is not None
        }

    def _figure_6(self) -> dict[date, list[tuple[str, str, int, int]]]:
        """What the filters dropped at each cut, from the release's present statistics."""
        held = self.store.lake.current(TEMPEL_STATISTICS.name, self.release.name)
        found: dict[date, dict[tuple[str, str], dict[str, int]]] = {}
        for row in _rows_of(held) if held else ():
            if row["figure"] == "figure_6":
                name, _, how = row["series"].partition(", ")
                found.setdefault(row["cut"], {}).setdefault((name, how), {})[row["label"]] = int(row["value"])
        return {
            cut: [(*key, labels["surfaces of entities"], labels["mentions"]) for key, labels in counts.items()]
            for cut, counts in found.items()
        }

    def _reasons(self, cut: date, frozen: Plan) -> dict[int, str]:
        """Why entities of the frozen plan are missing at a cut, as far as the snapshot shows it."""
        pages = sorted(frozen.splits["continual"])
        connection = self._over_cut(cut)
        rows = connection.execute(
            """
            SELECT wanted.page_id, CASE
                WHEN snapshot.page_id IS NULL THEN 'the page is gone'
                WHEN snapshot.redirect_title IS NOT NULL THEN 'it redirects to ' || snapshot.redirect_title
                WHEN snapshot.namespace <> 0 THEN 'it left the articles'
                WHEN snapshot.is_blank THEN 'its page is blank'
                WHEN snapshot.is_disambiguation THEN 'it is a disambiguation'
            END AS reason
            FROM (SELECT unnest($pages::BIGINT[]) AS page_id) AS wanted LEFT JOIN snapshot USING (page_id)
            """,
            {"pages": pages},
        ).fetchall()
        return {page: reason for page, reason in rows if reason is not None}

    def _redirects(self, cuts: Sequence[date]) -> list[int]:
        """The pages that were redirects at any of the cuts; the paper's code drops them at all cuts."""
        files = [path for cut in cuts for path in self._need(STABLE_SNAPSHOTS, cut).paths()]
        with asking() as connection:
            rows = connection.execute(
                "SELECT DISTINCT page_id FROM read_parquet($files) WHERE redirect_title IS NOT NULL ORDER BY page_id",
                {"files": file_names(files)},
            ).fetchall()
        return [page for (page,) in rows]

    def _over_cut(self, cut: date) -> duckdb.DuckDBPyConnection:
        """Make views over the tables of a cut, and over the texts of all quarters with its winners."""
        for table in _OF_CUT:
            name = "snapshot" if table is STABLE_SNAPSHOTS else table.name
            view_files(self.connection, name, self._need(table, cut).paths())
        known = self.store.lake.partitions(PAGE_TEXTS.name)
        quarters = [key for key in known if holds_winners(self.store, key, cut)]
        view_files(self.connection, "texts", self.store.lake.files(PAGE_TEXTS.name, quarters), PAGE_TEXTS.schema)
        if self.design.rules != "paper":
            self._of_lists[cut] = fill_list_items(self.store, self.connection, cut)
        mark_lists(self.connection, self.design, language_of_wiki(self.store.home.settings))
        return self.connection

    def _over_kept(self, cuts: Sequence[date]) -> duckdb.DuckDBPyConnection:
        """Make the view `kept` over what the filters kept at some cuts."""
        view_files(self.connection, "kept", [self.folder / f"kept-{cut}.parquet" for cut in cuts])
        return self.connection

    def _need(self, table: Table, cut: date) -> Version:
        window = window_ending(cut, self.store.home.settings.granularity)
        version = self.store.lake.current(table.name, window.key)
        if version is None:
            raise not_built(self.store, table.name, cut)
        return version

    def _inputs(self, cut: date) -> dict[str, str]:
        """What the rows of a cut are made from: tables, and the files of dumps behind them."""
        if not self.release.made_from:
            return with_files(
                self.store, [*(self._need(table, cut) for table in _OF_CUT), *self._of_lists.get(cut, [])]
            )
        sources = [
            need_version(self.store, table, self.release.made_from, cut)
            for table in (TEMPEL_PLANS, TEMPEL_MENTIONS, TEMPEL_ENTITIES)
        ]
        inputs = {f"{one.table} {one.partition}": one.version for one in sources}
        return {name: digest for one in sources for name, digest in files_of(one).items()} | inputs

    def _own_versions(self) -> list[Version]:
        found = [
            self._version(table, cut)
            for cut in self.release.cuts
            for table in (TEMPEL_PLANS, TEMPEL_FILTERS, TEMPEL_MENTIONS, TEMPEL_ENTITIES)
        ]
        return [one for one in found if one is not None]

    def _note(self, version: Version) -> None:
        self.written.versions[version.table, version.partition] = version


def _rows_of(version: Version) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_parquet(version.paths()).to_pylist()
    return rows


def is_level(plan: Plan, cuts: Sequence[date]) -> bool:
    """Return whether all cuts have the same numbers of planned mentions and entities in each category and subset."""
    for by_cut in plan.planned.values():
        totals = {(sum(by_cut[cut].values()), sum(1 for n in by_cut[cut].values() if n)) for cut in cuts}
        if len(totals) > 1:
            return False
    return True


def _check(store: Store, release: Release) -> None:
    settings = store.home.settings
    lookback = settings.lookback_days * 86_400
    if release.design.stable_interval != lookback:
        raise DesignError(
            f"stable_interval: the design says {release.design.stable_interval} seconds, but the home's texts are the "
            f"most stable of {lookback} (lookback_days = {settings.lookback_days}); change one of them"
        )
    for cut in release.cuts:
        window_ending(cut, settings.granularity)
    # A lost text could not be distinguished from a short article.
    require_all_texts(store, release.cuts)


def _batches(rows: Iterator[dict[str, object]], table: Table) -> Iterator[pa.Table]:
    gathered = list(rows)
    for start in range(0, len(gathered), _BATCH_ROWS):
        yield pa.Table.from_pylist(gathered[start : start + _BATCH_ROWS], table.schema)


def _dump_ids(snapshots: Sequence[Version]) -> list[str]:
    with asking() as connection:
        files = file_names(path for one in snapshots for path in one.paths())
        query = "SELECT DISTINCT dump_id FROM read_parquet($files) ORDER BY dump_id"
        return [dump for (dump,) in connection.execute(query, {"files": files}).fetchall()]
