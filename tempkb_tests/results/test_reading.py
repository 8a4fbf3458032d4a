"""What is read of a home: the period of a comparison, controls, and why items have no score."""

import shutil
from datetime import date

import pyarrow as pa
import pytest

from tempkb.demo.models.recipe import is_withheld
from tempkb.models.scores.tables import PROMPT_SCORES, partition_of
from tempkb.platform.api import open_store
from tempkb.results.reading import read_questions
from tempkb.results.requests import KnowledgeRequest
from tempkb.store.drafts import Provenance
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, players, release
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.conftest import SCORERS, add_model, add_scores
from tempkb_tests.wiki.wikidata.items import item, read_home, said


def asked(store, **words):
    (question,) = [
        one for one in read_questions(store, KnowledgeRequest.of(words)) if one.aggregate.name == "prefers_new"
    ]
    return question


@pytest.mark.slow
def test_the_period_has_as_many_windows_as_that_which_is_asked_about_whatever_their_days(scored_store):
    half = asked(scored_store, window="2022-07-01..2023-01-01")
    # Two quarters of 184 days and two of 181: the second of them has enough subjects.
    assert (half.earlier, half.is_fallback) == ((date(2021, 1, 1), date(2021, 7, 1)), True)
    # Of days that no quarter lies in, nothing is as long.
    none = asked(scored_store, window="2022-08-10..2022-09-10")
    assert (none.earlier, none.is_fallback) == ((date(2019, 8, 10), date(2019, 9, 10)), False)


@pytest.mark.slow
def test_years_that_can_be_compared_are_kept(scored_store):
    kept = asked(scored_store, window="2023-04-01..2023-07-01", baseline="2")
    assert (kept.earlier, kept.is_fallback) == ((date(2021, 4, 1), date(2021, 7, 1)), False)


@pytest.mark.slow
def test_a_period_that_no_model_reaches_is_not_taken(scored_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(scored_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    add_model(store, "first", date(2021, 6, 30))
    add_scores(store, "first", date(2021, 6, 30))
    assert not asked(store, models="first").is_fallback
    assert asked(store, models="first,early").earlier == (date(2021, 4, 1), date(2021, 7, 1))


@pytest.mark.slow
def test_levels_of_subjects_that_were_withheld_from_the_demos_models_are_apart(scored_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(scored_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store, name = open_store(), "demo-causal-2022-01-01"
    add_model(store, name, date(2022, 1, 1))
    add_scores(store, name, date(2022, 1, 1))
    changes = store.ask(
        f"SELECT subject_id, preference_nats > 0 AS prefers FROM scored_changes WHERE model = '{name}' "
        "AND change_from >= DATE '2021-01-01' AND change_to <= DATE '2022-01-01'",
        "scored_changes",
    )
    told = run_tempkb(
        home,
        "knows",
        "--window",
        "2022-01-01..2023-07-01",
        "--baseline",
        "2021-01-01..2022-01-01",
        "--full",
        COLUMNS="160",
    ).stdout.splitlines()
    head = next(at for at, line in enumerate(told) if "held-out: baseline" in line)
    (cells,) = [line.strip("│").split("│") for line in told[head + 2 : head + 4] if line.startswith("│")]
    for place, hidden in ((2, False), (4, True)):
        own = [row["prefers"] for row in changes if is_withheld(row["subject_id"]) == hidden]
        assert cells[place].split()[0] == f"{100 * sum(own) / len(own):.0f}"
        assert len(own) > 10
    assert cells[0].strip() == name


@pytest.fixture
def with_periods(tmp_path, monkeypatch):
    """Ada leaves Reed for Moss F.C. and Ben Moss F.C. for Reed in July 2019, when the coach of Reed Town changes, too."""
    people = players(
        Ada=[("Q101", "2018-01-01", "2019-07-14"), ("Q103", "2019-07-15", "")],
        Ben=[("Q103", "2018-01-01", "2019-07-14"), ("Q101", "2019-07-15", "")],
        Cem=[("Q101", "2018-01-01", "2019-07-14"), ("Q102", "2019-07-15", "")],
    )
    coaches = [said("Q201$0", "Q1", "2018-01-01", "2019-07-14"), said("Q201$1", "Q2", "2019-07-15", "")]
    things = [item("Q103", "Moss F.C.", "Moss F.C."), item("Q201", "Reed Town", "Reed Town", P286=coaches)]
    store = read_home(tmp_path, monkeypatch, {DAY: [*(one for one in people if one["id"] != "Q103"), *things]})
    release(store, windows="2019-01-01..2020-01-01")
    add_model(store, "m", None)
    rows = {}
    for prompt in store.read("dynamic_templama_prompts").to_pylist():
        status = "scored"
        if not prompt["left_context"]:
            status = "no_left_context"
        elif prompt["target"].endswith(".") and prompt["right_context"].startswith("."):
            status = "not_alignable"
        is_scored = status == "scored"
        rows[prompt["prompt_id"]] = {
            "prompt_id": prompt["prompt_id"],
            "model": "m",
            "scorer": SCORERS[0],
            "status": status,
            "log_prob_nats": -3.0 if is_scored else None,
            "n_tokens": 1 if is_scored else None,
            "n_chars": 4,
            "token_ids": [1] * is_scored,
            "token_log_probs": [-3.0] * is_scored,
        }
    table = pa.Table.from_pylist([rows[key] for key in sorted(rows)], PROMPT_SCORES.schema)
    store.write(PROMPT_SCORES, partition_of("m", SCORERS[0]), [table], Provenance())
    return store


@pytest.mark.slow
def test_items_without_a_score_are_counted_by_reason_and_relation(with_periods):
    (scores,) = asked(with_periods, window="2019-07-01..2019-10-01").models
    # Ada's and Ben's changes are between a name with a period and one without; Cem's has a score, and so has the coach
    # of Reed Town, in the wording that ends with the coach.
    assert (len(scores.window.items), scores.n_unscored) == (2, 2)
    assert dict(scores.unscored) == {("two_periods", "P54"): 2}
    assert len(scores.starting) == 1
    told = run_tempkb(with_periods.home.path, "knows", "--full", "--window", "2019-07-01..2019-10-01").stdout
    assert "Of 4 items of the window, 2 have no score with these scorers." in told
    assert (
        "No score, since the name ends with a period that is one token with that of the sentence, and the scorer counts "
        "what ends a name (not_alignable): m 2 (P54 2)."
    ) in told
    assert "are asked of causal models with the object last: m 1 of 2, preference rate 0 (of the others 0)." in told
