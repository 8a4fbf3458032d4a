"""Tasks are done one after the other for each key; what fails is named, and does not stop the other keys."""

import pyarrow as pa
import pytest

from tempkb.commands.runs import jobs
from tempkb.commands.runs.jobs import Summary, run, run_each
from tempkb.core.errors import ModelError
from tempkb.core.journal import read_journal
from tempkb.core.locks import LockTimeoutError
from tempkb.core.settings import load_home
from tempkb.engine.steps import Standing
from tempkb.engine.tasks import Done, Task
from tempkb.store.columns import Column
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.types import INT64, STRING


def table(name):
    columns = (Column("model", STRING, "name of the model"), Column("n", INT64, "a number"))
    return Table(name, "Numbers of models.", columns, ("model",), Family.MODEL, "model", ("model",))


FIRST, SECOND = table("first"), table("second")
EVEN = Promise("numbers_are_even", "Numbers are even.", SECOND, f"FROM {SECOND.name} WHERE n % 2 <> 0")


@pytest.fixture
def done(home_folder, monkeypatch):
    """What was asked of two tasks, in order. The word `fails` names the task that fails, and `n` is what is written."""
    asked, store = [], Store(load_home(), [FIRST, SECOND])

    def make(made):
        def do(order):
            asked.append((made.name, order.keys, order.said))
            if error := order.words.get(made.name):
                raise error
            (key,) = order.keys
            rows = pa.table({"model": [key], "n": [order.words.get("n", 0)]})
            one = Done(notes=[f"{made.name} of {key}"])
            one.add(store.write(made, key, [rows], Provenance()))
            return one

        return do

    tasks = [
        Task("first", (Standing((FIRST,)),), make(FIRST)),
        Task("second", (Standing((SECOND,)),), make(SECOND), promises=(EVEN,)),
    ]
    monkeypatch.setattr(jobs, "open_store", lambda: store)
    monkeypatch.setattr(jobs, "tasks", lambda: tasks)
    return asked


def test_one_key_that_fails_does_not_stop_the_others(done):
    summary = run_each([FIRST, SECOND], {"bad": {"first": ModelError("it is bad")}, "good": {"n": 4}})
    assert [one[:2] for one in done] == [("first", ["bad"]), ("first", ["good"]), ("second", ["good"])]
    assert summary == Summary(failures=["it is bad"], notes=["first of good", "second of good"], has_run=True)


def test_only_tasks_that_make_what_is_wanted_are_done(done):
    assert run_each([SECOND], {"a": {}}).failures == []
    assert done == [("second", ["a"], {})]
    assert list(run(jobs.tasks(), ["b"], Summary())) == ["b"]
    assert run_each([SECOND], {}) == Summary()


def test_a_check_that_fails_is_a_failure_and_its_verdict_is_kept(done):
    summary = run_each([SECOND], {"odd": {"n": 3}, "even": {"n": 2}})
    assert summary.failures == ["check second.numbers_are_even failed (broken: 1, examples: [\"('odd', 3)\"])"]
    kept = {one.partition: one.verdicts["numbers_are_even"] for one in jobs.open_store().lake.versions("second")}
    assert {key: one["passed"] for key, one in kept.items()} == {"odd": False, "even": True}
    assert kept["odd"]["facts"] == {"broken": 1, "examples": ["('odd', 3)"]}


@pytest.mark.parametrize(
    ("error", "said", "is_held"),
    [
        (LockTimeoutError("another program does the same"), "another program does the same", True),
        (OSError(28, "No space left on device", "/a/b"), "/a/b: No space left on device; make room", False),
    ],
)
def test_what_the_machine_or_another_program_prevents_is_said(done, error, said, is_held):
    summary = Summary()
    assert list(run(jobs.tasks(), ["a"], summary, words={"first": error})) == []
    assert (len(summary.failures), summary.is_held) == (1, is_held)
    assert summary.failures[0].startswith(said)


def test_a_defect_and_an_interruption_end_the_command(done):
    for error in (ValueError("odd"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            run_each([FIRST], {"a": {"first": error}, "b": {}})
    assert [one[1] for one in done] == [["a"], ["a"]]


def test_the_hook_is_told_of_a_command_that_fails(done, monkeypatch, tmp_path):
    monkeypatch.setenv("TEMPKB_FAILURE_HOOK", f"tee {tmp_path / 'told.json'}")
    monkeypatch.setattr(jobs, "open_store", lambda: Store(load_home(), [FIRST, SECOND]))
    monkeypatch.setattr("sys.argv", ["tempkb", "model", "add", "my model"])
    jobs.past_damage(lambda: Summary(failures=["it is bad", "and this"]))
    told = (tmp_path / "told.json").read_text()
    assert '"command": "tempkb model add \'my model\'"' in told
    assert '"message": "it is bad\\nand this"' in told


def test_what_is_done_is_in_the_journal_key_by_key(done):
    run_each([FIRST, SECOND], {"bad": {"first": ModelError("it is bad")}, "good": {"n": 4}})
    run([], ["good"], Summary())
    with pytest.raises(KeyboardInterrupt):
        run_each([SECOND], {"late": {"second": KeyboardInterrupt()}})
    entries = [entry for entry, _ in read_journal(load_home(), 0)]
    assert [(one.table, one.keys, one.failures) for one in entries] == [
        ("first", ["bad"], ["it is bad"]),
        ("first", ["good"], []),
        ("second", ["late"], ["interrupted"]),
    ]
