"""Dagster's folder: made at first use, set aside whole where it is broken, and never a trace."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime
from unittest import mock

import dagster as dg
import pytest
from click.testing import CliRunner
from sqlalchemy.exc import OperationalError

from tempkb.benchmarks.register import write_entry
from tempkb.commands.cli import main
from tempkb.core.errors import TempkbError
from tempkb.core.locks import is_at_work, name_of_run
from tempkb.core.settings import load_home
from tempkb.platform import instance
from tempkb.platform.api import open_store
from tempkb.platform.instance import dagster_at, end_dead_runs, flaw_of, prepare_dagster, serve_ui
from tempkb.platform.reporter import report
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb.wiki.dumps.tables import DUMP_FILES
from tempkb_tests.conftest import run_script

RUNS, EVENTS, SCHEDULES = "history/runs.db", "history/runs/index.db", "schedules/schedules.db"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A home's Dagster folder as it is made, with a run and a dump in it; copy it to change it."""
    folder = tmp_path_factory.mktemp("made") / "home"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEMPKB_HOME", str(folder))
        with dagster_at(load_home()) as one:
            one.add_dynamic_partitions("dumps", ["testwiki-20200101"])
            one.add_run(dg.DagsterRun(job_name="build_windows", run_id="8d1ff8f5-3d4e-4d1f-8a55-0c3d3a2f0a11"))
    return folder / "dagster"


@pytest.fixture
def home(home_folder, made):
    """A home with that folder, and with a dump and a release that Dagster must know."""
    shutil.copytree(made, home_folder / "dagster")
    store = Store(load_home().claim("testwiki"), [DUMP_FILES])
    store.write(DUMP_FILES, "testwiki-20220101", [DUMP_FILES.schema.empty_table()], Provenance())
    write_entry(store.home, "tempel", "study", {"design": {}})
    return load_home()


def known_to_dagster(home):
    """What a plain Dagster finds in the home: runs, dumps, releases."""
    with dg.DagsterInstance.from_config(str(home.dagster)) as one:
        assert one.all_instigator_state() == []
        return one.get_runs_count(), *(
            sorted(one.get_dynamic_partitions(family)) for family in ("dumps", "tempel_releases")
        )


def half_made(path):
    """As a kill leaves it that falls between the first table and the last."""
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE event_logs (id INTEGER)")


def two_heads(path):
    """As two first commands leave it that stamp it at once."""
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO alembic_version VALUES ('5771160a95ad')")


def unstamped(path):
    """As a kill leaves it that falls between the last table and the stamp."""
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM alembic_version")


def overwritten(path):
    path.write_bytes(b"x" * 9000)


def torn(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("wedge", "flaw"),
    [
        (lambda path: None, ""),
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(b""), "not made to the end"),
        (half_made, "not made to the end"),
        (unstamped, "not made to the end"),
        (two_heads, "not made to the end"),
        (overwritten, "damaged: file is not a database"),
        (torn, "damaged: "),
    ],
)
def test_whole_is_told_from_broken(made, tmp_path, wedge, flaw):
    path = shutil.copyfile(made / EVENTS, tmp_path / "index.db")
    wedge(path)
    assert flaw_of(path).startswith(flaw)
    assert bool(flaw) == bool(flaw_of(path))


def test_a_broken_storage_is_set_aside_whole_and_made_anew_and_told_again(home, capsys):
    half_made(home.dagster / EVENTS)
    overwritten(home.dagster / SCHEDULES)
    with dagster_at(home) as one:
        assert one.get_runs_count() == 0
        assert report(one, open_store()) > 0
    aside = home.path / "dagster.broken-1"
    assert capsys.readouterr().err == (
        f"tempkb: Dagster's storage was broken: {EVENTS} (not made to the end), {SCHEDULES} (damaged: file is not a "
        "database). It is made anew and told again what is built; the tables of the home are as they were. The broken "
        f"one, with the log of earlier runs, lies in {aside}\n"
    )
    assert (aside / RUNS).exists()
    assert known_to_dagster(home) == (0, ["testwiki-20220101"], ["study"])
    with dagster_at(home):
        assert capsys.readouterr().err == ""


def test_a_whole_storage_is_kept_without_a_word(home, capsys):
    with dagster_at(home):
        assert capsys.readouterr().err == ""
    assert known_to_dagster(home) == (1, ["testwiki-20200101"], [])


def test_sqlites_errors_are_one_line(home):
    locked = OperationalError("INSERT INTO runs", {}, sqlite3.OperationalError("database is locked"))
    with pytest.raises(TempkbError, match=r"storage cannot be used \(database is locked\)"), dagster_at(home):
        raise locked
    full = mock.patch("pathlib.Path.mkdir", side_effect=OSError(30, "Read-only file system"))
    with full, pytest.raises(TempkbError, match=r"storage cannot be used \(.*Read-only file system\)"):
        prepare_dagster(home)


def test_a_torn_log_of_a_run_is_that_runs_alone(home):
    torn = home.dagster / "history/runs/8d1ff8f5-3d4e-4d1f-8a55-0c3d3a2f0a11.db"
    torn.write_bytes(b"")
    with dagster_at(home) as one:
        assert one.all_logs("8d1ff8f5-3d4e-4d1f-8a55-0c3d3a2f0a11") == []
        one.add_dynamic_partitions("dumps", ["testwiki-20230101"])
    assert known_to_dagster(home) == (1, ["testwiki-20200101", "testwiki-20230101"], [])


def added(one, begun=None):
    """A run that began so many seconds ago, or waits; its id."""
    run = one.run_storage.add_run(dg.DagsterRun("build_windows"))
    if begun is not None:
        told = dg.DagsterEvent("PIPELINE_START", job_name="build_windows")
        one.run_storage.handle_run_event(run.run_id, told, datetime.fromtimestamp(time.time() - begun, UTC))
    return run.run_id


