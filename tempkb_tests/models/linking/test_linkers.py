"""Linkers of a home: a name is bound to what it was trained on, or to the files that were added."""

import json
import re
import shlex
import shutil
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.commands.runs.jobs import Summary
from tempkb.commands.runs.removal import of_linker, of_release
from tempkb.commands.screens.console import program
from tempkb.commands.screens.status import print_status
from tempkb.commands.screens.verify import print_verification
from tempkb.core.errors import ModelError, SettingsError
from tempkb.models.again import command_for
from tempkb.models.linking import linkers
from tempkb.models.linking.encoders import load_encoder
from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb.models.linking.known import known_linker, mend_in_words
from tempkb.models.linking.linkers import add_linker, train_linker
from tempkb.models.linking.requests import LinkRequest, default_name, linker_request
from tempkb.models.linking.scoring import link_mentions
from tempkb.models.linking.tables import DIGESTS, LINKERS
from tempkb.models.training import requests as extra
from tempkb.store.drafts import Provenance
from tempkb_tests.models.linking import small_home
from tempkb_tests.models.linking.small_home import ASSEMBLY, GODDESS, PORT
from tempkb_tests.models.linking.tiny import save_base, save_encoder

A = date(2022, 1, 1)
TRAIN = [
    (A, "train", PORT, ASSEMBLY, 50, "continual", ("ships reach ", "Aurora", " at night")),
    (A, "train", GODDESS, PORT, 60, "new", ("prayers to ", "Aurora", " of the dawn")),
    (A, "train", ASSEMBLY, PORT, 70, "continual", ("elders of the ", "Mejlis", " met")),
]
NUMBERS = "vocabulary=300,hidden_size=16,heads=2,intermediate_size=16,batch_size=2,epochs=2,max_tokens=24"
WORDS = {"release": "r", "cut": "2022-01-01", "preset": "demo", "settings": NUMBERS}


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(small_home, "MENTIONS", [*small_home.MENTIONS, *TRAIN])
    return small_home.small_home(tmp_path / "home", monkeypatch)


@pytest.fixture
def taught(monkeypatch):
    """Lessons that were learnt, in this process, which takes less time."""
    from tempkb.models.linking.training.learning import learn

    lessons = []

    def teach(lesson, folder, log, n_gpus=0):
        assert n_gpus == 0
        lessons.append(lesson)
        folder.mkdir()
        return folder / "checkpoint", learn(lesson, folder, 1e9, lambda _step: None)

    monkeypatch.setattr("tempkb.models.linking.linkers.teach", teach)
    with torch.random.fork_rng():
        yield lessons
    torch.use_deterministic_algorithms(False)


def train(store, name="tiny", log=print, **words):
    version, course = train_linker(store, linker_request(name, {**WORDS, **words, "device": "cpu"}), log)
    return SimpleNamespace(version=version, course=course, checkpoint=store.home.linkers / name)


