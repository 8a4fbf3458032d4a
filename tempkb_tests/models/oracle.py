"""The definitions, written as one would say them: one prompt, one forward pass a token, the whole vocabulary, no batches.

It shares nothing with the scorers but the models. The tokens of a target are found from how tokens are spelled: the
characters that are not blank are counted along the spelled-out tokens.
"""

import unicodedata
from dataclasses import dataclass

import torch


@dataclass
class Asked:
    """The tokens of a text, those of a target among them, and the number of each token's word."""

    ids: list[int]
    start: int
    end: int
    words: list


class NotAlignableError(Exception):
    """A token lies on both sides of an edge of the target."""


def count(text, pieces, is_uncased=False):
    """How many units that are not blank a text has: bytes, or characters as the tokenizer keeps them."""
    if is_uncased:
        text = "".join(
            sign for sign in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(sign) != "Mn"
        )
    if pieces == "words":  # BERT drops what only controls how text is shown
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    text = "".join(text.split())
    return len(text.encode() if pieces == "bytes" else text)


def spelled(token, pieces):
    """How many units that are not blank a token spells."""
    if pieces == "bytes":  # one sign a byte; blanks are spelled by these three
        return sum(sign not in "ĠĊĉ" for sign in token)
    return len(token.removeprefix("##")) if pieces == "words" else len(token.replace("▁", ""))


def asked(tokenizer, prompt, text, pieces, is_uncased):
    """Find a target's tokens by counting what tokens spell."""
    tokenizer.backend_tokenizer.encode_special_tokens = True
    encoding = tokenizer.backend_tokenizer.encode(text)
    special = [bool(flag) for flag in encoding.special_tokens_mask]
    first = count(prompt.left, pieces, is_uncased)
    last = first + count(prompt.target, pieces, is_uncased)
    at, mine, pending = 0, [], []
    for number, token in enumerate(encoding.tokens):
        if special[number]:
            continue
        n = spelled(token, pieces)
        if n == 0:
            pending.append(number)
            continue
        if at < last and at + n > first:
            if at < first or at + n > last:
                raise NotAlignableError
            mine += [*pending, number]
        at, pending = at + n, []
    assert at == count(text, pieces, is_uncased), (text, encoding.tokens)
    if not mine:
        raise NotAlignableError
    return Asked(encoding.ids, mine[0], mine[-1] + 1, encoding.word_ids), special


def whole(tokenizer, text):
    """All tokens of a text."""
    tokenizer.backend_tokenizer.encode_special_tokens = True
    encoding = tokenizer.backend_tokenizer.encode(text)
    special = [bool(flag) for flag in encoding.special_tokens_mask]
    mine = [number for number, is_special in enumerate(special) if not is_special]
    return Asked(encoding.ids, mine[0], mine[-1] + 1, encoding.word_ids), special


def last_log_probs(module, **inputs):
    """The distribution at the last position of one row."""
    with torch.no_grad():
        logits = module(**{name: torch.tensor([ids]) for name, ids in inputs.items()}).logits
    return logits[0, -1].double().log_softmax(-1)


def masked(module, tokenizer, template, found, special):
    """One copy of the text a token; the token itself is always masked."""
    mask = tokenizer.mask_token_id
    values, ranks = [], []
    for at in range(found.start, found.end):
        ids = list(found.ids)
        ids[at] = mask
        for later in range(at + 1, len(ids)):
            is_same_word = not special[later] and found.words[later] == found.words[at]
            if (template == "answer_l2r" and later < found.end) or (
                template.endswith("within_word_l2r") and is_same_word
            ):
                ids[later] = mask
        with torch.no_grad():
            line = module(input_ids=torch.tensor([ids])).logits[0, at].double().log_softmax(-1)
        values.append(line[found.ids[at]].item())
        ranks.append(1 + sum(other > line[found.ids[at]] for other in line).item())
    return values, ranks


def causal(module, ids, start):
    """The probability of each token from the tokens before it alone."""
    return [last_log_probs(module, input_ids=ids[:at])[ids[at]].item() for at in range(start, len(ids))]


def seq2seq(module, source, answer):
    """The probability of each token of the answer from the source and the answer's tokens before it."""
    start = [module.config.decoder_start_token_id]
    return [
        last_log_probs(module, input_ids=source, decoder_input_ids=start + list(answer[:at]))[answer[at]].item()
        for at in range(len(answer))
    ]
