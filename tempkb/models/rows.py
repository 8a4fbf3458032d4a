"""What a model is asked for: rows of tokens, and which log-probabilities to read off them. Pure."""

from dataclasses import dataclass
from typing import Protocol

from tempkb.models.alignment import Tokens, TokenSpan, token_span
from tempkb.models.scores import Status
from tempkb.prompts import Prompt


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
