"""Which tables of results are made, after what; what of answers is judged again; and what is refused."""

import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from tempkb.commands.runs.jobs import Summary
from tempkb.commands.runs.results import bring_results, results_later
from tempkb.commands.screens.status import print_status
from tempkb.commands.screens.verify import print_verification
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.scores.tables import PROMPT_SCORES, partition_of
from tempkb.models.tables import MODELS
from tempkb.platform.api import open_store
from tempkb.results import judging, tabling
from tempkb.results.answering import cutoff_row
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.steps import STEPS, look
from tempkb.results.tables import ALL, ESTIMATED_CUTOFFS, KNOWLEDGE, KNOWS, TABLES
from tempkb.store.drafts import Provenance
from tempkb.store.versions import describe
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.models.linking.small_home import full
from tempkb_tests.models.scores.conftest import built  # noqa: F401 - a fixture of this module
from tempkb_tests.results.conftest import SCORERS, add_model
from tempkb_tests.results.linked import add_linker
from tempkb_tests.results.making import brought_by, make
from tempkb_tests.results.test_judging import DECODER, answer
from tempkb_tests.wiki.wikidata.items import read_home

DAY = date(2019, 7, 1)
ANSWERS = {("Ada plays for ", "."): ("the Salt", "answered"), ("Ben plays for ", "."): ("Salt", "answered")}
OTHERS = {("Ada plays for ", "."): ("Moss", "answered"), ("Cem plays for ", "."): ("Reed and Salt", "answered")}
TOKENS = "masked.answer_l2r-1.f32"


def score(home, model, scorer, value=-1.0):
    """Write what a model gives for each prompt of the home."""
    rows = [
        full(PROMPT_SCORES, {"prompt_id": prompt, "model": model, "scorer": scorer, "status": "scored"})
        | {"log_prob_nats": value, "n_tokens": 1, "n_chars": 4, "token_ids": [7], "token_log_probs": [value]}
        | {"n_before": 0, "n_after": 0}
        for prompt in sorted(set(home.read("dynamic_templama_prompts")["prompt_id"].to_pylist()))
    ]
    table = pa.Table.from_pylist(rows, PROMPT_SCORES.schema)
    return home.write(PROMPT_SCORES, partition_of(model, scorer), [table], Provenance())


def make_all(home):
    for step in STEPS:
        make(home, step.makes[0])


def stale(home):
    seen = look(home)
    return [table.name for table in TABLES if not seen.is_current(table.name, ALL)]


