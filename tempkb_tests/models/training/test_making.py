"""Trained models of a home: their rows and files, the same again after a kill, and what is refused."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.commands.runs.removal import of_model, remove
from tempkb.core.errors import ModelError, SettingsError
from tempkb.models.again import command_for
from tempkb.models.checkpoints import load, read_checkpoint
from tempkb.models.dating import dating_of
from tempkb.models.known import known_model
from tempkb.models.training import teaching
from tempkb.models.training.making import Training, courses_of, plan
from tempkb.models.training.requests import train_request
from tempkb.platform.api import open_store
from tempkb_tests.models.training.conftest import WORDS, sentences, write_texts

LITTLE = "steps=4,batch_size=8,mini_batch_size=4"


@contextmanager
def learning_here():
    """Lessons that were learnt, in this process, which takes less time."""
    from tempkb.models.training.exercises import learn

    lessons = []

    def teach(lesson, folder, log, n_gpus=0):
        assert n_gpus == 0
        lessons.append(lesson)
        folder.mkdir(parents=True)
        return folder / "checkpoint", learn(lesson, folder, 1e9, lambda _step: None)

    with pytest.MonkeyPatch.context() as patched, torch.random.fork_rng():
        patched.setattr("tempkb.models.training.making.teach", teach)
        yield lessons
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def taught():
    with learning_here() as lessons:
        yield lessons


def asked(saved, regime="temporal", kind="t5", name="tiny", **words):
    return train_request(name, {**WORDS, "regime": regime, "base": str(saved(kind)), "settings": LITTLE, **words})


def trained(store, request):
    """The versions of the mixture and the row of a model, and its courses."""
    mixture, model = Training(store, request).trained(print)
    return SimpleNamespace(mixture=mixture, model=model, courses=courses_of(store.home.checkpoints / request.name))


def digests(folder):
    """Of all files of a checkpoint."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_temporal_model_is_a_model_of_the_home_that_says_how_it_was_trained(
    store, saved, taught, name_of_release, tmp_path
):
    request = asked(saved, release=name_of_release)
    done = trained(store, request)
    (lesson,) = taught
    assert (lesson.n_steps(), lesson.n_examples) == (4, {"text": 30, "query": 2})
    (course,) = done.courses.values()
    assert [step for step, _ in course.losses] == [1, 2, 3, 4]
    row = known_model(store.lake, "tiny")
    place = store.home.path / "models" / "tiny"
    assert (row["checkpoint"], row["family"], row["status"]) == (str(place), "seq2seq", "ready")
    # All texts were first seen before the end of the last window.
    assert row["knows_certainly_until"] == row["knows_possibly_until"] == date(2021, 1, 1)
    assert [one.label for one in dating_of(row).periods] == ["2018", "2019", "2020"]
    said = done.model.settings["trained"]
    assert (said["numbers"]["regime"], said["numbers"]["steps"]) == ("temporal", 4)
    assert said["numbers"]["read"] == done.mixture.inputs
    assert said["mixture"] == {one.name: one.sha256 for one in done.mixture.files}
    assert {row["source"] for row in store.read("mixtures", model="tiny").to_pylist()} == {"text", "query"}
    assert not list((store.lake.root / "_staging").glob("resumable-*"))
    # Weights have changed, and can be asked.
    assert read_checkpoint(str(place)).weights_sha256 != read_checkpoint(str(saved("t5"))).weights_sha256
    # What is there is only compared.
    before = digests(place)
    again = trained(store, request)
    assert (again.model.version, digests(place), len(taught)) == (done.model.version, before, 1)
    with pytest.raises(SettingsError, match=r"the name is bound \(seed 1, found 2\)"):
        trained(store, replace(request, seed=2))
    write_texts(store, list(sentences(2018))[:9])
    with pytest.raises(SettingsError, match=r"the name is bound \(read "):
        trained(store, request)
    assert store.lake.current("mixtures", "tiny") == done.mixture
    assert command_for(store, "mixtures", "tiny") == (
        f"tempkb train temporal --base {saved('t5')} --window 2018-01-01..2021-01-01 --release {name_of_release} "
        "--preset small --set batch_size=8 --set mini_batch_size=4 --set steps=4 --name tiny"
    )
    remove(store, of_model(store, "tiny"))
    assert not place.exists()
    assert store.lake.partitions("mixtures") == store.lake.partitions("models") == []


