"""The screen of `tempkb verify`: one line for each fault, with the command to type, and then what was read."""

import shlex
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

from tempkb.again import command_for, odd_said
from tempkb.api import open_store
from tempkb.benchmarks.register import (
    entries,
    entry_of,
    is_at_work,
    lost_places,
    places_of_release,
    unfinished_releases,
)
from tempkb.dumps.catalogue import Dump, find_dumps
from tempkb.dumps.tables import DUMP_FILES
from tempkb.dumps.verification import VerifiedDumps, missing_files, verify_dump, verify_notes
from tempkb.engine import progress
from tempkb.errors import SettingsError, TempkbError
from tempkb.linking.checking import faults_of_linkers
from tempkb.linking.known import known_linker, known_linkers
from tempkb.linking.tables import KINDS, LINKERS
from tempkb.models.known import known_models
from tempkb.models.tables import MODELS
from tempkb.record import copy_fault
from tempkb.revisions.losses import lacking_quarters, lacking_texts
from tempkb.revisions.origins import pages_of, setting_of
from tempkb.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.screens.console import program, say
from tempkb.screens.failure import tell
from tempkb.store.database import Difference, repair_of
from tempkb.store.lake import Lake
from tempkb.store.locks import LockTimeoutError
from tempkb.store.owned import LinkError
from tempkb.store.said import read_said, said_names, said_path
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Fault, Version
from tempkb.windows import parse_day, stretches, window_of_key
from tempkb.wording import counted

_SHOWN = 5  # number of windows that a line names


