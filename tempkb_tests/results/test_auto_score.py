"""The sensors that score models when a release grows, and compute results when all are scored."""

import shutil

import dagster as dg
import pytest

from tempkb.core.settings import load_home
from tempkb.platform import automation
from tempkb.platform.api import open_store
from tempkb.platform.definitions import build_definitions
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.conftest import DAYS, add_model


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as found:
        yield found


@pytest.fixture
def home(scored_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(scored_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    return home


def tick(instance, cursor=None):
    context = dg.build_sensor_context(instance=instance, cursor=cursor)
    return automation.auto_score(context, open_store()), context.cursor


def going_on(instance, job, tags):
    has_run(instance, job, tags, dg.DagsterRunStatus.STARTED)


def has_run(instance, job, tags, status):
    instance.add_run(dg.DagsterRun(job_name=job, tags=tags, status=status))


def launched(asked, before):
    """The models that Dagster scores: of the runs that a sensor asks for it starts those with a key that is new."""
    known = {one.run_key for one in before}
    return [one.partition_key for one in asked if one.run_key not in known]


@pytest.mark.slow
def test_each_ready_model_is_scored_once_for_each_state_of_the_releases(home, instance):
    asked, cursor = tick(instance)
    assert [(one.job_name, one.partition_key) for one in asked] == [("score_models", "early"), ("score_models", "late")]
    assert {key.path[-1] for one in asked for key in one.asset_selection} == {"prompt_scores"}
    again, same = tick(instance, cursor)
    assert isinstance(again, dg.SkipReason)
    assert same == cursor

    # A release that has grown has other prompts.
    run_tempkb(home, "rm", "--release", "demo-cloze", "--yes")
    grown, other = tick(instance, cursor)
    assert [one.partition_key for one in grown] == ["early", "late"]
    assert launched(grown, asked) == ["early", "late"]
    # A model that is gone is not scored, and those that are left have been.
    run_tempkb(home, "model", "rm", "late", "--yes")
    fewer, _ = tick(instance, other)
    assert [one.partition_key for one in fewer] == ["early"]
    assert launched(fewer, grown) == []


@pytest.mark.slow
def test_a_model_that_was_removed_and_added_again_is_scored_again(home, instance):
    first, cursor = tick(instance)
    run_tempkb(home, "model", "rm", "late", "--yes")
    # The same files, so that the row has equal bytes; and so soon that the sensor has not seen the model missing.
    add_model(open_store(), "late", DAYS["late"])
    again, _ = tick(instance, cursor)
    assert launched(again, first) == ["late"]
    # If it was seen missing, it is no different.
    run_tempkb(home, "model", "rm", "late", "--yes")
    without, seen = tick(instance, cursor)
    assert launched(without, first) == []
    add_model(open_store(), "late", DAYS["late"])
    assert launched(tick(instance, seen)[0], [*first, *again, *without]) == ["late"]


@pytest.mark.slow
def test_a_run_that_fails_is_asked_for_once_and_again_when_something_has_changed(home, instance):
    first, cursor = tick(instance)
    has_run(instance, "score_models", {"dagster/partition": "late"}, dg.DagsterRunStatus.FAILURE)
    for _ in range(3):
        asked, cursor = tick(instance, cursor)
        assert asked.skip_message == "No release has grown, and no model was added."
    run_tempkb(home, "rm", "--release", "demo-cloze", "--yes")
    asked, cursor = tick(instance, cursor)
    assert launched(asked, first) == ["early", "late"]
    assert isinstance(tick(instance, cursor)[0], dg.SkipReason)


def test_while_a_model_is_being_scored_nothing_is_asked_and_nothing_forgotten(home, instance):
    going_on(instance, "score_models", {"dagster/partition": "late"})
    asked, cursor = tick(instance)
    assert asked.skip_message == "Under way: late."
    assert cursor is None


def test_without_models_or_prompts_there_is_nothing_to_score(demo_home, tmp_path, monkeypatch, instance):
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    assert "no model that is ready" in tick(instance)[0].skip_message
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "new"))
    assert isinstance(tick(instance)[0], dg.SkipReason)


def after(instance, tags):
    run = dg.DagsterRun(job_name="score_models", tags=tags)
    event = dg.DagsterEvent(event_type_value="PIPELINE_SUCCESS", job_name="score_models")
    context = dg.build_run_status_sensor_context(
        sensor_name="after_scoring", dagster_instance=instance, dagster_run=run, dagster_event=event
    )
    return automation.after_scoring(context)


def test_results_are_computed_once_the_last_model_is_scored_but_not_behind_a_persons_back(instance):
    assert after(instance, {}).skip_message == "A person has started that run."
    chained = {automation.CHAINED: "yes"}
    assert after(instance, chained).job_name == "compare_models"
    going_on(instance, "score_models", chained)
    assert after(instance, chained).skip_message == "Still to be scored: 1 model."


def test_both_sensors_are_off_even_where_the_others_run(tmp_path, monkeypatch):
    (tmp_path / "tempkb.toml").write_text("automation = true\n", "utf-8")
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path))
    sensors = {one.name: one.default_status.value for one in build_definitions(load_home()).sensors}
    assert {name: sensors[name] for name in ("auto_score", "after_scoring", "new_dumps")} == {
        "auto_score": "STOPPED",
        "after_scoring": "STOPPED",
        "new_dumps": "RUNNING",
    }
