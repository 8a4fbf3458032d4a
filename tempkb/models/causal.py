"""Causal models (GPT): the log-probability of a target after its left context.

- `span`: log p(target | left context). The right context is not read.
- `span_end`: log p(target, right context | left context): the right context ends the target, without which a target
  that is the beginning of another has an advantage. For ranking candidates of one query.
- `sentence`: log p(statement | beginning of text), for statements that begin with their target.

The beginning is what the tokenizer puts before a text; where that is nothing and the first token is asked for, it is
`bos_token_id`, else `eos_token_id`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tempkb.models.alignment import Tokens
from tempkb.models.rows import Plan, Row, target_span
from tempkb.models.scores import Status
from tempkb.models.traits import Traits
from tempkb.prompts import Prompt

_SHARED = 4  # tokens that two trials have in common


@dataclass(frozen=True)
class CausalPlanner:
    """Plans for causal models.

    Attributes:
        first_id: the token before a text that has none; None if the model has no such token.
        context_tokens: how many tokens the model reads, special ones included; None for any number.
    """

    template: str
    first_id: int | None
    context_tokens: int | None

    def text(self, prompt: Prompt) -> str:
        """Return what is to be tokenized; what is not scored and not read must not change the tokens."""
        return f"{prompt.left}{prompt.target}" if self.template == "span" else prompt.statement

    def plan(self, prompt: Prompt, tokens: Tokens) -> Plan | Status:
        """Return the row of a prompt, or why it has none."""
        if self.template != "sentence" and not prompt.left.strip():
            return "no_left_context"
        content = tokens.content
        span = content if self.template == "sentence" else target_span(prompt, tokens)
        if content is None or span is None:
            return "not_alignable"
        ids, start = tokens.ids[: content.end], span.start
        if start == 0:
            if self.first_id is None:
                return "no_left_context"
            ids, start = (self.first_id, *ids), 1
        if self.context_tokens is not None and len(ids) > self.context_tokens:
            return "too_long"
        row = Row(ids[:-1], tuple(range(start - 1, len(ids) - 1)), ids[start:], n_shared=start)
        counted = prompt.target if self.template == "span" else prompt.target + prompt.right
        n_chars = len(prompt.statement) if self.template == "sentence" else len(counted)
        return Plan((row,), n_chars, n_after=content.end - span.end, counts_after=True)


class Causal(Traits):
    """The family of causal models."""

    name = "causal"
    templates = ("span", "span_end", "sentence")
    classes = "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"
    loader = "AutoModelForCausalLM"
    shares_beginnings = True

    def planner(self, template: str, tokenizer: Any, config: Any, context_tokens: int | None) -> CausalPlanner:
        """Return what plans one row a prompt."""
        first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        return CausalPlanner(template, first, context_tokens)

    def trials(self, first: Sequence[int], second: Sequence[int], tokenizer: Any, config: Any) -> list[Row]:
        """Return rows by themselves, and two that begin alike."""
        n_shared = min(_SHARED, len(first) - 1)
        beginning = tuple(first[:n_shared][::-1])
        shared = [(*beginning, *first[n_shared:]), (*beginning, *second[-2:])]
        return [_trial(tuple(first), 1), _trial(tuple(second), 1), *(_trial(text, n_shared) for text in shared)]


def _trial(text: tuple[int, ...], n_shared: int) -> Row:
    return Row(text[:-1], tuple(range(n_shared - 1, len(text) - 1)), text[n_shared:], n_shared=n_shared)
