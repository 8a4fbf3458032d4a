"""Writes a plan as rows of `tempel_plans`, and reads it back when the release is extended."""

from collections.abc import Iterator, Sequence
from datetime import date

from tempkb.benchmarks.register import partition_of, release_version
from tempkb.benchmarks.tempel.design import CATEGORIES, SUBSETS
from tempkb.benchmarks.tempel.planning import Plan
from tempkb.benchmarks.tempel.tables import TEMPEL_PLANS
from tempkb.store.parquet import read_parquet
from tempkb.store.store import Store


def plan_rows(plan: Plan, cut: date, release: str, wiki: str) -> Iterator[dict[str, object]]:
    """Yield the rows of `tempel_plans` for a cut, in key order."""
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
    yield from sorted(by_key.values(), key=lambda row: (row["page_id"], str(row["subset"])))


def read_plan(store: Store, release: str, cuts: Sequence[date]) -> Plan:
    """Read the plan of some cuts back from `tempel_plans`."""
    plan = Plan({category: {} for category in CATEGORIES})
    for category in CATEGORIES:
        for subset in SUBSETS:
            plan.available[category, subset] = {cut: {} for cut in cuts}
            plan.planned[category, subset] = {cut: {} for cut in cuts}
    for cut in cuts:
        version = release_version(store, TEMPEL_PLANS, release, partition_of(release, cut))
        for row in read_parquet(version.paths()).to_pylist() if version else ():
            page, key = row["page_id"], (row["category"], row["subset"])
            split = plan.splits[row["category"]].setdefault(page, {})
            split |= dict.fromkeys(row["surfaces"], row["subset"])
            plan.available[key][cut][page] = row["n_available"]
            plan.planned[key][cut][page] = row["n_planned"]
            if row["left_out_because"]:
                plan.left_out[cut, page] = row["left_out_because"]
    return plan
