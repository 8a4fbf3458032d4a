"""What random models say of the queries of TempLAMA's released validation set, beside the definitions of decoders."""

import json
from typing import get_args

import pytest

from tempkb.core.prompts import Question
from tempkb.models.decoding.decoder import Decoder
from tempkb.models.decoding.replies import GenerationStatus
from tempkb_tests.models.decoding import oracle
from tempkb_tests.models.tiny import KINDS
from tempkb_tests.real.data import REAL
from tempkb_tests.real.test_scores import QUERIES, model_of

pytestmark = REAL
_COMPARED = 20


@pytest.fixture(scope="module")
def questions():
    """The different queries of all years."""
    if not QUERIES.is_file():
        pytest.skip(f"{QUERIES} is not there")
    with QUERIES.open(encoding="utf-8") as lines:
        texts = dict.fromkeys(json.loads(line)["query"] for line in lines)
    found = [Question(*text.split("_X_")) for text in texts]
    assert len(found) > 500
    return found


@pytest.mark.parametrize(
    ("kind", "way"), [("gpt2", "greedy"), ("t5", "greedy"), ("t5", "recall_beam10"), ("roberta", "beam10")]
)
def test_every_query_has_an_answer_or_a_reason_and_each_is_that_of_the_definition(questions, kind, way):
    model = model_of(kind)
    answers = list(Decoder(model, way).stream(questions))
    assert len(answers) == len(questions)
    for question, found in zip(questions, answers, strict=True):
        assert [one.rank for one in found] == list(range(1, len(found) + 1))
        assert {one.status for one in found} <= {*get_args(GenerationStatus)}
        if kind == "gpt2":
            assert (found[0].status == "no_left_context") == (not question.left.strip())
    step = len(questions) // _COMPARED
    for question, found in list(zip(questions, answers, strict=True))[::step]:
        if found[0].token_ids:
            for one, tokens in zip(found, expected(model, kind, way, question), strict=False):
                # In float32, a tie may be broken in another way.
                assert one.token_ids == tuple(tokens[: len(one.token_ids)])


def expected(model, kind, way, question):
    """The tokens of answers, by loops of one question and one token."""
    before, behind = oracle.around(model.tokenizer, question, KINDS[kind].pieces, False)
    if kind == "roberta":
        mask = model.tokenizer.mask_token_id
        return [tokens for _, tokens, _ in oracle.mask_beams(model.module, mask, before, behind, 10)]
    if kind == "gpt2":
        return [oracle.greedy(model.module, before, {model.tokenizer.eos_token_id})[0]]
    first, last = model.tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])
    source, start = [*before, first, *behind], model.module.config.decoder_start_token_id
    if way == "greedy":
        return [oracle.greedy(model.module, [start, first], {last, model.tokenizer.eos_token_id}, source)[0]]
    # Beams of this model never close their spans; `tempkb_tests/models/decoding` has models that do.
    return []
