"""The definitions of decoders, as one would say them: one question, one pass a token, no batches, nothing kept."""

import math

import numpy as np
import torch

from tempkb.core.prompts import Prompt
from tempkb_tests.models import oracle

N_NEW, N_MASKS = 32, 5


def around(tokenizer, question, pieces, is_uncased):
    """The tokens before and behind a gap: those of the statement with a name in it."""
    prompt = Prompt(question.left, "Paris", question.right)
    found, _ = oracle.asked(tokenizer, prompt, prompt.statement, pieces, is_uncased)
    return list(found.ids[: found.start]), list(found.ids[found.end :])


def line(module, at=-1, **inputs):
    """Logits at one position of one row."""
    with torch.no_grad():
        given = module(**{name: torch.tensor([ids]) for name, ids in inputs.items()}, use_cache=False)
    return given.logits[0, at].double()


def masked_line(module, ids, at):
    with torch.no_grad():
        return module(input_ids=torch.tensor([ids])).logits[0, at].double()


def greedy(module, tokens, ends, source=None):
    """The likeliest token, 32 times or to the first that ends, and the log-probability of each."""
    said, values = [], []
    while len(said) < N_NEW and not (said and said[-1] in ends):
        inputs = {"input_ids": [*tokens, *said]}
        if source is not None:
            inputs = {"input_ids": source, "decoder_input_ids": [*tokens, *said]}
        found = line(module, **inputs).log_softmax(-1)
        said.append(int(found.argmax()))
        values.append(float(found.max()))
    return said, values


def mask_beams(module, mask, before, behind, n_beams):
    """The best filling of each number of masks, by the mean log-probability: [(mean, tokens, values)]."""
    answers = []
    for m in range(1, N_MASKS + 1):
        beams = [((), ())]
        for step in range(m):
            longer = []
            for tokens, values in beams:
                ids = [*before, *tokens, *[mask] * (m - step), *behind]
                found = masked_line(module, ids, len(before) + step).log_softmax(-1).tolist()
                longer += [((*tokens, token), (*values, value)) for token, value in enumerate(found)]
            beams = sorted(longer, key=lambda one: (-sum(one[1]), one[0]))[:n_beams]
        tokens, values = beams[0]
        answers.append((sum(values) / m, tokens, values))
    return sorted(answers, key=lambda one: -one[0])


def mask_samples(module, mask, before, behind, drawn):
    """The sample of the highest mean logit of each number of masks: [(mean logit, tokens, log-probabilities)]."""
    answers = []
    for m in range(1, N_MASKS + 1):
        samples = []
        numbers = drawn(m)
        for sample in range(numbers.shape[1]):
            tokens, logits, values = [], [], []
            for step in range(m):
                ids = [*before, *tokens, *[mask] * (m - step), *behind]
                found = masked_line(module, ids, len(before) + step)
                order = sorted(range(len(found)), key=lambda token, found=found: (-float(found[token]), token))[:10]
                chances = np.exp([float(found[token] - found[order[0]]) for token in order])
                sums = np.cumsum(chances / chances.sum())
                number = next((at for at, above in enumerate(sums) if above > numbers[step, sample]), 9)
                token = order[0] if m == 1 else order[number]
                tokens.append(token)
                logits.append(float(found[token]))
                values.append(float(found.log_softmax(-1)[token]))
            samples.append((math.fsum(logits) / m, tuple(tokens), tuple(values)))
        answers.append(min(samples, key=lambda one: (-one[0], one[1])))
    return sorted(answers, key=lambda one: -one[0])


def beams(module, source, n_beams):
    """Sequences and scores of transformers' own beam search, as the released code of ECBD asks for them."""
    given = module.generate(
        torch.tensor([source]),
        num_beams=n_beams,
        num_return_sequences=n_beams,
        early_stopping=True,
        max_new_tokens=N_NEW,
        output_scores=True,
        return_dict_in_generate=True,
        do_sample=False,
    )
    return given.sequences.tolist(), given.sequences_scores.tolist()
