"""Which dump builds which windows."""

from collections.abc import Iterable, Sequence

from tempkb.dumps.catalogue import Dump, find_dumps, horizon_day, serving_dump, tables_dump
from tempkb.revisions.building import Plan
from tempkb.settings import Home
from tempkb.windows import Window, epoch_seconds, windows_until


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
