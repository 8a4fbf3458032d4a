"""People have the DuckDB file open while tempkb publishes: readers get in nobody's way, and writers lose nothing."""

import dataclasses
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import duckdb
import pytest

from tempkb.commands.screens.query import run_query
from tempkb.core.locks import Patience, locked
from tempkb.core.settings import load_home
from tempkb.store import database
from tempkb.store.drafts import Provenance
from tempkb.store.opening import DatabaseFileError
from tempkb.store.store import Store
from tempkb.store.tables import View
from tempkb_tests.conftest import run_script
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.analysts import analyst, ask
from tempkb_tests.store.crashes import POINTS_OF_PUBLISHING, writers
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
        assert beside(path) == [".lock"]
        # A reader of the new file comes; what is then published is in a third one.
        with analyst(path) as third:
            write(published, "west", 1)
            assert published.publish().done == 1
            assert (first.ask(COUNT), third.ask(COUNT)) == (str(OLD), str(NEW))
            assert ask(path, COUNT) == str([*NEW, ("west", 1)])
            write(published, "east", 4)
            assert published.publish().done == 1
            assert (first.ask(COUNT), third.ask(COUNT)) == (str(OLD), str(NEW))
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
    with analyst(published.database.path), mock.patch.object(database.Database, "_copy", side_effect=AssertionError):
        assert (published.publish().done, published.publish().left) == (0, 0)


def test_a_view_that_is_to_be_made_again_is_made_while_somebody_reads(published):
    published.publish()
    large = View("large_towns", "Towns of many.", "SELECT region, name FROM towns WHERE n_people > 0", ("towns",))
    with analyst(published.database.path):
        assert Store(load_home(), [TOWNS], Patience(1.0), [large]).publish().left == 0
        assert ask(published.database.path, "SELECT count(*) FROM large_towns") == "[(5,)]"


def test_somebody_who_writes_is_never_swapped_under_and_everybody_is_told(published, capsys, monkeypatch):
    path = published.database.path
    with analyst(path, "writes") as writer:
        inode = path.stat().st_ino
        publication = published.publish()
        # What is pending cannot be read either, so all that there is counts.
        assert (publication.done, publication.left) == (0, 2)
        assert "tempkb.duckdb is open in another program that writes to it, so it cannot be used" in publication.reason
        assert writer.ask("INSERT INTO notes VALUES (8)") == "[(1,)]"
        assert (path.stat().st_ino, beside(path)) == (inode, [".lock", ".wal"])
    monkeypatch.setattr("tempkb.platform.api.TABLES", (TOWNS,))
    run_query(COUNT, "csv", None)
    said = capsys.readouterr()
    assert said.out == "region,count_star()\nnorth,3\n"
    assert said.err.startswith(
        "note: tempkb.duckdb does not show 1 partition as the lake has it, so SQL may show older "
    )
    assert said.err.endswith("tempkb publish\n")
    assert published.publish().left == 0
    assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(8,)]")
    run_query(COUNT, "csv", None)
    assert capsys.readouterr().err == ""


def test_a_writer_of_the_same_process_is_never_swapped_under_either(published):
    path = published.database.path
    with duckdb.connect(str(path)) as ours:
        ours.execute("INSERT INTO notes VALUES (8)")
        assert "is open in another program that writes to it" in published.publish().reason
        ours.execute("INSERT INTO notes VALUES (9)")
    assert published.publish().left == 0
    assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(9,)]")


def test_who_waits_in_vain_leaves_the_draft_of_the_publication_at_work(published):
    path = published.database.path
    draft = path.with_name(f"{path.name}.draft")
    with locked(path.with_name(f"{path.name}.lock")):
        draft.write_bytes(b"of another")
        publication = Store(load_home(), [TOWNS], Patience(0.1)).publish()
        assert "is held by another process" in publication.reason
        assert draft.read_bytes() == b"of another"
    assert published.publish().left == 0
    assert not draft.exists()


def test_nobody_can_write_in_the_file_while_it_is_replaced(published):
    path, refused = published.database.path, []
    work = database.Database._change

    def and_try(*arguments):
        script = f"import duckdb; duckdb.connect({str(path)!r})"
        refused.append(subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).stderr)
        return work(*arguments)

    with mock.patch.object(database.Database, "_change", and_try):
        assert published.publish().left == 0
    assert [b"Could not set lock" in said for said in refused] == [True]


