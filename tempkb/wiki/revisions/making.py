"""Makes the room's tables, in one pass over each dump for all windows that are asked for, and draws them."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tempkb.core.errors import ContractError
from tempkb.core.pictures import as_markdown
from tempkb.core.settings import Home
from tempkb.core.windows import Window, epoch_seconds, window_of_key, windows_until
from tempkb.engine.tasks import Done, Order, Picture, Shows
from tempkb.store.materialise import glance
from tempkb.store.promises import Verdict
from tempkb.store.store import Store
from tempkb.wiki.dumps.catalogue import Dump, find_dumps, horizon_day, serving_dump, tables_dump
from tempkb.wiki.revisions.building import Plan, Report, build
from tempkb.wiki.revisions.sitelinks import link_windows
from tempkb.wiki.revisions.steps import ACCOUNTED
from tempkb.wiki.revisions.tables import ALL, PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS


def plan_windows(
    home: Home, windows: Sequence[Window], dump_id: str = "", *, only_listed: bool = False
) -> tuple[list[Plan], list[Window], dict[str, str]]:
    """Find the dump for each window.

    Args:
        windows: to be built, oldest first.
        dump_id: a dump that must serve all of them; empty: the catalogue chooses.
        only_listed: leave out dumps in the folder without their publisher's list.

    Returns:
        plans, oldest dump first; all windows of the home that the planned dumps
        reach; and the windows that no dump serves, with the reason.
    """
    there = [dump for dump in find_dumps(home.dumps) if home.wiki in (None, dump.wiki)]
    dumps = [dump for dump in there if dump.is_listed or not only_listed]
    served: dict[str, tuple[Dump, list[Window]]] = {}
    missing = {}
    for window in windows:
        dump = _chosen(dumps, dump_id, window) if dump_id else serving_dump(dumps, window)
        if dump is None:
            missing[window.key] = _why_not(home, dumps, dump_id, window)
        else:
            served.setdefault(dump.dump_id, (dump, []))[1].append(window)
    plans = []
    for dump, own in sorted(served.values(), key=lambda pair: pair[0].horizon):
        tables = tables_dump(dumps, dump)
        has_pages = tables is not None and tables.table("page") is not None
        plans.append(
            Plan(dump, tables.dump_id if tables and has_pages else None, tuple(own), None if has_pages else tables)
        )
    last = max((horizon_day(plan.dump) for plan in plans), default=home.settings.first_window)
    return plans, windows_until(home.settings.first_window, last, home.settings.granularity), missing


def _chosen(dumps: Iterable[Dump], dump_id: str, window: Window) -> Dump | None:
    return next((dump for dump in dumps if dump.dump_id == dump_id and dump.knows(window)), None)


def _why_not(home: Home, dumps: Sequence[Dump], dump_id: str, window: Window) -> str:
    candidates = [
        dump for dump in dumps if dump.history and (dump.dump_id == dump_id if dump_id else not dump.is_named)
    ]
    if not candidates:
        what = dump_id or "with a history"
        return f"no dump {what} below {home.dumps}; add one, or name files: tempkb build --dump FILE"
    unfinished = [dump for dump in candidates if dump.flaws and dump.horizon >= epoch_seconds(window.cut)]
    if unfinished:
        first = min(unfinished, key=lambda dump: dump.horizon)
        return f"dump {first.dump_id} would serve it, but is not complete: {'; '.join(first.flaws)}; fetch the rest"
    newest = max(candidates, key=lambda dump: dump.horizon)
    return (
        f"its cut {window.cut} is after the end of {newest.dump_id} ({horizon_day(newest)}); "
        "add a dump made at or after the cut"
    )


def plot_windows(labels: Sequence[str], pages: Sequence[int], edits: Sequence[int]) -> str:
    """Return a plot of pages and edits per window, as Markdown with an inline PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    at = np.arange(len(labels))
    upper.step(at, pages, where="mid", color="#1f5fa8")
    upper.fill_between(at, pages, step="mid", alpha=0.2, color="#1f5fa8")
    upper.set_ylabel("pages at the cut")
    lower.bar(at, edits, color="#b3541e")
    lower.set_ylabel("edits in the window")
    step = max(1, len(labels) // 12)
    lower.set_xticks(at[::step], list(labels)[::step], rotation=45, ha="right")
    for axis in (upper, lower):
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    return as_markdown(figure, "pages and edits per window", dots_per_inch=100)


def revisions(order: Order) -> Done:
    """Read each dump once and write log, snapshots and texts; or update only the Wikidata items of snapshots."""
    if not order.keys:
        raise ContractError("the run names no window; expected a partition key or a range of them")
    store, wanted = order.store, order.tables & ALL
    windows = [window_of_key(key, store.home.settings.granularity) for key in order.keys]
    if order.words.get("only_items"):
        return Done(link_windows(store, windows))
    dump_id, is_listed = order.words.get("dump_id", ""), bool(order.words.get("only_listed"))
    plans, known, missing = plan_windows(store.home, windows, dump_id, only_listed=is_listed)
    report = build(store, plans, known, order.log, wanted=wanted, rebuild=bool(order.words.get("rebuild")))
    versions = {(PAGE_WIKITEXTS.name, quarter): version for quarter, version in report.texts.items()}
    kept = {(name, key): store.lake.current(name, key) for name in wanted - {PAGE_WIKITEXTS.name} for key in order.keys}
    versions |= {place: held for place, held in kept.items() if held is not None} | report.versions
    bad = report.bad | missing
    return Done(
        {(name, key): one for (name, key), one in versions.items() if key not in bad},
        bad,
        [*_notes(report)],
        {
            name: {"worker_peak_mb": report.peak_mb, "worker_cpu_seconds": round(report.cpu_seconds, 2)}
            for name in wanted
        },
        {
            ACCOUNTED: Verdict(
                all(counts.agree for counts in report.counts.values()),
                {dump_id: vars(counts) for dump_id, counts in report.counts.items()},
            )
        },
    )


def _notes(report: Report) -> Iterator[str]:
    yield from report.warnings
    for name, where in report.damages.items():
        yield f"{name} is damaged: {where}. Every complete page that could be read was kept."
    for key in report.kept:
        yield f"window {key} stays as it is: built before from another dump; --rebuild would replace it"
    for key, changes in report.changes.items():
        if any(changes.values()):
            said = ", ".join(f"{n} {what}" for what, n in changes.items())
            yield f"window {key} was rebuilt; pages by what changed: {said} (table rebuild_changes)"


def over_windows(store: Store, _owner: str | None) -> Shows:
    """Return pictures of the pages at the cut of each window, and of the edits in it."""
    snapshots = store.lake.versions(STABLE_SNAPSHOTS.name)
    edits = {one.partition: one.rows for one in store.lake.versions(REVISION_LOG.name)}
    labels = [window_of_key(one.partition, store.home.settings.granularity).label for one in snapshots]
    rows, saved = [one.rows for one in snapshots], [edits.get(one.partition, 0) for one in snapshots]
    return {
        STABLE_SNAPSHOTS.name: {
            "glance": Picture(glance(labels, {"pages at the cut": rows, "edits in the window": saved})),
            "plot": Picture(plot_windows(labels, rows, saved)),
        }
    }
