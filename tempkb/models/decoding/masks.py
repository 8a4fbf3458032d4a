"""Answers of masked models: 1 to 5 masks in the gap of a question, filled from left to right.

For each number m of masks there is one answer, and the model's own score says which ranks first. The m masks stand for
the gap and the blanks before it: what a model puts there is decoded and stripped, whatever its tokenizer does with
blanks (` Paris` of byte-level ones, `▁Paris` of SentencePiece, `paris` of WordPiece), and `add_prefix_space` is no
question, since what surrounds the gap has the tokens of a statement.

- `masked.beam10` (default): a beam of 10 over the masks, by the sum of log-probabilities, each of them with the tokens
  before it filled in and the masks behind it open. The score is the mean log-probability of a token.
- `masked.greedy`: the same with a beam of 1.
- `masked.paper`: the sampling of DynamicTempLAMA's released code, corrected. For m = 1 the token of the highest logit;
  for m >= 2 the best of 100 samples, each token drawn from the 10 likeliest at temperature 1; the score is the mean raw
  logit. The released code reads the logits of its first sample for all 100, so that from the second mask on a score is
  about another text than that of its sample; here each sample's own logits are read. Its one seed for a whole run makes
  a question's answers depend on the questions before it; here the seed is made of the question's id and m.

Equal rows are computed once, and the vocabulary only at the mask that is filled next.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tempkb.core.prompts import Question
from tempkb.models.batching import Limits, Packer, only_at, wide
from tempkb.models.decoding.replies import Generated, GenerationStatus
from tempkb.models.decoding.stepping import Said, best, decoded, filled, gap_of, told
from tempkb.models.loading import LoadedModel
from tempkb.models.scorers import MASKS

SAMPLES, TOP_K, SEED = 100, 10, 42
"""Of `masked.paper`: samples a question and number of masks, tokens that are drawn from, and the seed of all."""

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Around:
    """The tokens around a gap, special ones included."""

    left: Tokens
    right: Tokens


@dataclass(frozen=True, slots=True)
class Top:
    """The likeliest tokens at a mask, the likeliest first, with their logits, and the logarithm of the sum of all."""

    tokens: list[int]
    logits: list[float]
    total: float

    @property
    def is_finite(self) -> bool:
        """Whether all of these are numbers."""
        return math.isfinite(self.total) and all(map(math.isfinite, self.logits))


@dataclass(frozen=True, slots=True)
class Filled:
    """What some masks were filled with, with the logit and log-probability of each token."""

    tokens: Tokens = ()
    logits: tuple[float, ...] = ()
    log_probs: tuple[float, ...] = ()

    def with_next(self, top: Top, number: int) -> "Filled":
        """Return this with one of the likeliest tokens behind it."""
        logit = top.logits[number]
        return Filled((*self.tokens, top.tokens[number]), (*self.logits, logit), (*self.log_probs, logit - top.total))


class Filling(ABC):
    """Fills masks from left to right.

    Attributes:
        n_top: how many of the likeliest tokens are looked at.
    """

    n_top: int

    def __init__(self, model: LoadedModel, limits: Limits | None, mask_id: int) -> None:
        self.model = model
        self._mask_id = mask_id
        self._peeker = _Peeker(model, limits)

    @property
    def batch_tokens(self) -> int:
        """Padded tokens of a batch; fewer than at first if memory ran out."""
        return self._peeker.batch_tokens

    def answers(self, questions: Sequence[Question]) -> list[list[Generated]]:
        """Return the best answer of each number of masks, by score."""
        arounds = self._arounds(questions)
        asked = [(question, one) for question, one in zip(questions, arounds, strict=True) if isinstance(one, Around)]
        searches = [[self.search(question, m) for m in range(1, MASKS + 1)] for question, _ in asked]
        for step in range(MASKS):
            going = [
                (around, search)
                for (_, around), of_question in zip(asked, searches, strict=True)
                for search in of_question[step:]
            ]
            self._fill(going)
        found = iter(searches)
        return [
            self._ranked(next(found)) if isinstance(around, Around) else [Generated(1, around)] for around in arounds
        ]

    @abstractmethod
    def search(self, question: Question, m: int) -> "Search":
        """Return what keeps the fillings of a number of masks."""

    def _arounds(self, questions: Sequence[Question]) -> list[Around | GenerationStatus]:
        most = self.model.context_tokens
        found: list[Around | GenerationStatus] = []
        for question, tokens in zip(questions, self.model.tokenize(list(map(filled, questions))), strict=True):
            gap = gap_of(question, tokens)
            if gap is None:
                found.append("not_alignable")
            elif most is not None and len(tokens.ids) - len(gap) + MASKS > most:
                found.append("too_long")
            else:
                found.append(Around(tokens.ids[: gap.start], tokens.ids[gap.end :]))
        return found

    def _fill(self, going: Sequence[tuple[Around, "Search"]]) -> None:
        """Fill one more mask of each search."""
        rows: dict[tuple[Tokens, int], Top | None] = {}
        wanted: list[dict[Tokens, tuple[Tokens, int]]] = []
        for around, search in going:
            of_search = {tokens: self._row(around, tokens, search.m) for tokens in search.beginnings()}
            rows |= dict.fromkeys(of_search.values())
            wanted.append(of_search)
        tops = dict(zip(rows, self._peeker.top(list(rows), self.n_top), strict=True))
        for (_, search), of_search in zip(going, wanted, strict=True):
            search.fill({tokens: tops[row] for tokens, row in of_search.items()})

    def _row(self, around: Around, tokens: Tokens, m: int) -> tuple[Tokens, int]:
        """What the model reads, and the place of the next mask."""
        masks = (self._mask_id,) * (m - len(tokens))
        return (*around.left, *tokens, *masks, *around.right), len(around.left) + len(tokens)

    def _ranked(self, searches: Sequence["Search"]) -> list[Generated]:
        if not all(search.is_finite for search in searches):
            return [Generated(1, "not_finite")]
        scored = sorted(((search.score(), search.best()) for search in searches), key=lambda one: -one[0])
        return [self._generated(rank, score, one) for rank, (score, one) in enumerate(scored, 1)]

    def _generated(self, rank: int, score: float, one: Filled) -> Generated:
        name = decoded(self.model, one.tokens).strip()
        said = Said(list(one.tokens), list(one.log_probs))
        return replace(told(self.model, said, name, "mask_count", rank), score=score)


class Search(ABC):
    """The fillings of a number of masks, of one question."""

    def __init__(self, m: int) -> None:
        self.m = m
        self.is_finite = True

    @abstractmethod
    def beginnings(self) -> list[Tokens]:
        """Return what was filled in so far, none twice."""

    @abstractmethod
    def fill(self, tops: dict[Tokens, Top]) -> None:
        """Fill the next mask, given the likeliest tokens behind each beginning."""

    @abstractmethod
    def best(self) -> Filled:
        """Return the best of all."""

    @abstractmethod
    def score(self) -> float:
        """Return its score."""


class BeamSearch(Search):
    """The likeliest fillings, equal ones by their tokens."""

    def __init__(self, m: int, n_beams: int) -> None:
        super().__init__(m)
        self._n_beams = n_beams
        self._beams = [Filled()]

    def beginnings(self) -> list[Tokens]:
        """Return all beams."""
        return [beam.tokens for beam in self._beams]

    def fill(self, tops: dict[Tokens, Top]) -> None:
        """Keep the likeliest of all beams with all likeliest tokens behind them."""
        self.is_finite = self.is_finite and all(top.is_finite for top in tops.values())
        longer = [
            beam.with_next(tops[beam.tokens], number)
            for beam in self._beams
            for number in range(len(tops[beam.tokens].tokens))
        ]
        self._beams = sorted(longer, key=lambda one: (-math.fsum(one.log_probs), one.tokens))[: self._n_beams]

    def best(self) -> Filled:
        """Return the likeliest."""
        return self._beams[0]

    def score(self) -> float:
        """Return the mean log-probability of its tokens."""
        return math.fsum(self.best().log_probs) / self.m


class Samples(Search):
    """Samples of which the one with the highest mean logit is the answer, equal ones by their tokens."""

    def __init__(self, m: int, question: Question) -> None:
        super().__init__(m)
        self._drawn = draws(question, m)
        self._samples = [Filled()] * len(self._drawn[0])

    def beginnings(self) -> list[Tokens]:
        """Return the distinct samples."""
        return list(dict.fromkeys(sample.tokens for sample in self._samples))

    def fill(self, tops: dict[Tokens, Top]) -> None:
        """Draw the next token of each sample; of a single mask, take the likeliest."""
        self.is_finite = self.is_finite and all(top.is_finite for top in tops.values())
        if not self.is_finite:
            return
        sums = {tokens: np.cumsum(_chances(top)) for tokens, top in tops.items()}
        numbers = self._drawn[len(self._samples[0].tokens)]
        longer: dict[tuple[Tokens, int], Filled] = {}
        for at, (sample, drawn) in enumerate(zip(self._samples, numbers, strict=True)):
            of_sample = sums[sample.tokens]
            number = min(int(np.searchsorted(of_sample, drawn, side="right")), len(of_sample) - 1)
            key = (sample.tokens, number)
            if key not in longer:
                longer[key] = sample.with_next(tops[sample.tokens], number)
            self._samples[at] = longer[key]

    def best(self) -> Filled:
        """Return the sample of the highest mean logit."""
        return min(self._samples, key=lambda one: (-math.fsum(one.logits), one.tokens))

    def score(self) -> float:
        """Return its mean logit."""
        return math.fsum(self.best().logits) / self.m


def draws(question: Question, m: int) -> np.ndarray:
    """Return the numbers in [0, 1) with which masks are filled, [m, samples]: the same for a question in any company.

    A sample takes the first of the likeliest tokens at which their probabilities add up to more than its number.
    """
    if m == 1:
        return np.zeros((1, 1))
    digest = hashlib.sha256(f"{SEED}:{question.question_id}:{m}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big")).random((m, SAMPLES))


def _chances(top: Top) -> np.ndarray:
    raised = np.exp(np.array(top.logits) - top.logits[0])
    return np.asarray(raised / raised.sum())


class MaskBeams(Filling):
    """`masked.beam10` and `masked.greedy`."""

    def __init__(self, model: LoadedModel, limits: Limits | None, mask_id: int, n_beams: int) -> None:
        super().__init__(model, limits, mask_id)
        self.n_top = n_beams

    def search(self, question: Question, m: int) -> Search:
        """Return a beam."""
        return BeamSearch(m, self.n_top)


class MaskSamples(Filling):
    """`masked.paper`."""

    n_top = TOP_K

    def search(self, question: Question, m: int) -> Search:
        """Return samples."""
        return Samples(m, question)


class _Peeker(Packer):
    """Reads the likeliest tokens at one place of each row."""

    def top(self, rows: Sequence[tuple[Tokens, int]], n_top: int) -> list[Top]:
        """Return the likeliest tokens of each row at its place."""
        found: dict[int, Top] = {}

        def read(batch: list[int]) -> None:
            found.update(zip(batch, self._read([rows[at] for at in batch], n_top), strict=True))

        with self.model.computing():
            for batch in self.batches(list(range(len(rows))), lambda at: (len(rows[at][0]), 1)) if rows else ():
                self.halving(batch, read)
        return [found[at] for at in range(len(rows))]

    def _read(self, rows: list[tuple[Tokens, int]], n_top: int) -> list[Top]:
        shape = self.shape([(len(tokens), 1) for tokens, _ in rows])
        ids, mask = self.padded([tokens for tokens, _ in rows], shape)
        places = [place for _, place in rows] + [rows[0][1]] * (shape.n_rows - len(rows))
        with only_at(self.model, self.tensor(list(range(shape.n_rows))), self.tensor(places)):
            logits = wide(self.model.module(input_ids=ids, attention_mask=mask).logits[0, : len(rows)])
        values, tokens = best(logits, n_top)
        totals = logits.logsumexp(-1).tolist()
        return [Top(*one) for one in zip(tokens.tolist(), values.tolist(), totals, strict=True)]
