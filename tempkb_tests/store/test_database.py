"""Publication: what is pending is computed, nobody is in anybody's way, and everything is explained."""

import dataclasses
import errno
import os
import subprocess
from pathlib import Path
from unittest import mock

import duckdb
import pyarrow as pa
import pytest

from tempkb.core.errors import TempkbError
from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.store.columns import Column
from tempkb.store.drafts import Provenance
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.tables import View
from tempkb.store.types import INT32, STRING, list_of, struct_of
from tempkb_tests.store.tables_for_tests import TOWNS, towns


def write(store, region, n, people=1, table=TOWNS):
    return store.write(table, region, [towns(region, n, people)], Provenance({"x": "1"}))


def query(store, sql):
    with store.database.reading() as connection:
        return connection.execute(sql).fetchall()


def shown(store):
    return query(store, "SELECT region, count(*), sum(n_people) FROM towns GROUP BY region ORDER BY region")


def with_table(store, table, **settings):
    return Store(load_home(**settings), [table], Patience(1.0))


def test_a_partition_is_brought_in_replaced_and_removed(store):
    write(store, "north", 3)
    write(store, "south", 2)
    assert dataclasses.astuple(store.publish()) == (2, 0, "", (), "", False)
    assert shown(store) == [("north", 3, 3), ("south", 2, 2)]
    write(store, "north", 4, people=5)
    assert store.publish().done == 1
    assert shown(store) == [("north", 4, 20), ("south", 2, 2)]
    store.lake.remove("towns", "south")
    assert store.publish().done == 1
    assert shown(store) == [("north", 4, 20)]
    assert store.publish().done == 0


def test_tables_and_columns_say_what_they_mean(store):
    write(store, "north", 1)
    store.publish()
    comments = query(store, "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'towns'")
    assert ("n_people", "how many live there") in comments
    assert query(store, "SELECT comment FROM duckdb_tables() WHERE table_name = 'towns'") == [
        ("Towns of a test; it's quoted.",)
    ]
    silent = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
    assert query(store, silent) == []


def test_side_tables_follow_their_partition(store):
    write(store, "north", 1)
    store.publish()
    assert query(store, "SELECT role, name, version <> '' FROM manifest ORDER BY role") == [
        ("input", "x", True),
        ("output", "part-00000.parquet", True),
    ]
    store.lake.remove("towns", "north")
    store.publish()
    assert query(store, "SELECT count(*) FROM manifest") == [(0,)]


def test_equal_rows_from_other_files_bring_their_manifest(store):
    write(store, "north", 1)
    store.publish()
    version = store.write(TOWNS, "north", [towns("north", 1, 1)], Provenance({"y": "2"}))
    assert store.database.pending() == ([("towns", "north")], [])
    assert store.publish().done == 1
    assert query(store, "SELECT name FROM manifest WHERE role = 'input'") == [("y",)]
    assert list(store.database.differences({"towns": [version]})) == []
    assert store.publish().done == 0


def test_bulk_tables_and_tables_of_too_many_rows_are_views(store):
    write(store, "north", 3)
    write(store, "south", 3)
    bulk = with_table(store, dataclasses.replace(TOWNS, persist="view"))
    bulk.publish()
    kinds = "SELECT table_type FROM information_schema.tables WHERE table_name = 'towns'"
    assert query(bulk, kinds) == [("VIEW",)]
    assert shown(bulk) == [("north", 3, 3), ("south", 3, 3)]
    comments = query(bulk, "SELECT comment FROM duckdb_columns() WHERE table_name = 'towns' AND column_name = 'name'")
    assert comments == [("its name",)]
    few = with_table(store, TOWNS, duckdb_max_rows=6)
    few.publish()
    assert query(few, kinds) == [("BASE TABLE",)]
    many = with_table(store, TOWNS, duckdb_max_rows=5)
    many.publish()
    assert query(many, kinds) == [("VIEW",)]
    assert shown(many) == [("north", 3, 3), ("south", 3, 3)]


