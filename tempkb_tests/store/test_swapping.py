"""People have the DuckDB file open while tempkb publishes: readers get in nobody's way, and writers lose nothing."""

import contextlib
import dataclasses
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import duckdb
import pytest

from tempkb.screens.query import run_query
from tempkb.settings import load_home
from tempkb.store import database
from tempkb.store.deferring import deferring
from tempkb.store.drafts import Provenance
from tempkb.store.locks import Patience
from tempkb.store.opening import is_begun
from tempkb.store.store import Store
from tempkb.store.tables import View
from tempkb_tests.conftest import run_script
from tempkb_tests.store.analysts import analyst, ask
from tempkb_tests.store.crashes import POINTS_OF_A_SWAP, writers
from tempkb_tests.store.tables_for_tests import TOWNS, towns

COUNT = "SELECT region, count(*) FROM towns GROUP BY region ORDER BY region"
OLD, NEW = [("north", 3)], [("north", 3), ("south", 2)]
NOTES = "SELECT count(*) FROM notes"


def write(store, region, n):
    return store.write(TOWNS, region, [towns(region, n)], Provenance())


def beside(path):
    """What the names of the files beside the DuckDB file have more than its own."""
    return sorted(one.name.removeprefix(path.name) for one in path.parent.glob(f"{path.name}?*"))


def refused(method, ending):
    """A file system that cannot do something with names of an ending."""
    work = getattr(Path, method)

    def wrapped(self, target):
        if self.name.endswith(ending):
            raise OSError(95, "Operation not supported")
        return work(self, target)

    return mock.patch.object(Path, method, wrapped)


@pytest.fixture
def published(store):
    """A published home in whose file an analyst keeps notes, and a partition that waits."""
    write(store, "north", 3)
    store.publish()
    with duckdb.connect(str(store.database.path)) as connection:
        connection.execute("CREATE TABLE notes AS SELECT range AS n FROM range(7)")
    write(store, "south", 2)
    return store


def leave_log(path):
    """Add two notes and be killed before they are in the file itself."""
    script = (
        "import duckdb, os, sys; connection = duckdb.connect(sys.argv[1]); "
        "connection.execute('INSERT INTO notes VALUES (8), (9)'); os.kill(os.getpid(), 9)"
    )
    run_script(script, str(path), code=-signal.SIGKILL)
    assert path.with_name(f"{path.name}.wal").exists()


def test_readers_of_other_processes_hold_nothing_back_and_keep_what_they_see(published):
    path = published.database.path
    with analyst(path) as first, analyst(path) as second:
        publication = published.publish()
        assert (publication.done, publication.left, publication.reason) == (1, 0, "")
        assert first.ask(COUNT) == second.ask(COUNT) == str(OLD)
        assert ask(path, COUNT) == str(NEW)
        assert ask(path, NOTES) == "[(7,)]"
        assert beside(path) == [".lock", ".old-1"]
        # A reader of the new file comes; what is then published is in a third one.
        with analyst(path) as third:
            write(published, "west", 1)
            assert published.publish().done == 1
            assert (first.ask(COUNT), third.ask(COUNT)) == (str(OLD), str(NEW))
        assert ask(path, COUNT) == str([*NEW, ("west", 1)])
    assert published.publish().done == 0
    assert beside(path) == [".lock"]


def test_readers_of_the_same_process_hold_nothing_back_either(published):
    path = published.database.path
    with duckdb.connect(str(path), read_only=True) as held:
        assert published.publish().left == 0
        write(published, "west", 1)
        assert published.publish().left == 0
        assert held.execute(COUNT).fetchall() == OLD
        assert ask(path, COUNT) == str([*NEW, ("west", 1)])
        assert ask(path, NOTES) == "[(7,)]"
    with duckdb.connect(str(path), read_only=True) as again:
        assert again.execute(COUNT).fetchall() == [*NEW, ("west", 1)]


def test_with_nothing_to_publish_nothing_is_copied(published):
    published.publish()
    with analyst(published.database.path), mock.patch.object(database, "copied", side_effect=AssertionError):
        assert (published.publish().done, published.publish().left) == (0, 0)


