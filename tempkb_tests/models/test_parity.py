"""Scorers agree with the definitions, computed one token at a time (`oracle.py`), for every family and odd text."""

import math

import pytest

from tempkb.models.batching import Limits
from tempkb.models.scoring import TEMPLATES, Scorer
from tempkb_tests.models import oracle
from tempkb_tests.models.tiny import CONTEXT, KINDS, PROMPTS, tiny

CASES = [(name, template) for name, kind in KINDS.items() for template in TEMPLATES[kind.family]]


def expected(name, template, prompt):
    """Status, sum, values of all tokens that are read, and how many tokens and characters count."""
    kind, model = KINDS[name], tiny(name)
    tokenizer, module = model.tokenizer, model.module
    is_sentence = template.startswith("sentence")
    if kind.family == "causal" and not is_sentence and not prompt.left.strip():
        return {"status": "no_left_context"}
    text = prompt.left + prompt.target if (kind.family, template) == ("causal", "span") else prompt.statement
    try:
        found, special = oracle.asked(tokenizer, prompt, text, kind.pieces, name in {"bert_uncased", "electra"})
    except oracle.NotAlignableError:
        if not is_sentence:
            return {"status": "not_alignable"}
        encoding = tokenizer.backend_tokenizer.encode(text)
        special = [bool(flag) for flag in encoding.special_tokens_mask]
        found = oracle.Asked(encoding.ids, 0, 0, encoding.word_ids)
    if template == "probing" and found.end - found.start != 1:
        return {"status": "not_alignable"}
    too_long = {"status": "too_long"}
    if kind.family == "masked":
        if len(found.ids) > CONTEXT:
            return too_long
        values, ranks = oracle.masked(module, tokenizer, template, found, special)
        n_chars = len(prompt.statement if is_sentence else prompt.target)
        rank = ranks[0] if template == "probing" else None
        return told(values, values, n_chars) | {"rank": rank}
    if kind.family == "causal":
        ids, start = list(found.ids), special.index(False) if is_sentence else found.start
        if start == 0:
            ids, start = [tokenizer.bos_token_id, *ids], 1
        if len(ids) > CONTEXT:
            return too_long
        values = oracle.causal(module, ids, start)
        n_chars = {"span": len(prompt.target), "span_end": len(prompt.target + prompt.right)}
        return told(values, values, n_chars.get(template, len(prompt.statement)))
    if name.startswith("t5"):
        first, last = tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])
        source = [*found.ids[: found.start], first, *found.ids[found.end :]]
        answer = [first, *found.ids[found.start : found.end]] + ([last] if template == "span_end" else [])
        if max(len(source), len(answer)) > CONTEXT:
            return too_long
        values = oracle.seq2seq(module, source, answer)
        return told(values, values[1:], len(prompt.target))
    source = [*found.ids[: found.start], tokenizer.mask_token_id, *found.ids[found.end :]]
    if max(len(source), len(found.ids)) > CONTEXT:
        return too_long
    end = len(found.ids) if template == "span_end" else found.end
    values = oracle.seq2seq(module, source, found.ids[:end])[found.start :]
    return told(values, values, len(prompt.target) + (len(prompt.right) if template == "span_end" else 0))


def told(values, counted, n_chars):
    return {"status": "scored", "values": values, "sum": math.fsum(counted), "n": len(counted), "n_chars": n_chars}


@pytest.fixture(scope="module")
def truths():
    """What the oracle says, computed once for both number types."""
    known = {}

    def truth(name, template):
        if (name, template) not in known:
            with tiny(name).computing():
                known[name, template] = [expected(name, template, prompt) for prompt in PROMPTS]
        return known[name, template]

    return truth


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "template"), CASES)
def test_scores_are_those_of_the_definitions(name, template, dtype, truths):
    scores = Scorer(tiny(name, dtype), template, Limits(batch_tokens=200)).score(PROMPTS)
    for prompt, score, truth in zip(PROMPTS, scores, truths(name, template), strict=True):
        assert score.status == truth["status"], prompt
        if score.status != "scored":
            assert score.log_prob_nats is None
            continue
        assert score.log_prob_nats == pytest.approx(truth["sum"], **tolerance(dtype, truth["sum"])), prompt
        for ours, theirs in zip(score.token_log_probs, truth["values"], strict=True):
            assert ours == pytest.approx(theirs, **tolerance(dtype, theirs)), prompt
        assert (score.n_tokens, score.n_chars) == (truth["n"], truth["n_chars"]), prompt
        assert len(score.token_ids) == len(score.token_log_probs)
        if dtype == "float64":
            assert score.rank == truth.get("rank")


def tolerance(dtype, value):
    return {"rel": 0, "abs": 1e-9 if dtype == "float64" else 1e-4 * max(1, abs(value))}


def test_the_prompts_have_every_odd_case(truths):
    """Else the agreement would be about nothing."""
    found = {
        (KINDS[name].family, truth["status"]) for name, template in CASES for truth in truths(name, template)
    }
    assert {status for family, status in found if family == "masked"} == {"scored", "not_alignable", "too_long"}
    assert {status for family, status in found if family == "seq2seq"} == {"scored", "not_alignable", "too_long"}
    assert {status for family, status in found if family == "causal"} == {
        "scored",
        "not_alignable",
        "too_long",
        "no_left_context",
    }
