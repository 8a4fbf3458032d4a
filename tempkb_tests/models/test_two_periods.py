"""Names that end with a period, where a tokenizer has one token for that period and the sentence's."""

import pytest

from tempkb.core.prompts import Prompt
from tempkb.models.families import TRAITS
from tempkb.models.scoring import Scorer
from tempkb_tests.models.test_parity import expected
from tempkb_tests.models.tiny import KINDS, tiny, tokenizer_of

TWO = Prompt("Ada Lovelace works for ", "Juventus F.C.", ".")
ONE = Prompt("Ada Lovelace works for ", "Juventus F.C.", "")
OTHERS = [Prompt("The capital of France is ", "Paris", "."), Prompt("The word un", "happy", " is here.")]
ALONE = [("roberta", one) for one in ("answer_l2r", "within_word_l2r", "original")] + [("bart", "span")]


def truth_of(kind, template, prompt):
    with tiny(kind).computing():
        return expected(kind, template, prompt)


def test_the_tokenizers_have_one_token_for_two_periods():
    assert ".." in tokenizer_of("roberta").get_vocab()
    assert truth_of("roberta", "answer_l2r", TWO) == {"status": "not_alignable"}
    assert TWO.prompt_id != ONE.prompt_id


@pytest.mark.parametrize(("kind", "template"), ALONE)
def test_where_its_tokens_alone_count_the_names_period_ends_the_sentence(kind, template):
    scorer = Scorer(tiny(kind), template)
    truth = truth_of(kind, template, ONE)
    first, found, last = scorer.score([OTHERS[0], TWO, OTHERS[1]])
    assert (found.status, found.n_tokens, found.n_chars) == ("scored", truth["n"], len("Juventus F.C."))
    assert found.log_prob_nats == pytest.approx(truth["sum"], abs=1e-9)
    # To the last bit, though they are in one call.
    assert [first, last] == scorer.score(OTHERS)


@pytest.mark.parametrize(("kind", "template"), [("bart", "span_end"), ("gpt2", "span_end")])
def test_where_the_end_counts_such_names_have_no_score(kind, template):
    (found,) = Scorer(tiny(kind), template).score([TWO])
    assert (found.status, found.n_tokens) == ("not_alignable", None)


def test_a_causal_span_does_not_read_the_sentences_period():
    (found,) = Scorer(tiny("gpt2"), "span").score([TWO])
    assert found.log_prob_nats == pytest.approx(truth_of("gpt2", "span", ONE)["sum"], abs=1e-9)


def test_what_was_tried_in_vain_can_be_told_from_what_was_not():
    tried, not_tried = Scorer(tiny("roberta"), "probing").score([TWO, Prompt("She moved from ", "東京", " to Rome.")])
    assert (tried.status, tried.n_tokens) == ("not_alignable", 0)
    assert (not_tried.status, not_tried.n_tokens) == ("not_alignable", None)


def test_a_tokenizer_that_keeps_the_periods_apart_reads_both():
    (found,) = Scorer(tiny("t5"), "span").score([TWO])
    assert found.log_prob_nats == pytest.approx(truth_of("t5", "span", TWO)["sum"], abs=1e-9)


def test_templates_that_read_beyond_the_target_are_templates():
    assert all(set(one.reads_beyond) <= set(one.templates) for one in TRAITS.values())
    assert {kind.family for kind in KINDS.values()} == set(TRAITS)
