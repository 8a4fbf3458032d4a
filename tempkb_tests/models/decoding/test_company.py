"""What a model says to one question does not depend on the others, nor on how much is computed at once."""

import math

import pytest
import torch

from tempkb.core.errors import ModelError, SettingsError
from tempkb.core.prompts import Question
from tempkb.models.batching import Limits
from tempkb.models.decoding.decoder import Decoder
from tempkb.models.scorers import WAYS, decoder_name
from tempkb_tests.models.decoding.talking import QUESTIONS, talking_t5
from tempkb_tests.models.test_batching import Calls, own_model
from tempkb_tests.models.tiny import tiny

# Of each family; all other models are asked in small batches by the definitions.
ASKED = [
    *[("roberta", way) for way in WAYS["masked"]],
    *[("t5", way) for way in WAYS["seq2seq"]],
    *[(name, "greedy") for name in ("bart", "gpt2", "llama")],
]


def model_of(name):
    return talking_t5("float32") if name == "t5" else tiny(name, "float32")


def require_alike(ones, others):
    """The same tokens, and log-probabilities that differ by rounding alone."""
    for one, other in zip(ones, others, strict=True):
        assert [answer.token_ids for answer in one] == [answer.token_ids for answer in other]
        for left, right in zip(one, other, strict=True):
            assert (left.status, left.text, left.stopped) == (right.status, right.text, right.stopped)
            for a, b in zip(left.token_log_probs, right.token_log_probs, strict=True):
                assert a == pytest.approx(b, abs=1e-5 * max(1, abs(b)))


@pytest.mark.parametrize(("name", "way"), ASKED)
def test_answers_do_not_depend_on_the_company(name, way):
    model = model_of(name)
    questions = QUESTIONS[1:4] if way in ("paper", "recall_beam100") else QUESTIONS
    together = Decoder(model, way).answer(questions)
    small = Decoder(model, way, Limits(batch_tokens=150)).answer(questions[::-1])[::-1]
    alone = [Decoder(model, way).answer([question])[0] for question in questions]
    require_alike(together, small)
    require_alike(together, alone)
    again = list(Decoder(model, way).stream(iter(questions), shard=len(questions)))
    assert together == again, "the same again has the same bytes"
    assert sum(answers[0].log_prob_nats is not None for answers in together) >= len(questions) - 3


@pytest.mark.parametrize(
    ("name", "way"), [("roberta", "beam10"), ("t5", "recall_beam10"), ("bart", "greedy"), ("gpt2", "greedy")]
)
def test_fixed_shapes_give_equal_bytes_in_any_company(name, way):
    model = talking_t5("float32", 3) if name == "t5" else own_model(name)
    limits = Limits(batch_tokens=2560 if name == "t5" else 256, has_fixed_shapes=True)
    plain = Decoder(model, way).answer(QUESTIONS)
    together = Decoder(model, way, limits).answer(QUESTIONS)
    turned = Decoder(model, way, limits).answer(QUESTIONS[::-1])[::-1]
    alone = [Decoder(model, way, limits).answer([question])[0] for question in QUESTIONS]
    assert together == turned == alone
    require_alike(together, plain)
    talking_t5.cache_clear()


@pytest.mark.parametrize(("name", "way"), [("roberta", "greedy"), ("t5", "recall_beam10"), ("gpt2", "greedy")])
def test_when_memory_runs_out_smaller_batches_go_on(name, way):
    model = model_of(name)
    questions = [*QUESTIONS, *(Question("The capital of France is ", f" {number}.") for number in range(12))]
    expected = Decoder(model, way).answer(questions)
    heavy = model.module.get_encoder() if name == "t5" else model.module.base_model
    refused = []

    def refuse(module, arguments, named):
        shape = tuple((arguments[0] if arguments else named["input_ids"]).shape)
        if shape[0] > 1 and shape[0] * shape[1] > 60:
            refused.append(shape)
            raise torch.OutOfMemoryError("CUDA out of memory")

    handle = heavy.register_forward_pre_hook(refuse, with_kwargs=True)
    decoder = Decoder(model, way, Limits(batch_tokens=5000))
    before = decoder.batch_tokens
    found = decoder.answer(questions)
    handle.remove()
    assert refused
    assert decoder.batch_tokens < before
    require_alike(found, expected)


