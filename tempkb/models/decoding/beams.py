"""`seq2seq.recall_beam100` and `seq2seq.recall_beam10`: the first ten distinct spans of a beam search.

As in ECBD's recall@10, which is defined for models with sentinels (T5) alone. The model reads the question with
`<extra_id_0>` in its gap, and the decoder is given nothing but its start. All beams are decoded with special tokens; a
beam's span is the first text between `>` and `<` that is not blank, stripped. Distinct spans in the order of beams, ten
at most, are the answers; beams that give none are counted.

The search is that of transformers' `generate` with `num_beams=n, num_return_sequences=n, early_stopping=True` and at
most 32 new tokens: in each step the likeliest 2n continuations of a question's beams are looked at; those among the
first n that end are finished, with the mean log-probability of their tokens as score, and the first n others go on. A
question is done when n beams are finished; those of 32 tokens count as finished. Equal beams are ordered by their
tokens. What `generate` does beside that is not done: it reads each source once a beam, copies what was read of it in
each step, and goes on with questions that are done until all of a batch are.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from tempkb.core.prompts import Question
from tempkb.models.batching import Limits, Packer, Shape
from tempkb.models.decoding.greedy import sentinel_sources
from tempkb.models.decoding.replies import Generated, Stopped
from tempkb.models.decoding.stepping import Said, Steps, best, decoded, end_ids, told
from tempkb.models.families import SentinelPlanner
from tempkb.models.loading import LoadedModel
from tempkb.models.scorers import NEW_TOKENS

N_SPANS = 10
_SPAN = re.compile(r">(.*?)<")


def span_of(raw: str) -> str | None:
    """Return the span in a decoded beam, or None.

    >>> span_of("<pad> <extra_id_0> Ada Lovelace <extra_id_1> of</s>")
    'Ada Lovelace'
    >>> span_of("<pad> <extra_id_0> Ada Lovelace of") is None
    True
    """
    return next((span.strip() for span in _SPAN.findall(raw) if span.strip()), None)


@dataclass(slots=True)
class _Search:
    """A question: its source, and its finished beams with their scores, the best first."""

    source: tuple[int, ...]
    finished: list[tuple[float, Said]] = field(default_factory=list)

    def finish(self, tokens: list[list[int]], log_probs: list[list[float]], n_beams: int) -> None:
        beams = map(Said, tokens, log_probs)
        more = [(math.fsum(beam.log_probs) / len(beam.log_probs), beam) for beam in beams]
        self.finished = sorted([*self.finished, *more], key=lambda one: (-one[0], one[1].tokens))[:n_beams]


class Recall(Packer):
    """Searches by beams. A batch holds as many questions as its tokens allow: beams x (source + 32 tokens) each.

    The memory of a batch is that of keys and values of so many tokens, of one layer twice, and of three numbers a beam
    and token of the vocabulary. `batch_tokens` are those of a single beam.
    """

    usual_tokens = (24_576, 262_144)

    def __init__(self, model: LoadedModel, limits: Limits | None, planner: SentinelPlanner, n_beams: int) -> None:
        super().__init__(model, limits)
        self._planner = planner
        self._n_beams = n_beams
        self.batch_tokens = max(1, self.batch_tokens // n_beams)
        self._end_ids = end_ids(model)
        # For many rows of one token each, plain products are two to three times as fast as other implementations.
        model.module.set_attn_implementation("eager")

    def answers(self, questions: Sequence[Question]) -> list[list[Generated]]:
        """Return distinct spans in the order of beams, or why there are none."""
        sources = sentinel_sources(self.model, self._planner, questions, 1 + NEW_TOKENS)
        searches = {source: _Search(source) for source in sources if isinstance(source, tuple)}
        with self.model.computing():
            for batch in self.batches(list(searches.values()), self._size) if searches else ():
                self.halving(batch, self._search)
        return [
            self._answers(searches[one].finished) if isinstance(one, tuple) else [Generated(1, one)] for one in sources
        ]

    def _size(self, one: _Search) -> tuple[int, int]:
        return len(one.source) + NEW_TOKENS, 1

    def _answers(self, beams: list[tuple[float, Said]]) -> list[Generated]:
        """The first distinct spans of finished beams."""
        if not all(math.isfinite(score) for score, _ in beams) or not beams:
            return [Generated(1, "not_finite")]
        start = self._planner.start_id
        raws = [decoded(self.model, (start, *said.tokens), is_raw=True) for _, said in beams]
        spans = list(map(span_of, raws))
        n_unclosed = sum(span is None for span in spans)
        firsts: dict[str | None, int] = {}
        for at, span in enumerate(spans):
            if span is not None:
                firsts.setdefault(span, at)
        chosen = list(firsts.items())[:N_SPANS] or [(None, 0)]
        return [
            replace(self._told(rank, span, beams[at][1]), raw_text=raws[at], score=beams[at][0], n_unclosed=n_unclosed)
            for rank, (span, at) in enumerate(chosen, 1)
        ]

    def _told(self, rank: int, span: str | None, said: Said) -> Generated:
        stopped: Stopped = "end_token" if said.tokens[-1] in self._end_ids else "length"
        return told(self.model, said, span, stopped if span is None else "closing_sentinel", rank)

    def _search(self, batch: list[_Search]) -> None:
        is_fixed = self.limits.has_fixed_shapes
        shape = self.shape([self._size(one) for one in batch])
        length = shape.length if is_fixed else max(len(one.source) for one in batch)
        steps = Steps(self.model)
        steps.encode(*self.padded([one.source for one in batch], Shape(shape.n_rows, length)))
        found = [_Search(one.source) for one in batch]  # kept only when memory was enough for all of the batch
        running = _Running([*found, *[None] * (shape.n_rows - len(found))], self._n_beams, self._end_ids, is_fixed)
        ids = self.tensor([self._planner.start_id] * shape.n_rows)
        for left in reversed(range(NEW_TOKENS)):
            going = running.advance(steps(ids[:, None]), is_last=left == 0)
            if going is None:
                break
            ids = self.tensor(going.tokens)
            steps.reorder(self.tensor(going.rows), has_same_sources=going.has_same_sources)
        for one, other in zip(batch, found, strict=True):
            one.finished = other.finished


@dataclass(frozen=True, slots=True)
class _Going:
    """Which rows go on, with which tokens, and whether each takes the place of one of its own question."""

    rows: list[int]
    tokens: list[int]
    has_same_sources: bool


class _Running:
    """The running beams of a batch, equally many a question."""

    def __init__(self, searches: list[_Search | None], n_beams: int, end_ids: frozenset[int], keeps_done: bool) -> None:
        self._searches = searches  # None: done, or there to fill the batch
        self._n_beams = n_beams
        self._end_ids = sorted(end_ids)
        self._keeps_done = keeps_done
        self._sums = torch.zeros(len(searches), 1)
        self._tokens = np.zeros((len(searches), 1, 0), np.int64)
        self._log_probs = np.zeros((len(searches), 1, 0))

    def advance(self, logits: torch.Tensor, *, is_last: bool) -> _Going | None:
        """Add a token to all beams; return what goes on, or None if all questions are done.

        Args:
            logits: one line a beam.
            is_last: whether all that goes on is finished by its length.
        """
        n_items, n_running = self._sums.shape
        n_vocabulary = logits.shape[-1]
        totals = logits.logsumexp(-1).view(n_items, n_running)
        sums = logits.view(n_items, n_running, -1) + (self._sums.to(totals) - totals)[:, :, None]
        values, places = best(sums.view(n_items, -1), (1 + max(1, len(self._end_ids))) * self._n_beams)
        gains = logits.view(n_items, -1).gather(1, places) - totals.gather(1, places // n_vocabulary)
        chosen = (places % n_vocabulary).cpu().numpy()
        items, parents = np.arange(n_items)[:, None], (places // n_vocabulary).cpu().numpy()
        self._sums = values.cpu()
        self._tokens = np.concatenate((self._tokens[items, parents], chosen[:, :, None]), 2)
        self._log_probs = np.concatenate((self._log_probs[items, parents], gains.double().cpu().numpy()[:, :, None]), 2)
        ends = np.isin(chosen, self._end_ids)
        self._finish(ends | is_last)
        return None if is_last else self._go_on(ends, items * n_running + parents, n_running)

    def _finish(self, ends: np.ndarray) -> None:
        """Keep the beams among the first that are finished; a question with as many as it has beams is done."""
        for item, search in enumerate(self._searches):
            if search is None:
                continue
            finished = np.flatnonzero(ends[item, : self._n_beams])
            tokens, log_probs = self._tokens[item, finished].tolist(), self._log_probs[item, finished].tolist()
            search.finish(tokens, log_probs, self._n_beams)
            if np.isnan(self._log_probs[item]).any():
                search.finished = []
                self._searches[item] = None
            elif len(search.finished) == self._n_beams:
                self._searches[item] = None

    def _go_on(self, ends: np.ndarray, rows: np.ndarray, n_running: int) -> _Going | None:
        """Go on with the first beams that have no end, of questions that are not done."""
        kept = [item for item, search in enumerate(self._searches) if search is not None]
        if not kept:
            return None
        n_items = len(self._searches)
        if self._keeps_done:
            kept = list(range(n_items))
        items = np.array(kept)[:, None]
        n_going = min(self._n_beams, int((~ends).sum(1).min()))
        going = np.argsort(ends, axis=1, kind="stable")[kept, :n_going]
        tokens = self._tokens[items, going]
        self._searches = [self._searches[item] for item in kept]
        self._sums, self._tokens, self._log_probs = self._sums[items, going], tokens, self._log_probs[items, going]
        has_same_sources = len(kept) == n_items and n_going == n_running
        return _Going(rows[items, going].ravel().tolist(), tokens[:, :, -1].ravel().tolist(), has_same_sources)
