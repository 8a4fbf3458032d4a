"""Training in processes of their own: the same bytes again, also after a kill; in two processes as in one."""

import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tempkb.core.errors import ModelError
from tempkb.models.linking.checkpoints import read_layout
from tempkb.models.linking.encoders import load_layout
from tempkb.models.linking.training.lessons import LEARNING, Lesson
from tempkb.models.training import teaching
from tempkb.models.training.lessons import Course
from tempkb.models.training.teaching import school, teach
from tempkb_tests.models.linking.lessons import lesson
from tempkb_tests.models.linking.tiny import save_base

pytestmark = pytest.mark.slow

# What a run does that is killed: it keeps its state at every step.
RUN = """
import pickle
import sys
from pathlib import Path
from tempkb.models.training.teaching import teach
teach(pickle.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2]), print, keep_seconds=0)
"""


@pytest.fixture(scope="module")
def somebody(tmp_path_factory):
    """The folder of a user, who trains there."""
    return tmp_path_factory.mktemp("somebody")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, somebody):
    """The folder and course of a lesson whose training nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(somebody))
        patch.chdir(somebody)
        return teach(lesson(), folder, print)


@pytest.fixture
def in_this_process(tmp_path):
    """Trains in this process, which takes less time, and returns the course."""
    from tempkb.models.linking.training.learning import learn

    def taught(one: Lesson) -> Course:
        folder = tmp_path / "alone"
        folder.mkdir()
        return learn(one, folder, 1e9, lambda _step: None)

    with torch.random.fork_rng():
        yield taught
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def told(monkeypatch):
    """The steps that training told."""
    steps = []

    class Meter(teaching.Meter):
        def at(self, done):
            steps.append(int(done))

    monkeypatch.setattr(teaching, "Meter", Meter)
    return steps


def children_of(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found


def wait_for(what, seconds=200):
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return found


def test_a_run_that_was_killed_goes_on_and_ends_with_the_same_bytes(tmp_path, undisturbed, told):
    one = lesson()
    (tmp_path / "lesson").write_bytes(pickle.dumps(one))
    command = [sys.executable, "-c", RUN, str(tmp_path / "lesson"), str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as parent:
        wait_for(lambda: list((tmp_path / "run" / "kept").glob("checkpoint-[5-9]/whole")))
        (child,) = children_of(parent.pid)
        parent.send_signal(signal.SIGKILL)
    # The process that trains ends with the one that started it.
    wait_for(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text(), 20)
    assert "course" not in (tmp_path / "run" / "lesson.json").read_text()
    # A state that was not kept whole is no state.
    (tmp_path / "run" / "kept" / "checkpoint-11").mkdir()
    checkpoint, course = teach(one, tmp_path / "run", print)
    assert told[0] > 5
    assert told[-1] == one.n_steps() == 12
    assert course == undisturbed[1]
    assert read_layout(str(checkpoint)).digests() == read_layout(str(undisturbed[0])).digests()
    # What is done is not done again.
    n_told = len(told)
    assert teach(one, tmp_path / "run", print) == (checkpoint, course)
    assert len(told) == n_told


def test_nothing_is_written_outside_the_folder_of_the_lesson(undisturbed, somebody):
    assert undisturbed[1].steps == 12
    assert list(somebody.rglob("*")) == []


def test_two_processes_learn_what_one_does(tmp_path, in_this_process):
    """Each has half of a batch, and compares its mentions with the entities of both."""
    one = lesson(dropout=0.0, epochs=1)
    alone = in_this_process(one)
    _, course = teach(one, tmp_path, print, n_processes=2)
    assert course.steps == alone.steps == 6
    # The last batches of an epoch differ, since several processes need whole ones.
    ours, theirs = ([loss for _, loss in part.losses[:5]] for part in (course, alone))
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_it_learns_and_what_it_tells_of_validation_is_what_its_encoder_finds(tmp_path, in_this_process):
    """The text around a mention says which of several things is meant; its name alone would say it of one in six."""
    one = lesson(n_train=192, epochs=6, towers=1, dropout=0.0)
    course = in_this_process(one)
    assert course.validation[-1][1] > 0.8
    encoder = load_layout(read_layout(str(tmp_path / "alone" / "checkpoint")), "cpu")
    assert encoder.n_towers == 1
    entities = list(dict.fromkeys(example.entity for example in one.validation))
    scores = encoder.mentions([example.mention for example in one.validation]) @ encoder.entities(entities).T
    right = [entities[best] == example.entity for best, example in zip(scores.argmax(1), one.validation, strict=True)]
    assert sum(right) / len(right) == course.validation[-1][1]


def test_hard_negatives_and_a_base_whose_weights_were_learnt(tmp_path, in_this_process):
    base = save_base(tmp_path / "base", "bert", max_tokens=64, markers=False)
    assert in_this_process(lesson(n_train=32, epochs=1, negatives=2, base=str(base))).steps == 2
    assert read_layout(str(tmp_path / "alone" / "checkpoint")).n_towers == 2


def test_without_validation_mentions_there_is_no_accuracy(in_this_process):
    course = in_this_process(replace(lesson(n_train=16, epochs=1), validation=()))
    assert (course.steps, course.validation) == (1, ())


def test_a_loss_that_is_no_number_ends_the_training(in_this_process):
    with pytest.raises(ModelError, match="linker 'tiny': the loss became nan at step [23]. Train it with a lower"):
        in_this_process(lesson(learning_rate=1e30, warm_up=0.0))


def program(folder, script):
    """A program that does what a shell's script says, whatever its arguments are."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("in_school", [False, True])