# A process that holds the lock of a run, says so, and waits to be killed.
HOLDER = """
import sys, time
from pathlib import Path
from tempkb.core.locks import at_work, name_of_run
with at_work(Path(sys.argv[1]), [name_of_run(sys.argv[2])]):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_run_has_failed_once_no_process_works_on_it_and_not_before(home):
    """Whoever began it. Behind its last table a command that is typed again finds nothing to do, and begins no run."""
    with dagster_at(home) as one:
        worked_on = added(one, begun=7200)
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(home.working), worked_on], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "held\n"
        just_begun = added(one, begun=5)
        lost_its_lock = added(one, begun=7200)
        waits = added(one)

        def going_on():
            end_dead_runs(one, home)
            known = {worked_on, just_begun, lost_its_lock, waits}
            return {run.run_id for run in one.get_runs() if not run.is_finished} & known

        assert going_on() == {worked_on, just_begun, waits}
        process.kill()
        process.wait()
        assert (home.working / name_of_run(worked_on)).exists()
    with dagster_at(home) as one:
        assert one.get_run_by_id(worked_on).status == dg.DagsterRunStatus.FAILURE
        (failure,) = one.all_logs(worked_on, of_type=dg.DagsterEventType.RUN_FAILURE)
        assert "was killed, or the machine stopped" in failure.dagster_event.message
        assert going_on() == {just_begun, waits}
    assert list(home.working.iterdir()) == []


def test_a_run_that_ends_while_one_looks_is_left_as_it_ended(home, monkeypatch):
    with dagster_at(home) as one:
        run_id = added(one, begun=7200)

        def end(folder, name):
            told = dg.DagsterEvent("PIPELINE_SUCCESS", job_name="build_windows")
            one.run_storage.handle_run_event(run_id, told)
            return False

        monkeypatch.setattr(instance, "is_at_work", end)
        end_dead_runs(one, home)
        assert one.get_run_by_id(run_id).status == dg.DagsterRunStatus.SUCCESS
        assert one.all_logs(run_id, of_type=dg.DagsterEventType.RUN_FAILURE) == []


def test_the_process_of_a_run_holds_its_lock_until_it_ends(home):
    """As the daemon starts it; what it does last is to say how the run ended, when its resources are gone."""
    script = """
import dagster as dg
from tempkb.platform.reporter import report
from tempkb.core.settings import load_home
from tempkb.core.locks import is_at_work, name_of_run
from tempkb.platform.assets import store_resource
@dg.op(required_resource_keys={"store"})
def work(context):
    assert is_at_work(load_home().working, name_of_run(context.run_id))
@dg.job(resource_defs={"store": store_resource([], [])})
def job():
    work()
done = job.execute_in_process()
assert is_at_work(load_home().working, name_of_run(done.run_id))
print(done.run_id)
"""
    done = run_script(script)
    (run_id,) = done.stdout.split()
    assert (home.working / name_of_run(run_id)).exists()
    assert not is_at_work(home.working, name_of_run(run_id))


def test_storage_and_settings_lie_in_the_home_whatever_signs_its_path_has(home_folder, monkeypatch):
    for name in ("it's 100% é", "it's [x] 100% é"):
        monkeypatch.setenv("TEMPKB_HOME", str(home_folder / name))
        home = load_home()
        with dagster_at(home) as one:
            one.add_dynamic_partitions("dumps", ["testwiki-20230101"])
        assert known_to_dagster(home) == (0, ["testwiki-20230101"], [])
        assert all((home.dagster / file).is_file() for file in (RUNS, EVENTS, SCHEDULES, "dagster.yaml"))


def test_the_address_is_the_first_thing_that_the_ui_says(home, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    # What Dagster logs, as the first thing that its program does.
    monkeypatch.setattr(os, "execv", lambda *_: os.write(1, b"Launching Dagster services..."))
    serve_ui(3456)
    assert capfd.readouterr().out == (
        "http://127.0.0.1:3456/assets is where the UI opens in some seconds; Ctrl-C ends it.\nLaunching Dagster services..."
    )


def test_a_taken_port_and_a_second_ui_of_a_home_are_refused(home, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    begun = []
    monkeypatch.setattr(os, "execv", lambda *arguments: begun.append(arguments))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = CliRunner().invoke(main, ["ui", "--port", str(port)])
        assert (said.exit_code, begun) == (1, [])
        assert said.output.startswith(f"tempkb: port {port}: [Errno 98] Address already in use; ")
        assert said.output.endswith(f" tempkb ui --port {port + 1}\n")
    for odd in ("99999", "0", "x"):
        assert CliRunner().invoke(main, ["ui", "--port", odd]).exit_code == 2
    for is_open in (False, True):
        said = CliRunner().invoke(main, ["ui", "--port", str(port)])
        assert (said.exit_code, len(begun)) == (int(is_open), 1)
    assert said.output == f"tempkb: home {home.path}: its UI is open already; use that one, or end it (Ctrl-C) first\n"


def test_the_server_gets_the_signals_that_end_it_whatever_the_shell_ignores(home, monkeypatch):
    """The shell of a script starts what ends with & with SIGINT ignored, and an ignored signal outlives `execv`."""
    ends = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, signal.SIG_IGN) for one in ends}
    at_its_start = []
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setattr(os, "execv", lambda *_: at_its_start.extend(map(signal.getsignal, ends)))
    try:
        serve_ui(3000)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert at_its_start == [signal.SIG_DFL, signal.SIG_DFL]
