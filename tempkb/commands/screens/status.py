"""The screens of `tempkb status` and of the end of a build."""

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.register import entries, is_at_work, unfinished_releases
from tempkb.commands.screens.console import Screen, headed, print_next, say, show
from tempkb.core.locks import LockTimeoutError
from tempkb.core.settings import at_home
from tempkb.core.windows import window_of_key, windows_until
from tempkb.core.wording import counted, spanned
from tempkb.engine.steps import Look
from tempkb.models.again import command_for, odd_said
from tempkb.models.known import known_models, unless_damaged
from tempkb.models.linking.known import gone, known_linkers, mend_in_words
from tempkb.models.linking.tables import BASELINES, LINKING_SCORES, linker_of
from tempkb.models.scores.tables import PROMPT_SCORES, model_of
from tempkb.models.tables import READY
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import untaken_here
from tempkb.platform.rooms import steps
from tempkb.store.listings import Listing, in_order, named
from tempkb.store.opening import DatabaseFileError
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.dumps.catalogue import Dump, find_dumps, horizon_day
from tempkb.wiki.dumps.tables import NAMESPACES
from tempkb.wiki.revisions.sitelinks import unlinked_windows
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.tables import FACTS

if TYPE_CHECKING:
    from tempkb.commands.runs.jobs import Summary

Row = Mapping[str, Any]
_GONE = "gone"  # shown as the status of a model whose files are not there
_DUMPS = Listing(
    {
        "dump": lambda dump: dump.dump_id,
        "reaches to": horizon_day,
        "files": lambda dump: len(dump.files),
        "bytes": lambda dump: sum(file.path.stat().st_size for file in dump.files if file.path.exists()),
        "beside histories": lambda dump: ", ".join(sorted(file.kind for file in dump.files if file.kind != "history")),
        "named": lambda dump: dump.is_named,
        "not complete": lambda dump: "; ".join(dump.flaws),
    },
    "dumps",
)
_PARTITIONS = Listing(in_order("table", "built", "first", "last", "out of date", "pending"), "partitions")
_MODELS = Listing(named("model", "family", "status", "scores", "checkpoint"), "models")
_LINKERS = Listing(
    named("linker", "kind") | {"trained on": "cut", "mentions linked": "scores", "checkpoint": "checkpoint"}, "linkers"
)
_BUILT = Listing(in_order("table", "partitions", "rows", "bytes"), "{home}")


def print_status() -> None:
    """Print the dumps of the home, and which partitions are built, out of date, pending or damaged."""
    store = open_store()
    # Read before the look, which shows the damage that is met here.
    models, linkers = (unless_damaged(read, store.lake) for read in (known_models, known_linkers))
    models = [{**row, "status": _GONE} if row["status"] == READY and gone(row) else row for row in models]
    with store.lake.one_look():
        _print_status(store, models, linkers)


def _print_status(store: Store, models: Sequence[Row], linkers: Sequence[Row]) -> None:
    home, settings = store.home, store.home.settings
    dumps = find_dumps(home.dumps)
    if not dumps and not any(path.exists() for path in (home.lake, home.database, home.path / "releases")):
        say(f"home {home.path}: no dump is here and nothing is built; where dumps go: tempkb plan")
        return
    say(
        f"home {home.path}: wiki {settings.wiki or 'not yet known'}, windows of a {settings.granularity}, "
        f"namespaces {settings.namespaces}, lookback {counted(settings.lookback_days, 'day')}"
    )
    show(_DUMPS, dumps)
    versions = {name: store.lake.versions(name) for name in store.tables}
    look, unlinked = Look(store, steps()), {window.key for window in unlinked_windows(store)}
    pending, others, obstacle = _published(store)
    n_pending = Counter(name for name, _ in pending or ())
    rows = []
    for name in store.tables:
        built = [version.partition for version in versions[name]]
        stale = {*look.stale(name, built), *(unlinked if name == STABLE_SNAPSHOTS.name else ())}
        first, last = (built[0], built[-1]) if built else ("", "")
        rows.append((name, len(built), first, last, len(stale), "unknown" if pending is None else n_pending[name]))
    show(_PARTITIONS, rows)
    if models := _with_scores(models, "model", versions[PROMPT_SCORES.name], model_of):
        show(_MODELS, models)
    if shown := _with_scores(linkers, "linker", versions[LINKING_SCORES.name], linker_of):
        show(_LINKERS, shown)
    _print_damage(store, models, linkers)
    say(f"It is not known what is pending: {obstacle}" if pending is None else "")
    if others:
        say(f"tables and views of your own in the DuckDB file, which tempkb leaves alone: {', '.join(others)}")
    say(obstacle if pending is not None else "")
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
        # What the automation has tried in vain today.
        with suppress(FileNotFoundError):
            is_of_today = datetime.fromtimestamp(home.waits.stat().st_mtime, UTC).date() == datetime.now(UTC).date()
            for line in home.waits.read_text().splitlines() if is_of_today else ():
                say(f"waits: {line}")


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
        say(
            f"windows that have ended and that no dump here serves: {spanned(unserved)}; what the mirror has of them, "
            "and why it is not taken: tempkb plan"
        )
    return bool(served)