@pytest.fixture(scope="session")
def compared(built, tmp_path_factory):  # noqa: F811
    """The home of `asked`, built once."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patched:
        read_home(folder, patched, {})
        shutil.copytree(built, folder / "home", dirs_exist_ok=True)
        home = open_store()
        for name in ("early", "late"):
            add_model(home, name, DAY)
            score(home, name, SCORERS[0])
            answer(home, name, ANSWERS)
        make_all(home)
        assert not stale(home)
    return folder / "home"


@pytest.fixture
def asked(compared, tmp_path, monkeypatch):
    """A home with scores and answers of two models, and all tables of results."""
    read_home(tmp_path, monkeypatch, {})
    shutil.copytree(compared, tmp_path / "home", dirs_exist_ok=True)
    return open_store()


def test_what_is_new_makes_what_reads_it_due_and_nothing_else(asked):
    known = ["knowledge", "knows", "estimated_cutoffs"]
    # Of a model that was asked nothing there is nothing to say.
    add_model(asked, "new", DAY)
    assert not stale(asked)
    score(asked, "new", SCORERS[0])
    assert stale(asked) == known
    make_all(asked)
    # Of these right names are known in tokens.
    score(asked, "new", TOKENS)
    assert stale(asked) == [*known, "judged_answers"]
    make_all(asked)
    answer(asked, "new", ANSWERS)
    assert stale(asked) == ["judged_answers", "judged_changes"]
    make_all(asked)
    add_linker(asked, "l", DAY)
    assert stale(asked) == ["linking_effects", "linking_sums"]


def test_equal_rows_written_again_make_nothing_due(asked):
    before = {table.name: asked.lake.current(table.name, ALL) for table in TABLES}
    asked.lake.remove(MODELS.name, "early")
    assert "knows" in stale(asked)
    add_model(asked, "early", DAY)
    score(asked, "late", SCORERS[0])
    answer(asked, "late", ANSWERS)
    assert not stale(asked)
    for step in STEPS:
        assert not brought_by(asked, step.makes[0]).made
    assert {table.name: asked.lake.current(table.name, ALL) for table in TABLES} == before


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.makes[0].name)
def test_a_step_declares_all_tables_that_it_reads(asked, monkeypatch, step):
    """Those of views included, on which rows depend as well."""
    read, versions = set(), asked.lake.versions
    for table in step.makes:
        asked.lake.remove(table.name, ALL)
    monkeypatch.setattr(asked.lake, "versions", lambda table, keys=None: read.add(table) or versions(table, keys))
    make(asked, step.makes[0])
    assert read - {table.name for table in TABLES} == {source.table.name for source in step.sources}


@pytest.fixture
def judged_models(monkeypatch):
    """The models whose answers are judged from now on, item by item."""
    found, first = set(), judging._first
    monkeypatch.setattr(judging, "_first", lambda row: found.add(row["model"]) or first(row))
    return found


def anew(home, table):
    """The version of a table of which nothing is kept."""
    home.lake.remove(table.name, ALL)
    return make(home, table).version


@pytest.mark.parametrize("table", [JUDGED_ANSWERS, JUDGED_CHANGES])
def test_only_new_and_changed_answers_are_judged(asked, judged_models, table):
    def check(models, n_models):
        judged_models.clear()
        made = make(asked, table)
        assert judged_models == models
        assert set(asked.read(table.name)["model"].to_pylist()) == n_models
        assert anew(asked, table) == made.version

    add_model(asked, "mid", DAY)
    answer(asked, "mid", OTHERS)
    check({"mid"}, {"early", "late", "mid"})
    # Answers of one more decoder come between those of others.
    answer(asked, "late", OTHERS, "causal.greedy-1.f32")
    check({"late"}, {"early", "late", "mid"})
    answer(asked, "early", OTHERS)
    check({"early"}, {"early", "late", "mid"})
    asked.lake.remove(GENERATIONS.name, f"late--{DECODER}")
    asked.lake.remove(GENERATIONS.name, "late--causal.greedy-1.f32")
    check(set(), {"early", "mid"})


def test_other_days_of_a_model_are_other_changes(asked, judged_models):
    add_model(asked, "late", date(2018, 1, 1))
    made = make(asked, JUDGED_CHANGES)
    assert judged_models == {"late"}
    found = {(row["model"], row["days_after"] is not None) for row in asked.read("judged_changes").to_pylist()}
    assert found == {("early", True), ("late", True)}
    assert anew(asked, JUDGED_CHANGES) == made.version


def test_right_names_in_tokens_are_judged_again(asked, judged_models):
    score(asked, "late", TOKENS)
    made = make(asked, JUDGED_ANSWERS)
    assert judged_models == {"late"}
    assert anew(asked, JUDGED_ANSWERS) == made.version


def test_all_is_judged_again_by_other_rules(asked, judged_models):
    held = asked.lake.current(JUDGED_ANSWERS.name, ALL)
    describe(replace(held, code="tempkb 0.1.0, judged_answers 1", stamp=""))
    assert stale(asked) == ["judged_answers"]
    assert make(asked, JUDGED_ANSWERS).version == held.version
    assert judged_models == {"early", "late"}


def test_all_is_judged_again_if_other_answers_are_right(asked, judged_models):
    (queries,) = asked.lake.versions("dynamic_templama_queries")[-1:]
    asked.lake.remove(queries.table, queries.partition)
    made = make(asked, JUDGED_ANSWERS)
    assert judged_models == {"early", "late"}
    assert anew(asked, JUDGED_ANSWERS) == made.version


def test_only_models_with_new_scores_or_days_are_estimated(asked, monkeypatch):
    estimated = []
    monkeypatch.setattr(tabling, "cutoff_row", lambda one: estimated.append((one.model, one.scorer)) or cutoff_row(one))

    def check(*models):
        estimated.clear()
        made = make(asked, ESTIMATED_CUTOFFS)
        assert estimated == [(model, SCORERS[0]) for model in models]
        rows = asked.read(ESTIMATED_CUTOFFS.name).to_pylist()
        assert anew(asked, ESTIMATED_CUTOFFS) == made.version
        return {row["model"]: row["knows_certainly_until"] for row in rows}

    add_model(asked, "mid", DAY)
    score(asked, "mid", SCORERS[0])
    assert check("mid") == dict.fromkeys(("early", "late", "mid"), DAY)
    add_model(asked, "late", date(2018, 1, 1))
    assert check("late") == {"early": DAY, "late": date(2018, 1, 1), "mid": DAY}
    asked.lake.remove(PROMPT_SCORES.name, partition_of("early", SCORERS[0]))
    assert list(check()) == ["late", "mid"]


def lose(home, table, key):
    """Cut a file of a partition, which then counts as absent."""
    (path, *_) = home.lake.current(table, key).places()
    path.write_bytes(path.read_bytes()[:-9])


def test_nothing_is_compared_while_scores_are_lost(asked):
    lost = partition_of("late", SCORERS[0])
    lose(asked, PROMPT_SCORES.name, lost)
    lose(asked, KNOWS.name, ALL)
    held = asked.lake.current(KNOWLEDGE.name, ALL)
    said = brought_by(asked, KNOWS).bad[ALL]
    assert f"prompt_scores of {lost} is not built, was lost to damage" in said
    assert said.endswith("build it first: tempkb score late")
    assert asked.lake.current(KNOWLEDGE.name, ALL) == held
    assert asked.lake.current(KNOWS.name, ALL) is None
    # What does not read them is made.
    assert not brought_by(asked, JUDGED_ANSWERS).bad
    score(asked, "late", SCORERS[0])
    assert stale(asked) == ["knows"]
    make(asked, KNOWS)
    assert not stale(asked)


def test_results_follow_what_was_scored_and_what_cannot_be_computed_is_a_note(asked):
    score(asked, "late", SCORERS[0], -2.0)
    add_linker(asked, "l", DAY)
    linking = ["linking_effects", "linking_sums"]
    assert stale(asked) == ["knowledge", "knows", "estimated_cutoffs", *linking]
    summary = Summary(notes=["scored"])
    with results_later():
        bring_results(summary, PROMPT_SCORES)
    assert stale(asked) == ["knowledge", "knows", "estimated_cutoffs", *linking]
    assert bring_results(summary, PROMPT_SCORES) is summary
    assert (stale(asked), summary.notes, summary.failures, summary.has_run) == (linking, ["scored"], [], False)
    answer(asked, "late", OTHERS)
    bring_results(summary, GENERATIONS)
    assert (stale(asked), summary.notes) == (linking, ["scored"])
    lost = partition_of("late", SCORERS[0])
    lose(asked, PROMPT_SCORES.name, lost)
    lose(asked, KNOWS.name, ALL)
    bring_results(summary, PROMPT_SCORES)
    (note,) = summary.notes[1:]
    assert f"prompt_scores of {lost} is not built, was lost to damage" in note
    assert summary.failures == []


@pytest.mark.slow
def test_results_follow_a_release_whose_questions_models_were_asked_before(asked):
    typed = ("release", "dynamic-templama", "2019-01-01..2020-01-01", "--name")
    run_tempkb(asked.home.path, *typed, "second")
    assert not stale(open_store())
    # Ada, Ben, Cem and the coach of Reed Town.
    rows = [row for row in asked.read(ESTIMATED_CUTOFFS.name).to_pylist() if row["release"] == "second"]
    assert {row["model"]: row["n_changes"] for row in rows} == {"early": 4, "late": 4}
    # In a home without results nothing is computed.
    for table in TABLES:
        asked.lake.remove(table.name, ALL)
    run_tempkb(asked.home.path, *typed, "third")
    assert not any(asked.lake.partitions(table.name) for table in TABLES)


def test_what_is_printed_can_be_typed_in_its_order(asked, capsys):
    """Results are made from all else, so that they come last."""
    lost = partition_of("late", SCORERS[0])
    lose(asked, PROMPT_SCORES.name, lost)
    lose(asked, KNOWS.name, ALL)
    asked.home.checkpoints.mkdir()
    (asked.home.checkpoints / "early.json").write_text("damaged")
    with pytest.raises(SystemExit):
        print_verification((), "")
    lines = capsys.readouterr().out.splitlines()
    found = [
        next(at for at, line in enumerate(lines) if line.startswith(said))
        for said in ("'early': ", f"prompt_scores {lost}", f"knows {ALL}")
    ]
    assert found == sorted(found)
    print_status()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("damaged:", "out of date"))]
    assert lines[0].startswith(f"damaged: prompt_scores {lost}")
    assert lines[1].startswith(f"damaged: knows {ALL}")
    assert [line for line in lines if line.startswith("out of date")] == lines[-1:]
    assert "knowledge (1 partition)" in lines[-1]


@pytest.mark.slow
def test_with_nothing_to_do_no_run_is_started(demo_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(demo_home, home)
    first = run_tempkb(home, "results")
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    written = {table.name: open_store().lake.written_at(table.name, ALL) for table in TABLES}
    script = """
import sys
from tempkb.commands.cli import main
main(["results"], standalone_mode=False)
heavy = {"dagster", "torch", "matplotlib", "scipy", "pandas"} & sys.modules.keys()
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert run_tempkb(home, "results").stdout == first.stdout
    assert {table.name: open_store().lake.written_at(table.name, ALL) for table in TABLES} == written