@pytest.mark.slow
def test_a_linker_is_trained_on_the_train_mentions_of_both_categories(store, taught):
    trained = train(store)
    (lesson,) = taught
    assert [(one.mention.left, one.mention.mention, one.entity) for one in lesson.train] == [
        ("ships reach ", "Aurora", EntityText("Aurora (port)", "Aurora is a port.")),
        ("prayers to ", "Aurora", EntityText("Aurora (goddess)", "Aurora is a goddess.")),
        ("elders of the ", "Mejlis", EntityText("Mejlis", "Mejlis is an assembly.")),
    ]
    assert [one.mention for one in lesson.validation] == [MentionText("the ", "elders", " met")]
    # The tokenizer of random weights is trained on the train mentions and on all candidates of the snapshot.
    assert lesson.corpus == (
        "ships reach  Aurora  at night",
        "prayers to  Aurora  of the dawn",
        "elders of the  Mejlis  met",
        "Aurora (port) Aurora is a port.",
        "Aurora (goddess) Aurora is a goddess.",
        "Mejlis Mejlis is an assembly.",
    )
    # Two batches of an epoch: two mentions, and the third one.
    assert [step for step, _ in trained.course.losses] == [1, 2, 3, 4]
    # There is one entity among those of the validation mentions, which so comes first.
    assert trained.course.validation == ((1, 1.0), (2, 1.0))
    row = known_linker(store.lake, "tiny")
    assert (row["kind"], row["release"], row["cut"], row["seed"], row["preset"]) == ("bi-encoder", "r", A, 1, "demo")
    assert (row["n_towers"], row["dim"], row["max_tokens"], row["n_train_mentions"]) == (2, 16, 24, 3)
    assert (row["base"], row["validation_accuracy"]) == (None, 1.0)
    numbers = json.loads(row["recipe"])
    assert (numbers["epochs"], numbers["hidden_size"], numbers["hard_negatives"]) == (2, 16, 0)
    assert row["checkpoint"] == str(trained.checkpoint) == str(store.home.path / "linkers" / "tiny")
    assert {"tempel_mentions r.2022-01-01", "tempel_entities r.2022-01-01"} <= set(trained.version.inputs)
    encoder = load_encoder(row, "cpu")
    assert encoder.mentions([lesson.train[0].mention]).shape == (1, 16)
    card = (trained.checkpoint / "README.md").read_text()
    assert "trained by tempkb on the train mentions of the release r of TempEL at 2022-01-01: 3 mentions of 3" in card
    assert "| epochs | 2 |" in card
    assert str(store.home.path) not in card
    assert not list((store.lake.root / "_staging").glob("resumable-*"))


@pytest.mark.slow
def test_the_same_request_does_nothing_and_another_one_is_refused(store, taught):
    first = train(store)
    files = {path: path.stat().st_mtime_ns for path in first.checkpoint.rglob("*")}
    said = []
    assert train(store, log=said.append) == first
    assert said == ["Linker tiny is there already, trained in the same way; nothing to do."]
    assert len(taught) == 1
    assert {path: path.stat().st_mtime_ns for path in first.checkpoint.rglob("*")} == files
    with pytest.raises(SettingsError, match=r"name is bound \(seed 1, found 2; learning_rate 0\.\d+, found 0.5\)"):
        train(store, seed="2", settings=f"{NUMBERS},learning_rate=0.5")
    assert len(taught) == 1
    (first.checkpoint / "query_1_Pooling" / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="linker 'tiny': expected in .* to which its name is bound"):
        train(store)


@pytest.mark.slow
def test_other_mentions_are_another_linker(store, taught):
    train(store)
    rows = [small_home.mention_row(*one) for one in small_home.MENTIONS[:-1] if one[0] == A]
    small_home.write(store, small_home.TEMPEL_MENTIONS, "r.2022-01-01", rows)
    with pytest.raises(SettingsError, match=r"name is bound \(examples_sha256 [0-9a-f]{12}, found [0-9a-f]{12}\)"):
        train(store)


@pytest.mark.slow
def test_a_linker_links_no_mentions_of_another_release_that_has_the_name_of_its_own(store, taught):
    train(store)
    assert link_mentions(store, "tiny", LinkRequest(), print)[0].n_mentions == 2
    # What it learnt from is tested now: ships that reach Aurora at night.
    swapped = {"train": "test", "test": "train"}
    others = [(cut, swapped.get(subset, subset), *rest) for cut, subset, *rest in small_home.MENTIONS if cut == A]
    small_home.write(
        store, small_home.TEMPEL_MENTIONS, "r.2022-01-01", [small_home.mention_row(*one) for one in others]
    )
    with pytest.raises(
        ModelError,
        match=r"'tiny': was trained on mentions at 2022-01-01 of an earlier release named r, .*"
        r"Remove it: tempkb linker rm tiny, and train it again: tempkb linker train r --cut 2022-01-01 --preset demo .* --name tiny",
    ):
        link_mentions(store, "tiny", LinkRequest(), print)


@pytest.mark.slow
def test_equal_examples_are_recognised_without_the_version_of_their_table(store, taught):
    train(store)
    rows = pq.read_table(store.lake.current(LINKERS.name, "tiny").paths()[0])
    store.write(LINKERS, "tiny", [rows], Provenance())
    assert link_mentions(store, "tiny", LinkRequest(), print)[0].n_mentions == 2


