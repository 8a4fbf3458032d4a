"""Masked models (BERT, RoBERTa): the pseudo-log-likelihood of a target, one masked copy of the statement a token.

With the target's tokens t_1 .. t_n and everything around them in sight, the score is the sum over j of
log p(t_j | the statement with some tokens masked). The templates differ in what is masked beside t_j itself:

- `answer_l2r`: all later tokens of the target. Names of several words are one answer, so no part of a name helps to
  guess what precedes it. It is conditional on the number of tokens of the target.
- `within_word_l2r`: the later tokens of the same word (Kauf and Ivanova, 2023).
- `original`: nothing (Salazar et al., 2020; the loop of DynamicTempLAMA). It favours names of several tokens.
- `sentence`, `sentence_within_word_l2r`: `original` and `within_word_l2r` of all tokens of the statement.
- `probing`: `original` for targets of one token, with the token's rank in the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tempkb.errors import ModelError
from tempkb.models.alignment import Tokens, TokenSpan
from tempkb.models.rows import Plan, Row, target_span
from tempkb.models.scores import Status
from tempkb.models.traits import Traits
from tempkb.prompts import Prompt


@dataclass(frozen=True)
class MaskedPlanner:
    """Plans for masked models.

    Attributes:
        context_tokens: how many tokens the model reads, special ones included; None for any number.
    """

    template: str
    mask_id: int
    context_tokens: int | None

    def text(self, prompt: Prompt) -> str:
        """Return what is to be tokenized: the whole statement."""
        return prompt.statement

    def plan(self, prompt: Prompt, tokens: Tokens) -> Plan | Status:
        """Return the masked copies of a statement, or why there are none."""
        is_sentence = self.template.startswith("sentence")
        span = tokens.content if is_sentence else target_span(prompt, tokens)
        if span is None or (self.template == "probing" and len(span) != 1):
            return "not_alignable"
        if self.context_tokens is not None and len(tokens.ids) > self.context_tokens:
            return "too_long"
        rows = tuple(self._row(tokens, span, at) for at in range(span.start, span.end))
        return Plan(rows, len(prompt.statement if is_sentence else prompt.target))

    def _row(self, tokens: Tokens, span: TokenSpan, at: int) -> Row:
        masked = {at, *self._masked_with(tokens, span, at)}
        ids = tuple(self.mask_id if place in masked else token for place, token in enumerate(tokens.ids))
        return Row(ids, (at,), (tokens.ids[at],))

    def _masked_with(self, tokens: Tokens, span: TokenSpan, at: int) -> range | list[int]:
        """The other tokens that are masked where the one at this place is asked for."""
        if self.template == "answer_l2r":
            return range(at + 1, span.end)
        if self.template.endswith("within_word_l2r"):
            return [place for place in range(at + 1, len(tokens.ids)) if tokens.words[place] == tokens.words[at]]
        return []


class Masked(Traits):
    """The family of masked models."""

    name = "masked"
    templates = ("answer_l2r", "within_word_l2r", "original", "sentence", "sentence_within_word_l2r", "probing")
    reads_beyond = ("answer_l2r", "within_word_l2r", "original", "probing")
    classes = "MODEL_FOR_MASKED_LM_MAPPING_NAMES"
    loader = "AutoModelForMaskedLM"
    old_architectures = ("BertForPreTraining",)
    sees_later = True

    def planner(self, template: str, tokenizer: Any, config: Any, context_tokens: int | None) -> MaskedPlanner:
        """Return what makes masked copies."""
        mask = tokenizer.mask_token_id
        if mask is None:
            raise ModelError(f"The tokenizer of {config.name_or_path!r} has no mask token, which masked models need.")
        return MaskedPlanner(template, mask, context_tokens)

    def trials(self, first: Sequence[int], second: Sequence[int], tokenizer: Any, config: Any) -> list[Row]:
        """Return rows of which all tokens are read, and one in the middle is masked."""
        return [_trial(tokenizer.mask_token_id, tuple(text)) for text in (first, second)]

    def layers(self, module: Any) -> Any:
        """Return the layers of a model before its head."""
        return module.base_model


def _trial(mask: int, text: tuple[int, ...]) -> Row:
    middle = len(text) // 2
    return Row((*text[:middle], mask, *text[middle + 1 :]), tuple(range(len(text))), text)
