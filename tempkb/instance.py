"""Dagster's own storage in a home: it is made completely or not at all, checked, and repaired.

Dagster keeps runs, events and schedules in three SQLite files, which it makes
table by table at their first use. A process that is killed meanwhile, or two
that make them at once, leave files that Dagster can neither use nor repair. So
tempkb makes all three in a folder aside, under a lock, moves that folder in
with one rename, and marks it; a marked storage is not looked at again.
"""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.register import releases_of
from tempkb.dumps.tables import DUMP_FILES
from tempkb.errors import TempkbError
from tempkb.models.tables import MODELS as MODELS_TABLE
from tempkb.settings import Home, load_home
from tempkb.store.files import replace_whole
from tempkb.store.lake import Lake
from tempkb.store.locks import Patience, is_alive, locked, try_lock
from tempkb.store.owned import own, remove_tree

_DAGSTER_YAML = """\
# Written by tempkb for this home; the committed dagster.yaml says the same for the default home.
storage:
  sqlite:
    base_dir: {home}
local_artifact_storage:
  module: dagster._core.storage.root
  class: LocalArtifactStorage
  config:
    base_dir: {home}
compute_logs:
  module: dagster._core.storage.local_compute_log_manager
  class: LocalComputeLogManager
  config:
    base_dir: {compute_logs}
telemetry:
  enabled: false
nux:
  enabled: false
run_monitoring:
  enabled: true
run_retries:
  enabled: true
  max_retries: 4
  retry_on_asset_or_op_failure: false
concurrency:
  runs:
    max_concurrent_runs: 1
"""

GOING_ON = ("QUEUED", "NOT_STARTED", "STARTING", "STARTED")
"""Dagster's names of the statuses of runs that wait or are under way."""

# Each storage's file, and a table that Dagster cannot do without. Events of single runs lie in files of their own,
# which Dagster makes for each run and repairs at their next use; damage to one of them is damage to one run's log.
_STORAGES = {
    "history/runs.db": "runs",
    "history/runs/index.db": "dynamic_partitions",
    "schedules/schedules.db": "job_ticks",
}
# SQLite keeps what is not yet in the file in these beside it.
_BESIDE = ("", "-wal", "-shm", "-journal")
_MARK = "whole"
# Making the storage takes a second or two; a holder that keeps the lock for so many seconds is stopped or hangs.
_MAKING = 120.0
# Seconds for which a storage that looks broken may be one that another Dagster is making at this moment.
_MOMENT = 3.0
# Seconds in which a run that Dagster calls started surely has its mark.
_BEGINNING = 60.0
_KILLED = "The process of this run was killed, or the machine stopped. If it was a command, type it again; it goes on."


@contextlib.contextmanager
def dagster_at(home: Home) -> Iterator[Any]:
    """Give the Dagster instance of a home, made on first use; nothing of it lies outside the home.

    Runs of commands that were killed are reported as failed first, whatever the block then does.

    Raises:
        TempkbError: the storage cannot be made, or SQLite cannot read or write it, also inside the block.
    """
    prepare_dagster(home)
    from sqlalchemy.exc import DBAPIError

    from tempkb.dagster_storage import open_instance

    try:
        with open_instance(str(home.dagster)) as instance:
            end_dead_runs(instance, home)
            yield instance
    except (DBAPIError, sqlite3.Error) as error:
        # Perhaps it was damaged after it was made; the next command looks at it again and makes anew what is broken.
        (home.dagster / _MARK).unlink(missing_ok=True)
        raise _refused(home, error) from error


def end_dead_runs(instance: Any, home: Home) -> None:
    """Report runs on which no process works any more as failed.

    Unless the process died alone, nobody else does: to Dagster such a run goes on for ever, and whoever asks for the
    same waits for it, as all that is queued does.
    """
    dead = {one.dagster_run.run_id for one in runs_going_on(instance) if _is_dead(home.marks, one)}
    # Asked again, since a run that has just ended has no living process either.
    for one in runs_going_on(instance) if dead else ():
        if one.dagster_run.run_id in dead:
            instance.report_run_failed(one.dagster_run, _KILLED)
    for path in home.marks.glob("[!.]*"):
        is_alive(home.marks, path.name)


def _is_dead(marks: Path, record: Any) -> bool:
    """Is the mark of a run nobody's? One without a mark still waits, or has perhaps just begun."""
    run_id = record.dagster_run.run_id
    has_begun = bool(record.start_time) and time.time() - record.start_time > _BEGINNING
    return (has_begun or (marks / run_id).exists()) and not is_alive(marks, run_id)


def runs_going_on(instance: Any) -> Any:
    """Return the records of the runs that wait or are under way."""
    import dagster as dg

    return instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus(status) for status in GOING_ON]))