def test_a_release_that_is_removed_names_the_linkers_that_were_trained_on_it(store, monkeypatch):
    row = dict.fromkeys(LINKERS.column_names()) | {"linker": "tiny", "kind": "bi-encoder", "release": "r", "cut": A}
    made = pa.Table.from_pylist([row | dict.fromkeys(DIGESTS, "0" * 64) | {"dim": 2}], LINKERS.schema)
    store.write(LINKERS, "tiny", [made], Provenance())
    monkeypatch.setattr("tempkb.commands.runs.removal.release_names", lambda _home: ["q", "r"])
    (note,) = of_release(store, "r").notes
    assert note == (
        "Linkers that were trained on it stay (tiny): they link no mentions of another release of this name; to remove "
        "one: tempkb linker rm NAME"
    )
    assert of_release(store, "q").notes == []


@pytest.mark.slow
def test_a_run_that_was_killed_before_its_row_was_written_trains_no_second_time(store, taught, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(linkers, "_write", killed)
        with pytest.raises(KeyboardInterrupt):
            train(store)
    assert known_linker(store.lake, "tiny") is None
    assert (store.home.path / "linkers" / "tiny" / "training.json").exists()
    train(store)
    assert len(taught) == 1
    assert known_linker(store.lake, "tiny") is not None
    assert not list((store.lake.root / "_staging").glob("resumable-*"))


@pytest.mark.slow
def test_a_checkpoint_without_a_row_that_is_of_another_training_is_replaced(store, taught):
    train(store)
    store.lake.remove(LINKERS.name, "tiny")
    trained = train(store, seed="2")
    assert len(taught) == 2
    assert known_linker(store.lake, "tiny")["seed"] == 2
    assert not (trained.checkpoint / "checkpoint").exists()


@pytest.mark.slow
def test_hard_negatives_are_what_the_other_linker_ranks_first_and_never_the_right_entity(store, taught):
    train(store, "ranking")
    ranking = load_encoder(known_linker(store.lake, "ranking"), "cpu")
    train(store, "hard", hard_negatives="1", negatives_of="ranking")
    lesson = taught[-1]
    entities = [
        EntityText("Aurora (port)", "Aurora is a port."),
        EntityText("Aurora (goddess)", "Aurora is a goddess."),
        EntityText("Mejlis", "Mejlis is an assembly."),
    ]
    vectors = ranking.entities(entities).astype(np.float16).astype(float)
    for example in lesson.train:
        scores = ranking.mentions([example.mention]).astype(float)[0] @ vectors.T
        wrong = [one for _, one in sorted(zip(-scores, range(3), strict=True)) if entities[one] != example.entity]
        assert example.negatives == (entities[wrong[0]],)
    row = known_linker(store.lake, "hard")
    assert json.loads(row["recipe"])["hard_negatives"] == 1
    trained_from = json.loads(row["trained_from"])
    assert trained_from["negatives_of"] == "ranking"
    assert trained_from["negatives_sha256"] == known_linker(store.lake, "ranking")["weights_sha256"]
    # They are found by the vectors that the home keeps, of each distinct text once.
    kept = store.read("entity_vectors", linker="ranking")
    assert kept.num_rows == len(set(kept["text_sha256"].to_pylist())) == len(entities)
    with pytest.raises(SettingsError, match="found 2 wrong entities for a mention of .* expected 3 hard negatives"):
        train(store, "harder", hard_negatives="3", negatives_of="ranking")


@pytest.mark.slow
def test_training_may_begin_with_a_checkpoint(store, taught, tmp_path):
    base = save_base(tmp_path / "base", "bert", max_tokens=64, markers=False)
    train(store, base=str(base), settings="batch_size=2,epochs=1,max_tokens=24,towers=1")
    row = known_linker(store.lake, "tiny")
    assert (row["base"], row["n_towers"], row["dim"]) == (str(base), 1, 32)
    assert taught[0].corpus == ()
    before = json.loads(row["trained_from"])["base_sha256"]
    save_base(base, "bert", max_tokens=64, markers=False, seed=9)
    with pytest.raises(SettingsError, match=f"base_sha256 {before[:12]}, found"):
        train(store, base=str(base), settings="batch_size=2,epochs=1,max_tokens=24,towers=1")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"release": "s"}, "the release s of TempEL has no mentions at 2022-01-01; there: r at 2022-01-01, r at 2023"),
        ({"cut": "2021-01-01"}, "the release r of TempEL has no mentions at 2021-01-01"),
        (
            {"cut": "2023-01-01"},
            "found 0 train mentions of 0 entities in the release r at 2023-01-01; expected at least 2",
        ),
        ({"settings": "epoch=3"}, "linker 'tiny': epoch: no such setting; did you mean epochs"),
        ({"device": "tpu"}, "linker 'tiny': device: found 'tpu'; expected cpu or cuda"),
        ({"hard_negatives": "2", "negatives_of": "nobody"}, r"found nobody \(no such linker\)"),
        ({"hard_negatives": "2", "negatives_of": "prior"}, r"found prior \(not trained here\)"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_message(store, words, message):
    with pytest.raises(SettingsError, match=message):
        train_linker(store, linker_request("tiny", {**WORDS, "device": "cpu", **words}), print)
    assert known_linker(store.lake, "tiny") is None
    assert not (store.home.path / "linkers").exists()


def test_without_the_extra_training_says_how_it_is_installed(store, monkeypatch):
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "datasets" else name)
    with pytest.raises(
        SettingsError, match=r'training needs datasets, which is not .* pip install "tempkb\[linking\]"$'
    ):
        train(store)


