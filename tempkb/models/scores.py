"""What a scorer says about one prompt. Pure."""

from dataclasses import dataclass
from typing import Literal

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
