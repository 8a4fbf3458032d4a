"""Tiny models: what they read and what is withheld, the same bytes again, and nothing half after a kill."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pytest
import torch
import transformers

from tempkb.core.model_words import FAMILIES
from tempkb.core.prompts import Prompt
from tempkb.demo import pages as demo_world
from tempkb.demo.models import making
from tempkb.demo.models.corpus import read_corpora
from tempkb.demo.models.lessons import AROUND, Row, rows_of, steps, train_tokenizer
from tempkb.demo.models.recipe import EXPOSURE, RECIPES, STEP_TOKENS, Asked, DemoModel, demo_models, is_withheld
from tempkb.models.checkpoints import load, read_checkpoint
from tempkb.models.families import TRAITS
from tempkb.models.scoring import Scorer
from tempkb.platform.api import open_store
from tempkb_tests.conftest import run_tempkb

CUTS = FIRST, SECOND = date(2022, 1, 1), date(2023, 7, 1)
SHORT = {family: replace(recipe, steps=4) for family, recipe in RECIPES.items()}
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def home(demo_home, tmp_path_factory):
    """A copy of the demo's home, in which models are trained."""
    home = tmp_path_factory.mktemp("tiny") / "home"
    shutil.copytree(demo_home, home)
    # So that views over its files may be queried.
    run_tempkb(home, "publish")
    return home


