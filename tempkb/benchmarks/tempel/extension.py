"""Extends a release by a snapshot without changing what is published, by its plan, which is kept in `tempel_plans`.

The paper promises extension (appendix A.5), but its code would draw everything again.
"""

from collections.abc import Mapping, Sequence
from datetime import date

import duckdb
import pyarrow as pa

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.register import partition_of
from tempkb.benchmarks.tempel.design import CATEGORIES, SUBSETS, Design
from tempkb.benchmarks.tempel.planning import (
    Plan,
    Split,
    Surface,
    count_usable,
    equalise,
    fill_to,
    nearby_subsets,
    new_pages,
    split_entity,
    surfaces_of,
)
from tempkb.benchmarks.tempel.tables import TEMPEL_PLANS
from tempkb.benchmarks.work import ReleaseWork, make_table
from tempkb.store.quoting import literal


def extend_plan(
    connection: duckdb.DuckDBPyConnection,
    design: Design,
    frozen: Plan,
    cut: date,
    before: date,
    reasons: Mapping[int, str],
) -> Plan:
    """Plan an added cut: the frozen continual entities that still exist, as many new ones as before, and equal counts.

    Args:
        connection: a connection with the view `kept` of the cut.
        reasons: page_id -> why an entity is missing, as far as the snapshot shows it.
    """
    plan = Plan({category: {} for category in CATEGORIES})
    base = design.snapshots[-1]
    pages = sorted(frozen.splits["continual"])
    surfaces = dict(surfaces_of(connection, pages, cut))
    for page in pages:
        split = _grown(surfaces[page], frozen.splits["continual"][page], design)
        plan.splits["continual"][page] = split
        lacking = [subset for subset in SUBSETS if not count_usable(surfaces[page], split, subset)]
        if lacking:
            why = f"no mention passes the filters in {', '.join(lacking)}"
            plan.left_out[cut, page] = reasons.get(page, why)
    new = _new(connection, design, frozen, cut, before)
    surfaces |= dict(surfaces_of(connection, sorted(new), cut))
    plan.splits["new"] = new
    for category in CATEGORIES:
        for at, subset in enumerate(SUBSETS):
            available = {}
            for page, split in plan.splits[category].items():
                n = count_usable(surfaces[page], split, subset).get(cut, 0)
                available[page] = min(n, design.max_mens_per_ent[at])
            living = {page: n for page, n in available.items() if (cut, page) not in plan.left_out}
            curve = sorted((n for n in frozen.planned[category, subset][base].values() if n), reverse=True)
            seeded = f"{category} {subset}"
            planned = fill_to(living, curve, design.seed, seeded, cut) if design.equal_snapshots else living
            plan.available[category, subset] = {cut: available}
            plan.planned[category, subset] = {cut: {page: planned.get(page, 0) for page in available}}
    return plan


def shortfall_of(plan: Plan, frozen: Plan, design: Design, cut: date) -> tuple[float, str]:
    """Return the largest share by which a cut falls short of the frozen plan's last base cut, and a description.

    The share is 0 if the design does not ask for equal snapshots, because then each has what passes the filters.
    """
    base = design.snapshots[-1]
    worst = (0.0, "nothing lacks")
    if not design.equal_snapshots:
        return worst
    for key, by_cut in plan.planned.items():
        wanted, found = frozen.planned[key][base], by_cut[cut]
        for what, goal, n in (
            ("mentions", sum(wanted.values()), sum(found.values())),
            ("entities", sum(1 for one in wanted.values() if one), sum(1 for one in found.values() if one)),
        ):
            if goal and (goal - n) / goal > worst[0]:
                worst = ((goal - n) / goal, f"{n} of {goal} {what} in {key[0]} {key[1]}")
    return worst


def balance(source: Plan, design: Design, cuts: Sequence[date]) -> Plan:
    """Plan a balanced release: continual entities of all cuts, the same number of new ones at each, equal counts."""
    plan = Plan({category: {} for category in CATEGORIES}, left_out={})
    dead = {page for _, page in source.left_out}
    alive = {page for page in source.splits["continual"] if page not in dead}
    kept: dict[str, dict[date, set[int]]] = {"continual": dict.fromkeys(cuts, alive)}
    at_cut = {cut: [page for page, n in source.planned["new", "train"][cut].items() if n] for cut in cuts}
    least = min(len(pages) for pages in at_cut.values())
    kept["new"] = {
        cut: set(sorted(pages, key=lambda page: draw(design.seed, "new", page))[:least])
        for cut, pages in at_cut.items()
    }
    for category in CATEGORIES:
        everyone = set().union(*kept[category].values())
        plan.splits[category] = {page: source.splits[category][page] for page in sorted(everyone)}
        for subset in SUBSETS:
            held = {
                cut: {page: source.planned[category, subset][cut][page] for page in sorted(kept[category][cut])}
                for cut in cuts
            }
            plan.available[category, subset] = held
            is_filled = any(held.values())
            plan.planned[category, subset] = equalise(held, design.seed, f"{category} {subset}") if is_filled else held
    return plan