def test_a_log_that_a_kill_has_left_is_in_the_new_file(published):
    path = published.database.path
    leave_log(path)
    with analyst(path) as reader:
        assert reader.ask(NOTES) == "[(9,)]"
        assert published.publish().left == 0
        assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(9,)]")
        assert beside(path) == [".lock"]
        assert reader.ask(NOTES) == "[(9,)]"


def test_where_no_file_can_be_replaced_it_stays_pending(published):
    path = published.database.path
    leave_log(path)
    with analyst(path), refused("rename", "duckdb.draft"):
        publication = published.publish()
    assert publication.left == 2
    assert publication.reason.endswith("could not be replaced (Operation not supported); then: tempkb publish")
    assert ask(path, COUNT) == str(OLD)
    assert published.publish().left == 0
    assert (ask(path, COUNT), ask(path, NOTES)) == (str(NEW), "[(9,)]")
    assert beside(path) == [".lock"]


def test_a_copied_home_refuses_until_it_is_published_there(home_folder, tmp_path, monkeypatch, capsys):
    bulk = Store(load_home().claim("testwiki"), [dataclasses.replace(TOWNS, persist="view")], Patience(1.0))
    write(bulk, "north", 3)
    bulk.publish()
    monkeypatch.setattr("tempkb.platform.api.TABLES", tuple(bulk.tables.values()))
    copy = tmp_path / "copy of it"
    shutil.copytree(bulk.home.path, copy)
    link = tmp_path / "link"
    link.symlink_to(bulk.home.path)
    said = f"this home was copied from {bulk.home.path}; let its tables name their own files: tempkb publish"
    with pytest.raises(duckdb.InvalidInputException, match=re.escape(said)), duckdb.connect() as other:
        other.execute(f"ATTACH '{copy}/tempkb.duckdb' AS mine (READ_ONLY)").execute("FROM mine.towns")
    # The home itself answers under each of its names, and attached.
    monkeypatch.chdir(bulk.home.path)
    for name in (bulk.database.path, link / "tempkb.duckdb", "tempkb.duckdb"):
        assert ask(name, COUNT) == str(OLD)
        with duckdb.connect() as other:
            other.execute(f"ATTACH '{name}' AS mine (READ_ONLY)")
            assert other.execute("SELECT count(*) FROM mine.towns").fetchall() == [(3,)]
    monkeypatch.setenv("TEMPKB_HOME", str(copy))
    with pytest.raises(DatabaseFileError, match="was copied or moved, .*; let them name its own: tempkb publish"):
        run_query(COUNT, "csv", None)
    moved = Store(load_home(), list(bulk.tables.values()), Patience(1.0))
    assert moved.publish().done == 1
    run_query(COUNT, "csv", None)
    assert capsys.readouterr().out == "region,count_star()\nnorth,3\n"


@pytest.fixture(scope="module")
def starting(tmp_path_factory):
    with writers(tmp_path_factory.mktemp("writers")) as start:
        yield start


@pytest.mark.slow
@pytest.mark.parametrize("point", list(POINTS_OF_PUBLISHING))
def test_killed_at_each_step_of_a_publication(published, starting, point):
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
        starting(published.home.path, "south", 2, 1, "the log of the old file deleted").wait()
    with analyst(path, "writes") as writer:
        assert writer.ask("INSERT INTO notes VALUES (100)") == "[(1,)]"
    publication = published.publish()
    assert publication.left == 0
    kept = path.with_name("tempkb.duckdb.damaged-1")
    assert publication.set_aside.endswith(f"perhaps of tables of your own, is in {kept}")
    assert (ask(path, COUNT), ask(path, NOTES), ask(kept, NOTES)) == (str(NEW), "[(8,)]", "[(9,)]")
    assert beside(path) == [".damaged-1", ".lock"]


def test_garbage_that_views_of_open_readers_name_stays_for_a_day(home_folder):
    bulk = Store(load_home(), [dataclasses.replace(TOWNS, persist="view")], Patience(1.0))
    old = write(bulk, "north", 3)
    bulk.publish()
    with analyst(bulk.database.path) as reader:
        write(bulk, "north", 4)
        assert bulk.collect_garbage() == ([], 1)
        assert reader.ask(COUNT) == "[('north', 3)]"
        assert ask(bulk.database.path, COUNT) == "[('north', 4)]"
    let_a_day_go_by(bulk.lake.root)
    assert bulk.collect_garbage() == ([old.folder], 0)
