"""The families of language models: what each reads of a prompt, and which log-probabilities of it are a score.

No torch here, since commands that only read need the names alone.

Causal models (GPT): the log-probability of a target after its left context.

- `span`: log p(target | left context). The right context is not read.
- `span_end`: log p(target, right context | left context): the right context ends the target, without which a target
  that is the beginning of another has an advantage. For ranking candidates of one query.
- `sentence`: log p(statement | beginning of text), for statements that begin with their target.

The beginning is what the tokenizer puts before a text; where that is nothing and the first token is asked for, it is
`bos_token_id`, else `eos_token_id`.

Masked models (BERT, RoBERTa): the pseudo-log-likelihood of a target, one masked copy of the statement a token.

With the target's tokens t_1 .. t_n and everything around them in sight, the score is the sum over j of log p(t_j |
the statement with some tokens masked). The templates differ in what is masked beside t_j itself:

- `answer_l2r`: all later tokens of the target. Names of several words are one answer, so no part of a name helps to
  guess what precedes it. It is conditional on the number of tokens of the target.
- `within_word_l2r`: the later tokens of the same word (Kauf and Ivanova, 2023).
- `original`: nothing (Salazar et al., 2020; the loop of DynamicTempLAMA). It favours names of several tokens.
- `sentence`, `sentence_within_word_l2r`: `original` and `within_word_l2r` of all tokens of the statement.
- `probing`: `original` for targets of one token, with the token's rank in the vocabulary.

Sequence-to-sequence models: a target at the place of a mask, with both contexts in sight.

Models with sentinels (T5) read the statement with `<extra_id_0>` in place of the target's tokens, and are asked for
`<extra_id_0>` target `<extra_id_1>`. Models with a mask (BART) read the statement with one mask there, and are asked
for the whole statement.

- `span`: log p(target | source, what precedes the target in the answer), as in ECBD's perplexity.
- `span_end`: as `span`, and the end with it, without which a target that is the beginning of another has an advantage:
  `<extra_id_1>`, or the right context with the token that ends the text. For ranking candidates of one query.

The tokens of contexts and target are those of the statement as a whole, as in these models' training.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tempkb.core.errors import ModelError
from tempkb.core.model_words import Family
from tempkb.core.prompts import Prompt
from tempkb.models.rows import Plan, Planner, Row, Status, Tokens, TokenSpan, target_span


class Traits(ABC):
    """What a family of models is, and how its models are asked.

    Attributes:
        templates: of its scorers, the default first.
        reads_beyond: those that read what follows a target, but count the target's tokens alone. What follows may be
            written otherwise for their sake.
        classes: name of transformers' table of its classes, by the type that a config names.
        loader: name of transformers' class that loads its models.
        old_architectures: names that older checkpoints give their architecture.
        has_sources: whether an encoder reads a source, and a decoder answers.
        sees_later: whether each token is read with those after it in sight.
        shares_beginnings: whether a model can continue from the tokens that several rows begin with.
    """

    name: ClassVar[str]
    templates: ClassVar[tuple[str, ...]]
    reads_beyond: ClassVar[tuple[str, ...]] = ()
    classes: ClassVar[str]
    loader: ClassVar[str]
    old_architectures: ClassVar[tuple[str, ...]] = ()
    has_sources: ClassVar[bool] = False
    sees_later: ClassVar[bool] = False
    shares_beginnings: ClassVar[bool] = False

    @abstractmethod
    def planner(self, template: str, tokenizer: Any, config: Any, context_tokens: int | None) -> Planner:
        """Return what turns prompts into rows.

        Args:
            context_tokens: how many tokens the model reads, special ones included; None for any number.

        Raises:
            ModelError: the tokenizer or the config lacks a token that the template needs.
        """

    @abstractmethod
    def trials(self, first: Sequence[int], second: Sequence[int], tokenizer: Any, config: Any) -> list[Row]:
        """Return rows of unequal lengths that together take each way through the batches of the family.

        Args:
            first: tokens of a text.
            second: tokens of a shorter one.
        """

    def layers(self, module: Any) -> Any:
        """Return the layers of a model before its head, or what the architecture takes for them."""
        return module.get_decoder()


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
        return [_trial_of_masked(tokenizer.mask_token_id, tuple(text)) for text in (first, second)]

    def layers(self, module: Any) -> Any:
        """Return the layers of a model before its head."""
        return module.base_model


def _trial_of_masked(mask: int, text: tuple[int, ...]) -> Row:
    middle = len(text) // 2
    return Row((*text[:middle], mask, *text[middle + 1 :]), tuple(range(len(text))), text)


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


TRAITS: Mapping[Family, Traits] = {"masked": Masked(), "seq2seq": SequenceToSequence(), "causal": Causal()}
"""What tells each family from the others, by name."""
