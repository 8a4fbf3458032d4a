"""The screen of `tempkb verify`: one line for each fault, with the command to type, and then what was read."""

import contextlib
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

from tempkb.benchmarks.register import (
    entries,
    entry_of,
    is_at_work,
    lost_places,
    places_of_release,
    unfinished_releases,
)
from tempkb.commands.screens.console import say
from tempkb.commands.screens.failure import tell
from tempkb.core.errors import SettingsError, TempkbError
from tempkb.core.files import LinkError
from tempkb.core.record import copy_fault
from tempkb.core.windows import parse_day, stretches, window_of_key
from tempkb.core.wording import counted
from tempkb.engine import progress
from tempkb.models.again import command_for, odd_said
from tempkb.models.known import known_models
from tempkb.models.linking.known import known_linker, known_linkers
from tempkb.models.linking.steps import faults_of_linkers
from tempkb.models.linking.tables import KINDS, LINKERS
from tempkb.models.tables import MODELS
from tempkb.platform.api import open_store
from tempkb.store.said import read_said, said_names, said_path
from tempkb.store.store import Store
from tempkb.store.tables import Family
from tempkb.store.versions import Fault, Version
from tempkb.wiki.dumps.catalogue import Dump, find_dumps
from tempkb.wiki.dumps.tables import DUMP_FILES
from tempkb.wiki.dumps.verification import Tally, faults_of_dump, faults_of_notes, missing_files
from tempkb.wiki.revisions.losses import lacking_quarters, lacking_texts, pages_of, setting_of
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS

_SHOWN = 5  # number of windows that a line names

Whole = Mapping[str, Sequence[Version]]
"""Versions whose files all have the right checksums, in order, by table."""


def print_verification(tables: Sequence[str], since: str) -> None:
    """Verify the home, or a part of its lake, and print what was found; exit with code 1 if there is a fault.

    Args:
        tables: names of tables; empty for all, and then also for dumps and releases.
        since: only partitions whose pointers were written on or after this day; empty for all.

    Raises:
        SettingsError: there is no such table, or `since` is not a day.
    """
    began, store, tally = time.monotonic(), open_store(), Tally()
    chosen = [store.declaration(name).name for name in tables] or list(store.tables)
    day = parse_day(since) if since else None
    with progress.on_terminal():
        with contextlib.suppress(TempkbError):
            # What is gone without a trace is then named with what is lost.
            store.database.note_missing()
        whole, faults = _verify_lake(store, chosen, day, tally)
        store.require_own_record(one for versions in whole.values() for one in versions)
        unfinished = unfinished_releases(store)
        # A release that is not finished is one fault, so its missing partitions are not reported one by one.
        passed = {(one.table, one.partition) for one in (*faults, *store.faults())}
        for name in unfinished:
            passed |= {*places_of_release(store, name), *entry_of(store.home, name).versions}
        told: dict[Family, list[str]] = {family: [] for family in Family}
        if not tables and day is None:
            told[Family.DUMP] += _faults_of_dumps(store, tally)
            told[Family.RELEASE] += _faults_of_releases(store, unfinished, passed)
        if day is None:
            told[Family.MODEL] += _faults_of_said(store, chosen)
        told[Family.LINKER] += _faults_of_linkers(store, whole, tally)
        for fault in faults:
            told[store.tables[fault.table].family].append(f"{fault}. {_how(store, fault)}")
        if day is None:
            told[Family.WINDOW] += [*_lacking_texts(store, whole), *_faults_of_pointers(store, chosen)]
        # Typed in this order, each finds whole what it is made from.
        lines = [line for family in Family for line in told[family]]
        lines += _faults_of_database(store, {name: whole[name] for name in chosen}, passed)
    for line in lines:
        # As people paste them, whether or not an environment is active.
        say(line)
    seconds = time.monotonic() - began
    rate = tally.bytes / 1e6 / max(seconds, 1e-9)
    read = f"({counted(tally.files, 'file')}, {counted(tally.bytes, 'byte')}, {seconds:.1f} s, {rate:,.0f} MB/s)"
    say(f"{counted(len(lines), 'fault')} found {read}." if lines else f"All is well {read}.")
    if lines:
        sys.exit(1)


