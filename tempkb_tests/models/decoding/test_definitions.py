"""Decoders say what their definitions say, computed by loops of one question and one token (`oracle.py`)."""

import pytest

from tempkb.models.batching import Limits
from tempkb.models.decoding.beams import span_of
from tempkb.models.decoding.decoder import Decoder
from tempkb.models.decoding.masks import draws
from tempkb.models.decoding.replies import ending, without_period
from tempkb_tests.models import oracle as scoring
from tempkb_tests.models.decoding import oracle
from tempkb_tests.models.decoding.talking import QUESTIONS, talking_t5
from tempkb_tests.models.tiny import CONTEXT, KINDS, tiny

MASKED = ("bert_cased", "bert_uncased", "electra", "albert", "roberta")
CAUSAL = ("gpt2", "gpt_neox", "gpt_neo", "llama")
SMALL = Limits(batch_tokens=300)


def arounds(name, question):
    kind = KINDS[name]
    return oracle.around(tiny(name).tokenizer, question, kind.pieces, name in {"bert_uncased", "electra"})


def require_same(answers, expected):
    """Token by token, and in float64 number by number."""
    assert [one.rank for one in answers] == list(range(1, len(answers) + 1))
    for one, (score, tokens, values) in zip(answers, expected, strict=True):
        assert one.token_ids == tuple(tokens)
        assert one.token_log_probs == pytest.approx(values, abs=1e-9)
        assert one.log_prob_nats == pytest.approx(sum(values), abs=1e-9)
        assert one.n_tokens == len(tokens)
        if score is not None:
            assert one.score == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize(("way", "n_beams"), [("beam10", 10), ("greedy", 1)])
@pytest.mark.parametrize("name", MASKED)
def test_masks_are_filled_by_the_beam_of_the_definition(name, way, n_beams):
    model = tiny(name)
    mask = model.tokenizer.mask_token_id
    for question, answers in zip(QUESTIONS, Decoder(model, way, SMALL).answer(QUESTIONS), strict=True):
        before, behind = arounds(name, question)
        if len(before) + len(behind) + 5 > CONTEXT:
            assert [one.status for one in answers] == ["too_long"]
            continue
        if n_beams == 10 and question not in QUESTIONS[:4]:
            continue  # they are as slow as the definition
        require_same(answers, oracle.mask_beams(model.module, mask, before, behind, n_beams))
        assert {one.n_tokens for one in answers} == {1, 2, 3, 4, 5}
        for one in answers:
            said = model.tokenizer.decode(one.token_ids, skip_special_tokens=True).strip()
            assert (one.text, one.stopped) == (said if one.status == "answered" else None, "mask_count")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["roberta", "bert_cased"])
def test_samples_are_those_of_the_definition(name):
    model, question = tiny(name), QUESTIONS[0]
    together = Decoder(model, "paper", SMALL).answer(QUESTIONS[:2])
    before, behind = arounds(name, question)
    expected = oracle.mask_samples(
        model.module, model.tokenizer.mask_token_id, before, behind, lambda m: draws(question, m)
    )
    require_same(together[0], expected)
    assert draws(question, 3).shape == (3, 100)
    assert (draws(question, 3) != draws(QUESTIONS[1], 3)).all()
    assert (draws(question, 3)[:2] != draws(question, 2)).all()


