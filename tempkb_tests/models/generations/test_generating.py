"""What models say of a home's questions: each asked once, by the runs that keep scores, and kept through kills."""

from typing import get_args

import pytest

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.commands.runs.removal import of_model, remove
from tempkb.core.errors import SettingsError
from tempkb.core.prompts import Question
from tempkb.models import checkpoints
from tempkb.models.decoding.decoder import Decoder
from tempkb.models.decoding.replies import GenerationStatus, Stopped
from tempkb.models.generations.kind import KINDS, SAID
from tempkb.models.generations.steps import PROMISES
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.scores.running import ask_model
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb_tests.benchmarks.fact_queries.worlds import quiet
from tempkb_tests.models.scores.dying import files_of
from tempkb_tests.models.tiny import tiny

DECODERS = [
    ("gpt2", "causal.greedy"),
    ("t5", "seq2seq.greedy"),
    ("bart", "seq2seq.greedy"),
    ("roberta", "masked.beam10"),
]


def generate(store, name, **words):
    return {one.name: one for one in ask_model(SAID, store, BENCHMARKS, name, SAID.request.of(words), quiet)}


def questions(store, variants=("undated",)):
    """The questions of all releases by id, as the table of prompts has them."""
    found = {}
    for row in store.read("dynamic_templama_prompts").to_pylist():
        if row["variant"] in variants:
            question = Question(row["left_context"], row["right_context"])
            found[question.question_id] = question
    return found


def rows(store, **equal):
    return store.read("generations", **equal).to_pylist()


def files(store):
    return files_of(store, "generations")


@pytest.mark.parametrize(("kind", "decoder"), DECODERS)
def test_every_question_is_asked_once_and_has_what_the_decoder_says(store, add, kind, decoder):
    name = add(store, kind)
    done = generate(store, name)
    assert list(done) == [f"{decoder}-1.f32"]
    wanted = questions(store, ("undated", "object_last") if kind == "gpt2" else ("undated",))
    if kind == "gpt2":
        # A causal model is asked where the object ends the sentence.
        wanted = {key: one for key, one in wanted.items() if one.left and one.right == "."}
    (one,) = done.values()
    assert one.n_prompts == one.n_new == len(wanted) > 3
    found = {}
    for row in rows(store):
        assert (row["model"], row["decoder"]) == (name, one.name)
        found.setdefault(row["question_id"], []).append(row)
    assert found.keys() == wanted.keys()
    says = Decoder(tiny(kind, "float32"), decoder.split(".")[1])
    for key, question in wanted.items():
        (answers,) = says.answer([question])
        assert [row["rank"] for row in found[key]] == [answer.rank for answer in answers]
        for row, answer in zip(found[key], answers, strict=True):
            assert (row["status"], row["text"], row["stopped"]) == (answer.status, answer.text, answer.stopped)
            assert row["token_ids"] == list(answer.token_ids)
            assert row["log_prob_nats"] == pytest.approx(answer.log_prob_nats, rel=1e-4, abs=1e-4)


def test_tables_and_decoders_name_the_same_states():
    column = {one.name: one.meaning for one in GENERATIONS.columns}
    assert [one.split(":")[0] for one in column["status"].split("; ")] == [*get_args(GenerationStatus)]
    assert [one.split(",")[0] for one in column["stopped"].split(": ")[1].split("; ")] == [*get_args(Stopped)]


@pytest.mark.slow
def test_nothing_is_asked_twice_and_what_is_new_alone_is_asked(store, add, monkeypatch):
    name = add(store, "t5")
    some = generate(store, name, limit="2")["seq2seq.greedy-1.f32"]
    assert (some.n_prompts, some.n_new) == (2, 2)
    first = rows(store)
    done = generate(store, name)["seq2seq.greedy-1.f32"]
    assert done.n_new == len(questions(store)) - 2
    kept = {row["question_id"] for row in first}
    assert [row for row in rows(store) if row["question_id"] in kept] == first
    before = files(store)

    def no_loading(*_arguments, **_named):
        raise AssertionError("loaded for nothing")

    monkeypatch.setattr(checkpoints, "load_files", no_loading)
    assert generate(store, name)["seq2seq.greedy-1.f32"].n_new == 0
    assert files(store) == before
    # What stands is not asked by another decoder, either.
    with pytest.raises(SettingsError, match="no way 'beam10' of answering; expected one of greedy, recall_beam10"):
        generate(store, name, decoder="beam10")


@pytest.mark.slow
def test_promises_notice_what_is_missing_and_what_is_of_other_files(store, add):
    name = add(store, "t5")
    generate(store, name)
    whole, of_files = PROMISES
    facts = Subject({name}, {"asked": {}})
    assert whole.judged(store, facts).passed
    assert of_files.judged(store, facts).passed
    (version,) = store.lake.versions("generations")
    held = store.read("generations")
    store.write(GENERATIONS, version.partition, [held.slice(1)], Provenance({"weights_sha256": "0" * 64}))
    assert not whole.judged(store, facts).passed
    assert not of_files.judged(store, facts).passed
    remove(store, of_model(store, name))
    assert not store.lake.partitions("generations")


def test_each_kind_of_answers_has_names_of_its_own():
    for attribute in ("request", "drafts", "noted", "table"):
        assert len({getattr(one, attribute) for one in KINDS}) == len(KINDS)
