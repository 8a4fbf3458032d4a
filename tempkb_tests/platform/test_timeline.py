"""What commands did is a run in Dagster's timeline, of the job that does the same, and nothing follows from it."""

import math
import shutil
from collections import Counter

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.journal import Entry, journaled
from tempkb.core.settings import load_home
from tempkb.platform import automation
from tempkb.platform.api import open_store
from tempkb.platform.instance import dagster_at
from tempkb.platform.timeline import COMMAND, tell_runs


@pytest.fixture
def home(home_folder):
    home = load_home()
    home.dagster.mkdir(parents=True)
    return home


@pytest.fixture
def instance(home):
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def tell(instance, home, until=math.inf):
    return tell_runs(instance, home, None, lambda entry: f"job of {entry.table}", until)


def note(home, key, *failed):
    failures = []
    with journaled(home, f"tempkb score {key}", "prompt_scores", [key], failures):
        failures += failed


def log(instance, run_id):
    return [(one.dagster_event.event_type_value, one.dagster_event.message) for one in instance.all_logs(run_id)]


def test_a_command_is_a_run_with_its_time_its_key_and_its_end(instance, home):
    note(home, "good")
    note(home, "bad", "bad: no such model")
    assert tell(instance, home) == 2
    bad, good = instance.get_run_records()
    assert [one.dagster_run.job_name for one in (good, bad)] == ["job of prompt_scores"] * 2
    assert good.dagster_run.tags == {COMMAND: "tempkb score good", "dagster/partition": "good"}
    assert good.dagster_run.status is dg.DagsterRunStatus.SUCCESS
    assert bad.dagster_run.status is dg.DagsterRunStatus.FAILURE
    assert good.start_time <= good.end_time <= bad.start_time <= bad.end_time
    assert good.create_timestamp.timestamp() == good.start_time
    # Sensors and what tries runs again follow events of starts and ends, of which there is none.
    assert log(instance, good.dagster_run.run_id) == [("ENGINE_EVENT", "tempkb score good: prompt_scores, of good")]
    assert log(instance, bad.dagster_run.run_id) == [
        ("ENGINE_EVENT", "tempkb score bad: prompt_scores, of bad\nbad: no such model")
    ]


def test_each_is_told_once_though_a_look_was_killed_or_ran_out_of_time(instance, home):
    for key in ("a", "b", "c"):
        note(home, key)
    assert [tell(instance, home, until=0) for _ in range(4)] == [1, 1, 1, 0]
    (home.dagster / "told.journal").unlink()
    assert tell(instance, home) == 3
    assert [one.tags["dagster/partition"] for one in instance.get_runs()] == ["c", "b", "a"]


def test_the_sensor_tells_them_with_the_place_of_the_jobs(instance, home):
    with journaled(home, "tempkb build", "stable_snapshots", ["2021-01-01", "2021-04-01"], []):
        pass
    context = dg.SensorEvaluationContext(
        None, None, None, None, None, instance=instance, repository_name="here",
        code_location_origin=RegisteredCodeLocationOrigin("there"),
    )  # fmt: skip
    automation.tell_what_stands(context, open_store())
    (run,) = instance.get_runs()
    assert run.tags == {COMMAND: "tempkb build"}
    assert run.remote_job_origin.job_name == run.job_name == "build_windows"
    assert run.remote_job_origin.location_name == "there"


def test_each_table_is_of_the_job_that_makes_it(instance, home):
    made = {
        table.name: automation._job_of(open_store(), Entry("", "", table.name, ["x"], 0, 0))
        for table in open_store().tables.values()
    }
    expected = {
        "dump_files": "register_dump",
        "late_edits": "read_wikidata",
        "mentions": "build_windows",
        "models": "score_models",
        "prompt_scores": "score_models",
        "generations": "generate_answers",
        "linkers": "link_mentions",
        "dated_texts": "date_texts",
        "knowledge": "compare_models",
        "tempel_plans": "build_tempel",
        "ecbd_cloze": "build_ecbd",
        "templama_prompts": "build_templama",
        "dynamic_templama_prompts": "build_dynamic_templama",
        "answer_tokens": "count_answer_tokens",
    }
    assert {name: made[name] for name in expected} == expected
    known = {job.name for job in automation.jobs([*open_store().tables.values()], BENCHMARKS)}
    assert {*made.values()} <= known


def test_a_table_of_another_version_of_tempkb_keeps_nothing_back(instance, home):
    assert automation._job_of(open_store(), Entry("", "", "tempel_dates", ["x"], 0, 0)) == "tempel_dates"


@pytest.mark.slow
def test_all_that_made_the_demo_home_is_there(demo_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(demo_home, home, ignore=shutil.ignore_patterns("dagster"))
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    for name in ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, "")
    with dagster_at(load_home()) as instance:
        tell_runs(instance, load_home(), None, lambda entry: automation._job_of(open_store(), entry))
        runs = instance.get_runs()
    assert Counter(run.job_name for run in runs) == {
        "register_dump": 2,
        "build_windows": 2,
        "read_wikidata": 1,
        "build_dynamic_templama": 1,
        "build_ecbd": 1,
    }
    assert {run.tags.get("dagster/partition") for run in runs} == {
        "demowiki-20240101",
        "wikidatawiki-20240101",
        "demo-quarters",
        "demo-cloze",
        None,
    }
    assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
