"""The screens of `tempkb status` and of the end of a build."""

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tempkb.again import command_for, odd_said
from tempkb.api import open_store
from tempkb.benchmarks.register import entries, is_at_work, unfinished_releases
from tempkb.dumps.catalogue import Dump, find_dumps, horizon_day
from tempkb.dumps.tables import NAMESPACES
from tempkb.engine.steps import Look
from tempkb.errors import StoredDamageError
from tempkb.linking.known import gone, known_linkers, mend_in_words
from tempkb.linking.tables import BASELINES, LINKING_SCORES, linker_of
from tempkb.models.known import known_models
from tempkb.models.tables import READY
from tempkb.planning.untaken import untaken_here
from tempkb.revisions.sitelinks import unlinked_windows
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.rooms import steps
from tempkb.scores.tables import PROMPT_SCORES, model_of
from tempkb.screens.console import console, grid, headed, print_next, say
from tempkb.settings import Home, at_home
from tempkb.store.lake import Lake
from tempkb.store.locks import LockTimeoutError
from tempkb.store.opening import DatabaseFileError
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wikidata.tables import FACTS
from tempkb.windows import window_of_key, windows_until
from tempkb.wording import counted

if TYPE_CHECKING:
    from tempkb.runs.jobs import Summary

Row = Mapping[str, Any]
_GONE = "gone"  # shown as the status of a model whose files are not there


def print_status() -> None:
    """Print the dumps of the home, and which partitions are built, stale, pending or damaged."""
    store = open_store()
    # Read before the look, which shows the damage that is met here.
    models, linkers = _known(store, known_models), _known(store, known_linkers)
    models = [{**row, "status": _GONE} if row["status"] == READY and gone(row) else row for row in models]
    with store.lake.one_look():
        _print_status(store, models, linkers)


def _print_status(store: Store, models: Sequence[Row], linkers: Sequence[Row]) -> None:
    out, home, settings = console(), store.home, store.home.settings
    dumps = find_dumps(home.dumps)
    if not dumps and not any(path.exists() for path in (home.lake, home.database, home.path / "releases")):
        say(f"home {home.path}: no dump is here and nothing is built; where dumps go: tempkb plan")
        return
    say(
        f"home {home.path}: wiki {settings.wiki or 'not yet known'}, windows of a {settings.granularity}, "
        f"namespaces {settings.namespaces}, lookback {counted(settings.lookback_days, 'day')}"
    )
    out.print(
        grid(
            ("dump", "reaches to", "files", "bytes", "beside histories", "named", "not complete"),
            [
                (
                    dump.dump_id,
                    horizon_day(dump),
                    len(dump.files),
                    sum(file.path.stat().st_size for file in dump.files if file.path.exists()),
                    ", ".join(sorted(file.kind for file in dump.files if file.kind != "history")),
                    dump.is_named,
                    "; ".join(dump.flaws),
                )
                for dump in dumps
            ],
            title="dumps",
        )
    )
    versions = {name: store.lake.versions(name) for name in store.tables}
    look, unlinked = Look(store, steps()), {window.key for window in unlinked_windows(store)}
    pending, others, obstacle = _published(store)
    rows = []
    for table in store.tables.values():
        built = [version.partition for version in versions[table.name]]
        rows.append(
            (
                table.name,
                len(built),
                built[0] if built else "",
                built[-1] if built else "",
                len({*look.stale(table.name, built), *(unlinked if table.name == STABLE_SNAPSHOTS.name else ())}),
                sum(1 for name, _ in pending if name == table.name) if pending is not None else "unknown",
            )
        )
    out.print(grid(("table", "built", "first", "last", "stale", "pending"), rows, title="partitions"))
    _print_models(store, models)
    _print_linkers(store, linkers)
    _print_damage(store, models, linkers)
    if pending is None:
        say(f"It is not known what is pending: {obstacle}")
    if others:
        say(f"tables and views of your own in the DuckDB file, which tempkb leaves alone: {', '.join(others)}")
    if pending is not None and obstacle:
        say(obstacle)
    for folder in store.lake.unfinished():
        n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        say(
            f"a build that did not finish left {counted(n_bytes, 'byte')} of finished items; the same build continues "
            "with them; to remove them: tempkb gc"
        )
    _print_releases(store)
    _print_stale(store, look, [one for some in versions.values() for one in some], unlinked, dumps)
    is_served = _print_missing(store, dumps, {version.partition for version in versions[STABLE_SNAPSHOTS.name]})
    read = {one.partition for name in (NAMESPACES.name, FACTS.name) for one in versions[name]}
    if is_served or any(dump.dump_id not in read for dump in dumps):
        _print_waiting(home)