def _verify_lake(
    store: Store, tables: Sequence[str], since: date | None, tally: Tally
) -> tuple[dict[str, list[Version]], list[Fault]]:
    """Read every file of the current versions; damage is noted, so that the partition counts as absent."""
    lake, faults = store.lake, list[Fault]()
    whole: dict[str, list[Version]] = {table: [] for table in tables}
    places = [(table, key) for table in tables for key in lake.keys(table) if _is_since(store, table, key, since)]
    n_bytes = sum(version.n_bytes() for place in places if (version := lake.current(*place)) is not None)
    with progress.Meter("verifying the lake", n_bytes, tell) as meter:
        for table, key in places:
            version, fault = lake.verify(table, key)
            if version is not None:
                # The pointer and the description, too.
                tally.files += 2 + len(version.files)
                tally.bytes += version.n_bytes()
                meter.at(tally.bytes)
            if fault is not None:
                faults.append(fault)
            elif version is not None:
                whole[table].append(version)
    return whole, faults


def _is_since(store: Store, table: str, key: str, since: date | None) -> bool:
    written = store.lake.written_at(table, key) if since else None
    return since is None or (written is not None and datetime.fromtimestamp(written / 1e9, UTC).date() >= since)


def _how(store: Store, fault: Fault) -> str:
    """What to type so that a partition is there again."""
    if store.tables[fault.table].tells_of_a_run:
        return "It told of one run, and nothing can make it again. Forget it: tempkb gc"
    return f"Build it again: {command_for(store, fault.table, fault.partition)}"


def _faults_of_pointers(store: Store, tables: Sequence[str]) -> list[str]:
    """Pointers that are lost or altered, though a whole version is there."""
    faults = (store.lake.pointer_fault(table, key) for table in tables for key in store.lake.keys(table))
    return [f"{fault}. Write it again: tempkb gc" for fault in faults if fault is not None]


def _lacking_texts(store: Store, whole: Whole) -> Iterator[str]:
    """Missing texts of snapshots, by quarter and window; those of quarters that are lost are not counted here."""
    if not {STABLE_SNAPSHOTS.name, PAGE_WIKITEXTS.name} <= whole.keys():
        return
    snapshots, texts = whole[STABLE_SNAPSHOTS.name], whole[PAGE_WIKITEXTS.name]
    with tempfile.TemporaryDirectory() as folder:
        lacking = lacking_texts(snapshots, texts, whole.get(REVISION_LOG.name, ()), Path(folder))
    in_part = lacking_quarters(store, snapshots)
    for quarter in sorted(lacking.keys() - set(store.lake.lost(PAGE_WIKITEXTS.name))):
        keys = sorted(lacking[quarter])
        first, last = (window_of_key(key, store.home.settings.granularity) for key in (keys[0], keys[-1]))
        named = ", ".join(f"{key} ({lacking[quarter][key]:,})" for key in keys[:_SHOWN])
        more = f" and of {len(keys) - _SHOWN} more windows" if len(keys) > _SHOWN else ""
        again = "" if quarter in in_part else f" --rebuild --window {first.start}..{last.end}"
        yield (
            f"{PAGE_WIKITEXTS.name} {quarter}: found no text for winners of {named}{more}; expected the text of each. "
            f"Read them again: tempkb build{again}"
        )


def _faults_of_database(store: Store, whole: Whole, passed: set[tuple[str, str]]) -> list[str]:
    path = store.database.path
    try:
        found = store.database.differences(whole, passed) if path.exists() else ()
        return [f"{path.name}, {one}" for one in found]
    except TempkbError as error:
        return [str(error)]