@pytest.fixture
def store(home, monkeypatch):
    for name in [name for name in os.environ if name.startswith("TEMPKB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    return open_store()


@pytest.fixture
def corpora(store):
    return read_corpora(store, CUTS)


@pytest.fixture
def ask(home):
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        yield lambda query, *values: connection.execute(query, list(values)).fetchall()


def squeezed(text):
    return re.sub(r"\s+", "", text)


def test_the_cuts_of_the_command_are_those_of_the_demo_world():
    assert (demo_world.FIRST_CUT.date(), demo_world.SECOND_CUT.date()) == CUTS


def test_test_sentences_of_ecbd_are_in_the_articles_but_in_no_sentence_that_is_read(corpora, ask):
    tests = [squeezed(one) for (one,) in ask("SELECT DISTINCT sentence FROM ecbd_cloze WHERE split = 'test'")]
    for cut, corpus in corpora.items():
        articles = squeezed(
            "\n".join(
                text
                for (text,) in ask(
                    "SELECT text FROM stable_snapshots JOIN page_texts USING (page_id, revision_id) WHERE cut = ?", cut
                )
            )
        )
        assert sum(one in articles for one in tests) > 50
        read = squeezed("\n".join(sentence.text for sentence in corpus.sentences))
        assert [one for one in tests if one in read] == []
        assert corpus.n_withheld["tests"] > 50


@pytest.mark.slow
def test_a_fifth_of_the_subjects_of_facts_is_told_of_in_no_sentence(corpora, ask):
    spells = ask(
        """
        SELECT DISTINCT subject_id, names.label, object_label FROM fact_spells
        JOIN wikidata_entities AS names ON subject_id = entity_id WHERE release = 'demo-quarters'
        """
    )
    subjects = {subject for subject, *_ in spells}
    withheld = {subject for subject in subjects if is_withheld(subject)}
    assert 0.1 < len(withheld) / len(subjects) < 0.3
    told = Counter()
    # Of two subjects of one name the other may be told of, and a firm's chairman may have worked for it, which is a
    # fact of his own.
    names = Counter(name for _, name in {row[:2] for row in spells})
    either_way = {row[1:] for row in spells} & {(other, name) for _, name, other in spells}
    for subject, name, other in (row for row in spells if names[row[1]] == 1 and row[1:] not in either_way):
        for corpus in corpora.values():
            told[subject in withheld] += sum(name in one.text and other in one.text for one in corpus.sentences)
    assert told[True] == 0
    assert told[False] > 2000


def test_what_is_withheld_is_named_by_as_many_sentences_of_others_as_the_readme_says(corpora, ask):
    """Those with an object of the subject as well tell both models the same."""
    objects = {}
    for subject, name, other in ask(
        """
        SELECT DISTINCT subject_id, names.label, object_label FROM fact_spells
        JOIN wikidata_entities AS names ON subject_id = entity_id WHERE release = 'demo-quarters'
        """
    ):
        if is_withheld(subject):
            objects.setdefault((subject, name), set()).add(other)
    assert len(objects) == 60
    leaks = []
    for cut in CUTS:
        read = [one.text for one in corpora[cut].sentences]
        named = {key: {text for text in read if key[1] in text} for key in objects}
        assert sum(map(bool, named.values())) == 12
        assert len(set.union(*named.values())) == 292
        leaks.append({text for key, own in named.items() for text in own if any(one in text for one in objects[key])})
    assert leaks[0] == leaks[1]
    assert len(leaks[0]) == 5
    readme = (Path(making.__file__).parents[1] / "README.md").read_text("utf-8")
    assert "12 of the 60 held-out subjects are named in 292 sentences" in readme


def test_both_models_read_facts_equally_often_though_their_corpora_differ_in_size(corpora):
    tokenizer = train_tokenizer(one.text for cut in CUTS for one in corpora[cut].sentences)
    rows = {cut: rows_of(tokenizer, corpora[cut]) for cut in CUTS}
    sizes = [sum(len(row.ids) for row in rows[cut]) for cut in CUTS]
    assert sizes[1] > 1.2 * sizes[0]
    read, readings = {}, {}
    for cut in CUTS:
        taken = list(steps(rows[cut], EXPOSURE, 300, STEP_TOKENS, AROUND, seed=3))
        assert len(taken) == 300
        assert all(len(step) * (max(len(row.ids) for row in step) + AROUND) <= STEP_TOKENS for step in taken)
        read[cut] = Counter()
        for row in (row for step in taken for row in step):
            read[cut][row.kind] += len(row.ids)
        facts = {row.ids for row in rows[cut] if row.kind == "facts"}
        readings[cut] = sum(row.kind == "facts" for step in taken for row in step) / len(facts)
        for kind, share in EXPOSURE.items():
            assert read[cut][kind] / read[cut].total() == pytest.approx(share, abs=0.01), (cut, kind)
    assert read[FIRST].total() == pytest.approx(read[SECOND].total(), rel=0.02)
    assert readings[FIRST] == pytest.approx(readings[SECOND], rel=0.03)
    assert readings[FIRST] > 2


def row(kind, length, number=0):
    return Row(kind, (number,) * length, (), ())


def test_each_kind_has_its_share_of_tokens_and_what_is_missing_falls_to_the_others():
    rows = [row("a", 4, at) for at in range(3)] + [row("b", 8, at) for at in range(2)]
    taken = [one for step in steps(rows, {"a": 0.25, "b": 0.75}, 200, 24, 2, 0) for one in step]
    tokens = Counter()
    for one in taken:
        tokens[one.kind] += len(one.ids)
    assert tokens["a"] / tokens.total() == pytest.approx(0.25, abs=0.02)
    # Each sentence of a kind is read once before any is read again.
    numbers = Counter(one.ids[0] for one in taken if one.kind == "a")
    assert set(numbers) == {0, 1, 2}
    assert max(numbers.values()) - min(numbers.values()) < 0.2 * max(numbers.values())
    only = [one for step in steps(rows[:3], {"a": 0.25, "b": 0.75}, 5, 24, 2, 0) for one in step]
    assert {one.kind for one in only} == {"a"}


def test_a_sentence_that_is_longer_than_a_step_is_cut():
    (step,) = steps([Row("a", tuple(range(100)), ((3, 5), (20, 40)), ((3, 5),))], {"a": 1.0}, 1, 32, 2, 0)
    assert step == [Row("a", tuple(range(30)), ((3, 5),), ((3, 5),))]


def test_every_text_can_be_read_and_written_again(corpora):
    tokenizer = train_tokenizer(one.text for cut in CUTS for one in corpora[cut].sentences)
    assert tokenizer.get_vocab_size() == 2000
    for text in ("Zürich – 東京 и Москва", "👩\u200d🚀 e\u0301 \u202e\x00\n\t", "<s> or [MASK]", "C++"):
        tokenizer.encode_special_tokens = True
        assert tokenizer.decode(tokenizer.encode(text).ids) == f" {text}"


def made(store, **more):
    """Folders of short models by name."""
    words = making.make(store, Asked(FAMILIES, CUTS, **more), print, SHORT)
    return {name: Path(one["checkpoint"]) for name, one in words.items()}


def weights(folders):
    return {name: (folder / WEIGHTS).read_bytes() for name, folder in folders.items()}


@pytest.mark.slow
def test_the_same_bytes_again_and_in_other_processes_and_nothing_is_trained_twice(home, store, monkeypatch):
    folders = made(store)
    assert list(folders) == [f"demo-{family}-{cut}" for family in FAMILIES for cut in CUTS]
    before = weights(folders)
    assert len(set(before.values())) == 6
    with monkeypatch.context() as patched:
        patched.setattr(making, "map_items", None)
        assert made(store) == folders
    # Trained anew by two processes of a parent with another seed and more threads: one that is damaged, and all that are gone.
    damaged, *gone = folders.values()
    (damaged / WEIGHTS).write_bytes((damaged / WEIGHTS).read_bytes()[:-1])
    for folder in gone:
        shutil.rmtree(folder)
    torch.manual_seed(5)
    torch.set_num_threads(2)
    monkeypatch.setenv("TEMPKB_WORKERS", "2")
    assert made(open_store()) == folders
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    assert weights(folders) == before
    assert sorted(path.name for path in (home / "models").iterdir()) == sorted(
        ["lock", *(folder.name for folder in folders.values())]
    )


@pytest.mark.slow
def test_untrained_models_differ_by_seed_alone_and_have_read_nothing(store):
    words = making.make(store, Asked(FAMILIES, CUTS, 2, with_untrained=True), print, SHORT)
    untrained = {name: Path(one["checkpoint"]) for name, one in words.items() if "untrained" in name}
    assert list(untrained) == [f"demo-{family}-untrained{seed}" for family in FAMILIES for seed in ("", "-s1")]
    assert all(words[name].keys() == {"checkpoint", "family"} for name in untrained)
    drawn = weights(untrained)
    for family in FAMILIES:
        assert drawn[f"demo-{family}-untrained"] != drawn[f"demo-{family}-untrained-s1"]
    # Those that read something are the same models with and without them.
    assert {name: Path(one["checkpoint"]) for name, one in words.items() if name not in untrained} == made(
        store, n_seeds=2
    )
    checkpoint = read_checkpoint(str(untrained["demo-causal-untrained"]))
    (score,) = Scorer(load(checkpoint), "span_end").score([Prompt("Ada plays for ", "Saltvik FC", ".")])
    # Nothing is more likely than anything else, but for what random weights make of it.
    assert score.log_prob_nats / score.n_tokens == pytest.approx(-np.log(2000), abs=3)


def test_a_name_says_which_model_it_is_of():
    for family in FAMILIES:
        for cut in (*CUTS, None):
            for seed in (0, 1, 12):
                assert DemoModel.named(DemoModel(family, cut, seed).name) == DemoModel(family, cut, seed)
    for other in ("demo-causal", "demo-huge-2022-01-01", "demo-causal-2022-01-01-s0", "demo-causal-2022-02-30"):
        assert DemoModel.named(other) is None


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_is_one_that_transformers_loads_and_scorers_ask(store, family):
    folder = made(store)[DemoModel(family, SECOND).name]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    doors = {"causal": "CausalLM", "masked": "MaskedLM", "seq2seq": "Seq2SeqLM"}
    module = getattr(transformers, f"AutoModelFor{doors[family]}").from_pretrained(folder)
    assert len(tokenizer) == module.config.vocab_size == 2000
    assert tokenizer("Ada")["input_ids"][-1] == {"causal": tokenizer("Ada")["input_ids"][-1]}.get(
        family, tokenizer.eos_token_id
    )
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.family, checkpoint.weights_format) == (family, "safetensors")
    assert checkpoint.context_tokens >= 250
    asked = [Prompt("Ada plays for ", "Saltvik FC", "."), Prompt("Zürich 👩\u200d🚀 is ", "old", "")]
    for template in TRAITS[family].templates[:3]:
        scores = Scorer(load(checkpoint), template).score(asked)
        assert [score.status for score in scores] == ["scored", "scored"], template
        assert all(score.log_prob_nats < 0 for score in scores)


def heed_interrupts():
    """Tests that run in the background ignore SIGINT, and so would the processes that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_who_is_stopped_while_training_leaves_nothing(home, store, sign, code):
    before = {path.name for path in (home / "models").glob("*")}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-m", "tempkb.commands.cli", "model", "demo", "--family", "masked", "--n-seeds", "20"]
    running = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, preexec_fn=heed_interrupts)
    drafts = home / "models" / "drafts"
    while not list(drafts.glob("*/*")):
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.05)
    time.sleep(2)  # until it imports PyTorch, or trains
    running.send_signal(sign)
    _, told = running.communicate(timeout=60)
    assert running.returncode == code, told
    assert {path.name for path in (home / "models").glob("*")} - {"drafts", "lock"} == before - {"drafts", "lock"}
    if sign == signal.SIGINT:
        assert not drafts.exists()
    making.make(store, Asked(("causal",), CUTS, 3), print, SHORT)
    assert not drafts.exists()


@pytest.mark.slow
def test_the_command_trains_and_adds_each_model_once(trained_home, home_folder):
    home, command = shutil.copytree(trained_home, home_folder), ("model", "demo", "--family", "causal")
    store = open_store()
    written = {path: path.stat().st_mtime_ns for path in home.glob(f"models/*/{WEIGHTS}")}
    assert len(written) == len(CUTS)
    # The paths of the checkpoints in the table, and thus its width, are those of the home.
    printed = (home / "printed").read_text().replace(str(trained_home), str(home))
    assert re.sub("[ ━─]", "", run_tempkb(home, *command).stdout) == re.sub("[ ━─]", "", printed)
    rows = {row["model"]: row for row in store.read("models").to_pylist()}
    assert demo_models(store) == [DemoModel("causal", cut) for cut in CUTS]
    assert list(rows) == [f"demo-causal-{cut}" for cut in CUTS]
    for cut, row in zip(CUTS, rows.values(), strict=True):
        assert (row["knows_certainly_until"], row["knows_possibly_until"], row["status"]) == (cut, cut, "ready")

    refused = run_tempkb(home, *command, "--cut", "2022-01-01,2023-04-01", check=False)
    first = "demo-causal-2022-01-01"
    assert refused.returncode == 1
    assert f"model {first}: expected the checkpoint {home / rows[first]['checkpoint']}" in refused.stderr
    assert f"tempkb model rm {first}" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1

    run_tempkb(home, "model", "rm", first, "--yes")
    run_tempkb(home, "gc")
    assert str(Path(rows[first]["checkpoint"]).parent) == "models"
    run_tempkb(home, *command)
    assert store.read("models").num_rows == len(rows)
    assert {path: path.stat().st_mtime_ns for path in written} == written


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--family", "huge"), "--family huge: no such family; expected one of masked, seq2seq, causal"),
        (("--cut", "2022-02-30"), "day '2022-02-30': expected YYYY-MM-DD"),
        (("--cut", "2022-01-01,2022-01-01"), "--cut 2022-01-01,2022-01-01: found a day twice"),
        (("--cut", "2022-01-02"), "stable_snapshots is not built at that cut; the nearest are 2022-01-01"),
        (("--n-seeds", "0"), "0 is not in the range x>=1"),
    ],
)
def test_a_wrong_option_is_one_clear_message(home, options, said):
    done = run_tempkb(home, "model", "demo", *options, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_without_windows_says_what_to_build(tmp_path):
    done = run_tempkb(tmp_path / "empty", "model", "demo", check=False)
    assert done.returncode == 1
    assert "nothing of it is built yet; build it: " in done.stderr
    assert not (tmp_path / "empty" / "models").exists()
