"""The DuckDB file before, while and after its first publication, in a home where others have put things, too."""

import sqlite3
from pathlib import Path
from unittest import mock

import duckdb
import pytest

from tempkb.commands.screens.query import run_query
from tempkb.commands.screens.status import print_status
from tempkb.core.errors import SettingsError
from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.opening import DatabaseFileError, NothingPublishedError
from tempkb.store.store import Store
from tempkb.store.tables import View
from tempkb_tests.store.tables_for_tests import TOWNS, towns


def analyst(path, *statements):
    """Somebody at work in the file, with a shell of their own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


def rows(store, query):
    with duckdb.connect(str(store.database.path), read_only=True) as connection:
        return connection.execute(query).fetchall()


def nothing(path):
    path.parent.mkdir(parents=True, exist_ok=True)


def an_empty_file(path):
    nothing(path)
    path.touch()


def no_books(path):
    analyst(path, "CREATE TABLE notes AS SELECT 1 AS n")


@pytest.mark.parametrize("there", [nothing, an_empty_file, no_books])
def test_before_the_first_publication_everybody_is_told_so(store, capsys, there):
    there(store.database.path)
    said = "nothing is published yet; build something: tempkb build"
    with pytest.raises(NothingPublishedError, match=said):
        run_query("FROM stable_snapshots", None, None)
    assert store.database.shown_versions() == set()
    print_status()
    assert "cannot be told" not in capsys.readouterr().out
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    assert (store.publish().left, rows(store, "SELECT count(*) FROM towns")) == (0, [(2,)])
    assert store.collect_garbage() == ([], 0)


def a_text(path):
    nothing(path)
    path.write_text("Dear diary, " * 99)


def of_sqlite(path):
    nothing(path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (n INTEGER)")


@pytest.mark.parametrize("there", [a_text, of_sqlite, lambda path: path.mkdir(parents=True)])
def test_another_file_in_its_place_is_told_in_one_line_and_left_as_it_is(store, capsys, there):
    there(store.database.path)
    said = "is not a DuckDB file, so tempkb did not write it and leaves it as it is"
    before = store.database.path.read_bytes() if store.database.path.is_file() else None
    with pytest.raises(DatabaseFileError, match=said) as refused:
        run_query("FROM stable_snapshots", None, None)
    assert "\n" not in str(refused.value)
    print_status()
    assert "It is not known what is pending: " in capsys.readouterr().out
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    publication = store.publish()
    assert (publication.done, publication.left) == (0, 1)
    assert publication.reason == str(refused.value)
    assert store.database.path.is_dir() or store.database.path.read_bytes() == before


def test_the_file_has_all_from_the_moment_it_appears(store):
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    link, seen = Path.hardlink_to, []

    def and_look(path, target):
        link(path, target)
        seen.append(store.database.shown_versions())

    with mock.patch.object(Path, "hardlink_to", and_look):
        assert store.publish().done == 1
    assert [len(versions) for versions in seen] == [1]


def test_killed_while_the_file_is_made_leaves_none_and_the_next_makes_it(store):
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    with mock.patch.object(Path, "hardlink_to", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        store.publish()
    assert not store.database.path.exists()
    store.database.path.with_name("tempkb.duckdb.draft").write_bytes(b"torn")
    assert store.publish().done == 1
    assert [path.name for path in store.home.path.glob("tempkb.duckdb*")] == ["tempkb.duckdb", "tempkb.duckdb.lock"]


def test_a_table_that_is_not_published_yet_is_no_catalog_error(store):
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    store.publish()
    for query in ("FROM stable_snapshots", 'SELECT * FROM "Stable_Snapshots" LIMIT 1'):
        with pytest.raises(
            SettingsError, match=r"(?i)nothing of stable_snapshots is published yet; wait for the build"
        ):
            run_query(query, None, None)
    with pytest.raises(SettingsError, match="Table with name sqlite_temp does not exist!") as refused:
        run_query("FROM sqlite_temp", None, None)
    assert "Did you mean" not in str(refused.value)


LARGE = View("large_towns", "Towns of many.", "SELECT region FROM towns WHERE n_people > 5", ("towns",))


def test_an_analysts_own_tables_survive_and_are_told(store, capsys):
    store.write(TOWNS, "north", [towns("north", 2, people=1)], Provenance())
    store.publish()
    analyst(
        store.database.path,
        "CREATE TABLE notes AS SELECT 7 AS n",
        "CREATE VIEW small_towns AS SELECT name FROM towns WHERE n_people < 5",
        "CREATE SCHEMA mine",
        "CREATE TABLE mine.towns AS SELECT 'Harbour' AS name",
    )
    store.write(TOWNS, "north", [towns("north", 3, people=2)], Provenance())
    # The table becomes a view over the lake's files: it is dropped and made anew.
    store = Store(load_home(duckdb_max_rows=1), [TOWNS], Patience(1.0))
    assert (store.publish().left, rows(store, "SELECT count(*) FROM towns")) == (0, [(3,)])
    assert rows(store, "SELECT n, name FROM notes, mine.towns") == [(7, "Harbour")]
    assert rows(store, "SELECT count(*) FROM small_towns") == [(3,)]
    assert store.database.pending() == ([], ["mine.towns", "notes", "small_towns"])
    print_status()
    told = " ".join(capsys.readouterr().out.split())
    assert "tables and views of your own in the DuckDB file, which tempkb leaves alone: mine.towns, notes, " in told


@pytest.mark.parametrize(
    ("theirs", "name"),
    [
        ("CREATE TABLE Towns AS SELECT 'Harbour' AS name", "Towns"),
        ("CREATE VIEW towns AS SELECT 'Harbour' AS name", "towns"),
        ("CREATE TABLE large_towns AS SELECT 'Harbour' AS name", "large_towns"),
        ("CREATE TABLE manifest AS SELECT 'Harbour' AS name", "manifest"),
        ("CREATE TABLE published AS SELECT 'Harbour' AS name", "published"),
    ],
)
def test_an_analysts_table_with_the_name_of_one_of_ours_is_refused_in_words(home_folder, theirs, name):
    store = Store(load_home().claim("testwiki"), [TOWNS], Patience(1.0), [LARGE])
    analyst(store.database.path, theirs)
    store.write(TOWNS, "north", [towns("north", 2, people=9)], Provenance())
    publication = store.publish()
    assert publication.left == 1
    assert f"holds {name}, which tempkb did not make and leaves as it is" in publication.reason
    assert rows(store, f"SELECT name FROM {name}") == [("Harbour",)]
    kind = "VIEW" if "VIEW" in theirs else "TABLE"
    analyst(store.database.path, f"ALTER {kind} {name} RENAME TO mine")
    assert (store.publish().left, store.publish().reason) == (0, "")
    assert rows(store, "SELECT count(*) FROM towns") == rows(store, "SELECT count(*) FROM large_towns") == [(2,)]


def test_a_table_of_ours_that_an_analyst_has_dropped_or_replaced_comes_back(store):
    store.write(TOWNS, "north", [towns("north", 2)], Provenance())
    store.publish()
    analyst(store.database.path, "CREATE OR REPLACE TABLE towns AS SELECT 'Harbour' AS name")
    assert (store.publish().left, rows(store, "FROM towns")) == (1, [("Harbour",)])
    analyst(store.database.path, "DROP TABLE towns")
    assert (store.publish().done, rows(store, "SELECT count(*) FROM towns")) == (1, [(2,)])
