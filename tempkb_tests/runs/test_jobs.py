"""A job is run for each key; Dagster forgets the keys that the home does not know after the run, however it ends."""

import contextlib
from unittest import mock

import pytest

from tempkb.runs import jobs
from tempkb.runs.jobs import Summary, Task, forget_partition, forget_partitions
from tempkb.store.locks import LockTimeoutError


@pytest.fixture
def ran(home_folder, monkeypatch):
    """What was run and forgotten, in order; the run of `bad` fails, and that of `stopped` is interrupted."""
    told = []

    def run_job(_instance, job, keys, config, selection, summary):
        told.append(("run", job, keys, config, selection))
        if keys == ["bad"]:
            summary.failures.append("it is bad")
        if keys == ["stopped"]:
            raise KeyboardInterrupt

    monkeypatch.setattr(jobs, "run_job", run_job)
    monkeypatch.setattr(jobs, "forget_partition", lambda _instance, job, key: told.append(("forgotten", job, key)))
    monkeypatch.setattr(jobs, "dagster_at", lambda _home: contextlib.nullcontext(mock.Mock()))
    return told


def test_one_key_that_fails_does_not_stop_the_others_and_is_forgotten(ran):
    kept = mock.Mock(side_effect=lambda _key, is_whole: is_whole)
    summary = Task("j", "s", ("t",), kept).run({"bad": {"a": "1"}, "good": {}})
    assert summary == Summary(failures=["it is bad"])
    assert ran == [
        ("run", "j", ["bad"], {"ops": {"s": {"config": {"a": "1"}}}}, ["t"]),
        ("forgotten", "j", "bad"),
        ("run", "j", ["good"], {"ops": {"s": {"config": {}}}}, ["t"]),
    ]
    assert kept.call_args_list == [mock.call("bad", False), mock.call("good", True)]


def test_a_key_whose_run_is_interrupted_is_forgotten_and_nothing_else_is_run(ran):
    with pytest.raises(KeyboardInterrupt):
        Task("j", "s", is_kept=lambda _key, is_whole: is_whole).run({"stopped": {}, "good": {}})
    assert [one[:3] for one in ran] == [("run", "j", ["stopped"]), ("forgotten", "j", "stopped")]


def test_a_job_without_partitions_has_no_key_and_nothing_to_ask(ran):
    assert Task("j").run({"": {}}) == Summary()
    assert ran == [("run", "j", [], {}, [])]
    assert Task("j").run({}) == Summary()
    assert len(ran) == 1


def test_a_key_that_a_run_uses_is_not_forgotten_and_what_would_remove_it_is_refused(load, monkeypatch):
    home, instance = load(), mock.Mock()
    monkeypatch.setattr(jobs, "dagster_at", lambda _home: contextlib.nullcontext(instance))
    monkeypatch.setattr(jobs, "_partition_set", lambda _job: "models")
    # A run that another begins in the UI, which no command keeps alive.
    run = mock.Mock(run_id="a", tags={"dagster/partition": "used"})
    instance.get_run_records.return_value = [mock.Mock(dagster_run=run, start_time=None)]
    forget_partition(instance, "j", "used")
    with pytest.raises(LockTimeoutError, match="'used' is in use"):
        forget_partitions(home, {"dumps": [], "models": ["used"]})
    assert not instance.delete_dynamic_partition.called
    instance.get_run_records.return_value = []
    forget_partitions(home, {"dumps": [], "models": ["used"]})
    forget_partition(instance, "j", "used")
    assert instance.delete_dynamic_partition.call_args_list == [mock.call("models", "used")] * 2
