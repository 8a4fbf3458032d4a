"""What the machine does to us is told in one line; only our own mistakes leave a trace."""

import errno
import io
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import duckdb
import pytest
from click.testing import CliRunner
from dagster._utils.error import serializable_error_info_from_exc_info

from tempkb.commands.cli import main
from tempkb.commands.runs import jobs
from tempkb.commands.screens import failure, status
from tempkb.core.failures import in_words, innermost
from tempkb.core.settings import in_shell
from tempkb.engine.items import attempt
from tempkb.engine.steps import Standing
from tempkb.engine.tasks import Task, bad_in_words
from tempkb.wiki.mentions.tables import MENTIONS

ROOM = (
    "make room, then run the same command again; old versions of partitions are deleted by: tempkb gc; a dump by: "
    "tempkb rm --dump ID"
)
WRITE = "let this user write there, or use another home: TEMPKB_HOME=..."
MOUNT = "check that the disk is mounted, healthy and not full, then run the same command again"
HERE = Path(__file__).parent
HOME = f"home {HERE}"
COMMIT_FULL = (
    'TransactionContext Error: Failed to commit: Could not write file "/h/tempkb.duckdb.wal": No space left on device'
)
DUCKDB_FULL = 'IO Error: Could not write file "/h/tempkb.duckdb": No space left on device'


def of_system(number, path="/h/lake/it's [a]"):
    return OSError(number, os.strerror(number), path)


def chained(error):
    """As SQLAlchemy wraps what SQLite said."""
    outer = RuntimeError("(Background on this error at: https://sqlalche.me/)")
    outer.__cause__ = error
    return outer


MACHINE = [
    (of_system(errno.ENOSPC), f"/h/lake/it's [a]: No space left on device; {ROOM}"),
    (of_system(errno.EDQUOT), f"/h/lake/it's [a]: Disk quota exceeded; {ROOM}"),
    (of_system(errno.EROFS), f"/h/lake/it's [a]: Read-only file system; {WRITE}"),
    (of_system(errno.EACCES), f"/h/lake/it's [a]: Permission denied; {WRITE}"),
    (of_system(errno.ESTALE), f"/h/lake/it's [a]: Stale file handle; {MOUNT}"),
    (of_system(errno.EIO), f"/h/lake/it's [a]: Input/output error; {MOUNT}"),
    (
        of_system(errno.ENOENT),
        "/h/lake/it's [a]: No such file or directory; it may have been moved or removed, or a disk is "
        "not mounted. Put it back or name another, then run the same command again",
    ),
    (of_system(errno.ENAMETOOLONG), "/h/lake/it's [a]: File name too long; use a shorter name"),
    (
        FileNotFoundError(
            2, "Failed to open local file '/h/.draft'. Detail: [errno 2] No such file or directory", "/h/it's"
        ),
        "/h/it's: No such file or directory; it may have been moved or removed, or a disk is not "
        "mounted. Put it back or name another, then run the same command again",
    ),
    (
        OSError("[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"),
        f"{HOME}: No space left on device; {ROOM}",
    ),
    (duckdb.IOException(DUCKDB_FULL), f"{DUCKDB_FULL}; {ROOM}"),
    (duckdb.TransactionException(COMMIT_FULL), f"{COMMIT_FULL}; {ROOM}"),
    (
        duckdb.OutOfMemoryException(
            "Out of Memory Error: failed to pin block of size 256.0 KiB\n\nPossible solutions:\n* x"
        ),
        f"{HOME}: Out of Memory Error: failed to pin block of size 256.0 KiB; use fewer workers (TEMPKB_WORKERS=1) or a machine "
        "with more memory",
    ),
    (sqlite3.OperationalError("database or disk is full"), f"{HOME}: database or disk is full; {ROOM}"),
    (
        sqlite3.OperationalError("(sqlite3.OperationalError) database or disk is full\n[SQL: INSERT]"),
        f"{HOME}: database or disk is full; {ROOM}",
    ),
    (sqlite3.OperationalError("disk I/O error"), f"{HOME}: disk I/O error; {MOUNT}"),
    (
        sqlite3.OperationalError("attempt to write a readonly database"),
        f"{HOME}: attempt to write a readonly database; {WRITE}",
    ),
    (
        sqlite3.DatabaseError("file is not a database"),
        f"{HOME}: file is not a database; the file is damaged; restore it from a copy",
    ),
    (
        chained(sqlite3.OperationalError("unable to open database file")),
        f"{HOME}: unable to open database file; {WRITE}",
    ),
    (MemoryError(), "memory ran out; use fewer workers (TEMPKB_WORKERS=1) or a machine with more memory"),
]
OURS = [
    KeyError("title"),
    TypeError("x"),
    duckdb.CatalogException("Catalog Error: no table"),
    duckdb.TransactionException("TransactionContext Error: Failed to commit: write-write conflict on key: 5"),
    AssertionError(),
]


