"""Builds a release of TempEL from the tables of its cuts. Does not use Dagster.

A release is frozen: a cut that is built is never written again, and the plan of its
base cuts decides what later cuts may contain.
"""

import json
import math
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import duckdb

from tempkb.benchmarks.register import partition_of
from tempkb.benchmarks.tempel.candidates import (
    choose_mentions,
    filter_counts,
    judge,
    kept_sql,
    left_by_filters,
    mark_lists,
    pool_sql,
    use_mentions,
)
from tempkb.benchmarks.tempel.design import Left, Release, refusal
from tempkb.benchmarks.tempel.extension import (
    balance,
    balanced_mentions,
    extend_plan,
    plan_rows,
    read_plan,
    renamed,
    shortfall_of,
)
from tempkb.benchmarks.tempel.planning import Plan, make_plan
from tempkb.benchmarks.tempel.statistics import figures_of
from tempkb.benchmarks.tempel.tables import (
    TEMPEL_ENTITIES,
    TEMPEL_FILTERS,
    TEMPEL_MENTIONS,
    TEMPEL_PLANS,
    TEMPEL_RELEASES,
    TEMPEL_STATISTICS,
)
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.errors import ContractError, DesignError
from tempkb.core.files import read_parquet
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import window_ending
from tempkb.core.wording import counted
from tempkb.store.memory import view_files
from tempkb.store.quoting import literal
from tempkb.store.tables import Table
from tempkb.wiki.mentions.steps import quarters_of, require_all_texts
from tempkb.wiki.mentions.tables import MENTION_PRIORS, MENTIONS, PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.classes import fill_list_items
from tempkb.wiki.wikidata.scope import language_of_wiki

_OF_CUT = {"mentions": MENTIONS, "mention_priors": MENTION_PRIORS, "snapshot": STABLE_SNAPSHOTS}
_PLANNED = (TEMPEL_PLANS, TEMPEL_MENTIONS, TEMPEL_ENTITIES)


def write_release(work: ReleaseWork) -> None:
    """Write the missing cuts of a release: the base cuts together, each added cut by itself.

    The caller undoes what was written if this fails, or if a promise is broken.

    Raises:
        DesignError: the design does not fit the home, or the data does not suffice for it.
        ContractError: a cut's tables are not built.
    """
    _check(work)
    builder, release = _Builder(work), work.release
    builder.restore_filters()
    if release.made_from:
        builder.write_balanced()
    else:
        builder.write_base()
        for cut in release.added:
            builder.write_extension(cut)
    builder.write_release()