def test_an_encoder_is_added_as_it_is_and_its_name_keeps_its_files(store, tmp_path):
    save_encoder(tmp_path / "one", "roberta", "mean", markers=False, max_tokens=32)
    request = linker_request("zero", {"checkpoint": str(tmp_path / "one")})
    version = add_linker(store, request, print)
    row = known_linker(store.lake, "zero")
    assert (row["kind"], row["n_towers"], row["dim"], row["max_tokens"]) == ("sentence-encoder", 1, 32, 32)
    assert (row["release"], row["cut"], row["recipe"], row["n_train_mentions"]) == (None, None, None, None)
    assert row["checkpoint"] == str(tmp_path / "one")
    encoder = load_encoder(row, "cpu")
    assert encoder.inputs.mention(MentionText("the ", "elders", " met")) == "elders: the elders met"
    # If its row is lost, it is known where it was.
    store.lake.remove(LINKERS.name, "zero")
    assert command_for(store, "linkers", "zero") == f"tempkb linker add zero {tmp_path / 'one'}"
    assert add_linker(store, request, print) == version
    said = []
    assert add_linker(store, request, said.append) == version
    assert said == ["Linker zero is there already, with the same files; nothing to do."]
    # The same files elsewhere are the same linker, which from now on is read from there.
    shutil.move(tmp_path / "one", tmp_path / "moved")
    add_linker(store, linker_request("zero", {"checkpoint": str(tmp_path / "moved")}), print)
    moved = known_linker(store.lake, "zero")
    assert moved["checkpoint"] == str(tmp_path / "moved")
    assert [moved[name] for name in DIGESTS] == [row[name] for name in DIGESTS]
    save_encoder(tmp_path / "other", "bert", "mean", markers=False, max_tokens=32)
    with pytest.raises(SettingsError, match=r"linker 'zero': expected the linker to which .* \(weights_sha256"):
        add_linker(store, linker_request("zero", {"checkpoint": str(tmp_path / "other")}), print)


def typed(command):
    """The request that a command of `tempkb linker train` makes, which is typed without being run."""
    with mock.patch("tempkb.commands.runs.linkers.train", return_value=([], Summary())) as asked:
        assert CliRunner().invoke(main, shlex.split(command)[1:]).exit_code == 0
    release, cuts, seeds, name, words = asked.call_args.args
    assert (release, len(cuts), len(seeds) < 2) == ("r", 1, True)
    request = linker_request("unnamed", {**words, "release": release, "cut": cuts[0], "seed": str(*seeds or (1,))})
    name = name or default_name(release, request.cut, request.seed, request.preset)
    return replace(request, linker=name)


