"""Scorers agree with the definitions, computed one token at a time (`oracle.py`), for every family and odd text."""

import math

import pytest

from tempkb.benchmarks.ecbd.variants import VARIANTS, prompt_of
from tempkb.benchmarks.sentences import Place
from tempkb.models.batching import Limits
from tempkb.models.families import TRAITS
from tempkb.models.scoring import Scorer
from tempkb_tests.models import oracle
from tempkb_tests.models.test_batching import FAMILIES
from tempkb_tests.models.tiny import CONTEXT, KINDS, PROMPTS, tiny

CASES = [(name, template) for name, kind in KINDS.items() for template in TRAITS[kind.family].templates]


def expected(name, template, prompt):
    """Status, sum, values of all tokens that are read, and how many tokens and characters count."""
    kind, tokenizer = KINDS[name], tiny(name).tokenizer
    is_sentence = template.startswith("sentence")
    if kind.family == "causal" and not is_sentence and not prompt.left.strip():
        return {"status": "no_left_context"}
    text = prompt.left + prompt.target if (kind.family, template) == ("causal", "span") else prompt.statement
    try:
        if is_sentence:
            found, special = oracle.whole(tokenizer, text)
        else:
            found, special = oracle.asked(tokenizer, prompt, text, kind.pieces, name in {"bert_uncased", "electra"})
    except oracle.NotAlignableError:
        return {"status": "not_alignable"}
    of_family = {"masked": expected_masked, "causal": expected_causal, "seq2seq": expected_seq2seq}
    return of_family[kind.family](tiny(name), template, prompt, found, special)


def expected_masked(model, template, prompt, found, special):
    if template == "probing" and found.end - found.start != 1:
        return {"status": "not_alignable"}
    if len(found.ids) > CONTEXT:
        return {"status": "too_long"}
    values, ranks = oracle.masked(model.module, model.tokenizer, template, found, special)
    n_chars = len(prompt.statement if template.startswith("sentence") else prompt.target)
    return told(values, values, n_chars) | {"rank": ranks[0] if template == "probing" else None}


def expected_causal(model, template, prompt, found, special):
    ids, start = list(found.ids), found.start
    if start == 0:
        ids, start = [model.tokenizer.bos_token_id, *ids], 1
    if len(ids) > CONTEXT:
        return {"status": "too_long"}
    values = oracle.causal(model.module, ids, start)
    n_chars = {"span": len(prompt.target), "span_end": len(prompt.target + prompt.right)}
    return told(values, values, n_chars.get(template, len(prompt.statement)))


def expected_seq2seq(model, template, prompt, found, special):
    tokenizer, span = model.tokenizer, found.ids[found.start : found.end]
    if tokenizer.mask_token_id is None:
        first, last = tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])
        answer, first_read, first_counted = [first, *span] + ([last] if template == "span_end" else []), 0, 1
        n_chars = len(prompt.target)
    else:
        first = tokenizer.mask_token_id
        answer = found.ids[: len(found.ids) if template == "span_end" else found.end]
        first_read = first_counted = found.start
        n_chars = len(prompt.target + (prompt.right if template == "span_end" else ""))
    source = [*found.ids[: found.start], first, *found.ids[found.end :]]
    if max(len(source), len(answer), len(found.ids)) > CONTEXT:
        return {"status": "too_long"}
    values = oracle.seq2seq(model.module, source, answer)
    return told(values[first_read:], values[first_counted:], n_chars)


def prompts_of(template):
    """Whole sentences have many tokens, and the oracle takes one pass for each: every third of them is enough."""
    return PROMPTS[::3] + PROMPTS[-1:] if template.startswith("sentence") else PROMPTS


def told(values, counted, n_chars):
    return {"status": "scored", "values": values, "sum": math.fsum(counted), "n": len(counted), "n_chars": n_chars}


@pytest.fixture(scope="module")
def truths():
    """What the oracle says, computed once for both number types."""
    known = {}

    def truth(name, template):
        if (name, template) not in known:
            with tiny(name).computing():
                known[name, template] = [expected(name, template, prompt) for prompt in prompts_of(template)]
        return known[name, template]

    return truth


@pytest.mark.parametrize(
    ("name", "template", "dtype"),
    [(*case, "float64") for case in CASES] + [(*case, "float32") for case in CASES if case[0] in FAMILIES],
)
def test_scores_are_those_of_the_definitions(name, template, dtype, truths):
    scores = Scorer(tiny(name, dtype), template, Limits(batch_tokens=200)).score(prompts_of(template))
    for prompt, score, truth in zip(prompts_of(template), scores, truths(name, template), strict=True):
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
    found = {(KINDS[name].family, truth["status"]) for name, template in CASES for truth in truths(name, template)}
    assert {status for family, status in found if family == "masked"} == {"scored", "not_alignable", "too_long"}
    assert {status for family, status in found if family == "seq2seq"} == {"scored", "not_alignable", "too_long"}
    assert {status for family, status in found if family == "causal"} == {
        "scored",
        "not_alignable",
        "too_long",
        "no_left_context",
    }


SENTENCE = "In London Ada works for the Analytical Society and lives there."
DEFINITIONS = {"definition": "Ada Lovelace is an English mathematician.", "random_definition": "Paris is in France."}


@pytest.mark.parametrize("variant", VARIANTS)
def test_bart_reads_definitions_before_source_and_target(variant):
    """As the paper asks for BART's perplexity, from texts: one pass for each token of the span, all before it given."""
    model, span = tiny("bart", "float32"), "the Analytical Society"
    asked = {"no_ent": SENTENCE.replace("Ada", "the entity")}
    asked |= {"no_ent_released": asked["no_ent"], "no_ent_chunk": SENTENCE.replace("London Ada", "the entity")}
    asked |= {name: f"{definition} {SENTENCE}" for name, definition in DEFINITIONS.items()}
    statement = asked.get(variant, SENTENCE)
    source = model.tokenizer(statement.replace(span, "<mask>")).input_ids
    answer = model.tokenizer(statement).input_ids
    start = source.index(model.tokenizer.mask_token_id)
    end = len(answer) - (len(source) - start - 1)
    assert model.tokenizer.decode(answer[start:end]).strip() == span
    values = oracle.seq2seq(model.module, source, answer[:end])[start:]

    places = [Place(SENTENCE.index(text), SENTENCE.index(text) + len(text)) for text in ("Ada", span, "London Ada")]
    mention, answered, chunk = places
    prompt = prompt_of(variant, SENTENCE, mention, answered, *DEFINITIONS.values(), chunk)
    (score,) = Scorer(model, "span").score([prompt])
    assert (score.status, score.n_tokens, score.n_before) == ("scored", end - start, 0)
    assert score.log_prob_nats == pytest.approx(math.fsum(values), rel=1e-5)
    assert score.token_log_probs == pytest.approx(values, rel=1e-5, abs=1e-5)