@pytest.mark.parametrize("name", [*CAUSAL, "bart"])
def test_texts_are_continued_to_their_ends(name):
    model = tiny(name)
    ends = {model.tokenizer.eos_token_id}
    for question, (answer,) in zip(QUESTIONS, Decoder(model, "greedy", SMALL).answer(QUESTIONS), strict=True):
        if name != "bart" and not question.left:
            assert answer.status == "no_left_context"
            continue
        if name == "bart":
            before, behind = arounds(name, question)
            source = [*before, model.tokenizer.mask_token_id, *behind]
            start = [model.module.config.decoder_start_token_id, *before]
        else:
            left, _ = scoring.whole(model.tokenizer, question.left.rstrip())
            source, start = None, left.ids[: left.end]
        if max(len(start) + 32, len(source or ())) > CONTEXT:
            assert answer.status == "too_long"
            continue
        with model.computing():
            tokens, values = oracle.greedy(model.module, start, ends, source)
        text = model.tokenizer.decode(tokens, skip_special_tokens=True)
        end = ending(text, question.right, is_all=True)
        said = text[: end.end].strip() if end else text.strip()
        n = answer.n_tokens
        assert answer.text in (said, without_period(said), None)
        assert answer.stopped == (end.stopped if end else "end_token" if tokens[-1] in ends else "length")
        assert answer.token_ids == tuple(tokens[:n])
        assert (n == len(tokens)) or end
        assert answer.token_log_probs == pytest.approx(values[:n], abs=1e-9)


def test_spans_end_at_their_sentinel():
    model = talking_t5()
    first, last, end = model.tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>", "</s>"])
    found = set()
    for question, (answer,) in zip(QUESTIONS, Decoder(model, "greedy", SMALL).answer(QUESTIONS), strict=True):
        before, behind = arounds("t5_untied", question)
        if len(before) + len(behind) >= CONTEXT:
            assert answer.status == "too_long"
            continue
        with model.computing():
            tokens, values = oracle.greedy(model.module, [0, first], {last, end}, [*before, first, *behind])
        require_same([answer], [(None, tokens, values)])
        expected = {last: "closing_sentinel", end: "end_token"}.get(tokens[-1], "length")
        assert answer.stopped == expected
        assert (answer.status == "unclosed") == (expected == "length")
        found.add(answer.status)
    assert len(found) > 1


@pytest.mark.parametrize(("way", "n_beams"), [("recall_beam10", 10), ("recall_beam100", 100)])
@pytest.mark.parametrize("weight", [1.5, 2.5])
def test_beams_are_those_of_transformers(way, n_beams, weight):
    """In float32, in which `generate` adds up whatever the model computes in."""
    model = talking_t5("float32", weight)
    first = model.tokenizer.convert_tokens_to_ids("<extra_id_0>")
    n_spans = set()
    questions = QUESTIONS[:6]
    for question, answers in zip(
        questions, Decoder(model, way, Limits(batch_tokens=64 * 2 * n_beams)).answer(questions), strict=True
    ):
        before, behind = arounds("t5_untied", question)
        sequences, scores = oracle.beams(model.module, [*before, first, *behind], n_beams)
        raws = [model.tokenizer.decode(_to_end(one), clean_up_tokenization_spaces=False) for one in sequences]
        spans = [span_of(raw) for raw in raws]
        distinct = list(dict.fromkeys(span for span in spans if span))[:10]
        n_spans.add(len(distinct))
        assert answers[0].n_unclosed == spans.count(None)
        if not distinct:
            assert [one.status for one in answers] == ["unclosed"]
            continue
        assert [one.text or span_of(one.raw_text) for one in answers] == distinct
        for one in answers:
            at = spans.index(span_of(one.raw_text))
            assert one.raw_text == raws[at]
            assert one.token_ids == tuple(_to_end(sequences[at])[1:])
            assert one.score == pytest.approx(scores[at], abs=1e-5)
            assert one.score == pytest.approx(one.log_prob_nats / one.n_tokens)
    assert len(n_spans) > 1


def _to_end(tokens):
    """A beam without what `generate` fills it up with: it takes padding with the number 0 for none."""
    return tokens[: tokens.index(1) + 1] if 1 in tokens else tokens


@pytest.mark.parametrize(
    ("raw", "span"),
    [
        ("<pad> <extra_id_0> Ada Lovelace <extra_id_1> of</s>", "Ada Lovelace"),
        ("<pad> Ada</s>", "Ada"),
        ("<pad><extra_id_0> <extra_id_1> Ada <extra_id_2>", "Ada"),
        ("<pad><extra_id_0> Ada", None),
        ("<pad></s>", None),
    ],
)
def test_a_span_is_what_first_stands_between_two_tokens(raw, span):
    assert span_of(raw) == span