def test_a_process_that_dies_is_told_with_its_last_words(tmp_path, monkeypatch, in_school):
    dying = program(tmp_path, "echo first >&2\necho last words >&2\nexit 3")
    monkeypatch.setattr(sys, "executable", dying)
    told = r"linker 'tiny': training ended with exit code 3 \(first / last words\)"
    with school(LEARNING) if in_school else nullcontext(), pytest.raises(ModelError, match=told):
        teach(lesson(n_train=16), tmp_path / "run", print)
    assert "last words" in (tmp_path / "run" / "complaints-0.txt").read_text()


def test_a_school_teaches_one_lesson_after_the_other_as_each_would_be_taught_alone(tmp_path, undisturbed, monkeypatch):
    """Who interrupts it ends it; one that has failed at a lesson is followed by another one."""
    folders = [tmp_path / name for name in ("short", "same", "wrong", "interrupted")]
    others = set(children_of(os.getpid()))

    class Meter(teaching.Meter):
        def at(self, done):
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt), school(LEARNING, is_needed=True):
        (process,) = {*children_of(os.getpid())} - others
        # A block inside has the same process, and leaves it there.
        with school(LEARNING, is_needed=True):
            teach(lesson(n_train=16, epochs=1, seed=5), folders[0], print)
        assert {*children_of(os.getpid())} - others == {process}
        checkpoint, course = teach(lesson(), folders[1], print)
        assert {*children_of(os.getpid())} - others == {process}
        with pytest.raises(ModelError, match="^[^ ]* has no weights; expected model.safetensors"):
            teach(lesson(base=str(tmp_path)), folders[2], print)
        assert {*children_of(os.getpid())} == others
        monkeypatch.setattr(teaching, "Meter", Meter)
        teach(lesson(epochs=200), folders[3], print)
    assert {*children_of(os.getpid())} == others
    assert course == undisturbed[1]
    assert read_layout(str(checkpoint)).digests() == read_layout(str(undisturbed[0])).digests()


def test_so_many_processes_need_a_batch_that_can_be_divided(tmp_path):
    with pytest.raises(ModelError, match="found batch_size=16 and 3 processes; expected a multiple"):
        teach(lesson(), tmp_path, print, n_processes=3)


@pytest.mark.parametrize("cut", ["", "{", "null", "{}", '{"lesson": "key", "course": {"steps": 1}}'])
def test_a_folder_of_which_nothing_is_known_is_that_of_another_lesson(tmp_path, monkeypatch, cut):
    one, course, learnt = lesson(), Course(1, ((1, 0.5),), ()), []

    def teach_all(_school, own, *_):
        learnt.append(own.key)
        (tmp_path / "run" / "checkpoint").mkdir(exist_ok=True)
        return course

    monkeypatch.setattr(teaching._School, "learnt", teach_all)
    for own in (one, one, replace(one, key="other"), one):
        assert teach(own, tmp_path / "run", print) == (tmp_path / "run" / "checkpoint", course)
    # What another lesson left is removed.
    assert learnt == [one.key, "other", one.key]
    (tmp_path / "run" / "lesson.json").write_text(cut)
    (tmp_path / "run" / "kept").mkdir()
    assert teach(one, tmp_path / "run", print)[1] == course
    assert (learnt[-1], len(learnt), (tmp_path / "run" / "kept").exists()) == (one.key, 4, False)