@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_yearly_experts_read_their_own_year_and_are_one_model(store, saved, taught, kind):
    done = trained(store, asked(saved, "yearly", kind))
    assert [[one.label for one in lesson.periods] for lesson in taught] == [["2018"], ["2019"], ["2020"]]
    assert list(done.courses) == ["2018", "2019", "2020"]
    row = known_model(store.lake, "tiny")
    dating, place = dating_of(row), Path(row["checkpoint"])
    assert dating.has_experts
    assert row["n_parameters"] == 3 * read_checkpoint(str(saved(kind))).n_parameters
    files = [file for one in dating.periods for file in dating.files_of(place, one)]
    assert files == [place / "expert-2018.safetensors", place / "expert-2019.safetensors", place / "model.safetensors"]
    assert len({digests(place)[file.name] for file in files}) == 3
    # Each has its own folder while it is trained, and learns what it would learn alone.
    assert load(read_checkpoint(str(place))).module is not None


@pytest.mark.slow
def test_a_model_of_the_home_is_brought_up_to_date_by_its_name(store, saved, taught):
    """What it begins with are the weights of the base; how it is told a date, and until when it knows, are its own."""
    trained(store, asked(saved, windows="2018-01-01..2020-01-01", name="until-2020"))
    trained(store, asked(saved, "yearly", windows="2018-01-01..2020-01-01", name="experts"))
    base = store.home.path / "models" / "until-2020"
    share = {"settings": f"{LITTLE},newest_share=0.5"}
    request = asked(saved, base="until-2020", **share)
    assert plan(store, request)[0].endswith("its training cutoff would be 2021-01-01")
    trained(store, request)
    lesson, row = taught[-1], known_model(store.lake, "tiny")
    assert (lesson.base, [one.label for one in lesson.periods]) == (str(base), ["2018", "2019", "2020"])
    assert (row["knows_certainly_until"], row["knows_possibly_until"]) == (date(2021, 1, 1), date(2021, 1, 1))
    assert [one.label for one in dating_of(row).periods] == ["2018", "2019", "2020"]
    assert command_for(store, "mixtures", "tiny").startswith("tempkb train temporal --base until-2020 --window 2018")
    # Without dates nothing is left of how the base was told them, and an expert is a model like another.
    for held in ("until-2020", "experts"):
        trained(store, asked(saved, "uniform", base=held, name=f"of-{held}", **share))
        assert dating_of(known_model(store.lake, f"of-{held}")) is None
    # One that reads older texts still knows what its base knew, unless it begins with random weights.
    for name, numbers, until in (("older", "", 2021), ("anew", ",random_weights=true", 2019)):
        older = asked(
            saved, base="tiny", name=name, windows="2018-01-01..2019-01-01", settings=f"steps=1,batch_size=4{numbers}"
        )
        trained(store, older)
        assert known_model(store.lake, name)["knows_possibly_until"] == date(until, 1, 1)


@pytest.mark.slow
def test_regimes_differ_in_the_texts_dates_and_order_and_in_nothing_else(store, saved, taught):
    found = {}
    for regime in ("uniform", "temporal", "continual"):
        trained(store, asked(saved, regime, name=regime))
        found[regime] = digests(store.home.path / "models" / regime)["model.safetensors"]
    assert len({*found.values()}) == 3
    mixtures = [store.read("mixtures", model=name).drop_columns(["model", "regime"]) for name in found]
    assert mixtures[0] == mixtures[1] == mixtures[2]
    assert dating_of(known_model(store.lake, "uniform")) is None
    assert {lesson.request.regime: (lesson.recipe, lesson.seed, lesson.base) for lesson in taught}["uniform"] == (
        taught[1].recipe,
        taught[1].seed,
        taught[1].base,
    )