class _Builder:
    """Builds one release; what the filters keep is in files of its folder, and all cuts share one connection.

    Attributes:
        filters: what each filter drops, for the cuts that were just built.
        left: what each filter leaves, by cut.
    """

    def __init__(self, work: ReleaseWork) -> None:
        self.work, self.store, self.connection = work, work.store, work.connection
        self.release: Release = work.release
        self.design, self.wiki = self.release.design, work.store.home.wiki or ""
        self.filters: dict[date, list[tuple[str, str, int, int]]] = {}
        self.left: dict[date, list[Left]] = {}
        self._of_cut: dict[date, ReleaseWork] = {}

    def write_base(self) -> None:
        """Plan the base cuts and write them, unless all are built."""
        cuts = self.design.snapshots
        if all(self._is_built(cut) for cut in cuts):
            self.work.log(f"{self.release.name}: its {len(cuts)} base snapshots are built already")
            return
        self._find_redirects(cuts)
        for cut in cuts:
            self._judge(cut)
        plan = make_plan(self._over_kept(cuts), self.design)
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
            poorest = min(cuts, key=lambda cut: (self.left[cut][-1].entities, cut))
            common = (
                f"kept at {'all' if len(cuts) > 1 else 'the'} {counted(len(cuts), 'snapshot')}, and no new article at "
                "the first"
            )
            shared = f"surfaces for three subsets, ed_men_subsets {design.ed_men_subsets}"
            steps = [
                *self.left[poorest],
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
            self.work.warnings.append(f"{name} has no new entities: of those that are new at snapshot {poorest}, {why}")

    def write_extension(self, cut: date) -> None:
        """Add a cut to the frozen plan, unless it is built."""
        if self._is_built(cut):
            return
        # The frozen plan includes earlier extensions, so that surfaces stay in the subsets where these put them.
        frozen = read_plan(self._work_of(cut), self.release.cuts[: self.release.cuts.index(cut)])
        self._find_redirects([*self.design.snapshots, cut])
        self._judge(cut)
        reasons = self._reasons(cut, frozen)
        plan = extend_plan(self._over_kept([cut]), self.design, frozen, cut, self.release.before(cut), reasons)
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
        cuts, other = self.release.cuts, self.release.made_from
        if all(self._is_built(cut) for cut in cuts):
            return
        plan = balance(read_plan(self.work, cuts, other), self.design, cuts)
        for cut in cuts:
            for table in (TEMPEL_MENTIONS, TEMPEL_ENTITIES):
                self._work_of(cut).read(table, partition_of(other, cut), of=other)
            self._write_plan(cut, plan)
            chosen = balanced_mentions(self.connection, plan, cut, self.release.name, self.design.seed)
            self._write(TEMPEL_MENTIONS, cut, chosen)
            self._write(TEMPEL_ENTITIES, cut, renamed(self.connection, self.release.name))

    def write_release(self) -> None:
        """Write the release's statistics and its own row."""
        release, cuts, work = self.release, self.release.cuts, self.work.branch()
        keys = [partition_of(release.name, cut) for cut in cuts]
        work.read(STABLE_SNAPSHOTS, self._windows(cuts), "snapshots")
        work.read(PAGE_TEXTS, self.store.lake.partitions(PAGE_TEXTS.name), "texts")
        work.read(TEMPEL_MENTIONS, keys, "release_mentions")
        work.read(TEMPEL_ENTITIES, keys, "release_entities")
        work.read(TEMPEL_FILTERS, [] if release.made_from else keys, "filters")
        filters: dict[date, list[tuple[str, str, int, int]]] = {}
        for cut, *counts in self.connection.execute(
            "SELECT cut, filter, applied, n_surfaces, n_mentions FROM filters"
        ).fetchall():
            filters.setdefault(cut, []).append(tuple(counts))
        dump_ids = self.connection.execute("SELECT DISTINCT dump_id FROM snapshots ORDER BY dump_id").fetchall()
        plan = read_plan(work, cuts)
        lacking = max(shortfall_of(plan, plan, self.design, cut)[0] for cut in cuts)
        row = {
            "wiki": self.wiki,
            "release": release.name,
            "made_from": release.made_from or None,
            "preset": release.preset,
            "granularity": str(self.store.home.settings.granularity),
            "cuts": list(cuts),
            "n_base_cuts": len(self.design.snapshots),
            "dump_ids": [one for (one,) in dump_ids],
            "design": json.dumps(self.design.to_json(), sort_keys=True),
            "is_equal": lacking == 0 and is_level(plan, cuts),
            "shortfall": lacking,
        }
        figures = sorted(
            figures_of(self.connection, self.wiki, release.name, cuts, filters),
            key=lambda one: tuple(one[name] for name in TEMPEL_STATISTICS.key),
        )
        work.write(TEMPEL_STATISTICS, release.name, figures)
        work.write(TEMPEL_RELEASES, release.name, [row])

    def restore_filters(self) -> None:
        """Write `tempel_filters` of cuts again from the release's statistics, if it was lost to damage."""
        figures = self.work.held(TEMPEL_STATISTICS, self.release.name)
        found: dict[date, dict[str, dict[str, int]]] = {}
        for row in read_parquet(figures.paths()).to_pylist() if figures else ():
            if row["figure"] == "figure_6":
                found.setdefault(row["cut"], {}).setdefault(row["series"], {})[row["label"]] = int(row["value"])
        for cut, counts in found.items():
            if figures is not None and self._lacks(cut, TEMPEL_FILTERS):
                self._work_of(cut).note(figures)
                named = [(*series.partition(", ")[::2], one) for series, one in counts.items()]
                self._write_filters(
                    cut, [(name, how, one["surfaces of entities"], one["mentions"]) for name, how, one in named]
                )

    def _is_built(self, cut: date) -> bool:
        """Return whether all tables of a cut are written; a run may have been killed between two of them."""
        return not self._lacks(cut, *_PLANNED, *(() if self.release.made_from else (TEMPEL_FILTERS,)))

    def _lacks(self, cut: date, *tables: Table) -> bool:
        return not all(self.work.held(table, partition_of(self.release.name, cut)) for table in tables)

    def _windows(self, cuts: Sequence[date]) -> list[str]:
        return [window_ending(cut, self.store.home.settings.granularity).key for cut in cuts]

    def _judge(self, cut: date) -> None:
        """Apply the filters at a cut, count what they drop, and write what they keep to a file."""
        connection = self._over_cut(cut)
        use_mentions(connection, self.design)
        judge(connection, self.design)
        self.filters[cut] = filter_counts(connection, self.design)
        self.left[cut] = left_by_filters(connection, self.design)
        path = self.work.folder / f"kept-{cut}.parquet"
        connection.execute(
            f"COPY (SELECT DATE {literal(cut)} AS cut, * FROM ({kept_sql(self.design)})) TO {literal(path)}"
        )
        counted = {(name, how): mentions for name, how, _, mentions in self.filters[cut]}
        self.work.log(f"{cut}: {counted['all', 'kept']:,} of {counted['all', 'offered']:,} mentions pass the filters")

    def _write_cut(self, cut: date, plan: Plan) -> None:
        self._write_plan(cut, plan)
        # Written with the cut and not with the release, because a later run that finds the cut built needs them too.
        self._write_filters(cut, self.filters[cut])
        left_out = LeftOut.of(
            (f"filter {name}, {how}", n, f"{mentions} mentions")
            for name, how, n, mentions in self.filters[cut]
            if how == "in_order"
        )
        assigned = plan.assignments(cut)
        connection = self._over_cut(cut)
        use_mentions(connection, self.design)
        self._over_kept([cut])
        connection.register("assigned", assigned)
        self._write(TEMPEL_MENTIONS, cut, choose_mentions(connection, self.design, self.release.name, cut), left_out)
        connection.register("of_plan", assigned.group_by(["page_id", "category"]).aggregate([]))
        self._write(TEMPEL_ENTITIES, cut, self.work.rows(pool_sql(self.design, self.release.name)))

    def _write_filters(self, cut: date, counts: Iterable[tuple[str, str, int, int]]) -> None:
        names = ("filter", "applied", "n_surfaces", "n_mentions")
        about = {"wiki": self.wiki, "release": self.release.name, "cut": cut}
        rows = [about | dict(zip(names, one, strict=True)) for one in sorted(counts)]
        self._write(TEMPEL_FILTERS, cut, rows)

    def _write_plan(self, cut: date, plan: Plan) -> None:
        self._write(TEMPEL_PLANS, cut, plan_rows(plan, cut, self.release.name, self.wiki))

    def _write(self, table: Table, cut: date, rows: Iterable[Any], left_out: LeftOut | None = None) -> None:
        self._work_of(cut).write(table, partition_of(self.release.name, cut), rows, left_out)

    def _work_of(self, cut: date) -> ReleaseWork:
        return self._of_cut.setdefault(cut, self.work.branch())

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

    def _find_redirects(self, cuts: Sequence[date]) -> None:
        """Make `redirect_pages(page_id)`: what was a redirect at any of the cuts; the paper's code drops it at all."""
        self.work.read(STABLE_SNAPSHOTS, self._windows(cuts) if self.design.rules == "paper" else [], "snapshots")
        self.connection.execute(
            "CREATE OR REPLACE TEMP TABLE redirect_pages AS SELECT DISTINCT page_id FROM snapshots "
            "WHERE redirect_title IS NOT NULL"
        )

    def _over_cut(self, cut: date) -> duckdb.DuckDBPyConnection:
        """Make views over the tables of a cut, and over the texts of all quarters with its winners."""
        work = self._work_of(cut)
        for name, table in _OF_CUT.items():
            work.read(table, self._windows([cut]), name)
        work.read(PAGE_TEXTS, quarters_of(self.store, cut), "texts")
        if self.design.rules != "paper":
            work.note(*fill_list_items(self.store, self.connection, cut))
        mark_lists(self.connection, self.design, language_of_wiki(self.store.home.settings))
        return self.connection

    def _over_kept(self, cuts: Sequence[date]) -> duckdb.DuckDBPyConnection:
        """Make the view `kept` over what the filters kept at some cuts."""
        view_files(self.connection, "kept", [self.work.folder / f"kept-{cut}.parquet" for cut in cuts])
        return self.connection


def is_level(plan: Plan, cuts: Sequence[date]) -> bool:
    """Return whether all cuts have the same numbers of planned mentions and entities in each category and subset."""
    for by_cut in plan.planned.values():
        totals = {(sum(by_cut[cut].values()), sum(1 for n in by_cut[cut].values() if n)) for cut in cuts}
        if len(totals) > 1:
            return False
    return True


def _check(work: ReleaseWork) -> None:
    settings, design = work.store.home.settings, work.release.design
    lookback = settings.lookback_days * 86_400
    if design.stable_interval != lookback:
        raise DesignError(
            f"stable_interval: the design says {design.stable_interval} seconds, but the home's texts are the "
            f"most stable of {lookback} (lookback_days = {settings.lookback_days}); change one of them"
        )
    for cut in work.release.cuts:
        window_ending(cut, settings.granularity)
    # A lost text could not be distinguished from a short article.
    require_all_texts(work.store, work.release.cuts)
