"""What a model is asked for, rows of tokens and which log-probabilities to read off them, and what it says. Pure.

The tokens of a span are found by the characters that they stand for, never by counting tokens of its parts. Blanks
belong to the token or span that follows them, as byte-level and SentencePiece tokenizers have it: the blanks before a
target are the target's, the blanks at its end belong to what comes next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tempkb.core.prompts import Prompt

Status = Literal["scored", "too_long", "not_alignable", "not_finite", "no_left_context"]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a prompt, or the reason why it has none.

    Attributes:
        status: `scored`; `too_long`, the statement has more tokens than the model
            reads; `not_alignable`, a token lies on both sides of an edge of the
            target, or the target has no tokens of its own (for `masked.probing`: not
            exactly one); `not_finite`, the model gave NaN or an infinity;
            `no_left_context`, nothing precedes the target, so that its probability
            would not depend on the statement.
        log_prob_nats: natural logarithm of the probability of what the scorer's template
            counts (tempkb/models/README.md), a sum over tokens; None if not scored.
        n_tokens: how many tokens the sum is over; 0 if the target has none of its own, although the
            statement was tried with one period in place of the target's own and the sentence's.
        n_chars: how many characters of the statement they stand for, in Unicode code points.
        token_ids: the tokens whose log-probability was read, in the order of the text.
        token_log_probs: natural logarithms, one a token; none if one of them is not finite.
        n_before: how many of the tokens precede those of the target (T5's first sentinel).
        n_after: how many follow them (T5's second sentinel, or the right context).
        rank: place of the target's only token among the whole vocabulary, 1 for the
            likeliest, equal ones sharing the best place; None but for `masked.probing`.
    """

    status: Status
    log_prob_nats: float | None = None
    n_tokens: int | None = None
    n_chars: int | None = None
    token_ids: tuple[int, ...] = ()
    token_log_probs: tuple[float, ...] = ()
    n_before: int = 0
    n_after: int = 0
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenized text.

    Attributes:
        ids: tokens with the special ones that the tokenizer adds.
        offsets: of each token, the characters [start, end) of the text that it stands for.
        is_special: of each token, whether the tokenizer added it.
        words: of each token, the number of its word; None for special tokens.
    """

    text: str
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    is_special: tuple[bool, ...]
    words: tuple[int | None, ...]

    @property
    def content(self) -> "TokenSpan | None":
        """The tokens of the text, without the special ones around them; None if it has none."""
        plain = [at for at, is_special in enumerate(self.is_special) if not is_special]
        return TokenSpan(plain[0], plain[-1] + 1) if plain else None


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """Tokens [start, end)."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


def tokenize(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Tokenize texts with a fast tokenizer of transformers.

    Special tokens that happen to be spelled out in a text (an HTML `<s>` in an article) are text, not commands.
    """
    if not texts:
        return []
    batch = tokenizer(list(texts), split_special_tokens=True, truncation=False, padding=False, verbose=False)
    return [
        Tokens(
            text,
            tuple(one.ids),
            tuple(one.offsets),
            tuple(bool(flag) for flag in one.special_tokens_mask),
            tuple(one.word_ids),
        )
        for text, one in zip(texts, batch.encodings, strict=True)
    ]


def token_span(tokens: Tokens, start: int, end: int) -> TokenSpan | None:
    """Return the tokens of the characters [start, end), or None if they have no whole tokens of their own.

    A token belongs to the span if all its characters that are not blank lie in it. One that has such characters on both
    sides of an edge makes the span not alignable.
    """
    text = tokens.text
    begin = len(text[:start].rstrip())  # the blanks before the span are its own
    end = start + len(text[start:end].rstrip())
    near = [at for at, (first, last) in enumerate(tokens.offsets) if first < end and last > begin]
    cores = {at: _core(text, *tokens.offsets[at]) for at in near if not tokens.is_special[at]}
    touching = [at for at, (first, last) in cores.items() if first < last and first < end and last > begin]
    if not touching or any(cores[at][0] < begin or cores[at][1] > end for at in touching):
        return None
    first = touching[0]
    while first and not tokens.is_special[first - 1] and _is_blank_after(begin, text, *tokens.offsets[first - 1]):
        first -= 1
    return TokenSpan(first, touching[-1] + 1)


def _core(text: str, first: int, last: int) -> tuple[int, int]:
    """The characters of a token without blanks at its ends; equal ends if it has only blanks."""
    piece = text[first:last]
    first += len(piece) - len(piece.lstrip())
    return first, first + len(piece.strip())


def _is_blank_after(begin: int, text: str, first: int, last: int) -> bool:
    """Whether a token stands for blanks alone; some tokenizers give it no characters, but the place where they end."""
    return last > begin and not text[first:last].strip()


@dataclass(frozen=True, slots=True)
class Row:
    """One input of a model.

    Attributes:
        tokens: what the model reads; of a sequence-to-sequence model, what its decoder reads.
        positions: at which of them the model's distribution over the vocabulary is read, ascending.
        targets: the token whose log-probability is read, one a position.
        source: what the encoder of a sequence-to-sequence model reads.
        n_shared: how many leading tokens rows of other candidates are likely to have as well (causal models).
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    targets: tuple[int, ...]
    source: tuple[int, ...] = ()
    n_shared: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """How a prompt is scored: its tokens are the targets of its rows, in order.

    Attributes:
        n_chars: how many characters the counted tokens stand for.
        n_before: how many tokens precede the target's; they are read, but not counted.
        n_after: how many tokens follow the target's.
        counts_after: whether those that follow are counted in the score.
    """

    rows: tuple[Row, ...]
    n_chars: int
    n_before: int = 0
    n_after: int = 0
    counts_after: bool = False


class Planner(Protocol):
    """Turns prompts into plans, for one family and template."""

    def text(self, prompt: Prompt) -> str:
        """Return what is to be tokenized."""

    def plan(self, prompt: Prompt, tokens: Tokens) -> Plan | Status:
        """Return how the prompt is scored, or why it cannot be."""


def target_span(prompt: Prompt, tokens: Tokens) -> TokenSpan | None:
    """Return the tokens of a prompt's target, or None if it is not alignable; see `token_span`."""
    return token_span(tokens, len(prompt.left), len(prompt.left) + len(prompt.target))