def _faults_of_releases(store: Store, unfinished: Sequence[str], passed: set[tuple[str, str]]) -> Iterator[str]:
    """Entries of the register that cannot be read, releases that are not finished, and missing partitions of others."""
    readable, unreadable = entries(store.home)
    yield from unreadable.values()
    for name, entry in readable.items():
        # A release that is being built is not a fault.
        if name in unfinished and not is_at_work(store.home, name):
            said = "not finished, since a run of it was killed; expected all of it"
            yield f"release {name}: {said}. Finish it: tempkb release finish {name}"
        for table, key in lost_places(store, name) if name not in unfinished else ():
            if (table, key) not in passed:
                said = f"found no {table} {key}; expected its version {entry.versions[table, key]}"
                yield f"release {name}: {said}. Build it again: {command_for(store, table, key)}"


def _faults_of_linkers(store: Store, whole: Whole, tally: Tally) -> list[str]:
    """Linkers of verified rows whose files are damaged or missing; what is read for it counts as read."""
    names = [version.partition for version in whole.get(LINKERS.name, ())]
    lines = []
    with progress.Meter("verifying linkers", len(names), tell, "linkers") as meter:
        for done, (_, fault, files) in enumerate(faults_of_linkers(store.lake, names) if names else (), 1):
            tally.files += len(files)
            tally.bytes += sum(file.stat().st_size for file in files)
            lines += [fault] if fault else []
            meter.at(done)
    return lines


def _faults_of_said(store: Store, tables: Sequence[str]) -> Iterator[str]:
    """What was said of models and linkers and cannot be read, is gone, or is something else than their row."""
    for table, folder in ((MODELS, store.home.checkpoints), (LINKERS, store.home.linkers)):
        for name in said_names(folder) if table.name in tables else ():
            try:
                read_said(folder, name)
            except SettingsError as error:
                row = known_linker(store.lake, name) if table is LINKERS else None
                # A linker that was trained here was not added by words: only requests for scores stood there.
                is_said_again = row is None or row["kind"] == KINDS[1]
                again = f" && {command_for(store, table.name, name)}" if is_said_again else ""
                yield f"{error}: rm {shlex.quote(str(said_path(folder, name)))}{again}"
    models = known_models(store.lake) if MODELS.name in tables else None
    yield from odd_said(store, models, known_linkers(store.lake) if LINKERS.name in tables else ())


def _faults_of_dumps(store: Store, tally: Tally) -> Iterator[str]:
    """The copy of the record, links in the lake, notes about dumps, and dumps."""
    home, before = store.home, tally.bytes
    yield from filter(None, [copy_fault(home.path)])
    yield from (str(LinkError(path)) for path in store.lake.strangers() if path.is_symlink())
    notes = list(faults_of_notes(home.dumps))
    yield from notes
    try:
        dumps = find_dumps(home.dumps)
    except TempkbError as error:
        yield from {str(error)} - {*notes}
        return
    rows = store.read(DUMP_FILES.name).to_pylist()
    yield from missing_files(home.dumps, dumps, {row["file_name"]: row["dump_id"] for row in rows}, home.settings)
    total = sum(file.path.stat().st_size for dump in dumps for file in dump.files if file.path.is_file())
    with progress.Meter("verifying dumps", total, tell) as meter:
        for dump in dumps:
            written = {
                row["file_name"]: (row["size_bytes"], row["checksum"]) for row in rows if row["dump_id"] == dump.dump_id
            }
            again = partial(_reading_again, store, dump)
            yield from faults_of_dump(dump, written, tally, lambda done: meter.at(done - before), home.settings, again)


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
    commands = [f"tempkb build --rebuild --window {one[0].start}..{one[-1].end}" for one in stretches(windows)]
    # A dump of which no window is built is only written down.
    return " && ".join(commands) or f"tempkb build --select {DUMP_FILES.name}"