def test_random_weights_are_those_of_the_seed(store, saved, taught, tmp_path):
    import shutil

    bare = tmp_path / "bare"
    shutil.copytree(saved("gpt2"), bare, ignore=shutil.ignore_patterns("*.safetensors"))
    words = {"base": str(bare), "settings": f"{LITTLE},random_weights=true"}
    for name, seed in (("one", "1"), ("same", "1"), ("other", "2")):
        trained(store, asked(saved, "uniform", "gpt2", name, seed=seed, **words))
    one, same, other = (
        digests(store.home.path / "models" / name)["model.safetensors"] for name in ("one", "same", "other")
    )
    assert one == same != other
    with pytest.raises(ModelError, match="has no weights"):
        trained(store, asked(saved, "uniform", "gpt2", base=str(bare)))


def test_parts_of_a_batch_give_what_the_whole_batch_gives(store, saved, taught):
    losses = []
    for mini in (8, 2):
        numbers = f"steps=3,batch_size=8,mini_batch_size={mini}"
        done = trained(store, asked(saved, name=f"by-{mini}", settings=numbers))
        (course,) = done.courses.values()
        losses.append([loss for _, loss in course.losses])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.slow
def test_two_processes_learn_what_one_does(store, saved, tmp_path, taught):
    """Each has half of a batch; the mean is over the tokens of both halves."""
    done = trained(store, asked(saved, settings="steps=4,batch_size=12,mini_batch_size=4", name="one"))
    (alone,) = done.courses.values()
    (lesson,) = taught
    _, course = teaching.teach(lesson, tmp_path / "two", print, n_processes=2)
    assert [loss for _, loss in course.losses] == pytest.approx([loss for _, loss in alone.losses], rel=1e-3)


@pytest.mark.slow
def test_it_learns_what_the_texts_say(store, saved, taught):
    done = trained(store, asked(saved, "uniform", "gpt2", settings="steps=60,learning_rate=0.01"))
    (course,) = done.courses.values()
    assert course.losses[-1][1] < 0.5 * course.losses[0][1]


def test_a_base_or_place_that_cannot_be_used_is_refused(store, saved, tmp_path):
    with pytest.raises(ModelError, match="is a masked model; expected a causal one, or one with an encoder"):
        Training(store, asked(saved, kind="bert_cased"))
    with pytest.raises(ModelError, match="neither a folder of this machine nor"):
        Training(store, asked(saved, base="nowhere/at-all"))
    place = store.home.path / "models" / "tiny"
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("mine")
    with pytest.raises(SettingsError, match="which tempkb did not write"):
        trained(store, asked(saved))
    assert (place / "mine.txt").read_text() == "mine"
    assert store.lake.partitions("mixtures") == []


def test_a_loss_that_is_no_number_ends_the_training(store, saved, taught):
    with pytest.raises(ModelError, match="model 'tiny': the loss became nan at step .*Train it with a lower"):
        trained(store, asked(saved, settings=f"{LITTLE},learning_rate=1e30,warm_up=0,max_grad_norm=0"))
    assert known_model(store.lake, "tiny") is None


def test_a_plan_says_what_is_read_and_what_it_takes(store, saved, name_of_release):
    """Tiny T5: 22,688 numbers of four bytes; AdamW keeps two of each, and each has a gradient; two states are kept."""
    n = 4 * read_checkpoint(str(saved("t5"))).n_parameters
    lines = plan(store, asked(saved, release=name_of_release))
    assert lines[0] == "tiny: 4 steps of 8 examples (30 texts, 2 queries); its training cutoff would be 2021-01-01"
    assert "texts that it may read: 2018 30, 2019 30, 2020 30" in lines
    assert any(line.startswith("not read: 3, held_out") for line in lines)
    assert f"disk: {n / 1e3:.1f} kB for the checkpoint; while it trains {7 * n / 1e3:.1f} kB more" in "\n".join(lines)
    assert f"memory of each process or GPU: {4 * n / 1e3:.1f} kB for {n // 4:,} weights" in lines[-1]
    assert plan(store, asked(saved, "yearly"))[0].startswith(
        "tiny: 3 experts, each of 4 steps of 8 examples (32 texts)"
    )
    half = plan(store, asked(saved, settings=f"{LITTLE},newest_share=0.4"))
    assert (
        half[0] == "tiny: 4 steps of 8 examples (32 texts; 13 texts of 2020); its training cutoff would be 2021-01-01"
    )
    assert store.lake.partitions("mixtures") == []