def balanced_mentions(
    connection: duckdb.DuckDBPyConnection, plan: Plan, cut: date, release: str, seed: int
) -> pa.Table:
    """Return, of a release's mentions at a cut, as many of each entity as the balanced plan says, under its name.

    Args:
        connection: a connection with the view `tempel_mentions` of the release and cut.
    """
    quotas = [
        (page, subset, n) for (_, subset), by_cut in plan.planned.items() for page, n in by_cut.get(cut, {}).items()
    ]
    make_table(connection, "quota", "target_page_id BIGINT, subset VARCHAR, n BIGINT", quotas)
    return connection.sql(
        f"""
        SELECT m.* REPLACE ({literal(release)} AS release, quota.n AS nr_mens_extracted)
        FROM tempel_mentions AS m JOIN quota USING (target_page_id, subset)
        QUALIFY row_number() OVER (PARTITION BY target_page_id, subset
            ORDER BY md5(concat_ws('|', {seed}, anchor_page_id, start_char)), anchor_page_id, start_char
        ) <= quota.n
        ORDER BY target_page_id, anchor_page_id, start_char
        """
    ).to_arrow_table()


def renamed(connection: duckdb.DuckDBPyConnection, release: str) -> pa.Table:
    """Return the candidates of a release at a cut, the view `tempel_entities`, under another release's name."""
    query = f"SELECT * REPLACE ({literal(release)} AS release) FROM tempel_entities ORDER BY page_id"
    return connection.sql(query).to_arrow_table()


def _grown(surfaces: Sequence[Surface], frozen: Split, design: Design) -> Split:
    """The frozen surfaces, and new ones that are near surfaces of one subset only, or of none."""
    members = {subset: [one for one, where in frozen.items() if where == subset] for subset in SUBSETS}
    grown = dict(frozen)
    for surface in sorted({one.surface for one in surfaces} - frozen.keys()):
        near = nearby_subsets(surface, members, design.ed_men_subsets)
        if len(near) > 1:
            continue
        subset = near[0] if near else min(SUBSETS, key=lambda one: len(members[one]))
        grown[surface] = subset
        members[subset].append(surface)
    return grown


def _new(
    connection: duckdb.DuckDBPyConnection, design: Design, frozen: Plan, cut: date, before: date
) -> dict[int, Split]:
    """As many new entities as the base cuts have, or fewer if there are not enough."""
    base = design.snapshots[-1]
    wanted = sum(1 for n in frozen.planned["new", SUBSETS[0]][base].values() if n)
    taken = frozen.splits["continual"].keys() | frozen.splits["new"].keys()
    pages = [page for page in new_pages(connection, design, cut, before) if page not in taken]
    surfaces = dict(surfaces_of(connection, pages, cut))
    chosen: dict[int, Split] = {}
    for page in sorted(pages, key=lambda one: draw(design.seed, "new", one)):
        split = split_entity(design, page, surfaces[page], [cut])
        if split is not None and (len(chosen) < wanted or not design.equal_snapshots):
            chosen[page] = split
    return chosen


def plan_rows(plan: Plan, cut: date, release: str, wiki: str) -> list[dict[str, object]]:
    """Return the rows of `tempel_plans` for a cut, in key order."""
    by_key = {}
    for (category, subset), quotas in plan.available.items():
        for page, n in quotas.get(cut, {}).items():
            surfaces = sorted(one for one, where in plan.splits[category][page].items() if where == subset)
            planned = plan.planned[category, subset].get(cut, {}).get(page, 0)
            by_key[page, SUBSETS.index(subset)] = {
                "wiki": wiki,
                "release": release,
                "cut": cut,
                "page_id": page,
                "subset": subset,
                "category": category,
                "surfaces": surfaces,
                "n_available": n,
                "n_planned": planned,
                "left_out_because": plan.left_out.get((cut, page)),
            }
    return sorted(by_key.values(), key=lambda row: (row["page_id"], str(row["subset"])))


def read_plan(work: ReleaseWork, cuts: Sequence[date], of: str = "") -> Plan:
    """Read the plan of some cuts back from `tempel_plans`.

    Args:
        of: the release that has the plan, if not the one at work.
    """
    work.read(TEMPEL_PLANS, [partition_of(of or work.release.name, cut) for cut in cuts], of=of)
    plan = Plan({category: {} for category in CATEGORIES})
    for category in CATEGORIES:
        for subset in SUBSETS:
            plan.available[category, subset] = {cut: {} for cut in cuts}
            plan.planned[category, subset] = {cut: {} for cut in cuts}
    ordered = work.connection.sql(f"FROM {TEMPEL_PLANS.name} ORDER BY cut, page_id, subset").to_arrow_table()
    for row in ordered.to_pylist():
        cut, page, key = row["cut"], row["page_id"], (row["category"], row["subset"])
        split = plan.splits[row["category"]].setdefault(page, {})
        split |= dict.fromkeys(row["surfaces"], row["subset"])
        plan.available[key][cut][page] = row["n_available"]
        plan.planned[key][cut][page] = row["n_planned"]
        if row["left_out_because"]:
            plan.left_out[cut, page] = row["left_out_because"]
    return plan