def prepare_dagster(home: Home) -> None:
    """Make Dagster's folder in the home, with its storage, and point Dagster and the caches of libraries there.

    Raises:
        TempkbError: the storage cannot be made.
    """
    cache = home.dagster / "cache"
    for place in (home.dagster, *(home.dagster.iterdir() if home.dagster.is_dir() else ())):
        own(home.path, place)
    # Hugging Face's cache, with gigabytes of models, stays the user's own.
    user_cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    os.environ.setdefault("HF_HOME", str(Path(user_cache) / "huggingface"))
    os.environ["DAGSTER_HOME"] = str(home.dagster)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    os.environ["TEMPKB_HOME"] = str(home.path)
    os.environ["MPLCONFIGDIR"] = str(cache / "matplotlib")
    os.environ["XDG_CACHE_HOME"] = str(cache)
    try:
        if not _is_marked(home.dagster):
            with locked(home.path / "dagster.lock", Patience(_MAKING)):
                _ensure_whole(home)
        cache.mkdir(exist_ok=True)
        _write(home.dagster / "dagster.yaml", settings_for(home.dagster))
    except (OSError, sqlite3.Error) as error:
        raise _refused(home, error) from error


def serve_ui(port: int) -> None:
    """Replace this process by Dagster's web server and daemon, on localhost only.

    None of the processes imports anything from the working directory, which may hold a `duckdb.py` of somebody else:
    `PYTHONSAFEPATH` keeps Python from it. Dagster puts the folder of a module first when it imports it, and `-d` names
    the folder from which tempkb was imported here.
    """
    home = load_home()
    with dagster_at(home):
        # Opened once, so that the storage is whole and no run of a killed command is shown as going on.
        pass
    _require_free(home, port)
    sys.stdout.write(f"http://127.0.0.1:{port} is where the UI opens in some seconds; Ctrl-C ends it.\n")
    sys.stdout.flush()
    os.environ["PYTHONSAFEPATH"] = "1"
    program = Path(sys.executable).with_name("dagster")
    module = ["-m", "tempkb.definitions", "-d", str(Path(__file__).parents[1])]
    arguments = ["dagster", "dev", *module, "-h", "127.0.0.1", "-p", str(port)]
    # A shell without a terminal starts what ends with & with SIGINT ignored. That would outlive this process's program,
    # and Dagster treats SIGTERM as it finds SIGINT, so that nothing but SIGKILL would end it.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)
    os.execv(program, arguments)  # noqa: S606 - our own interpreter's sibling, no shell