def test_the_command_refuses_says_what_it_would_do_and_what_it_did(store, saved, taught):
    def run(*arguments):
        done = CliRunner().invoke(main, ["train", *arguments])
        return done.exit_code, " ".join(done.output.split())

    base = ("--base", str(saved("gpt2")), "--window", WORDS["windows"], "--preset", "small", "--device", "cpu")
    code, said = run("sideways", *base)
    assert (code, "expected uniform, yearly, temporal or continual" in said) == (1, True)
    code, said = run("uniform", "--preset", "small")
    assert (code, "train: found no --base PATH and no --window A..B; what that is: " in said) == (1, True)
    code, said = run("sideways")
    assert (code, "regime: found 'sideways'; expected uniform, yearly, temporal or continual" in said) == (1, True)
    little = ("--set", "steps=4", "--set", "batch_size=8")
    code, said = run("uniform", *base, *little, "--dry-run")
    assert (code, "4 steps of 8 examples (32 texts)" in said) == (0, True)
    assert store.lake.partitions("models") == []
    code, said = run("uniform", *base, *little)
    assert code == 0, said
    name = "uniform-home-2018-01-01-2021-01-01-small"
    assert known_model(open_store().lake, name)["status"] == "ready"
    assert f"{name}: 4 steps; the loss went from" in said
    assert f"tempkb score {name}" in said
    shown = CliRunner().invoke(main, ["model", "show", name])
    assert "trained: regime" in shown.output
    # A model that was added is no model that was trained, and keeps its name.
    assert CliRunner().invoke(main, ["model", "add", "plain", str(saved("gpt2"))]).exit_code == 0
    code, said = run("uniform", *base, *little, "--name", "plain")
    assert (code, "not trained here" in said) == (1, True)


# What a run does that is killed: it keeps its state at every step.
RUN = """
import json, sys
from functools import partial
from tempkb.models.training import making
from tempkb.models.training.requests import train_request
from tempkb.platform.api import open_store
making.teach = partial(making.teach, keep_seconds=0)
making.Training(open_store(), train_request("tiny", json.loads(sys.argv[1]))).trained(print)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "regime"), [("t5", "temporal"), ("gpt2", "yearly")])
def test_a_training_that_was_killed_goes_on_and_ends_with_the_same_bytes(store, saved, kind, regime, name_of_release):
    words = {**WORDS, "regime": regime, "base": str(saved(kind)), "release": name_of_release}
    words["settings"] = "steps=30,batch_size=8,mini_batch_size=4,dropout=0.1,texts_per_query=3"
    words["settings"] += ",newest_share=0.6" if regime == "temporal" else ""
    with learning_here():
        undisturbed = trained(store, train_request("other", words))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    staging = store.lake.root / "_staging"
    label = "2019" if regime == "yearly" else "tiny"
    with subprocess.Popen(
        [sys.executable, "-c", RUN, json.dumps(words)], env=environment, stdout=subprocess.DEVNULL
    ) as parent:
        until = time.monotonic() + 300
        while not list(staging.glob(f"resumable-training-tiny/lessons/{label}/kept/checkpoint-[5-9]/whole")):
            assert parent.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        parent.send_signal(signal.SIGKILL)
    time.sleep(1)
    assert known_model(store.lake, "tiny") is None
    kept = [int(path.parent.name.partition("-")[2]) for path in staging.glob(f"*/lessons/{label}/kept/*/whole")]
    assert 5 <= max(kept) < 30
    done = trained(store, train_request("tiny", words))
    assert [*done.courses.values()] == [*undisturbed.courses.values()]
    files = {
        name: {
            file: digest
            for file, digest in digests(store.home.path / "models" / name).items()
            if "training" not in file
        }
        for name in ("tiny", "other")
    }
    assert files["tiny"] == files["other"]
    assert not list(staging.glob("resumable-*"))
