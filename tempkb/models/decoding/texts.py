"""Tokens and texts of decoders: the place of a gap, what ends texts, and what tokens say."""

import math
from collections.abc import Sequence
from typing import Any

from tempkb.models.alignment import Tokens, TokenSpan, token_span
from tempkb.models.decoding.generated import Generated, GenerationStatus, Stopped, is_name
from tempkb.models.decoding.stepping import Said
from tempkb.models.loading import LoadedModel
from tempkb.prompts import Question

# Stands in a gap while a question is tokenized, so that what surrounds it has the tokens of a statement. No tokenizer
# merges this letter with others.
GAP = "ꙮ"


def filled(question: Question) -> str:
    """Return a question as a statement, with a letter in its gap."""
    return f"{question.left}{GAP}{question.right}"


def gap_of(question: Question, tokens: Tokens) -> TokenSpan | None:
    """Return the tokens in the gap of a statement; None if there are none that are the gap's alone.

    The blanks before a gap are a part of it, as they are a part of targets: a mask or sentinel stands for them, too.
    """
    return token_span(tokens, len(question.left), len(question.left) + len(GAP))


def end_ids(model: LoadedModel) -> frozenset[int]:
    """Return the tokens that end a text: those of the tokenizer and of the model's own configuration of generation."""
    configured = getattr(getattr(model.module, "generation_config", None), "eos_token_id", None)
    found: list[Any] = [model.tokenizer.eos_token_id, *(configured if isinstance(configured, list) else [configured])]
    return frozenset(one for one in found if one is not None)


def decoded(model: LoadedModel, tokens: Sequence[int], *, is_raw: bool = False) -> str:
    """Return what tokens say, with special ones if the text is to be raw."""
    return str(model.tokenizer.decode(list(tokens), skip_special_tokens=not is_raw, clean_up_tokenization_spaces=False))


def told(
    model: LoadedModel,
    said: Said,
    name: str | None,
    stopped: Stopped,
    rank: int = 1,
    status: GenerationStatus | None = None,
) -> Generated:
    """Return what was said as one answer.

    Args:
        model: what was asked.
        said: its tokens.
        name: the answer among them; None where it has no end.
        stopped: what ended it.
        rank: of the answer.
        status: for those without a name; by default, `empty` and `unclosed` are told apart by the name.
    """
    raw, tokens = decoded(model, said.tokens, is_raw=True), tuple(said.tokens)
    if not all(map(math.isfinite, said.log_probs)):
        return Generated(rank, "not_finite", None, raw, None, len(tokens), tokens, (), stopped)
    if status is None:
        status = "unclosed" if name is None else "answered" if is_name(name) else "empty"
    text = name if status == "answered" else None
    log_prob = math.fsum(said.log_probs)
    return Generated(rank, status, text, raw, log_prob, len(tokens), tokens, tuple(said.log_probs), stopped)
