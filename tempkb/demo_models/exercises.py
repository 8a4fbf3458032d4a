"""Sentences as exercises of each family: what a model is shown, and which tokens it has to name.

A causal model names every token after those before it. Masked models and models with sentinels name one hidden name of
the sentence, or a few of its tokens if there is no name in it.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from tempkb.demo_models.lessons import Row
from tempkb.demo_models.tokenizing import BEGIN, END, MASK, PAD, SENTINELS
from tempkb.models.families import Family

_FEW = 3  # tokens that are hidden of a sentence without names, at most


class Exercises(ABC):
    """Computes what a model has to learn from a step.

    Args:
        special: number of each special token.
        whole: share of the names that are hidden whole.
        seed: decides what is hidden.
    """

    def __init__(self, special: Mapping[str, int], whole: float, seed: int) -> None:
        self._special, self._whole = special, whole
        self._chance = random.Random(f"exercises/{seed}")  # noqa: S311 - reproducible chance, not secrets

    @abstractmethod
    def loss(self, module: Any, rows: Sequence[Row]) -> torch.Tensor:
        """Return the mean of -log p in nats over the tokens that are asked for, with its gradient."""

    def _padded(self, lists: Sequence[Sequence[int]]) -> torch.Tensor:
        longest = max(map(len, lists))
        return torch.tensor([[*one, *[self._special[PAD]] * (longest - len(one))] for one in lists])

    def _hidden(self, row: Row) -> tuple[int, int]:
        """The tokens [start, end) of a sentence that are to be hidden."""
        if row.names:
            return self._chance.choice(row.names)
        start = self._chance.randrange(len(row.ids))
        return start, min(len(row.ids), start + self._chance.randint(1, _FEW))


class CausalExercises(Exercises):
    """Each token after those before it, and the end of the sentence."""

    def loss(self, module: Any, rows: Sequence[Row]) -> torch.Tensor:
        """See `Exercises`."""
        ids = self._padded([(self._special[BEGIN], *row.ids, self._special[END]) for row in rows])
        # What comes after a token has no influence on it, so padding need not be hidden.
        states = module.base_model(ids[:, :-1]).last_hidden_state
        asked = ids[:, 1:] != self._special[PAD]
        return cross_entropy(module.get_output_embeddings()(states[asked]), ids[:, 1:][asked])


class MaskedExercises(Exercises):
    """A name of which some or all tokens are masked: those from one on, as `answer_l2r` masks them."""

    def loss(self, module: Any, rows: Sequence[Row]) -> torch.Tensor:
        """See `Exercises`."""
        shown: list[list[int]] = []
        targets: list[int] = []
        for row in rows:
            start, end = self._hidden(row)
            if self._chance.random() >= self._whole:
                start = self._chance.randrange(start, end)
            masked = [*row.ids[:start], *[self._special[MASK]] * (end - start), *row.ids[end:]]
            shown.append([self._special[BEGIN], *masked, self._special[END]])
            targets += row.ids[start:end]
        ids = self._padded(shown)
        attention = (ids != self._special[PAD]).long()
        states = module.base_model(ids, attention_mask=attention).last_hidden_state
        return cross_entropy(module.lm_head(states[ids == self._special[MASK]]), torch.tensor(targets))


class SentinelExercises(Exercises):
    """A name in whose place a sentinel stands; the answer is that sentinel, the name and the next sentinel."""

    def loss(self, module: Any, rows: Sequence[Row]) -> torch.Tensor:
        """See `Exercises`."""
        first, last = (self._special[sentinel] for sentinel in SENTINELS)
        sources, answers = [], []
        for row in rows:
            start, end = self._hidden(row)
            sources.append([*row.ids[:start], first, *row.ids[end:], self._special[END]])
            answers.append([first, *row.ids[start:end], last])
        ids, labels = self._padded(sources), self._padded(answers)
        asked = labels != self._special[PAD]
        begun = torch.full((len(rows), 1), module.config.decoder_start_token_id)
        logits = module(
            input_ids=ids,
            attention_mask=(ids != self._special[PAD]).long(),
            decoder_input_ids=torch.cat([begun, labels[:, :-1]], 1),
        ).logits
        return cross_entropy(logits[asked], labels[asked])


EXERCISES: Mapping[Family, type[Exercises]] = {
    "causal": CausalExercises,
    "masked": MaskedExercises,
    "seq2seq": SentinelExercises,
}