@pytest.fixture(autouse=True)
def home(monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(HERE))


def raised(error):
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 - for its trace
        return caught


@pytest.mark.parametrize(("error", "line"), MACHINE, ids=lambda value: str(value)[:40])
def test_the_machine_in_one_line_wherever_it_happens(error, line, tmp_path):
    assert in_words(error) == line
    raised(error)
    kept = serializable_error_info_from_exc_info((type(error), error, error.__traceback__))
    assert innermost(kept) == line
    if isinstance(error, Exception):
        work = mock.Mock(side_effect=error)
        assert attempt(work, "part 1", tmp_path / "item", lambda done: None).failure == line


def test_a_home_that_has_vanished_is_told_whatever_stumbled_over_it(monkeypatch, tmp_path):
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "it's gone"))
    for error in (sqlite3.OperationalError("unable to open database file"), sqlite3.OperationalError("disk I/O error")):
        assert in_words(error) == (
            f"home {tmp_path}/it's gone: does not exist ({error}); it may have been moved or removed, or a disk is "
            "not mounted. Put it back or name another, then run the same command again"
        )


@pytest.mark.parametrize("error", OURS, ids=lambda error: type(error).__name__)
def test_a_mistake_of_ours_keeps_its_name_and_says_where_to_report_it(error):
    assert in_words(error) is None
    kept = SimpleNamespace(cause=None, message=f"{type(error).__name__}: {error}\n")
    assert innermost(kept).startswith(type(error).__name__)
    assert "this looks like a defect of tempkb 0.1.0; please report it: https://" in innermost(kept)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (MACHINE[0][0], 1, f"tempkb: {MACHINE[0][1]}\n"),
        (MACHINE[10][0], 1, f"tempkb: {MACHINE[10][1]}\n"),
        (MACHINE[-2][0], 1, f"tempkb: {MACHINE[-2][1]}\n"),
        (
            KeyboardInterrupt(),
            130,
            "tempkb: interrupted; what is finished is kept, and the same command continues from there\n",
        ),
    ],
    ids=["system", "duckdb", "sqlite", "Ctrl-C"],
)
def test_a_command_ends_with_one_line(error, code, line):
    with mock.patch("tempkb.commands.screens.status.open_store", side_effect=error):
        done = CliRunner().invoke(main, ["status"])
    told = line.replace(" tempkb ", f" TEMPKB_HOME={in_shell(HERE)} tempkb ")
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", told)


def test_a_defect_keeps_its_trace_and_tells_where_to_report_it(capsys):
    error = raised(KeyError("title"))
    with mock.patch("tempkb.commands.screens.status.open_store", side_effect=error):
        assert CliRunner().invoke(main, ["status"]).exception is error
    with mock.patch.object(sys, "excepthook"):
        failure.prepare_streams()
        sys.excepthook(type(error), error, error.__traceback__)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Traceback (most recent call last):"
    assert said[-2] == "KeyError: 'title'"
    assert said[-1].startswith("tempkb: this looks like a defect of tempkb 0.1.0; please report it: https://")


def test_messages_cannot_act_on_the_terminal():
    with mock.patch("tempkb.commands.screens.status.open_store", side_effect=of_system(errno.EIO, "/h/\x1b[2Jx")):
        assert "tempkb: /h/\\x1b[2Jx: Input/output error" in CliRunner().invoke(main, ["status"]).stderr