@dataclass
class _Verified:
    """What was read of the lake.

    Attributes:
        whole: versions whose files all have the right checksums, in order, by table.
        files: number of files that were read, pointers and descriptions included.
    """

    whole: dict[str, list[Version]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    files: int = 0
    bytes: int = 0


def print_verification(tables: Sequence[str], since: str) -> None:
    """Verify the home, or a part of its lake, and print what was found; exit with code 1 if there is a fault.

    Args:
        tables: names of tables; empty for all, and then also for dumps and releases.
        since: only partitions whose pointers were written on or after this day; empty for all.

    Raises:
        SettingsError: there is no such table, or `since` is not a day.
    """
    began, store = time.monotonic(), open_store()
    day = parse_day(since) if since else None
    for name in tables:
        if name not in store.tables:
            raise SettingsError(f"--table {name}: no such table; known: {', '.join(store.tables)}")
    chosen = list(tables) or list(store.tables)
    unfinished = _unfinished(store)
    # A release that is not finished is one fault, so its missing partitions are not reported one by one.
    passed = {place for places in unfinished.values() for place in places}
    with progress.on_terminal():
        verified = _verify_lake(store, chosen, day)
        told: dict[Family, list[str]] = {family: [] for family in Family}
        for fault in verified.faults:
            told[store.tables[fault.table].family].append(f"{fault}. {_how(store, fault.table, fault.partition)}")
        passed |= {(fault.table, fault.partition) for fault in verified.faults}
        if day is None:
            told[Family.WINDOW] += [*_lacking_texts(store, verified), *_pointers(store, chosen)]
        shown = _verify_database(store, chosen, verified, passed)
        told[Family.LINKER][:0] = _verify_linkers(store, verified)
        if day is None:
            told[Family.MODEL][:0] = _verify_said(store, chosen)
        dumps = VerifiedDumps()
        store.require_own_record(one for whole in verified.whole.values() for one in whole)
        if not tables and day is None:
            told[Family.RELEASE][:0] = _verify_releases(store, unfinished, passed)
            dumps = _verify_dumps(store)
            links = [str(LinkError(path)) for path in store.lake.strangers() if path.is_symlink()]
            told[Family.DUMP][:0] = [*filter(None, [copy_fault(store.home.path)]), *links, *dumps.faults]
        # Typed in this order, each finds whole what it is made from.
        lines = [line for family in Family for line in told[family]] + shown
    for line in lines:
        # As people paste them, whether or not an environment is active.
        say(line, program())
    _print_end(verified, dumps, len(lines), time.monotonic() - began)
    if lines:
        sys.exit(1)


def _print_end(verified: _Verified, dumps: VerifiedDumps, n_faults: int, seconds: float) -> None:
    n_files, n_bytes = verified.files + dumps.files, verified.bytes + dumps.bytes
    rate = n_bytes / 1e6 / max(seconds, 1e-9)
    read = f"{counted(n_files, 'file')}, {counted(n_bytes, 'byte')}, {seconds:.1f} s, {rate:,.0f} MB/s"
    say(f"{counted(n_faults, 'fault')} found ({read})." if n_faults else f"All is well ({read}).")


def _verify_lake(store: Store, tables: Sequence[str], since: date | None) -> _Verified:
    """Read every file of the current versions; damage is noted, so that the partition counts as absent."""
    lake, verified = store.lake, _Verified()
    keys = {table: [key for key in lake.keys(table) if _is_since(store, table, key, since)] for table in tables}
    n_bytes = sum(version.n_bytes() for table in tables for version in lake.versions(table, keys[table]))
    with progress.Meter("verifying the lake", n_bytes, tell) as meter:
        for table in tables:
            whole = verified.whole[table] = []
            for key in keys[table]:
                version, fault = lake.verify(table, key)
                if version is not None:
                    verified.files += 2 + len(version.files)
                    verified.bytes += version.n_bytes()
                    meter.at(verified.bytes)
                if fault is not None:
                    verified.faults.append(fault)
                elif version is not None:
                    whole.append(version)
    return verified


def _is_since(store: Store, table: str, key: str, since: date | None) -> bool:
    written = store.lake.written_at(table, key)
    return since is None or (written is not None and datetime.fromtimestamp(written / 1e9, UTC).date() >= since)


def _pointers(store: Store, tables: Sequence[str]) -> list[str]:
    """Pointers that are lost or altered, though a whole version is there."""
    faults = (store.lake.pointer_fault(table, key) for table in tables for key in store.lake.keys(table))
    return [f"{fault}. Write it again: tempkb gc" for fault in faults if fault is not None]


def _unfinished(store: Store) -> dict[str, list[tuple[str, str]]]:
    """Releases that are not finished, with the tables and partitions that they have, or had before."""
    return {
        name: sorted({*places_of_release(store, name), *entry_of(store.home, name).versions})
        for name in unfinished_releases(store)
    }


def _lacking_texts(store: Store, verified: _Verified) -> list[str]:
    """Missing texts of snapshots, by quarter and window; those of quarters that are lost are not counted here."""
    if not {STABLE_SNAPSHOTS.name, PAGE_WIKITEXTS.name} <= verified.whole.keys():
        return []
    snapshots = verified.whole[STABLE_SNAPSHOTS.name]
    with tempfile.TemporaryDirectory() as folder:
        texts, logs = verified.whole[PAGE_WIKITEXTS.name], verified.whole.get(REVISION_LOG.name, ())
        lacking = lacking_texts(snapshots, texts, logs, Path(folder))
    lost, in_part = set(store.lake.lost(PAGE_WIKITEXTS.name)), lacking_quarters(store, snapshots)
    lines = []
    for quarter, windows in lacking.items():
        if quarter in lost:
            continue
        keys = [window_of_key(key, store.home.settings.granularity) for key in sorted(windows)]
        again = f"tempkb build --rebuild --windows {keys[0].start}..{keys[-1].end}"
        lines.append(
            f"{PAGE_WIKITEXTS.name} {quarter}: found no text for winners of {_first_few(windows)}; expected the text "
            f"of each. Read them again: {'tempkb build' if quarter in in_part else again}"
        )
    return lines


def _first_few(counts: Mapping[str, int]) -> str:
    shown = ", ".join(f"{key} ({n:,})" for key, n in sorted(counts.items())[:_SHOWN])
    return shown + (f" and of {len(counts) - _SHOWN} more windows" if len(counts) > _SHOWN else "")


def _verify_database(
    store: Store, tables: Sequence[str], verified: _Verified, passed: Set[tuple[str, str]]
) -> list[str]:
    if not store.database.path.exists():
        return []
    # For partitions that are lost the lake has nothing to compare, and they are reported already.
    named = {f"{table} {key}" for table, key in passed}
    named |= {f"{table} {key}" for table in tables for key in store.lake.lost(table)}
    try:
        found = store.database.differences({name: verified.whole[name] for name in tables})
    except LockTimeoutError as error:
        return [f"the DuckDB file was not compared: {error}"]
    except TempkbError as error:
        return [str(error)]
    return [
        f"{store.database.path.name}, {_together(alike)}: found {one.found}; expected {one.expected}. "
        f"{_how(store, *one.thing.split(' ')) if one.is_lost else repair_of(store.database.path, one)}"
        for one, *others in _by_cause([one for one in found if one.thing not in named])
        for alike in [[one, *others]]
    ]


def _by_cause(found: Sequence[Difference]) -> list[list[Difference]]:
    """Group partitions of a table that are pending for the same reason, as all are after a home was moved."""
    groups: dict[tuple[str, ...], list[Difference]] = {}
    for one in found:
        what = one.thing.partition(" ")[0] if one.is_pending else one.thing
        groups.setdefault((what, one.found, one.expected), []).append(one)
    return list(groups.values())


def _together(alike: Sequence[Difference]) -> str:
    if len(alike) == 1:
        return alike[0].thing
    (table, _, first), last = alike[0].thing.partition(" "), alike[-1].thing.partition(" ")[2]
    return f"{table}, {counted(len(alike), 'partition')} from {first} to {last}"


def _verify_releases(
    store: Store, unfinished: Mapping[str, Sequence[tuple[str, str]]], passed: Set[tuple[str, str]]
) -> list[str]:
    """Entries of the register that cannot be read, releases that are not finished, and missing partitions of others."""
    named = passed | {(table, key) for table in store.tables for key in store.lake.lost(table)}
    readable, unreadable = entries(store.home)
    lines = list(unreadable.values())
    for name, entry in readable.items():
        # A release that is being built is not a fault.
        if name in unfinished and not is_at_work(store.home, name):
            lines.append(_not_finished(store.lake, name, unfinished[name]))
        lines += [
            f"release {name}: found no {table} {key}; expected its version {entry.versions[table, key]}. Build it "
            f"again: {command_for(store, table, key)}"
            for table, key in lost_places(store, name)
            if name not in unfinished and (table, key) not in named
        ]
    return lines


def _not_finished(lake: Lake, name: str, places: Sequence[tuple[str, str]]) -> str:
    n_built = sum(lake.current(*place) is not None for place in places)
    return (
        f"release {name}: not finished, since a run of it was killed: {counted(n_built, 'partition')} of it "
        f"{'is' if n_built == 1 else 'are'} built; expected all of it. "
        f"Finish it: tempkb release finish {name}"
    )


def _verify_linkers(store: Store, verified: _Verified) -> list[str]:
    """Linkers of verified rows whose files are damaged or missing; what is read for it counts as read."""
    names = [version.partition for version in verified.whole.get(LINKERS.name, ())]
    if not names:
        return []
    lines = []
    with progress.Meter("verifying linkers", len(names), tell, "linkers") as meter:
        for done, (_, fault, files) in enumerate(faults_of_linkers(store.lake, names), 1):
            verified.files += len(files)
            verified.bytes += sum(file.stat().st_size for file in files)
            lines += [fault] if fault else []
            meter.at(done)
    return lines


def _verify_said(store: Store, tables: Sequence[str]) -> list[str]:
    """What was said of models and linkers and cannot be read, is gone, or is something else than their row."""
    lines = []
    for table, folder in ((MODELS, store.home.checkpoints), (LINKERS, store.home.linkers)):
        for name in said_names(folder) if table.name in tables else ():
            try:
                read_said(folder, name)
            except SettingsError as error:
                lines.append(
                    f"{error}: rm {shlex.quote(str(said_path(folder, name)))}{_said_again(store, table, name)}"
                )
    models = known_models(store.lake) if MODELS.name in tables else None
    return lines + odd_said(store, models, known_linkers(store.lake) if LINKERS.name in tables else ())


def _said_again(store: Store, table: Table, name: str) -> str:
    """The command that says again what a file said, if anything but requests for scores; behind another command."""
    row = known_linker(store.lake, name) if table is LINKERS else None
    if row is not None and row["kind"] != KINDS[1]:
        return ""
    return f" && {command_for(store, table.name, name)}"


def _verify_dumps(store: Store) -> VerifiedDumps:
    verified = VerifiedDumps(verify_notes(store.home.dumps))
    try:
        dumps = find_dumps(store.home.dumps)
    except TempkbError as error:
        if str(error) not in verified.faults:
            verified.faults.append(str(error))
        return verified
    settings = store.home.settings
    read = {row["file_name"]: row["dump_id"] for row in store.read(DUMP_FILES.name).to_pylist()}
    verified.faults += missing_files(store.home.dumps, dumps, read, settings)
    total = sum(file.path.stat().st_size for dump in dumps for file in dump.files if file.path.is_file())
    with progress.Meter("verifying dumps", total, tell) as meter:
        for dump in dumps:
            written = {}
            if store.lake.current(DUMP_FILES.name, dump.dump_id) is not None:
                rows = store.read(DUMP_FILES.name, dump_id=dump.dump_id).to_pylist()
                written = {row["file_name"]: (row["size_bytes"], row["checksum"]) for row in rows}
            verify_dump(dump, written, verified, meter.at, settings, partial(_reading_again, store))
    return verified


def _reading_again(store: Store, dump: Dump) -> str:
    """The command that builds again what was built from a dump, after its files were published again."""
    if dump.entities:
        return "tempkb build"
    keys = {
        version.partition
        for table in (REVISION_LOG, STABLE_SNAPSHOTS)
        for version in store.lake.versions(table.name)
        if setting_of(version, "dump_id") == dump.dump_id or (pages_of(version) or ("",))[0] == dump.dump_id
    }
    windows = [window_of_key(key, store.home.settings.granularity) for key in sorted(keys)]
    commands = [f"tempkb build --rebuild --windows {one[0].start}..{one[-1].end}" for one in stretches(windows)]
    # A dump of which no window is built is only written down.
    return " && ".join(commands) or f"tempkb build --select {DUMP_FILES.name}"


def _how(store: Store, table: str, partition: str) -> str:
    """What to type so that a partition is there again."""
    if store.tables[table].tells_of_a_run:
        return "It told of one run, and nothing can make it again. Forget it: tempkb gc"
    return f"Build it again: {command_for(store, table, partition)}"
