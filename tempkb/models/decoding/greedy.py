"""Greedy answers: the likeliest token, at most 32 times, until the answer has its end.

- `causal.greedy` continues the left context, without the blanks at its end, which are the answer's. The right context
  is not read, but tells where the answer ends (`replies.py`). Questions with nothing to their left are not asked.
- `seq2seq.greedy` of models with sentinels (T5) reads the question with `<extra_id_0>` in its gap. The decoder is given
  `<extra_id_0>` and continues; the answer ends at `<extra_id_1>` or the end token, else it is unclosed.
- `seq2seq.greedy` of models with a mask (BART) reads the question with one mask in its gap. The decoder is given the
  left context's tokens and continues with the answer and all that follows; the answer ends as a causal model's does,
  above all where the right context begins.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from itertools import count

from tempkb.core.prompts import Question
from tempkb.models.batching import Limits
from tempkb.models.decoding.replies import Generated, GenerationStatus, Stopped, answer_in, ending
from tempkb.models.decoding.stepping import Said, Start, Stepper, decoded, end_ids, filled, gap_of, told
from tempkb.models.families import InfillingPlanner, SentinelPlanner
from tempkb.models.loading import LoadedModel
from tempkb.models.scorers import NEW_TOKENS


class Continuing(ABC):
    """Asks for one answer a question, by continuing a text."""

    most = NEW_TOKENS

    def __init__(self, model: LoadedModel, limits: Limits | None) -> None:
        self.model = model
        self.end_ids = end_ids(model)
        self._stepper = Stepper(model, limits, self.most)

    @property
    def batch_tokens(self) -> int:
        """Padded tokens of a batch; fewer than at first if memory ran out."""
        return self._stepper.batch_tokens

    def answers(self, questions: Sequence[Question]) -> list[list[Generated]]:
        """Return the answer to each question."""
        starts = self.starts(questions)
        said = iter(self._stepper.read([start for start in starts if isinstance(start, Start)]))
        return [
            [self.answer(question, next(said)) if isinstance(start, Start) else Generated(1, start)]
            for question, start in zip(questions, starts, strict=True)
        ]

    @abstractmethod
    def starts(self, questions: Sequence[Question]) -> list[Start | GenerationStatus]:
        """Return what is continued for each question, or why it is not asked."""

    @abstractmethod
    def answer(self, question: Question, said: Said) -> Generated:
        """Return the answer in what was said."""

    def is_too_long(self, n_tokens: int, n_source: int = 0) -> bool:
        """Whether a text with all that may be added has more tokens than the model reads."""
        most = self.model.context_tokens
        return most is not None and max(n_tokens + self.most, n_source) > most

    def has_ended(self, tokens: Sequence[int]) -> bool:
        """Whether the model ended its text."""
        return tokens[-1] in self.end_ids


class InText(Continuing):
    """Finds the end of an answer in the text."""

    def has_end(self, question: Question, tokens: Sequence[int]) -> bool:
        """Whether tokens hold an answer and its end."""
        if self.has_ended(tokens):
            return True
        text = decoded(self.model, tokens).rstrip("\ufffd")  # a letter may have several tokens
        return ending(text, question.right, is_all=False) is not None

    def answer(self, question: Question, said: Said) -> Generated:
        """Return the text to its end, and the tokens to the one in which it lies."""
        is_ended = self.has_ended(said.tokens)
        content = said.tokens[:-1] if is_ended else said.tokens
        text = decoded(self.model, content)
        name, found = answer_in(text, question.right)
        if found is None:
            stopped: Stopped = "end_token" if is_ended else "length"
        else:
            stopped = found.stopped
            n = next(n for n in count(1) if n == len(content) or len(decoded(self.model, content[:n])) >= found.stop)
            said = said.first(n)
        return told(self.model, said, name, stopped)


class CausalGreedy(InText):
    """`causal.greedy`."""

    def starts(self, questions: Sequence[Question]) -> list[Start | GenerationStatus]:
        """Return left contexts."""
        tokenized = self.model.tokenize([question.left.rstrip() for question in questions])
        found: list[Start | GenerationStatus] = []
        for question, tokens in zip(questions, tokenized, strict=True):
            if not question.left.strip():
                found.append("no_left_context")
            elif tokens.content is None:
                found.append("not_alignable")
            elif self.is_too_long(tokens.content.end):
                found.append("too_long")
            else:
                found.append(Start(tokens.ids[: tokens.content.end], partial(self.has_end, question)))
        return found


class InfillingGreedy(InText):
    """`seq2seq.greedy` of models with a mask."""

    def __init__(self, model: LoadedModel, limits: Limits | None, planner: InfillingPlanner) -> None:
        super().__init__(model, limits)
        self._planner = planner

    def starts(self, questions: Sequence[Question]) -> list[Start | GenerationStatus]:
        """Return left contexts, with the question as source."""
        found: list[Start | GenerationStatus] = []
        for question, tokens in zip(questions, self.model.tokenize(list(map(filled, questions))), strict=True):
            gap = gap_of(question, tokens)
            if gap is None:
                found.append("not_alignable")
                continue
            before = tokens.ids[: gap.start]
            source = (*before, self._planner.mask_id, *tokens.ids[gap.end :])
            if self.is_too_long(1 + len(before), len(source)):
                found.append("too_long")
                continue
            found.append(Start((self._planner.start_id, *before), partial(self.has_end, question), source))
        return found


class SentinelGreedy(Continuing):
    """`seq2seq.greedy` of models with sentinels."""

    def __init__(self, model: LoadedModel, limits: Limits | None, planner: SentinelPlanner) -> None:
        super().__init__(model, limits)
        self._planner = planner

    def starts(self, questions: Sequence[Question]) -> list[Start | GenerationStatus]:
        """Return the first sentinel, with the question as source."""
        first, last = self._planner.sentinels

        def has_end(tokens: Sequence[int]) -> bool:
            return tokens[-1] == last or self.has_ended(tokens)

        sources = sentinel_sources(self.model, self._planner, questions, 2 + self.most)
        return [
            Start((self._planner.start_id, first), has_end, source) if isinstance(source, tuple) else source
            for source in sources
        ]

    def answer(self, question: Question, said: Said) -> Generated:
        """Return what precedes the second sentinel."""
        end = said.tokens[-1]
        is_closed = end == self._planner.sentinels[1]
        stopped: Stopped = "closing_sentinel" if is_closed else "end_token" if end in self.end_ids else "length"
        name = None if stopped == "length" else decoded(self.model, said.tokens[:-1]).strip()
        return told(self.model, said, name, stopped)


def sentinel_sources(
    model: LoadedModel, planner: SentinelPlanner, questions: Sequence[Question], n_answer: int
) -> list[tuple[int, ...] | GenerationStatus]:
    """Return questions with the first sentinel in their gap, or why they are not asked.

    Args:
        model: what is asked.
        planner: knows the sentinels.
        questions: what is asked for.
        n_answer: tokens that an answer may have.
    """
    found: list[tuple[int, ...] | GenerationStatus] = []
    for question, tokens in zip(questions, model.tokenize(list(map(filled, questions))), strict=True):
        gap = gap_of(question, tokens)
        if gap is None:
            found.append("not_alignable")
            continue
        source = (*tokens.ids[: gap.start], planner.sentinels[0], *tokens.ids[gap.end :])
        is_too_long = model.context_tokens is not None and max(len(source), n_answer) > model.context_tokens
        found.append("too_long" if is_too_long else source)
    return found
