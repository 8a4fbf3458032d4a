"""Dagster's folder in a home, which only `tempkb ui` and what it starts use: Dagster is a front end.

What stands there can be told again from the lake, so a folder that Dagster cannot use is set aside whole.
"""

import contextlib
import math
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tempkb.core.errors import TempkbError
from tempkb.core.files import own, replace_whole
from tempkb.core.locks import Patience, is_at_work, locked, name_of_run, try_lock
from tempkb.core.settings import Home, load_home

DAGSTER_YAML = """\
# Written by tempkb for this home; the committed dagster.yaml says the same for the default home.
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
"""What a home's Dagster is told; its files lie in its folder anyway."""

# The files of Dagster's three storages. It stamps each with the revision of its schema once all tables are made.
_STORAGES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
# Making the storage takes a second or two; a holder that keeps the lock for so many seconds is stopped or hangs.
_MAKING = 120.0
# Seconds in which a run that Dagster calls started surely holds its lock.
_BEGINNING = 60.0
_KILLED = "The process of this run was killed, or the machine stopped. What it had finished is kept."


@contextlib.contextmanager
def dagster_at(home: Home) -> Iterator[Any]:
    """Give the Dagster instance of a home, made on first use; nothing of it lies outside the home.

    Raises:
        TempkbError: the storage cannot be made, read or written.
    """
    prepare_dagster(home)
    import dagster as dg
    from sqlalchemy.exc import DBAPIError

    try:
        with locked(home.path / "dagster.lock", Patience(_MAKING)):
            _set_aside_broken(home)
            instance = dg.DagsterInstance.from_config(str(home.dagster))
            # Makes the file of events, unlike the others, which are made when the instance is.
            instance.get_dynamic_partitions("dumps")
        with instance:
            end_dead_runs(instance, home)
            yield instance
    except (DBAPIError, OSError, sqlite3.Error) as error:
        raise _refused(home, error) from error


def end_dead_runs(instance: Any, home: Home) -> None:
    """Report runs on which no process works any more as failed.

    Unless the process died alone, nobody else does: to Dagster such a run goes on for ever, and all that is queued
    waits for it.
    """
    import dagster as dg

    # Listed first, so that each is of a run that had begun by then.
    locks = {path.name: path for path in home.working.glob(name_of_run("*"))}
    begun = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
    dead = {name_of_run(one.dagster_run.run_id) for one in instance.get_run_records(begun) if _is_dead(home, one)}
    # Asked again, since a run that has just ended has no living process either.
    still = {name_of_run(run.run_id): run for run in instance.get_runs(begun)}
    for name in dead & still.keys():
        instance.report_run_failed(still.pop(name), _KILLED)
    for name in locks.keys() - still.keys():
        locks[name].unlink(missing_ok=True)


def _is_dead(home: Home, record: Any) -> bool:
    """Is the lock of a run nobody's? One without a lock has perhaps just begun."""
    name = name_of_run(record.dagster_run.run_id)
    has_begun = (home.working / name).exists() or time.time() - (record.start_time or math.inf) > _BEGINNING
    return has_begun and not is_at_work(home.working, name)


def prepare_dagster(home: Home) -> None:
    """Make Dagster's folder in the home, and point Dagster and the cache of its pictures there.

    Raises:
        TempkbError: the folder cannot be made.
    """
    cache = home.dagster / "cache" / "matplotlib"
    for place in (home.dagster, *(home.dagster.iterdir() if home.dagster.is_dir() else ())):
        own(home.path, place)
    os.environ["DAGSTER_HOME"] = str(home.dagster)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    os.environ["TEMPKB_HOME"] = str(home.path)
    os.environ["MPLCONFIGDIR"] = str(cache)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        replace_whole(home.dagster / "dagster.yaml", DAGSTER_YAML.encode())
    except OSError as error:
        raise _refused(home, error) from error


def serve_ui(port: int) -> None:
    """Replace this process by Dagster's web server and daemon, on localhost only.

    None of the processes imports anything from the working directory, which may hold a `duckdb.py` of somebody else:
    `PYTHONSAFEPATH` keeps Python from it. Dagster puts the folder of a module first when it imports it, and `-d` names
    the folder from which tempkb was imported here.
    """
    home = load_home()
    with dagster_at(home):
        # Opened once, so that the storage is whole and no run that was killed is shown as going on.
        pass
    _require_free(home, port)
    sys.stdout.write(f"http://127.0.0.1:{port}/assets is where the UI opens in some seconds; Ctrl-C ends it.\n")
    sys.stdout.flush()
    # Dagster's warnings are of its own command, and of its file of settings in the working directory.
    os.environ |= {"PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "ignore:Function `dev_command` is superseded"}
    program = Path(sys.executable).with_name("dagster")
    module = ["-m", "tempkb.platform.definitions", "-d", str(Path(__file__).parents[2])]
    arguments = ["dagster", "dev", *module, "-h", "127.0.0.1", "-p", str(port), "--log-level", "error"]
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


def flaw_of(path: Path) -> str:
    """Return what is wrong with one of Dagster's SQLite files; empty if it is whole."""
    if not path.exists():
        return "missing"
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            ((is_stamped,),) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'")
            if not is_stamped or connection.execute("SELECT count(*) FROM alembic_version").fetchone() != (1,):
                return "not made to the end"
            ((health,),) = connection.execute("PRAGMA quick_check(1)")
            return "" if health == "ok" else f"damaged: {' '.join(str(health).split())}"
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            # Locked, read-only, no permission: nothing is known of the file, so nothing may be done to it.
            raise
        return f"damaged: {error}"


def _set_aside_broken(home: Home) -> None:
    """Set Dagster's folder aside if it has storages of which one is broken; the caller holds the lock."""
    found = {name: flaw_of(home.dagster / name) for name in _STORAGES}
    broken = {name: flaw for name, flaw in found.items() if flaw}
    if not broken or all(flaw == "missing" for flaw in found.values()):
        return
    n_aside = len(list(home.path.glob(f"{home.dagster.name}.broken-*")))
    aside = home.dagster.rename(home.dagster.with_name(f"{home.dagster.name}.broken-{n_aside + 1}"))
    prepare_dagster(home)
    what = ", ".join(f"{name} ({flaw})" for name, flaw in broken.items())
    sys.stderr.write(
        f"tempkb: Dagster's storage was broken: {what}. It is made anew and told again what is built; the tables of "
        f"the home are as they were. The broken one, with the log of earlier runs, lies in {aside}\n"
    )


def _refused(home: Home, error: Exception) -> TempkbError:
    """Return the error for an error of SQLite or of the system."""
    reason = " ".join(str(getattr(error, "orig", None) or error).split())
    return TempkbError(
        f"{home.dagster}: Dagster's storage cannot be used ({reason}); expected a folder that can be written, with "
        "free space, and no other program that keeps its SQLite files locked. What is built is kept."
    )
