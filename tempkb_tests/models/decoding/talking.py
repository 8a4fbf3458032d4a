"""Questions, and tiny models that say more than one thing."""

from functools import cache

import torch

from tempkb.core.prompts import Question
from tempkb.models.loading import loaded
from tempkb_tests.models.tiny import CONTEXT, KINDS, LONG, random_model, tokenizer_of

QUESTIONS = (
    Question("Ada Lovelace works for the ", " in London."),
    Question("The capital of France is ", "."),
    Question("The capital of  France  is  ", " .."),
    Question("", " is run by Ada Lovelace."),
    Question("Ada lives in ", ""),
    Question("A cafe\u0301 in ", " serves tea."),
    Question("He plays for ", " and (rarely) for Paris."),
    Question("Say <s> or [MASK] or <extra_id_0> to ", " now."),
    Question("She moved from ", " to Москва."),
    Question(LONG + "Ada ", "."),
    Question(LONG * 6 + "Ada lives in ", "."),
)


@cache
def talking_t5(dtype="float64", weight=2.5):
    """A T5 whose distributions are flat, and which likes sentinels and the end token: some of its beams have an end."""
    tokenizer = tokenizer_of("t5_untied")
    module = random_model(KINDS["t5_untied"], tokenizer)
    with torch.no_grad():
        ids = torch.tensor([[5, 6, 7, 8]])
        given = module(input_ids=ids, decoder_input_ids=ids, output_hidden_states=True)
        mean = given.decoder_hidden_states[-1][0].mean(0)
        module.lm_head.weight.mul_(0.1)
        liked = tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>", "</s>"])
        module.lm_head.weight[liked] += weight * mean / (mean @ mean)
    return loaded("seq2seq", module, tokenizer, dtype=dtype, context_tokens=CONTEXT)