def test_a_view_over_nothing_has_its_columns(store):
    bulk = with_table(store, dataclasses.replace(TOWNS, persist="view"))
    write(bulk, "north", 3)
    bulk.publish()
    bulk.lake.remove("towns", "north")
    bulk.publish()
    assert query(bulk, "SELECT region, n_people FROM towns") == []


def test_a_view_over_files_of_an_earlier_declaration_has_the_later_columns_too(store):
    # A home was built before a column came; its files stay as they are until their windows are built again.
    write(store, "north", 2, table=dataclasses.replace(TOWNS, persist="view"))
    later = dataclasses.replace(
        TOWNS, persist="view", columns=(*TOWNS.columns, Column("holes", list_of(INT32), "where"))
    )
    grown = with_table(store, later)
    assert grown.publish().left == 0
    assert query(grown, "SELECT name, n_people, holes FROM towns ORDER BY town_id") == [
        ("Town 0", 1, None),
        ("Town 1", 1, None),
    ]
    # Readers of the lake's files find the same.
    asked = grown.ask("SELECT name, n_people, holes FROM towns ORDER BY town_id", "towns")
    assert [tuple(row.values()) for row in asked] == [("Town 0", 1, None), ("Town 1", 1, None)]


def test_a_changed_declaration_rebuilds_the_table_from_the_lake(store):
    write(store, "north", 3)
    store.publish()
    grown = dataclasses.replace(TOWNS, columns=(*TOWNS.columns, Column("mayor", TOWNS.columns[0].type, "who leads it")))
    newer = with_table(store, grown)
    assert newer.publish().done == 1
    assert query(newer, "SELECT region, name, mayor FROM towns LIMIT 1") == [("north", "Town 0", None)]
    assert query(newer, "SELECT comment FROM duckdb_columns() WHERE column_name = 'mayor'") == [("who leads it",)]


def test_patience_is_one_budget_for_all_waits(store):
    patience = Patience(0.3)
    while patience.wait():
        pass
    assert patience.seconds == pytest.approx(0)
    assert not patience.wait()


def test_lists_and_structs_come_in_whole(home_folder):

    answer = struct_of(("name", STRING), ("others", list_of(STRING)))
    table = dataclasses.replace(
        TOWNS,
        columns=(
            *TOWNS.columns,
            Column("rivers", list_of(STRING), "r"),
            Column("answers", list_of(answer), "a"),
        ),
    )
    rows = towns("north", 1)
    rows = rows.append_column("rivers", pa.array([["Aa", "Bee"]], pa.list_(pa.string())))
    rows = rows.append_column("answers", pa.array([[{"name": "Ada", "others": ["A."]}]], pa.list_(answer.arrow)))
    store = with_table(None, table)
    store.write(table, "north", [rows], Provenance())
    store.publish()
    assert query(store, "SELECT rivers, answers[1].name, answers[1].others FROM towns") == [
        (["Aa", "Bee"], "Ada", ["A."])
    ]


LARGE = View("large_towns", "Towns of many.", "SELECT region, name FROM towns WHERE n_people > 5", ("towns",))
LARGE_REGIONS = View("large_regions", "Their regions.", "SELECT DISTINCT region FROM large_towns", ("large_towns",))


def with_views(*views):
    return Store(load_home(), [TOWNS], Patience(1.0), views)


def test_named_questions_are_asked_of_what_is_there(home_folder):
    store = with_views(LARGE, LARGE_REGIONS)
    assert store.publish().done == 0
    assert not store.database.path.exists(), "of an empty lake nothing is to be shown"
    write(store, "north", 2, people=9)
    write(store, "south", 2)
    store.publish()
    assert query(store, "SELECT region, name FROM large_towns ORDER BY name") == [
        ("north", "Town 0"),
        ("north", "Town 1"),
    ]
    assert query(store, "SELECT region FROM large_regions") == [("north",)]
    assert query(store, "SELECT comment FROM duckdb_views() WHERE view_name = 'large_towns'") == [("Towns of many.",)]
    # From Python, without the DuckDB file.
    store.database.path.unlink()
    assert store.read("large_towns", name="Town 1").to_pylist() == [{"region": "north", "name": "Town 1"}]
    assert store.read("large_regions")["region"].to_pylist() == ["north"]
    with pytest.raises(TempkbError, match="view 'large_towns' has no column 'people'; known: region, name"):
        store.read("large_towns", people=1)
    with pytest.raises(TempkbError, match=r"no table 'small_towns'; did you mean large_towns\?"):
        store.read("small_towns")


