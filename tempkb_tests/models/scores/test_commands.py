"""`tempkb score` as people type it, and a model's partition in the UI."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tempkb.store.lake import Lake
from tempkb_tests.conftest import run_script, run_tempkb
from tempkb_tests.models.test_checkpoints import config_with


@pytest.fixture(scope="module")
def home(demo_home, tmp_path_factory):
    """A copy of the demo's home that the tests of this module fill, one after the other."""
    home = tmp_path_factory.mktemp("scores") / "home"
    shutil.copytree(demo_home, home)
    return home


def query(home, sql):
    return [json.loads(line) for line in run_tempkb(home, "sql", sql, "--json").stdout.splitlines()]


def test_without_a_model_there_is_one_line_that_says_what_to_do(home):
    for arguments, message in [
        (("--all",), "score: the home has no model that is ready; add one: "),
        ((), "score: expected names of models, or all of the home: --all"),
        # What is no name, folder or slip of a name is taken for an id of the hub, as model add does.
        (("nobody",), "model 'nobody': 'nobody' is neither a folder of this machine nor in its cache"),
        (("nobody", "--all"), "score: expected names of models, or all of the home: --all"),
        (("--all", "--family", "causal"), "--revision, --family and --knows-until are for one model; give its name"),
    ]:
        done = run_tempkb(home, "score", *arguments, check=False)
        assert done.returncode == 1
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    # Nothing was asked, so that nothing follows.
    assert not Lake(home / "lake").partitions("knows")


@pytest.mark.slow
def test_a_checkpoint_is_added_scored_and_shown_and_its_scores_go_with_it(home, saved):
    done = run_tempkb(home, "score", str(saved("gpt2")), "--limit", "300", "--benchmark", "dynamic-templama")
    assert "causal.span_end-1.f32" in done.stdout
    assert "preference rate, %" in done.stdout
    assert "out of date" not in done.stdout
    assert query(home, "SELECT DISTINCT model FROM knows") == [{"model": "gpt2"}]
    (counted,) = query(home, "SELECT count(*) AS n FROM prompt_scores WHERE scorer LIKE 'causal.span_end%'")
    assert counted["n"] == 300
    nothing = "Nothing to score: prompt_scores has a row for all that is asked for, of 1 model.\n"
    assert run_tempkb(home, "score", "--all", "--limit", "300", "--release", "demo-quarters").stdout.startswith(nothing)
    asked = ("score", "--model", "gpt2", "--limit", "20", "--benchmark", "ecbd")
    assert "perplexity of spans" in run_tempkb(home, *asked).stdout
    assert run_tempkb(home, *asked).stdout.startswith(nothing)
    assert "no such release" not in run_tempkb(home, "verify").stdout

    slip = run_tempkb(home, "score", "gpt-2", check=False).stderr
    assert slip.startswith(
        "tempkb: model 'gpt-2': no such model; did you mean gpt2? Else add it under a name of its own: "
    )
    # What is said of a model when it is added may be said here, too.
    dated = run_tempkb(home, *asked, "--knows-until", "2020-01-01")
    assert query(home, "SELECT DISTINCT knows_certainly_until::VARCHAR AS day FROM knows") == [{"day": "2020-01-01"}]
    assert "out of date" not in dated.stdout
    removed = run_tempkb(home, "model", "rm", "gpt2", "--yes").stdout
    assert "prompt_scores" in removed
    assert Lake(home / "lake").partitions("prompt_scores") == []


@pytest.mark.slow
def test_windows_without_prompts_are_refused_and_a_benchmark_without_prompts_in_them_is_no_failure(home, saved):
    run_tempkb(home, "model", "add", "gpt2", str(saved("gpt2")))
    nothing = run_tempkb(home, "score", "gpt2", "--window", "2019-01-01..2020-01-01", check=False)
    assert nothing.returncode == 1
    assert "found no prompt about a window that begins on or after 2019-01-01 and before 2020-01-01" in nothing.stderr
    assert len(nothing.stderr.splitlines()) == 1
    # Facts are asked in each quarter. No entity of the release originated on the first day of this one.
    assert query(home, "SELECT count(*) AS n FROM ecbd_prompts WHERE window_start = '2022-04-01'") == [{"n": 0}]
    run_tempkb(home, "score", "gpt2", "--window", "2022-04-01..2022-04-02", "--limit", "30")
    assert {row["scorer"] for row in query(home, "SELECT DISTINCT scorer FROM prompt_scores")} == {
        "causal.span_end-1.f32",
        "causal.sentence-1.f32",
    }
    run_tempkb(home, "model", "rm", "gpt2", "--yes")


