"""Files in the released forms."""

import json
from datetime import date

import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.fact_queries.design import make_design
from tempkb.benchmarks.fact_queries.exporting import most_answers, records_of
from tempkb.benchmarks.register import create, keep, load
from tempkb.core.errors import DesignError
from tempkb_tests.benchmarks.exports import verified_files
from tempkb_tests.benchmarks.fact_queries.worlds import (
    BENCHMARKS,
    DAY,
    DUMP,
    DYNAMIC,
    TEMPLAMA,
    players,
    release,
)
from tempkb_tests.wiki.wikidata.items import read_home

REED, SALT = (
    {"entity_id": "Q101", "label": "Reed", "aliases": []},
    {"entity_id": "Q102", "label": "Sält", "aliases": []},
)
ROW = {"query_id": "Q1_P54_2019", "relation": "P54", "date": "2019", "query": "Ada plays for _X_.", "answers": [REED]}


def test_a_record_has_the_released_fields_in_their_order():
    (record,) = records_of([{**ROW, "answers": [REED, SALT], "most_frequent_answer": SALT, "most_recent_answer": REED}])
    assert json.dumps(record, ensure_ascii=False) == (
        '{"query": "Ada plays for _X_.", "answer": [{"wikidata_id": "Q101", "name": "Reed"}, '
        '{"wikidata_id": "Q102", "name": "Sält"}], "date": "2019", "id": "Q1_P54_2019", '
        '"most_frequent_answer": {"wikidata_id": "Q102", "name": "Sält"}, '
        '"most_recent_answer": {"wikidata_id": "Q101", "name": "Reed"}, "relation": "P54"}'
    )


def test_every_answer_of_uniform_records_has_aliases():
    (record,) = records_of([ROW], is_uniform=True)
    assert list(record) == ["query", "answer", "date", "id", "relation"]
    assert record["answer"] == [{"wikidata_id": "Q101", "name": "Reed", "aliases": []}]


def test_most_frequent_and_most_recent_answers():
    popular = {"A": 5, "B": 9, "C": 5}
    # One a year: B over A, then A, then A (first of equals before C), then C.
    dated = [("2017", ["A", "B"]), ("2018", ["A"]), ("2019", ["A", "C"]), ("2020", ["C"])]
    assert most_answers(dated, popular) == ("A", "C")
    assert most_answers([("2019", ["B"]), ("2020", ["A"])], popular) == ("B", "A")


def fill(folder, monkeypatch):
    """A home with forty players, each of whom went from Reed to Salt in 2019."""
    spells = [("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")]
    entities = players(**{f"P{n}": spells for n in range(1, 41)})
    entities[1]["aliases"] = {"en": [{"language": "en", "value": "The Salts"}]}
    return read_home(folder, monkeypatch, {DAY: entities})


