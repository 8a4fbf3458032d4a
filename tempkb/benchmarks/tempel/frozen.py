"""Writes a plan as rows of `tempel_plans`, and reads it back when the release is extended."""

from collections.abc import Sequence
from datetime import date

from tempkb.benchmarks.register import partition_of
from tempkb.benchmarks.tempel.design import CATEGORIES, SUBSETS
from tempkb.benchmarks.tempel.planning import Plan
from tempkb.benchmarks.tempel.tables import TEMPEL_PLANS
from tempkb.benchmarks.work import ReleaseWork


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
