"""Sequence-to-sequence models: a target at the place of a mask, with both contexts in sight.

Models with sentinels (T5) read the statement with `<extra_id_0>` in place of the target's tokens, and are asked for
`<extra_id_0>` target `<extra_id_1>`. Models with a mask (BART) read the statement with one mask there, and are asked
for the whole statement.

- `span`: log p(target | source, what precedes the target in the answer), as in ECBD's perplexity.
- `span_end`: as `span`, and the end with it, without which a target that is the beginning of another has an advantage:
  `<extra_id_1>`, or the right context with the token that ends the text. For ranking candidates of one query.

The tokens of contexts and target are those of the statement as a whole, as in these models' training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tempkb.errors import ModelError
from tempkb.models.alignment import Tokens, TokenSpan
from tempkb.models.rows import Plan, Planner, Row, target_span
from tempkb.models.scores import Status
from tempkb.models.traits import Traits
from tempkb.prompts import Prompt

_SENTINELS = ("<extra_id_0>", "<extra_id_1>")


@dataclass(frozen=True)
class SentinelPlanner:
    """Plans for models with sentinels.

    Attributes:
        start_id: what the decoder begins with.
        sentinels: the tokens `<extra_id_0>` and `<extra_id_1>`.
        context_tokens: how many tokens encoder and decoder read each, special ones included; None for any number.
    """

    template: str
    start_id: int
    sentinels: tuple[int, int]
    context_tokens: int | None

    def text(self, prompt: Prompt) -> str:
        """Return what is to be tokenized: the whole statement."""
        return prompt.statement

    def plan(self, prompt: Prompt, tokens: Tokens) -> Plan | Status:
        """Return the row of a prompt, or why it has none. The first sentinel is read, but never counted."""
        span = target_span(prompt, tokens)
        if span is None:
            return "not_alignable"
        first, last = self.sentinels
        has_end = self.template == "span_end"
        answer = (first, *tokens.ids[span.start : span.end], *((last,) if has_end else ()))
        source = _with_mask(tokens, span, first)
        if _is_too_long(self.context_tokens, source, answer):
            return "too_long"
        row = Row((self.start_id, *answer[:-1]), tuple(range(len(answer))), answer, source)
        return Plan((row,), len(prompt.target), n_before=1, n_after=int(has_end), counts_after=has_end)


@dataclass(frozen=True)
class InfillingPlanner:
    """Plans for models that are asked for the whole statement.

    Attributes:
        start_id: what the decoder begins with.
        mask_id: the token that stands for the target.
        context_tokens: how many tokens encoder and decoder read each, special ones included; None for any number.
    """

    template: str
    start_id: int
    mask_id: int
    context_tokens: int | None

    def text(self, prompt: Prompt) -> str:
        """Return what is to be tokenized: the whole statement."""
        return prompt.statement

    def plan(self, prompt: Prompt, tokens: Tokens) -> Plan | Status:
        """Return the row of a prompt, or why it has none."""
        span = target_span(prompt, tokens)
        if span is None:
            return "not_alignable"
        source = _with_mask(tokens, span, self.mask_id)
        if _is_too_long(self.context_tokens, source, tokens.ids):
            return "too_long"
        has_end = self.template == "span_end"
        end = len(tokens.ids) if has_end else span.end
        row = Row(
            (self.start_id, *tokens.ids[: end - 1]), tuple(range(span.start, end)), tokens.ids[span.start : end], source
        )
        n_chars = len(prompt.target) + (len(prompt.right) if has_end else 0)
        return Plan((row,), n_chars, n_after=end - span.end, counts_after=True)


def _with_mask(tokens: Tokens, span: TokenSpan, mask: int) -> tuple[int, ...]:
    return (*tokens.ids[: span.start], mask, *tokens.ids[span.end :])


def _is_too_long(context_tokens: int | None, source: tuple[int, ...], answer: tuple[int, ...]) -> bool:
    return context_tokens is not None and max(len(source), len(answer)) > context_tokens


class SequenceToSequence(Traits):
    """The family of models with an encoder and a decoder."""

    name = "seq2seq"
    templates = ("span", "span_end")
    reads_beyond = ("span",)
    classes = "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"
    loader = "AutoModelForSeq2SeqLM"
    old_architectures = ("T5WithLMHeadModel",)
    has_sources = True

    def planner(self, template: str, tokenizer: Any, config: Any, context_tokens: int | None) -> Planner:
        """Return what asks by sentinels, if the tokenizer has them, else by its mask."""
        start = getattr(config, "decoder_start_token_id", None)
        if start is None:
            raise ModelError(
                f"The config of {config.name_or_path!r} has no decoder_start_token_id, which sequence-to-sequence "
                "models need."
            )
        vocabulary, mask = tokenizer.get_vocab(), tokenizer.mask_token_id
        if all(sentinel in vocabulary for sentinel in _SENTINELS):
            first, last = (vocabulary[sentinel] for sentinel in _SENTINELS)
            return SentinelPlanner(template, start, (first, last), context_tokens)
        if mask is None:
            raise ModelError(
                f"The tokenizer of {config.name_or_path!r} has neither {' and '.join(_SENTINELS)} nor a mask token; "
                "expected one of them, as in T5 and BART. Other sequence-to-sequence models cannot be scored."
            )
        return InfillingPlanner(template, start, mask, context_tokens)

    def trials(self, first: Sequence[int], second: Sequence[int], tokenizer: Any, config: Any) -> list[Row]:
        """Return two sources, of which one has two answers."""
        start = config.decoder_start_token_id
        pairs = ((first, second), (second, first), (second, first[1:3]))
        return [
            Row((start, *answer[:-1]), tuple(range(len(answer))), tuple(answer), tuple(source))
            for source, answer in pairs
        ]