@pytest.fixture
def store(tmp_path, monkeypatch):
    return fill(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A home with a release by year and one by quarter, and their exports: (store, {benchmark: release}, folders)."""
    folder = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        store = fill(folder, patch)
        made = {TEMPLAMA: release(store, TEMPLAMA, granularity="year"), DYNAMIC: release(store, DYNAMIC)}
        yield (
            store,
            made,
            {name: export_release(store, BENCHMARKS[name], one, folder / name) for name, one in made.items()},
        )


def lines_of(folder):
    """The records of an export, as they are written."""
    return [
        json.loads(line)
        for split in ("train", "val", "test")
        for line in (folder / f"{split}.jsonl").read_text("utf-8").splitlines()
    ]


def counts_of(store, table):
    """Numbers of rows by split, as `datasets` lists them."""
    by_subject = "JOIN fact_subjects USING (release, relation, subject_id)" if table.endswith("changes") else ""
    needed = [table, *(["fact_subjects"] if by_subject else [])]
    found = store.ask(f"SELECT split, count(*) AS n FROM {table} {by_subject} GROUP BY split", *needed)
    n = {row["split"]: row["n"] for row in found}
    return [("train", n["train"]), ("validation", n["val"]), ("test", n["test"])]


@pytest.mark.slow
def test_a_release_by_year_is_loaded_by_split_and_by_window_and_in_pairs(exported, loaded, counted):
    store, _, folders = exported
    found = loaded(folders[TEMPLAMA])
    splits = counts_of(store, "templama_queries")
    # Forty players, each of whom went from Reed to Salt in 2019, when both are answers.
    assert counted(found) == {
        "queries": splits,
        "windows": [("2019", 40), ("2020", 40)],
        "pairs": [(name, n // 2) for name, n in splits],
    }
    assert {row["date"] for row in found["windows"]["2019"]} == {"2019"}
    (row,) = [row for rows in found["queries"].values() for row in rows if row["query_id"] == "Q1_P54_2019"]
    assert [(one["entity_id"], one["label"], one["aliases"]) for one in row["answers"]] == [
        ("Q101", "Reed", []),
        ("Q102", "Salt", ["The Salts"]),
    ]
    (pair,) = [row for rows in found["pairs"].values() for row in rows if row["subject_id"] == "Q1"]
    assert pair == {
        "query_id": "Q1_P54_2020",
        "window_start": date(2020, 1, 1),
        "date": "2020",
        "relation": "P54",
        "subject_id": "Q1",
        "query": "P1 plays for _X_.",
        "new": {"entity_id": "Q102", "label": "Salt", "aliases": ["The Salts"]},
        "old": {"entity_id": "Q101", "label": "Reed", "aliases": []},
        "split": row["split"],
    }


@pytest.mark.slow
def test_a_release_by_quarter_is_loaded_with_its_changes_and_in_pairs(exported, loaded, counted):
    store, _, folders = exported
    found = loaded(folders[DYNAMIC])
    splits = counts_of(store, "dynamic_templama_queries")
    assert counted(found) == {
        "queries": splits,
        "windows": [(f"{year}_Q{n}", 40) for year in (2019, 2020) for n in (1, 2, 3, 4)],
        "changes": counts_of(store, "dynamic_templama_changes"),
        # A subject has a query in each of eight quarters, and changed once.
        "pairs": [(name, n // 8) for name, n in splits],
    }
    pairs = [row for rows in found["pairs"].values() for row in rows]
    assert {(row["date"], row["new"]["label"], row["old"]["label"]) for row in pairs} == {("2019-Q3", "Salt", "Reed")}
    # The pairs are those that `knows` can compare: of either object there is a prompt.
    asked = store.ask(
        """
        SELECT q.query_id, c.paired_object_id AS new, c.object_id AS old
        FROM dynamic_templama_changes AS c
        JOIN dynamic_templama_queries AS q USING (release, window_start, subject_id, relation)
        SEMI JOIN dynamic_templama_prompts AS a ON a.item_id = q.query_id AND a.target_id = c.paired_object_id
        SEMI JOIN dynamic_templama_prompts AS b ON b.item_id = q.query_id AND b.target_id = c.object_id
        WHERE c.role = 'leaving' AND q.template_no = 1
        """,
        *(f"dynamic_templama_{one}" for one in ("changes", "queries", "prompts")),
    )
    assert {(row["query_id"], row["new"]["entity_id"], row["old"]["entity_id"]) for row in pairs} == {
        tuple(row.values()) for row in asked
    }


@pytest.mark.slow
def test_a_release_of_the_paper_has_the_lines_of_the_released_files(store, tmp_path, loaded, counted):
    made = release(store, TEMPLAMA, granularity="year", preset="paper")
    folder = export_release(store, BENCHMARKS[TEMPLAMA], made, tmp_path / "out")
    reed, salt = '{"wikidata_id": "Q101", "name": "Reed"}', '{"wikidata_id": "Q102", "name": "Salt"}'
    lines = [line for name in ("train", "val", "test") for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    assert (
        f'{{"query": "P1 plays for _X_.", "answer": [{reed}, {salt}], "date": "2019", "id": "Q1_P54_2019", '
        f'"most_frequent_answer": {reed}, "most_recent_answer": {salt}, "relation": "P54"}}'
    ) in lines
    found = loaded(folder)
    assert counted(found)["queries"] == counts_of(store, "templama_queries")
    assert all(one["aliases"] == [] for rows in found["queries"].values() for row in rows for one in row["answers"])


@pytest.mark.slow
def test_a_split_without_rows_is_not_offered(store, tmp_path, loaded, counted):
    """`datasets` loads no config that has one."""
    made = release(store, DYNAMIC, windows="2020-01-01..2020-07-01", min_objects="1", shares="0,0")
    found = loaded(export_release(store, BENCHMARKS[DYNAMIC], made, tmp_path / "out"))
    # Nobody changed his club in these two quarters, so there are no pairs.
    assert counted(found) == {
        "queries": [("test", 80)],
        "windows": [("2020_Q1", 40), ("2020_Q2", 40)],
        "changes": [("test", 40)],
    }


@pytest.mark.slow
def test_a_release_is_exported_with_check_sums_and_read_back(exported, tmp_path):
    store, made, folders = exported
    folder = folders[TEMPLAMA]
    names = verified_files(folder)
    assert {"train.jsonl", "val.jsonl", "test.jsonl", "design.json", "README.md"} < set(names)
    assert "parquet/templama_queries/2020/test.parquet" in names
    lines = lines_of(folder)
    assert len(lines) == 80
    (row,) = [one for one in lines if one["id"] == "Q1_P54_2019"]
    reed = {"wikidata_id": "Q101", "name": "Reed", "aliases": []}
    salt = {"wikidata_id": "Q102", "name": "Salt", "aliases": ["The Salts"]}
    assert row == {
        "query": "P1 plays for _X_.",
        "answer": [reed, salt],
        "date": "2019",
        "id": "Q1_P54_2019",
        "most_frequent_answer": reed,
        "most_recent_answer": salt,
        "relation": "P54",
    }
    assert "| P54 | 40 | 80 |" in (folder / "README.md").read_text()
    again = export_release(store, BENCHMARKS[TEMPLAMA], made[TEMPLAMA], tmp_path / "again")
    assert (again / "SHA256SUMS").read_bytes() == (folder / "SHA256SUMS").read_bytes()


@pytest.mark.slow
def test_dynamic_releases_bring_their_changes(exported):
    _, _, folders = exported
    folder = folders[DYNAMIC]
    names = verified_files(folder)
    assert sum(name.startswith("parquet/dynamic_templama_changes/") for name in names) == 3
    (record,) = [one for one in lines_of(folder) if one["id"] == "Q1_P54_2019-Q3"]
    assert list(record) == ["query", "answer", "date", "id", "relation"]
    card = (folder / "README.md").read_text()
    # Forty players changed their club once: forty updates, with a row of either club.
    assert "by the rule `handover`" in card
    assert "| updated | arriving | 40 |\n| updated | leaving | 40 |" in card
    parquet = [pq.read_table(folder / name) for name in names if name.startswith("parquet/dynamic_templama_changes/")]
    (arriving,) = [
        row for table in parquet for row in table.to_pylist() if row["role"] == "arriving" and row["subject_id"] == "Q1"
    ]
    assert (arriving["object_id"], arriving["paired_object_id"]) == ("Q102", "Q101")
    assert "handover" not in (folders[TEMPLAMA] / "README.md").read_text()


@pytest.fixture
def export(store, tmp_path):
    """Exports a release; returns its files' bytes by name."""

    def exported(made):
        folder = export_release(store, BENCHMARKS[made.benchmark], made, tmp_path / "out")
        return {name: (folder / name).read_bytes() for name in verified_files(folder)}

    return exported


DESIGN = make_design(TEMPLAMA, "tempkb", DUMP, "2019-01-01..2021-01-01", "year")


def test_a_name_belongs_to_one_design(store):
    keep(store.home, create(store.home, BENCHMARKS[TEMPLAMA], "tempkb", DESIGN, "mine"))
    assert load(store.home, BENCHMARKS[TEMPLAMA], "mine").design == DESIGN
    with pytest.raises(DesignError, match="exists with another design"):
        create(store.home, BENCHMARKS[DYNAMIC], "tempkb", DESIGN, "mine")
    with pytest.raises(DesignError, match=r"no such release; there: mine"):
        load(store.home, BENCHMARKS[TEMPLAMA], "yours")