def test_a_question_put_otherwise_is_made_anew(home_folder):
    store = with_views(LARGE)
    write(store, "north", 2, people=9)
    store.publish()
    other = with_views(dataclasses.replace(LARGE, query="SELECT name FROM towns"))
    assert other.publish().done == 0
    assert query(other, "SELECT * FROM large_towns ORDER BY 1") == [("Town 0",), ("Town 1",)]


def test_a_question_follows_its_table_when_that_becomes_a_view(home_folder, monkeypatch):
    store = with_views(LARGE)
    write(store, "north", 2, people=9)
    store.publish()
    monkeypatch.setenv("TEMPKB_DUCKDB_MAX_ROWS", "1")
    store = with_views(LARGE)
    store.publish()
    assert query(store, "SELECT count(*) FROM large_towns") == [(2,)]


def test_rows_for_people_hold_any_date():

    days = pa.array([-735_000, 0, None], pa.int32()).cast(pa.date32())
    rows = plain_rows(pa.table({"day": days, "other": pa.array([0, 1, 2], pa.int32()).cast(pa.date32())}))
    assert [row["day"] for row in rows] == ["-0043-08-22", "1970-01-01", None]
    assert rows[1]["other"].isoformat() == "1970-01-02"


def full_disk(number=errno.ENOSPC):
    """A disk without room, as the program that copies the file meets it."""
    said = f"cp: error writing 'tempkb.duckdb.draft': {os.strerror(number)}"
    done = subprocess.CompletedProcess([], 1, stdout="", stderr=said)
    return mock.patch("tempkb.store.database.subprocess.run", return_value=done)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_on_a_full_disk_nothing_is_published_and_garbage_goes_all_the_same(store, number):
    old = store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    store.publish()
    store.write(TOWNS, "north", [towns("north", 3)], Provenance())
    with full_disk(number):
        publication = store.publish()
        assert (publication.done, publication.left, publication.no_room) == (0, 1, True)
        assert publication.reason == "the disk is full; make room, then: tempkb publish"
        # DuckDB shows it still, and nothing else is to be had; nor can a day be waited for.
        assert store.collect_garbage() == ([old.folder], 0)
        assert store.collect_garbage() == ([], 0)
    assert store.publish().done == 1
    with store.database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM towns").fetchall() == [(3,)]


def test_what_duckdb_shows_stays_on_a_full_disk_if_there_is_other_garbage(store):
    lost = store.write(TOWNS, "north", [towns("north", 1)], Provenance())
    shown = store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    store.publish()
    store.write(TOWNS, "north", [towns("north", 3)], Provenance())
    with full_disk():
        assert store.collect_garbage() == ([lost.folder], 0)
    assert shown.folder.exists()


@pytest.mark.parametrize(
    "error",
    [
        duckdb.IOException('IO Error: Could not write file "x": No space left on device'),
        duckdb.TransactionException("Failed to commit: could not write: No space left on device"),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x"),
    ],
)
def test_a_disk_that_is_full_while_something_is_written_is_said_as_well(store, error):
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    with mock.patch("tempkb.store.database.Database._publish", side_effect=error):
        assert store.publish().reason == "the disk is full; make room, then: tempkb publish"
    with (
        mock.patch("tempkb.store.database.Database._publish", side_effect=duckdb.TransactionException("a conflict")),
        pytest.raises(duckdb.TransactionException),
    ):
        store.publish()


def test_a_folder_that_cannot_be_written_in_leaves_the_file_as_it_is_and_says_so(store):
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    with mock.patch.object(Path, "hardlink_to", side_effect=OSError(errno.EROFS, os.strerror(errno.EROFS))):
        publication = store.publish()
    assert publication.left == 1
    assert publication.reason.endswith("could not be replaced (Read-only file system); then: tempkb publish")
    assert store.publish().left == 0