def test_a_view_that_is_to_be_made_again_is_made_while_somebody_reads(published):
    published.publish()
    large = View("large_towns", "Towns of many.", "SELECT region, name FROM towns WHERE n_people > 0", ("towns",))
    with analyst(published.database.path):
        assert Store(load_home(), [TOWNS], Patience(1.0), [large]).publish().left == 0
        assert ask(published.database.path, "SELECT count(*) FROM large_towns") == "[(5,)]"


def make_newer(path):
    """Give a file the storage version of DuckDB 2.0, as earlier versions of tempkb made it."""
    newer = path.with_suffix(".newer")
    with duckdb.connect() as memory:
        memory.execute(f"ATTACH '{path}' AS old (READ_ONLY); ATTACH '{newer}' AS new; COPY FROM DATABASE old TO new")
    newer.replace(path)


def storage_of(path):
    return ask(path, "SELECT tags['storage_version'] FROM duckdb_databases() WHERE path IS NOT NULL")


@pytest.mark.parametrize("is_read", [False, True])
def test_a_file_that_older_clients_refuse_is_made_again_with_what_analysts_have(published, is_read):
    path = published.database.path
    assert storage_of(path) == "[('v1.4.0+',)]"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW few AS SELECT n FROM notes WHERE n < 3; CREATE MACRO twice(x) AS 2 * x")
    make_newer(path)
    assert storage_of(path) == "[('v2.0.0+',)]"
    with analyst(path) if is_read else contextlib.nullcontext():
        assert (published.publish().done, storage_of(path)) == (1, "[('v1.4.0+',)]")
    assert ask(path, COUNT) == str(NEW)
    assert ask(path, "SELECT count(*), twice(max(n)) FROM few") == "[(3, 4)]"
    with mock.patch.object(database, "copied", side_effect=AssertionError):
        assert published.publish().left == 0
    assert beside(path) == [".lock"]


def test_a_table_with_a_type_that_older_clients_lack_keeps_the_file_as_it_is(published):
    path = published.database.path
    make_newer(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1::VARIANT AS v")
    assert (published.publish().left, storage_of(path)) == (0, "[('v2.0.0+',)]")
    assert (ask(path, COUNT), ask(path, "SELECT count(*) FROM mine")) == (str(NEW), "[(1,)]")
    assert beside(path) == [".lock"]


def test_somebody_who_writes_is_never_swapped_under_and_everybody_is_told(published, capsys):
    path = published.database.path
    with analyst(path, "writes") as writer:
        inode = path.stat().st_ino
        publication = published.publish()
        # What is pending cannot be read either, so all that there is counts.
        assert (publication.done, publication.left) == (0, 2)
        assert "tempkb.duckdb is open in another program, so it cannot be updated; close it" in publication.reason
        assert writer.ask("INSERT INTO notes VALUES (8)") == "[(1,)]"
        assert (path.stat().st_ino, beside(path)) == (inode, [".lock", ".pending", ".wal"])
    run_query(COUNT, "csv", None)
    said = capsys.readouterr()
    assert said.out == "region,count_star()\nnorth,3\n"
    assert said.err.startswith("note: tempkb.duckdb was not brought up to date, so SQL may show older rows: ")
    assert said.err.endswith("tempkb publish\n")
    assert published.publish().left == 0
    assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(8,)]")
    run_query(COUNT, "csv", None)
    assert capsys.readouterr().err == ""


def test_a_writer_of_the_same_process_keeps_its_lock_whatever_we_look_at(published):
    path = published.database.path
    with duckdb.connect(str(path)) as ours:
        ours.execute("INSERT INTO notes VALUES (8)")
        assert is_begun(path)
        published.publish()
        other = subprocess.run(
            [sys.executable, "-c", f"import duckdb; duckdb.connect({str(path)!r})"], capture_output=True, check=False
        )
        assert b"Could not set lock" in other.stderr
    assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(8,)]")


def test_a_log_that_a_kill_has_left_is_in_the_new_file(published):
    path = published.database.path
    leave_log(path)
    with analyst(path) as reader:
        assert reader.ask(NOTES) == "[(9,)]"
        assert published.publish().left == 0
        assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(9,)]")
        assert beside(path) == [".lock", ".old-1", ".old-1.wal"]
        assert reader.ask(NOTES) == "[(9,)]"