def test_memory_that_runs_out_in_the_middle_leaves_nothing_behind():
    """A batch that failed after some tokens is asked again from its beginning."""
    model = talking_t5("float32")
    expected = Decoder(model, "recall_beam10").answer(QUESTIONS[:6])
    calls = []

    def refuse(module, arguments, named):
        calls.append(len(named["input_ids"]))
        if len(calls) == 5:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    handle = model.module.get_decoder().register_forward_pre_hook(refuse, with_kwargs=True)
    found = Decoder(model, "recall_beam10").answer(QUESTIONS[:6])
    handle.remove()
    assert calls[4] > calls[5]
    require_alike(found, expected)


def test_equal_questions_and_equal_rows_are_asked_once():
    model = own_model("roberta")
    calls = Calls(model.module)
    once = Decoder(model).answer(QUESTIONS[:2])
    n = calls.rows
    assert n == 2 * (5 + 10 * (1 + 2 + 3 + 4)), "the first mask of each number, then ten beams a mask"
    calls.shapes.clear()
    assert Decoder(model).answer([*QUESTIONS[:2], *QUESTIONS[:2]]) == once * 2
    assert calls.rows == n
    calls.shapes.clear()
    Decoder(model, "paper").answer(QUESTIONS[:1])
    assert 5 + 10 * 4 < calls.rows < 5 + 100 * (1 + 2 + 3 + 4), "samples that begin alike are one row"


def test_texts_that_have_their_end_are_computed_no_more():
    model = talking_t5("float32")
    calls = Calls(model.module.get_decoder())
    answers = Decoder(model, "greedy").answer(QUESTIONS[:-1])
    lengths = [one.n_tokens for (one,) in answers]
    assert len(set(lengths)) > 1
    assert calls.rows == sum(lengths)


def test_what_is_not_finite_is_a_status_of_its_own_question():
    model = own_model("gpt_neox")
    token = model.tokenizer("Ж").input_ids[-1]
    with torch.no_grad():
        model.module.base_model.embed_in.weight[token] = float("nan")
    good, bad = Question("Ada lives in ", "."), Question("Ж lives in ", ".")
    (one,), (other,) = Decoder(model).answer([good, bad])
    assert (one.status, other.status) == ("answered", "not_finite")
    assert math.isfinite(one.log_prob_nats)
    assert (other.text, other.log_prob_nats, other.token_log_probs) == (None, None, ())


def test_beams_of_other_questions_go_on_where_one_is_not_finite():
    """Ten questions, of which one has numbers: as many rows before its beams as with them."""
    model = talking_t5("float32", 2)
    expected = Decoder(model, "recall_beam10").answer([QUESTIONS[0]])
    bad = [Question(f"Paris{'s' * number} lives in ", ".") for number in range(9)]
    n_source = len(model.tokenizer(f"{QUESTIONS[0].left}<extra_id_0>{QUESTIONS[0].right}").input_ids)

    def spoil(module, arguments, named, given):
        given.last_hidden_state[named["attention_mask"].sum(1) != n_source] = float("nan")
        return given

    handle = model.module.get_encoder().register_forward_hook(spoil, with_kwargs=True)
    found = Decoder(model, "recall_beam10", Limits(batch_tokens=10**6)).answer([*bad, QUESTIONS[0]])
    handle.remove()
    assert [answers[0].status for answers in found[:-1]] == ["not_finite"] * 9
    require_alike(found[-1:], expected)


def test_a_gap_in_a_word_is_not_alignable():
    (answer,) = Decoder(tiny("bert_cased")).answer([Question("The word un", "happy is here.")])[0:1][0]
    assert answer.status == "not_alignable"


def test_names_say_what_was_asked():
    assert Decoder(tiny("roberta", "float32")).name == "masked.beam10-1.f32"
    assert Decoder(tiny("t5", "float64"), "recall_beam100").name == "seq2seq.recall_beam100-1.f64"
    assert decoder_name("causal", "chat", "bfloat16") == "causal.chat-1.bf16"
    with pytest.raises(
        SettingsError, match="causal models have no way 'beam10' of answering; expected one of greedy, chat"
    ):
        Decoder(tiny("gpt2"), "beam10")
    with pytest.raises(
        ModelError, match="no sentinels such as <extra_id_0>, for which seq2seq.recall_beam10 is defined"
    ):
        Decoder(tiny("bart"), "recall_beam10")
