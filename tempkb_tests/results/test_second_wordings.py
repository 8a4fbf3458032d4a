"""A relation with two wordings in a release: objects, changes and answers count once, by the first wording."""

import csv
import math
from datetime import date

import duckdb
import pytest

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_PROMPTS
from tempkb.benchmarks.templama.tables import TEMPLAMA_PROMPTS
from tempkb.models.scores.tables import PROMPT_SCORES, partition_of
from tempkb.platform.api import open_store
from tempkb.results.tables import KNOWS
from tempkb.store.drafts import Provenance
from tempkb.store.quoting import parquet
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, DYNAMIC, TEMPLAMA, players, release
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.conftest import SCORERS, add_model
from tempkb_tests.results.making import make
from tempkb_tests.wiki.wikidata.items import read_home

Q1, Q2, Q3, Q4 = (date(2019, month, 1) for month in (1, 4, 7, 10))
pytestmark = pytest.mark.slow


def add_scores(store):
    """By the first wording all objects have -2 nats a token; by the second one -50."""
    prompts = " UNION ALL BY NAME ".join(
        f"FROM {parquet(store.lake.files(table.name))}" for table in (DYNAMIC_TEMPLAMA_PROMPTS, TEMPLAMA_PROMPTS)
    )
    rows = duckdb.sql(f"""
        SELECT prompt_id, 'm' AS model, '{SCORERS[0]}' AS scorer, 'scored' AS status,
               CASE WHEN any_value(item_id) LIKE '%\\_2' ESCAPE '\\' THEN -100.0 ELSE -4.0 END AS log_prob_nats,
               2 AS n_tokens, 8 AS n_chars, [1, 2] AS token_ids, [-2.0, -2.0] AS token_log_probs, 0 AS n_before,
               0 AS n_after, NULL AS rank
        FROM ({prompts}) WHERE role <> 'candidate' GROUP BY prompt_id ORDER BY prompt_id
    """).to_arrow_table()
    store.write(PROMPT_SCORES, partition_of("m", SCORERS[0]), [PROMPT_SCORES.conform(rows)], Provenance())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Ada goes from Reed to Salt in the second quarter, Bea from Salt to Reed in the third, and Cem stays with Moss.

    So the quarters have 3, 4, 4 and 3 answers, and the years 5 and 3.
    """
    spells = {
        "Ada": [("Q101", "2018-01-01", "2019-05-10"), ("Q102", "2019-05-10", "")],
        "Bea": [("Q102", "2018-01-01", "2019-08-02"), ("Q101", "2019-08-02", "")],
        "Cem": [("Q103", "2018-01-01", "")],
    }
    wordings = {"templates": ["dynamic", "dynamic_improved"], "min_objects": "1"}
    with pytest.MonkeyPatch.context() as patched:
        store = read_home(tmp_path_factory.mktemp("wordings"), patched, {DAY: players(**spells)})
        release(store, DYNAMIC, "2019-01-01..2020-01-01", "quarter", **wordings)
        release(store, TEMPLAMA, "2019-01-01..2021-01-01", "year", **wordings)
        add_model(store, "m", None)
        add_scores(store)
        store.publish()
    return store.home.path


@pytest.fixture
def read(home, monkeypatch):
    """The rows of a view whose columns have certain values, once by some of its columns."""
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()

    def rows(view, by, shown, **equal):
        found = {}
        for row in store.query(f"FROM {view}", view).to_pylist():
            if all(row[name] == value for name, value in equal.items()):
                assert tuple(row[name] for name in by) not in found
                found[tuple(row[name] for name in by)] = tuple(row[name] for name in shown)
        return found

    return rows


def test_both_wordings_are_asked(read):
    asked = read("dynamic_templama_queries", ("window_start", "template_no"), ("query",), subject_id="Q1")
    assert {number for _, number in asked} == {1, 2}
    assert asked[Q1, 2] == ("The name of the team that Ada plays for is _X_.",)


def test_changes_count_once(read):
    store = open_store()
    make(store, KNOWS)
    ada, bea = ("Q1", Q3, "Q102", "Q101"), ("Q2", Q4, "Q101", "Q102")
    by = ("subject_id", "window_start", "new_object_id", "old_object_id")
    for view in ("change_scores", "scored_changes"):
        assert read(view, by, ("new_nats", "old_nats")) == {ada: (-4, -4), bea: (-4, -4)}
    every = {"split": "all", "pairs": "all"}
    for aggregate in ("prefers_new", "prefers_new_raw", "log_prob_new_minus_old"):
        found = read("prefers_new", ("window_start",), ("n_items", "n_clusters"), aggregate=aggregate, **every)
        assert found == {(None,): (2, 2), (Q2,): (1, 1), (Q3,): (1, 1)}
    assert read("knows", ("window_from",), ("n_items",)) == {(Q2,): (1,), (Q3,): (1,)}


def test_objects_count_once(read):
    found = read("object_scores", ("aggregate",), ("n_items", "value"), metric="nats", split="all", window_start=None)
    assert found == {
        ("new",): (2, -4),
        ("removed",): (2, -4),
        # All three in each of the last three quarters.
        ("kept",): (9, -4),
        ("new_minus_removed",): (4, 0),
        ("new_minus_kept",): (4, 0),
    }
    for aggregate in ("ppl_token", "ppl_median"):
        of = {"split": "all", "aggregate": aggregate}
        pooled = read("dynamic_templama_results", ("change",), ("n_items", "value"), window_start=None, **of)
        assert pooled == {
            (change,): (n, pytest.approx(math.exp(2))) for change, n in (("all", 14), ("unchanged", 9), ("updated", 2))
        }
        by_window = read("dynamic_templama_results", ("window_start",), ("n_items",), change="all", **of)
        assert by_window == {(None,): (14,), (Q1,): (3,), (Q2,): (4,), (Q3,): (4,), (Q4,): (3,)}


def test_answers_of_years_count_once(read):
    years = Q1, date(2020, 1, 1)
    for variant in ("undated", "dated", "once"):
        found = read("templama_results", ("window_start",), ("n_items", "value"), variant=variant, split="all")
        ppl = pytest.approx(math.exp(2))
        assert found == {(None,): (8, ppl), (years[0],): (5, ppl), (years[1],): (3, ppl)}
    # Nobody gains an answer in the second year.
    counts = ("n_queries", "n_gaining", "n_keeping")
    assert read("stale_answers", ("window_start",), counts) == {(None,): (3, 0, 0), (years[1],): (3, 0, 0)}


def test_windows_and_entities_count_once(read):
    by = ("benchmark", "window_start", "aggregate")
    found = read("scores_by_gap", by, ("n_items",), split="all")
    assert {key: n for key, (n,) in found.items() if key[2] in ("ppl_token", "prefers_new")} == {
        ("dynamic_templama", Q1, "ppl_token"): 3,
        ("dynamic_templama", Q2, "ppl_token"): 4,
        ("dynamic_templama", Q3, "ppl_token"): 4,
        ("dynamic_templama", Q4, "ppl_token"): 3,
        ("dynamic_templama", Q2, "prefers_new"): 1,
        ("dynamic_templama", Q3, "prefers_new"): 1,
        ("templama", Q1, "ppl_token"): 5,
        ("templama", date(2020, 1, 1), "ppl_token"): 3,
    }
    facts = ("n_facts_as_subject", "nats_per_token_as_subject", "n_changes")
    known = read("entity_knowledge", ("entity_id",), facts, window_start=None)
    assert known["Q1",] == known["Q2",] == (2, 2, 1)
    assert known["Q3",] == (1, 2, 0)


def test_the_command_counts_changes_once(home, tmp_path):
    file = tmp_path / "k.csv"
    periods = ("--window", "2019-07-01..2019-10-01", "--baseline", "2019-04-01..2019-07-01")
    run_tempkb(home, "results")
    said = run_tempkb(home, "knows", *periods, "--full", "--csv", str(file)).stdout
    (row,) = csv.DictReader(file.open())
    assert [row[name] for name in ("n_asked", "n_unscored", "n_items", "earlier_n_items")] == ["1", "0", "1", "1"]
    answers = said.split("\npreference rate over all windows\n")[1]
    assert [line.split("│")[3].strip() for line in answers.splitlines() if "│ m " in line][0] == "2"