@pytest.mark.parametrize(
    ("hindrance", "said"),
    [
        (
            lambda: mock.patch("shutil.disk_usage", return_value=SimpleNamespace(free=1000)),
            "bytes, of which the disk has 1,000; close the program or make room, then: tempkb publish",
        ),
        (
            lambda: refused("hardlink_to", ".old-1"),
            "cannot be replaced while it is (Operation not supported); close the program, then: tempkb publish",
        ),
        (
            lambda: refused("replace", "duckdb.draft"),
            "cannot be replaced while it is (Operation not supported); close the program, then: tempkb publish",
        ),
    ],
    ids=["no room", "no second names", "no replacement"],
)
def test_where_no_copy_can_take_its_place_it_stays_pending(published, hindrance, said):
    path = published.database.path
    leave_log(path)
    with analyst(path), hindrance():
        publication = published.publish()
    assert publication.left == 1
    assert publication.reason.endswith(said)
    assert beside(path) == [".lock", ".pending", ".wal"]
    assert (ask(path, COUNT), ask(path, NOTES)) == (str(OLD), "[(9,)]")
    assert published.publish().left == 0
    assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(9,)]")


@pytest.fixture(scope="module")
def starting(tmp_path_factory):
    with writers(tmp_path_factory.mktemp("writers")) as start:
        yield start


@pytest.mark.slow
@pytest.mark.parametrize("point", list(POINTS_OF_A_SWAP))
def test_killed_at_each_step_of_a_swap(published, starting, point):
    path = published.database.path
    leave_log(path)
    with analyst(path) as reader:
        assert starting(published.home.path, "south", 2, 1, point).wait() == -signal.SIGKILL
        assert reader.ask(COUNT) == str(OLD)
        is_new = "replaced" in point
        assert ask(path, COUNT) == str(NEW if is_new else OLD)
        # Between two of these steps, what the log held is seen by nobody; it is there again with the next publication.
        assert ask(path, NOTES) == ("[(7,)]" if "log" in point else "[(9,)]")
        assert Store(load_home(), [TOWNS], Patience(5)).publish().left == 0
        assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(9,)]")
    assert published.publish().left == 0
    assert beside(path) == [".lock"]


@pytest.mark.slow
def test_who_writes_after_a_kill_in_the_middle_loses_nothing_either(published, starting):
    path = published.database.path
    leave_log(path)
    with analyst(path):
        starting(published.home.path, "south", 2, 1, "the log of the old file set aside").wait()
    with analyst(path, "writes") as writer:
        assert writer.ask("INSERT INTO notes VALUES (100)") == "[(1,)]"
    publication = published.publish()
    assert publication.left == 0
    kept = path.with_name("tempkb.duckdb.damaged-1")
    assert publication.set_aside.endswith(f"perhaps of tables of your own, is in {kept}")
    assert (ask(path, COUNT), ask(path, NOTES), ask(kept, NOTES)) == (str(NEW), "[(8,)]", "[(9,)]")
    assert beside(path) == [".damaged-1", ".lock"]


def test_a_command_copies_the_file_once_at_its_end(published):
    path = published.database.path
    with analyst(path), mock.patch.object(database, "copied", side_effect=database.copied) as copies:
        with deferring() as held:
            first = published.publish()
            write(published, "west", 1)
            assert published.publish().left == 2
            assert (first.left, len(held), copies.call_count) == (1, 2, 0)
            assert "it is published at the end of the command" in first.reason
        assert (published.publish().done, copies.call_count) == (2, 1)


def test_garbage_that_views_of_open_readers_name_stays_until_they_are_gone(home_folder):
    bulk = Store(load_home(), [dataclasses.replace(TOWNS, persist="view")], Patience(1.0))
    old = write(bulk, "north", 3)
    bulk.publish()
    with analyst(bulk.database.path) as reader:
        write(bulk, "north", 4)
        assert bulk.collect_garbage() == []
        assert reader.ask(COUNT) == "[('north', 3)]"
        assert ask(bulk.database.path, COUNT) == "[('north', 4)]"
    assert bulk.collect_garbage() == [old.folder]