@pytest.mark.slow
def test_a_model_that_fails_does_not_stop_the_others(home, saved, tmp_path):
    bad = shutil.copytree(saved("t5"), tmp_path / "bad")
    config_with(bad, model_type="abacus")
    done = run_tempkb(home, "score", str(bad), str(saved("t5")), "--limit", "10", check=False)
    assert done.returncode == 1
    assert "model 'bad'" in done.stderr
    assert query(home, "SELECT DISTINCT model FROM prompt_scores") == [{"model": "t5"}]
    # As one that was added, it has a row with its reason.
    run_tempkb(home, "model", "add", "bad", str(bad), check=False)
    reason = "model 'bad': its checkpoint could not be used"
    named = run_tempkb(home, "score", "bad", "t5", "--limit", "12", check=False)
    assert named.returncode == 1
    assert reason in named.stderr
    # Of each of two benchmarks, which are asked in ways of their own.
    assert len(query(home, "SELECT * FROM prompt_scores WHERE model = 't5'")) == 2 * 12
    assert reason in run_tempkb(home, "score", "--all", "--limit", "5", "--benchmark", "ecbd").stderr


IN_THE_UI = """
import json, sys
from tempkb.platform.automation import MODELS_JOB
from tempkb.platform.definitions import defs
from tempkb.platform.instance import dagster_at
from tempkb.core.settings import load_home
folder = sys.argv[1]
with dagster_at(load_home()) as instance:
    instance.add_dynamic_partitions("models", ["fresh"])
    config = {"ops": {"models": {"config": {"checkpoint": folder}}, "prompt_scores": {"config": {"limit": 25}}}}
    done = defs.resolve_job_def(MODELS_JOB).execute_in_process(
        instance=instance, partition_key="fresh", run_config=config, raise_on_error=False)
    made = {one.asset_key.path[-1]: sorted(one.step_materialization_data.materialization.metadata)
            for one in done.all_events if one.is_step_materialization}
    checks = {one.check_name: one.passed for one in done.get_asset_check_evaluations()}
    print(json.dumps([done.success, made, checks]))
"""


@pytest.mark.slow
def test_a_partition_of_models_in_the_ui_adds_the_model_and_scores_it(home, saved, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    done = run_script(IN_THE_UI, str(saved("bert_cased")))
    success, made, checks = json.loads(done.stdout.splitlines()[-1])
    assert success
    assert made.keys() == {"models", "prompt_scores"}
    assert {"demo-quarters/sample", "demo-cloze/scores by window and role"} <= set(made["prompt_scores"])
    assert "masked.answer_l2r-1.f32/new" in made["prompt_scores"]
    assert set(checks.values()) == {True}
    assert len(checks) == 4
    (counted,) = query(home, "SELECT count(*) AS n FROM prompt_scores WHERE model = 'fresh'")
    assert counted["n"] == 25


# A command that waits, where it does its work, until others have been typed beside it.
SLOW = """
import sys, time
from pathlib import Path
from tempkb.commands import cli
from tempkb.models import adding
from tempkb.models.scores import running
folder = Path(sys.argv[1])
def waiting(honest):
    def work(*arguments):
        (folder / "begun").touch()
        while not (folder / "others are done").exists():
            time.sleep(0.05)
        return honest(*arguments)
    return work
adding.add_model = waiting(adding.add_model)
running.Shards.plan = waiting(running.Shards.plan)
sys.argv[1:2] = []
cli.run()
"""


@pytest.mark.slow
def test_a_command_ends_well_whatever_is_typed_about_the_same_model_meanwhile(home, saved, tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    removal, held = ("model", "rm", "held", "--yes"), "another program builds the same in this home now"
    (tmp_path / "empty").mkdir()
    for typed, others in [
        (("model", "add", "held", str(saved("gpt2"))), {("model", "add", "held", str(tmp_path / "empty")): "no "}),
        (("score", "held", "--limit", "5"), {("score", "held"): held, removal: "'model held' is in use"}),
    ]:
        moment = tmp_path / typed[0]
        moment.mkdir()
        with ThreadPoolExecutor() as beside:
            first = beside.submit(run_script, SLOW, str(moment), *typed)
            while not (moment / "begun").exists() and not first.done():
                time.sleep(0.05)
            refused = {other: run_tempkb(home, *other, check=False) for other in others}
            (moment / "others are done").touch()
            first.result()
        assert [one.returncode for one in refused.values()] == [1] * len(others)
        for other, said in others.items():
            assert said in " ".join(refused[other].stderr.split())
    assert query(home, "SELECT * FROM prompt_scores WHERE model = 'held'")
    run_tempkb(home, *removal)
    assert not query(home, "SELECT * FROM prompt_scores WHERE model = 'held'")


def test_two_checkpoints_of_one_name_are_refused(home, saved, tmp_path):
    for part in ("a", "b"):
        shutil.copytree(saved("t5"), tmp_path / part / "twin")
    done = run_tempkb(home, "score", str(tmp_path / "a" / "twin"), str(tmp_path / "b" / "twin"), check=False)
    assert done.returncode == 1
    assert "would both have the name 'twin'; add them under names of their own" in done.stderr
