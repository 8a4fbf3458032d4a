"""What a model said about one question. Pure."""

from dataclasses import dataclass
from typing import Literal, get_args

GenerationStatus = Literal[
    "answered",
    "empty",
    "unclosed",
    "refused",
    "cut_off",
    "reasoning",
    "too_long",
    "no_left_context",
    "not_alignable",
    "not_finite",
]
GENERATION_STATUSES: tuple[GenerationStatus, ...] = get_args(GenerationStatus)

Stopped = Literal["end_token", "sentence_end", "line_end", "right_context", "closing_sentinel", "length", "mask_count"]
STOPPED: tuple[Stopped, ...] = get_args(Stopped)


@dataclass(frozen=True, slots=True)
class Generated:
    """One answer to a question, or the reason why there is none.

    Attributes:
        rank: 1 for the first; a decoder that gives one answer, or none, gives rank 1 alone.
        status: `answered`; `empty`, no letter or digit was said; `unclosed`, the closing sentinel did not come;
            `refused`, `cut_off` and `reasoning`, a chat model's reply declines, ends by its length, or holds nothing
            beside reasoning; `too_long`, the question with the most that may be added has more tokens than the model
            reads; `no_left_context`, nothing precedes the gap of a causal model; `not_alignable`, a token lies on both
            sides of an edge of the gap; `not_finite`, the model gave NaN or an infinity.
        text: the answer without blanks at its ends; None but for `answered`.
        raw_text: all that the model said, decoded with its special tokens; None where it was not asked.
        log_prob_nats: natural logarithm of the probability of all tokens that the model said, a sum over
            `token_log_probs`. As with `span_end` of scorers, what ends an answer is counted with it.
        n_tokens: how many tokens it said.
        token_ids: what it said, to the token in which the answer ends; of `recall`, the whole beam.
        token_log_probs: natural logarithms, one a token.
        stopped: what ended the answer; None where the model was not asked.
        score: what ranks rest on, the higher the better: the mean log-probability of a token (`recall`, masked
            models), or the mean logit (`masked.paper`); None where there is one answer alone.
        n_unclosed: of `recall`, how many beams of the question gave no span; else None.
    """

    rank: int
    status: GenerationStatus
    text: str | None = None
    raw_text: str | None = None
    log_prob_nats: float | None = None
    n_tokens: int | None = None
    token_ids: tuple[int, ...] = ()
    token_log_probs: tuple[float, ...] = ()
    stopped: Stopped | None = None
    score: float | None = None
    n_unclosed: int | None = None


def is_name(text: str) -> bool:
    """Whether a text may be a name: it has a letter or a digit.

    >>> is_name("Ada"), is_name(" — ")
    (True, False)
    """
    return any(map(str.isalnum, text))