def _print_waiting(home: Home) -> None:
    """Print what the automation has tried in vain today."""
    try:
        is_of_today = datetime.fromtimestamp(home.waits.stat().st_mtime, UTC).date() == datetime.now(UTC).date()
        for line in home.waits.read_text().splitlines() if is_of_today else ():
            say(f"waits: {line}")
    except FileNotFoundError:
        pass


def _print_missing(store: Store, dumps: Sequence[Dump], built: Collection[str]) -> bool:
    """Print the windows that a dump serves and that are not built, if any, and why other dumps are not taken."""
    settings = store.home.settings
    ended = windows_until(settings.first_window, datetime.now(UTC).date(), settings.granularity)
    missing = [window for window in ended if window.key not in built]
    horizon = max(map(horizon_day, _serving(dumps)), default=settings.first_window)
    served = [window.label for window in missing if window.cut <= horizon]
    if served:
        say(f"windows that a dump serves and that are not built: {', '.join(served)}; build them: tempkb build")
    for line in untaken_here(dumps, store.home.wiki, missing, [dump for dump in _serving(dumps) if dump.is_listed]):
        say(f"not taken: {line}")
    unserved = [window.label for window in missing if window.label not in served]
    # A server may be slow to answer, and this command only looks at what is here.
    if unserved and settings.mirror:
        which = f"{unserved[0]} to {unserved[-1]}" if len(unserved) > 1 else unserved[0]
        say(
            f"windows that have ended and that no dump here serves: {which}; what the mirror has of them, and why "
            "it is not taken: tempkb plan"
        )
    return bool(served)


def _print_stale(
    store: Store, look: Look, versions: Sequence[Version], unlinked: Collection[str], dumps: Sequence[Dump]
) -> None:
    """Print which tables are stale, and which stand as earlier rules made them, by what is to be typed."""
    renewing: dict[str, Counter[str]] = {}
    for one in versions:
        if not look.is_current(one.table, one.partition):
            renewing.setdefault(command_for(store, one.table, one.partition), Counter())[one.table] += 1
        elif one.table == STABLE_SNAPSHOTS.name and one.partition in unlinked:
            renewing.setdefault("tempkb build", Counter())["items of windows"] += 1
    for command, tables in renewing.items():
        say(
            f"stale, since tempkb, the settings or what they were made from has changed: {_counted(tables)}; renew: "
            f"{command}"
        )
    earlier = [one for one in versions if look.is_of_earlier_rules(one)]
    windows = sorted(one.partition for one in earlier if one.table == STABLE_SNAPSHOTS.name)
    again = ""
    if windows:
        last = window_of_key(windows[-1], store.home.settings.granularity)
        files = "" if _serving(dumps) else " --dump FILE"
        again = f"; windows are read again by: tempkb build --rebuild --windows {windows[0]}..{last.end}{files}"
    if earlier:
        which = _counted(Counter(one.table for one in earlier))
        say(f"made by rules of earlier versions of tempkb, and stays as it is: {which}{again}")