def _require_free(home: Home, port: int) -> None:
    """Refuse a port that is taken, and a second UI of a home: Dagster would go on as a daemon without a page."""
    with socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise TempkbError(f"port {port}: {error}; use another one, such as: tempkb ui --port {port + 1}") from None
    # Open, and so locked, until the program that takes this process's place ends; those that it begins do not have it.
    lock = os.open(home.dagster / "ui.lock", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(lock, True)
    if not try_lock(lock):
        os.close(lock)
        raise TempkbError(f"home {home.path}: its UI is open already; use that one, or end it (Ctrl-C) first")


def settings_for(folder: Path | str) -> str:
    """Return the text of `dagster.yaml` for a Dagster folder; JSON's quotes are YAML's, whatever the path holds."""
    logs = json.dumps(f"{folder}/compute_logs", ensure_ascii=False)
    return _DAGSTER_YAML.format(home=json.dumps(str(folder), ensure_ascii=False), compute_logs=logs)


def _is_marked(folder: Path) -> bool:
    """Return True if the storage was found whole before and its files still exist; this only looks up four names."""
    return (folder / _MARK).is_file() and all((folder / name).is_file() for name in _STORAGES)


def _ensure_whole(home: Home) -> None:
    """Make the storage, or what is missing or broken of it; the caller holds the lock."""
    if _is_marked(home.dagster):
        return
    is_new = not home.dagster.exists()
    # On the file system where it is to lie, so that moving it in is one rename.
    draft = home.dagster.with_name("dagster.draft") if is_new else home.dagster / "draft"
    remove_tree(home.path, draft)
    if is_new:
        _make(home, draft)
        _write(draft / "dagster.yaml", settings_for(home.dagster))
        _mark(draft)
        draft.rename(home.dagster)
        return
    broken = _broken_storages(home.dagster)
    if broken:
        _make(home, draft)
        aside = _replace(home.dagster, draft, broken)
        remove_tree(home.path, draft)
        _tell(home, broken, aside)
    _finish(home.dagster, {})
    _mark(home.dagster)


def _make(home: Home, folder: Path) -> None:
    """Make all three storages in a new folder, and tell Dagster which dumps, models and releases it holds."""
    from tempkb.partitions import DUMPS, MODELS

    folder.mkdir(parents=True)
    lake = Lake(home.lake)
    known = {str(DUMPS.name): lake.partitions(DUMP_FILES.name), str(MODELS.name): lake.partitions(MODELS_TABLE.name)}
    _finish(folder, known | {one.partition_set: releases_of(home, one.name) for one in BENCHMARKS})


def _finish(folder: Path, known: Mapping[str, Sequence[str]]) -> None:
    """Make the tables that a storage lacks, and run Dagster's migrations; a finished storage is left as it is."""
    _write(folder / "dagster.yaml", settings_for(folder))
    with _opened(folder) as instance:
        for storage in (instance.run_storage, instance.schedule_storage):
            storage.migrate()
            storage.optimize()
        instance.event_log_storage.reindex_events()
        instance.event_log_storage.reindex_assets()
        for family, keys in known.items():
            instance.add_dynamic_partitions(family, list(keys))


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[Any]:
    import dagster as dg
    from sqlalchemy.exc import DBAPIError

    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            yield instance
    except DBAPIError as error:
        # SQLite's own error, without the statement and the link to a manual that SQLAlchemy adds.
        raise error.orig if isinstance(error.orig, sqlite3.Error) else sqlite3.Error(str(error)) from None


def _broken_storages(folder: Path) -> dict[str, str]:
    """Return the storages that are broken, and how; a storage that is being made at this moment is given time."""
    patience = Patience(_MOMENT)
    while True:
        found = {name: flaw for name, table in _STORAGES.items() if (flaw := flaw_of(folder / name, table))}
        is_missing_only = all(not (folder / name).exists() for name in found)
        if is_missing_only or not patience.wait():
            return found


def flaw_of(path: Path, table: str) -> str:
    """Return what is wrong with one of Dagster's SQLite files; empty if it is whole.

    Dagster makes all tables of a storage before it stamps it with the revision of its schema (Alembic's table
    `alembic_version`), so a storage with exactly one stamp has all its tables.
    """
    if not path.exists():
        return "missing"
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {table, "alembic_version"} <= there:
                return "not made to the end"
            ((stamps,),) = connection.execute("SELECT count(*) FROM alembic_version")
            if stamps != 1:
                return "not made to the end" if not stamps else "made by two processes at once"
            ((health,),) = connection.execute("PRAGMA quick_check(1)")
            return "" if health == "ok" else f"damaged: {' '.join(str(health).split())}"
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            # Locked, read-only, no permission: nothing is known of the file, so nothing may be done to it.
            raise
        return f"damaged: {error}"


def _replace(folder: Path, made: Path, names: Iterable[str]) -> Path | None:
    """Set broken files aside and move new ones in; return where the broken ones lie, None if all were missing."""
    numbers = [int(path.name.removeprefix("broken-")) for path in folder.glob("broken-*")]
    aside = folder / f"broken-{max(numbers, default=0) + 1}"
    for name in names:
        for ending in _BESIDE:
            old = folder / f"{name}{ending}"
            if old.exists():
                (aside / name).parent.mkdir(parents=True, exist_ok=True)
                old.rename(aside / f"{name}{ending}")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).rename(folder / name)
    return aside if aside.exists() else None


def _tell(home: Home, broken: dict[str, str], aside: Path | None) -> None:
    """Report in one line what was repaired, unless there was nothing to lose."""
    if aside is None and not (home.lake.exists() or len(broken) < len(_STORAGES)):
        return
    what = ", ".join(f"{name} ({flaw})" for name, flaw in broken.items())
    where = f"; the broken files lie in {aside}" if aside else ""
    sys.stderr.write(
        f"tempkb: broken files of Dagster's storage in {home.dagster} were made anew: {what}{where}. The tables of the "
        "home are as they were, and Dagster knows its dumps, models and releases again. Earlier runs may be missing.\n"
    )


def _mark(folder: Path) -> None:
    _write(folder / _MARK, "Dagster's storage in this folder was made to the end. Written by tempkb.\n")


def _write(path: Path, said: str) -> None:
    """Write a file completely or not at all, unless it has this content already."""
    if not path.is_file() or path.read_text("utf-8") != said:
        replace_whole(path, said.encode())


def _refused(home: Home, error: Exception) -> TempkbError:
    """Return the error for an error of SQLite or of the system."""
    reason = " ".join(str(getattr(error, "orig", None) or error).split())
    return TempkbError(
        f"{home.dagster}: Dagster's storage cannot be used ({reason}); expected a folder that can be written, with "
        "free space, and no other program that keeps its SQLite files locked. What is built is kept. Try again; the "
        "next command makes anew what is broken of it."
    )
