"""Makes the room's tables, in one pass over each dump for all windows that are asked for. No Dagster here."""

from collections.abc import Iterator

from tempkb.engine.tasks import Done, Order, Picture, Shows
from tempkb.errors import ContractError
from tempkb.revisions.building import Report, build
from tempkb.revisions.plans import plan_windows
from tempkb.revisions.plots import plot_windows
from tempkb.revisions.sitelinks import link_windows
from tempkb.revisions.steps import ACCOUNTED
from tempkb.revisions.tables import ALL, PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.glance import glance
from tempkb.store.promises import Verdict
from tempkb.store.store import Store
from tempkb.windows import window_of_key


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