def _counted(tables: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({counted(n, 'partition')})" for name, n in sorted(tables.items()))


def _print_releases(store: Store) -> None:
    """Print what is wrong with releases: unreadable entries, and those not finished."""
    for reason in entries(store.home)[1].values():
        say(reason)
    for name in unfinished_releases(store):
        if is_at_work(store.home, name):
            say(f"release {name} is being built")
        else:
            say(
                f"release {name} is not finished, since a run of it was killed; finish it: "
                f"tempkb release finish {name}, or remove it: tempkb rm --release {name}"
            )


def _known(store: Store, read: Callable[[Lake], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The models or linkers of the home; none if the table is damaged, which is then printed with all other damage."""
    try:
        return read(store.lake)
    except StoredDamageError:
        return []


def _n_rows(store: Store, table: str, name_of: Callable[[str], str]) -> Counter[str]:
    """How many rows of scores each model or linker has."""
    found: Counter[str] = Counter()
    for version in store.lake.versions(table):
        found[name_of(version.partition)] += version.rows
    return found


def _print_models(store: Store, models: Sequence[Row]) -> None:
    n_scores, titles = (
        _n_rows(store, PROMPT_SCORES.name, model_of),
        ("model", "family", "status", "scores", "checkpoint"),
    )
    rows = [[n_scores[row["model"]] if title == "scores" else row[title] for title in titles] for row in models]
    if rows:
        console().print(grid(titles, rows, title="models"))


def _print_linkers(store: Store, linkers: Sequence[Row]) -> None:
    """Print the linkers of the home, and the baselines that have linked something."""
    n_linked = _n_rows(store, LINKING_SCORES.name, linker_of)
    rows = [
        (row["linker"], row["kind"], row["cut"], n_linked[row["linker"]], row["checkpoint"])
        for row in linkers
        if row["kind"] not in BASELINES or n_linked[row["linker"]]
    ]
    if rows:
        titles = ("linker", "kind", "trained on", "mentions linked", "checkpoint")
        console().print(grid(titles, rows, title="linkers"))


def _print_damage(store: Store, models: Sequence[Row], linkers: Sequence[Row]) -> None:
    """Print what is lost, with the command that makes it again, and DuckDB files that were set aside."""
    faults = store.faults()
    for fault in faults:
        command = command_for(store, fault.table, fault.partition)
        say(f"damaged: {fault}; build it again: {command}")
    for row in filter(gone, linkers):
        say(f"damaged: linker {row['linker']}: {gone(row)}. {mend_in_words(row)}")
    for row in (one for one in models if one["status"] == _GONE):
        mend = f"Put them back, or name the folder where they are now: tempkb model add {row['model']} FOLDER"
        say(f"damaged: model {row['model']}: {gone(row)}. {mend}")
    for line in odd_said(store, models or None, linkers):
        say(f"damaged: {line}")
    for path in store.database.set_aside_files():
        say(
            f"set aside, since it was damaged: {path}; tables of your own, if you made any in it, are only there. When "
            f"you no longer need it: rm {shlex.quote(str(path))}"
        )


def print_summary(summary: "Summary") -> None:
    """Print the end of a build: what is built, what failed, and what to do next."""
    store, out = open_store(), console()
    snapshots = store.lake.versions(STABLE_SNAPSHOTS.name, summary.windows)
    rows = []
    for table in store.tables.values():
        versions = store.lake.versions(table.name)
        if versions:
            rows.append((table.name, len(versions), sum(one.rows for one in versions), sum(_bytes(store, table.name))))
    out.print(grid(("table", "partitions", "rows", "bytes"), rows, title=f"{store.home.path}"))
    pending, _, obstacle = _published(store)
    if pending or obstacle:
        n = "It is not known how many partitions" if pending is None else counted(len(pending), "partition")
        reason = obstacle or "publish them: tempkb publish"
        say(f"{n} {'is' if pending and len(pending) == 1 else 'are'} not in DuckDB yet: {reason}")
    for note in summary.notes:
        say(note)
    for failure in summary.failures:
        out.print(headed("failed:", f" {at_home(failure)}", "red"), soft_wrap=True)
    if summary.failures:
        built = f"; {_built(len(snapshots), len(summary.windows))}" if summary.windows else ""
        say(f"{counted(len(summary.failures), 'failure')}{built}.")
        return
    _print_success(store, summary, len(snapshots))


def _print_success(store: Store, summary: "Summary", n_snapshots: int) -> None:
    """Print which of the requested windows and dumps are built, and what to do next."""
    out, n_windows = console(), len(summary.windows)
    has_windows = bool(store.lake.partitions(STABLE_SNAPSHOTS.name))
    if n_windows:
        out.print(f"{_built(n_snapshots, n_windows)}.")
    elif has_windows or not summary.entity_dumps:
        out.print("Nothing to build: all requested windows are built.")
    if summary.entity_dumps:
        out.print(f"Wikidata is built from {', '.join(summary.entity_dumps)}.")
    query = "SELECT relation, count(*) AS facts FROM facts GROUP BY relation ORDER BY 2 DESC LIMIT 10"
    if has_windows:
        query = "SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut"
    print_next(f'sql "{query}"', "ui")


def _built(n_snapshots: int, n_windows: int) -> str:
    return f"{n_snapshots:,} of {counted(n_windows, 'window')} {'is' if n_windows == 1 else 'are'} built"


def _bytes(store: Store, table: str) -> list[int]:
    return [file.bytes for version in store.lake.versions(table) for file in version.files]


def _published(store: Store) -> tuple[list[tuple[str, str]] | None, list[str], str]:
    """What is pending (None if not known), tables of others in the DuckDB file, and what prevents publication."""
    try:
        return *store.database.pending(), ""
    except (LockTimeoutError, DatabaseFileError) as error:
        return None, [], str(error)


def _serving(dumps: Sequence[Dump]) -> list[Dump]:
    return [dump for dump in dumps if dump.history and not dump.is_named and not dump.flaws]