@pytest.mark.slow
def test_the_command_that_trains_a_linker_again_asks_for_the_same(store, taught, tmp_path):
    base = save_base(tmp_path / "a base", "bert", max_tokens=64, markers=False)
    small = "batch_size=2,epochs=1,max_tokens=24"
    train(store, "r-2022-01-01-demo")
    for name, words in (
        ("r-2022-01-01-demo", {}),
        ("other", {"seed": "2", "hard_negatives": "1", "negatives_of": "r-2022-01-01-demo"}),
        ("r-2022-01-01-s3", {"seed": "3", "preset": "tempkb", "base": str(base), "settings": small}),
        ("based", {"base": str(base), "settings": f"{small},learning_rate=2.5e-05"}),
    ):
        train(store, name, **words)
        command = command_for(store, "linkers", name)
        assert typed(command) == linker_request(name, {**WORDS, **words}), command


def test_an_added_linker_is_added_again_from_where_it_was():
    row = {"linker": "zero", "kind": "sentence-encoder", "checkpoint": "/a b/c", "hub_revision": None}
    assert mend_in_words(row).endswith(" are now: tempkb linker add zero FOLDER")
    of_hub = {**row, "checkpoint": "x/y", "hub_revision": "0a1b"}
    assert mend_in_words(of_hub) == "Fetch them again: tempkb linker add zero x/y --revision 0a1b"


def flip_weights(folder):
    weights = folder / "document_0_Transformer" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)


SPOILED = (
    (
        flip_weights,
        r"expected in {0} the files to which its name is bound \(weights_sha256 \w+\), found \w+ \(.*"
        r"document_0_Transformer/model.safetensors.*\)",
    ),
    (lambda folder: (folder / "modules.json").unlink(), "{0} is no encoder of sentences: expected modules.json of"),
    (
        lambda folder: (folder / "document_1_Pooling/config.json").unlink(),
        r"expected in {0} the files to which its name is bound \(config_sha256 \w+\), found \w+ \(.*",
    ),
    (lambda folder: (folder / "query_0_Transformer/model.safetensors").unlink(), "{0} has no weights; expected"),
    (shutil.rmtree, "found no {0}; expected the files of its checkpoint"),
)


@pytest.mark.slow
def test_a_damaged_checkpoint_is_verified_like_all_else(store, taught, capsys, tmp_path):
    """Only a folder that is gone is seen by status, which reads no checkpoint."""
    folder = train(store).checkpoint
    whole = shutil.copytree(folder, tmp_path / "whole")
    capsys.readouterr()
    home = f"TEMPKB_HOME={store.home.path} "
    for spoil, found in SPOILED:
        print_verification(["linkers"], "")
        assert capsys.readouterr().out.startswith("All is well (")
        spoil(folder)
        with pytest.raises(SystemExit) as end:
            print_verification(["linkers"], "")
        line, total = capsys.readouterr().out.splitlines()
        assert (end.value.code, total[:13]) == (1, "1 fault found")
        assert re.match(f"linker 'tiny': {found.format(re.escape(str(folder)))}", line)
        commands = line.partition(" and train it again: ")[2].split(" && ")
        assert commands[0] == f"{home}{program()} linker rm tiny"
        assert typed(commands[1].removeprefix(home)) == linker_request("tiny", WORDS)
        print_verification(["mentions"], "")
        capsys.readouterr()
        print_status()
        assert ("damaged: linker tiny: found no" in capsys.readouterr().out) == (not folder.exists())
        shutil.copytree(whole, folder, dirs_exist_ok=True)


@pytest.mark.slow
def test_what_is_no_name_of_a_linker_is_not_removed(store, taught):
    train(store)
    (store.home.path / "models").mkdir()
    for name in ("..", ".", "../models", "tiny/../tiny"):
        with pytest.raises(SettingsError, match="no such linker; there: tiny"):
            of_linker(store, name)
    assert of_linker(store, "tiny").paths == [store.home.linkers / "tiny.json", store.home.linkers / "tiny"]