def _print_stale(
    store: Store, look: Look, versions: Sequence[Version], unlinked: Collection[str], dumps: Sequence[Dump]
) -> None:
    """Print which tables are out of date, and which stand as earlier rules made them, by what is to be typed."""
    renewing: dict[str, Counter[str]] = {}
    for one in versions:
        if not look.is_current(one.table, one.partition):
            renewing.setdefault(command_for(store, one.table, one.partition), Counter())[one.table] += 1
        elif one.table == STABLE_SNAPSHOTS.name and one.partition in unlinked:
            renewing.setdefault("tempkb build", Counter())["items of windows"] += 1
    for command, tables in renewing.items():
        say(
            "out of date, since tempkb, the settings or what they were made from has changed: "
            f"{_counted(tables)}; renew: {command}"
        )
    earlier = [one for one in versions if look.is_of_earlier_rules(one)]
    windows = sorted(one.partition for one in earlier if one.table == STABLE_SNAPSHOTS.name)
    again = ""
    if windows:
        last = window_of_key(windows[-1], store.home.settings.granularity)
        files = "" if _serving(dumps) else " --dump FILE"
        again = f"; windows are read again by: tempkb build --rebuild --window {windows[0]}..{last.end}{files}"
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
        killed = (
            f"is not finished, since a run of it was killed; finish it: tempkb release finish {name}, or remove it: "
            f"tempkb rm --release {name}"
        )
        say(f"release {name} {'is being built' if is_at_work(store.home, name) else killed}")


def _with_scores(
    rows: Sequence[Row], name: str, versions: Iterable[Version], name_of: Callable[[str], str]
) -> list[Row]:
    """Models or linkers, with how many rows of scores they have; without baselines that have none."""
    n: Counter[str] = Counter()
    for version in versions:
        n[name_of(version.partition)] += version.rows
    found = [{**row, "scores": n[row[name]]} for row in rows]
    return [row for row in found if row["scores"] or row.get("kind") not in BASELINES]


def _print_damage(store: Store, models: Sequence[Row], linkers: Sequence[Row]) -> None:
    """Print what is lost, with the command that makes it again, and DuckDB files that were set aside."""
    for fault in store.faults():
        say(f"damaged: {fault}; build it again: {command_for(store, fault.table, fault.partition)}")
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
    store = open_store()
    snapshots = store.lake.versions(STABLE_SNAPSHOTS.name, summary.windows)
    tables = ((table, store.lake.versions(table)) for table in store.tables)
    rows = [
        (table, len(some), sum(one.rows for one in some), sum(file.bytes for one in some for file in one.files))
        for table, some in tables
        if some
    ]
    show(_BUILT.filled(home=store.home.path), rows)
    pending, _, obstacle = _published(store)
    if pending or obstacle:
        n = "It is not known how many partitions" if pending is None else counted(len(pending), "partition")
        reason = obstacle or "publish them: tempkb publish"
        say(f"{n} {'is' if pending and len(pending) == 1 else 'are'} not in DuckDB yet: {reason}")
    for note in summary.notes:
        say(note)
    for failure in summary.failures:
        Screen().print(headed("failed:", f" {at_home(failure)}", "red"), soft_wrap=True)
    n_windows, has_windows = len(summary.windows), bool(store.lake.partitions(STABLE_SNAPSHOTS.name))
    built = f"{len(snapshots):,} of {counted(n_windows, 'window')} {'is' if n_windows == 1 else 'are'} built"
    if summary.failures:
        say(f"{counted(len(summary.failures), 'failure')}{f'; {built}' if n_windows else ''}.")
        return
    if n_windows:
        say(f"{built}.")
    elif has_windows or not summary.entity_dumps:
        say("Nothing to build: all requested windows are built.")
    if summary.entity_dumps:
        say(f"Wikidata is built from {', '.join(summary.entity_dumps)}.")
    query = "SELECT relation, count(*) AS facts FROM facts GROUP BY relation ORDER BY 2 DESC LIMIT 10"
    if has_windows:
        query = "SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut"
    print_next(f'sql "{query}"', "ui")


def _published(store: Store) -> tuple[list[tuple[str, str]] | None, list[str], str]:
    """What is pending (None if not known), tables of others in the DuckDB file, and what prevents publication."""
    try:
        return *store.database.pending(), ""
    except (LockTimeoutError, DatabaseFileError) as error:
        return None, [], str(error)


def _serving(dumps: Sequence[Dump]) -> list[Dump]:
    return [dump for dump in dumps if dump.history and not dump.is_named and not dump.flaws]
