"""`tempkb tables`: a line for each table and view, and all that is declared of one, with a query that runs."""

import re

import duckdb
import pytest

from tempkb.commands.screens.tables import columns_of, example_of
from tempkb.platform.api import open_store
from tempkb.platform.rooms import TABLES, VIEWS, meanings_of
from tempkb.store.tables import SIDE_TABLES
from tempkb_tests.conftest import run_tempkb


@pytest.fixture
def store(linked_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(linked_home))
    return open_store()


def example(store, declared):
    return example_of(declared, [name for name, *_ in columns_of(store, declared)])


def cells(said):
    return [[cell.strip() for cell in line.strip("│\n").split("│")] for line in said.splitlines() if line[:1] == "│"]


def test_each_table_and_view_has_one_line_of_at_most_eighty_columns(demo_home):
    said = run_tempkb(demo_home, "tables").stdout
    rows = cells(said)
    assert [row[0] for row in rows] == [one.name for one in (*TABLES, *VIEWS)]
    assert max(len(line) for line in said.splitlines()) == 80
    assert ["pages", "627", "table", "Pages as of a dump's day, with…"] in rows
    assert ["page_texts", "view"] in [[row[0], row[2]] for row in rows if len(row) == 4]
    assert ["hole_sources", "What is left out of the lines of page_texts…"] in rows


def test_a_wide_terminal_shows_whole_sentences_and_a_narrow_one_still_lines(demo_home):
    wide = cells(run_tempkb(demo_home, "tables", COLUMNS="150").stdout)
    # The second sentence is what `tempkb tables page_texts` is for.
    assert ["page_texts", "view", "The readable text of every winning revision"] in [
        [row[0], *row[2:]] for row in wide if len(row) == 4
    ]
    narrow = cells(run_tempkb(demo_home, "tables", COLUMNS="66").stdout)
    assert [row[0] for row in narrow] == [one.name for one in (*TABLES, *VIEWS)]


def test_one_table_is_shown_with_its_columns_its_sources_and_a_query(demo_home):
    said = run_tempkb(demo_home, "tables", "entity_popularity").stdout
    assert said.startswith("entity_popularity: How often each article is mentioned at the cut, and how often")
    assert re.search(r"^key: page_id$", said, re.MULTILINE)
    assert re.search(r"^6,144 rows in 12 partitions, one per window; in DuckDB a table$", said, re.MULTILINE)
    assert re.search(r"^made from stable_snapshots, mention_priors$", said, re.MULTILINE)
    assert ["n_inlinks", "BIGINT"] in [row[:2] for row in cells(said)]
    query = re.search(r'tempkb sql "(.+)"$', said, re.MULTILINE)[1]
    assert len(run_tempkb(demo_home, "sql", query, "--csv").stdout.splitlines()) == 6


def test_a_view_has_meanings_of_its_own_and_those_of_the_columns_below_it(demo_home):
    said = run_tempkb(demo_home, "tables", "fact_versions").stdout
    assert "A view, made from facts, wikidata_entities" in said
    shown = cells(said)
    assert ["fact_id", "VARCHAR"] in [row[:2] for row in shown]
    told = {row[0]: row[2] for row in shown}
    assert told["relation"] == "Wikidata property, such as P54"
    assert told["known_to"].startswith("date of the next dump with the subject")
    # What all views say of an estimate, what is below this one, and what it says in place of that.
    told = meanings_of(next(one for one in VIEWS if one.name == "scored_changes"))
    assert told["is_provisional"] == "true if the dump is less than 90 days past the window's end"
    assert told["new_label"] == "name of the object that came"
    assert told["window_start"] == "first day of the first window in which the old object no longer holds"
    told = meanings_of(next(one for one in VIEWS if one.name == "names_by_window"))
    assert told["low"].startswith("lower end of the 95 % interval; null under ten clusters")


def test_what_is_not_built_is_described_as_well(tmp_path):
    said = run_tempkb(tmp_path / "none", "tables", "facts").stdout
    assert "not built yet, one per dump; in DuckDB a table" in said
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "stable_snapshot",
            r"tempkb: no table or view 'stable_snapshot'; similar: stable_snapshots, .*tempkb tables\n",
        ),
        ("zzz", r"tempkb: no table or view 'zzz'\. List all: TEMPKB_HOME=.* tempkb tables\n"),
    ],
)
def test_an_unknown_name_is_answered_with_those_that_are_near(name, told, demo_home):
    done = run_tempkb(demo_home, "tables", name, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(told, done.stderr)


def test_the_example_of_every_table_and_view_runs(store):
    for declared in (*TABLES, *VIEWS):
        query = example(store, declared)
        assert not set('"$`\\!') & set(query), f"{query}: it is printed between double quotes of a shell"
        rows = store.ask(query, declared.name)
        assert rows or declared in VIEWS or not store.lake.partitions(declared.name), declared.name
    with duckdb.connect(str(store.home.database), read_only=True) as connection:
        assert all(len(connection.execute(example(store, one)).fetchall()) == 5 for one in SIDE_TABLES)


def test_accuracy_by_hand_is_that_of_the_view_of_accuracies(store):
    linking_scores = store.tables["linking_scores"]
    query = example(store, linking_scores)
    assert query in linking_scores.meaning
    by_hand = store.ask(query, "linking_scores")
    view = store.ask(
        "SELECT release, linker, cut, category, value AS accuracy FROM linking_accuracy WHERE pool = 'own' AND "
        "subset = 'test' AND metric = 'accuracy' AND k = 1 AND category <> 'all' ORDER BY ALL",
        "linking_accuracy",
    )
    assert by_hand
    assert [{**row, "accuracy": pytest.approx(row["accuracy"])} for row in by_hand] == view
    # An average over ranks would leave out what was not found.
    assert store.ask("SELECT count(*) AS n FROM linking_scores WHERE rank IS NULL", "linking_scores")[0]["n"] > 0