@pytest.mark.slow
def test_a_full_disk_takes_an_export_back_and_says_so(demo_home, tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    with mock.patch(
        "tempkb.benchmarks.export_folder.pq.ParquetWriter", side_effect=of_system(errno.ENOSPC, "cloze.parquet")
    ):
        done = CliRunner().invoke(main, ["release", "export", "demo-cloze", str(tmp_path)])
    room = ROOM.replace(" tempkb ", f" TEMPKB_HOME={in_shell(demo_home)} tempkb ")
    assert (done.exit_code, done.stderr) == (1, f"tempkb: cloze.parquet: No space left on device; {room}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("buffering", [-1, 0])
def test_a_full_standard_output_is_not_blamed_on_the_home(home_folder, capsys, buffering):
    """As of `tempkb tables > /dev/full`, with and without PYTHONUNBUFFERED."""
    full = Path("/dev/full").open("wb", buffering=buffering)  # noqa: SIM115 - the command's own standard output
    text = io.TextIOWrapper(full, encoding="utf-8", write_through=not buffering)
    with mock.patch("sys.stdout", text), mock.patch.object(sys, "excepthook"), pytest.raises(SystemExit) as ended:
        main(["tables"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "tempkb: standard output: could not be written completely (No space left on device), so the output is not "
        "complete. Send it to a place with enough room, and type the same command again\n"
    )


def test_a_standard_output_that_is_closed_is_no_defect(home_folder, capsys):
    with mock.patch("sys.stdout", None), mock.patch.object(sys, "excepthook"), pytest.raises(SystemExit) as ended:
        main(["status"])
    assert (ended.value.code, capsys.readouterr().err) == (0, "")


def test_several_failures_have_a_line_each_and_are_counted(capsys):
    with pytest.raises(SystemExit):
        failure.fail_all(["window a: torn", "window b: empty"])
    assert capsys.readouterr().err.splitlines() == [
        "failed: window a: torn",
        "failed: window b: empty",
        "tempkb: 2 failures, see above; what is finished is kept",
    ]
    with pytest.raises(SystemExit):
        failure.fail_all(["no weights", "torn", "no weights"])
    assert capsys.readouterr().err.splitlines() == [
        "failed 2 times: no weights",
        "failed: torn",
        "tempkb: 3 failures, see above; what is finished is kept",
    ]
    with pytest.raises(SystemExit):
        failure.fail_all(["window a: torn"])
    assert capsys.readouterr().err == "tempkb: window a: torn\n"


def test_windows_that_fail_for_different_reasons_have_a_line_each(home_folder, capsys):
    """A line for each failure of the closing screen, never broken, and their number."""
    torn = "found " + "a torn file " * 30 + "; build it again: tempkb build"
    bad = {"2021-01-01": torn, "2021-04-01": "found none", "2021-07-01": "found none"}

    task = Task("mentions", (Standing((MENTIONS,)),))
    status.print_summary(jobs.Summary([*bad, "2021-10-01"], bad_in_words(task, bad)))
    said = capsys.readouterr().out.splitlines()
    assert said[-3:] == [
        f"failed: mentions of window 2021-01-01 was not built: {torn.replace('tempkb', f'TEMPKB_HOME={home_folder} tempkb')}",
        "failed: mentions of 2 windows (2021-04-01 to 2021-07-01) was not built: found none",
        "2 failures; 0 of 4 windows are built.",
    ]


LEAVING = """
import atexit, sys, threading, time
from tempkb.commands.screens.failure import leave
atexit.register(print, "registered", flush=True)
threading.Thread(target=lambda: (time.sleep(0.2), print("a thread"))).start()
sys.stdout.write("the end of a line that nobody has flushed\\n")
leave({code!r})
"""


@pytest.mark.parametrize(("code", "found"), [(None, 0), (0, 0), (3, 3), ("a message", 1)])
def test_a_command_that_leaves_waits_for_threads_and_does_what_is_registered(code, found):
    done = subprocess.run([sys.executable, "-c", LEAVING.format(code=code)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (found, "")
    assert done.stdout.splitlines() == ["the end of a line that nobody has flushed", "a thread", "registered"]


def test_output_that_is_lost_at_the_very_end_is_no_success():
    code = "import sys; from tempkb.commands.screens.failure import leave; sys.stdout.write('a line'); leave(0)"
    with Path("/dev/full").open("wb") as full:
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, env=buffered)
    assert (done.returncode, done.stderr) == (120, b""), "Python's own code for it"


CYCLE = """
import duckdb
from tempkb.commands.cli import run

def length(text: str) -> int:
    return len(text)

kept = duckdb.connect()
kept.create_function("length_of", length)
"""


@pytest.mark.slow
def test_what_libraries_hold_of_one_another_at_the_end_is_not_complained_about():
    """DuckDB complains if an object of its own outlives it, such as a connection with a function of ours."""
    plain = subprocess.run([sys.executable, "-c", CYCLE], capture_output=True, text=True, timeout=60)
    assert "leaked" in plain.stderr, "the complaint that a plain end brings"
    ours = subprocess.run([sys.executable, "-c", f"{CYCLE}run()", "--version"], capture_output=True, text=True)
    assert (ours.returncode, ours.stderr) == (0, "")
