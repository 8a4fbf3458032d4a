"""Asks a model for the log-probabilities of many rows: no row twice, in batches, the vocabulary only where it is read.

Rows that a model reads alike become one input, from which all their tokens are read. Inputs are sorted by length and
packed by a budget of tokens. What several inputs have in common is computed once: a source by the encoder, the tokens
before the candidates of one query by a causal model. The vocabulary head sees only the positions that are read.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer
from transformers.modeling_outputs import BaseModelOutput

from tempkb.models.heads import log_probs, only_at
from tempkb.models.loading import LoadedModel
from tempkb.models.packing import Limits, Packer, Shape
from tempkb.models.rows import Row


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read off a row: natural logarithms and ranks (0 if not asked for), one a target."""

    log_probs: tuple[float, ...]
    ranks: tuple[int, ...]


@dataclass(slots=True)
class _Input:
    """What a model reads once, and what is read off it: position, target, place in the results."""

    tokens: tuple[int, ...]
    source: tuple[int, ...] = ()
    n_shared: int = 0
    reads: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def positions(self) -> list[int]:
        return sorted({position for position, _, _ in self.reads})


@dataclass(slots=True)
class _Results:
    """Where readings are kept until all are there."""

    log_probs: np.ndarray
    ranks: np.ndarray


@dataclass(frozen=True)
class _Group:
    """Inputs that have a source or a beginning in common."""

    common: tuple[int, ...]
    members: list[_Input]


class Reader(Packer):
    """Asks one model. The budget of a batch shrinks for good when memory runs out."""

    def __init__(self, model: LoadedModel, limits: Limits | None = None, has_ranks: bool = False) -> None:
        super().__init__(model, limits)
        self.has_ranks = has_ranks

    def read(self, rows: Sequence[Row]) -> list[Readings]:
        """Return what was read off each row, in the order of the rows."""
        inputs: dict[tuple[object, ...], _Input] = {}
        places: dict[Row, range] = {}
        n = 0
        for row in rows:
            if row in places:
                continue
            one = inputs.setdefault(self._key(row), _Input(row.tokens, row.source, row.n_shared))
            one.n_shared = min(one.n_shared, row.n_shared)
            places[row] = range(n, n + len(row.targets))
            one.reads.extend(zip(row.positions, row.targets, places[row], strict=True))
            n += len(row.targets)
        results = _Results(np.full(n, np.nan), np.zeros(n, np.int64))
        with self.model.computing():
            self._read_all(list(inputs.values()), results)
        return [
            Readings(
                tuple(results.log_probs[place.start : place.stop].tolist()),
                tuple(results.ranks[place.start : place.stop].tolist()),
            )
            for place in map(places.__getitem__, rows)
        ]

    def _key(self, row: Row) -> tuple[object, ...]:
        """What rows of one input have in common. How much is read off it is part of a fixed shape."""
        return (row.source, row.tokens, row.positions if self.limits.has_fixed_shapes else ())

    def _read_all(self, inputs: list[_Input], results: _Results) -> None:
        if self.model.traits.has_sources:
            by_source = _grouped(inputs, lambda one: one.source)
            for batch in self.batches(by_source, lambda one: (len(one.common), 0)):
                self.halving(batch, lambda part: self._read_sources(part, results))
            return
        alone, groups = inputs, []
        if self._can_share:
            by_beginning = _grouped(inputs, lambda one: one.tokens[: one.n_shared])
            alone = [group.members[0] for group in by_beginning if len(group.members) == 1]
            groups = [group for group in by_beginning if len(group.members) > 1]
        for rows in self.batches(alone, _size):
            self.halving(rows, lambda part: self._read_rows(part, results))
        # Beginnings of one length need no padding, which would lie between them and what follows.
        for same in _grouped_by_length(groups):
            for batch in self.batches(same, lambda one: (len(one.common), 1)):
                self.halving(batch, lambda part: self._read_beginnings(part, results))

    @property
    def _can_share(self) -> bool:
        """Whether a model continues from a beginning's keys and values, and all that it keeps are these."""
        module = self.model.module
        if not self.model.traits.shares_beginnings or self.limits.has_fixed_shapes:
            return False
        takes_cache = "past_key_values" in inspect.signature(module.forward).parameters
        layers = DynamicCache(config=module.config).layers
        return takes_cache and all(type(layer) is DynamicLayer for layer in layers)

    def _read_rows(self, inputs: list[_Input], results: _Results) -> None:
        shape = self.shape([_size(one) for one in inputs])
        ids, mask = self.padded([one.tokens for one in inputs], shape)
        # What a causal model reads is never influenced by what follows, so nothing needs to be hidden from it.
        extra = {"attention_mask": mask} if self.model.traits.sees_later else {"use_cache": False}
        self._read_off(inputs, shape, results, input_ids=ids, **extra)

    def _read_sources(self, groups: list[_Group], results: _Results) -> None:
        """Encode sources once, and read all their answers."""
        shape = self.shape([(len(group.common), 0) for group in groups])
        ids, mask = self.padded([group.common for group in groups], shape)
        states = self.model.module.get_encoder()(input_ids=ids, attention_mask=mask)[0]
        answers = [(row, one) for row, group in enumerate(groups) for one in group.members]

        def read(part: list[tuple[int, _Input]]) -> None:
            inputs = [one for _, one in part]
            inner = self.shape([_size(one) for one in inputs], shape.length)
            rows = self.tensor([row for row, _ in part] + [part[0][0]] * (inner.n_rows - len(part)))
            ids, _ = self.padded([one.tokens for one in inputs], inner)
            self._read_off(
                inputs,
                inner,
                results,
                encoder_outputs=BaseModelOutput(last_hidden_state=states[rows]),
                attention_mask=mask[rows],
                decoder_input_ids=ids,
                use_cache=False,
            )

        for batch in self.batches(answers, lambda one: _size(one[1]), shape.length):
            self.halving(batch, read)

    def _read_beginnings(self, groups: list[_Group], results: _Results) -> None:
        """Read beginnings once, the first tokens of all that follow off them, and then what follows."""
        heads, tails = [], []
        for row, group in enumerate(groups):
            n = len(group.common)
            head = _Input(group.common)
            for one in group.members:
                head.reads.extend(read for read in one.reads if read[0] < n)
                rest = [(at - n, target, slot) for at, target, slot in one.reads if at >= n]
                if rest:
                    tails.append((row, _Input(one.tokens[n:], reads=rest)))
            heads.append(head)
        shape = self.shape([_size(one) for one in heads])
        ids, _ = self.padded([one.tokens for one in heads], shape)
        cache = self._read_off(heads, shape, results, input_ids=ids, use_cache=True).past_key_values

        def read(part: list[tuple[int, _Input]]) -> None:
            inputs = [one for _, one in part]
            inner = self.shape([_size(one) for one in inputs])
            ids, _ = self.padded([one.tokens for one in inputs], inner)
            rows = self.tensor([row for row, _ in part])
            self._read_off(inputs, inner, results, input_ids=ids, past_key_values=_rows_of(cache, rows), use_cache=True)

        for batch in self.batches(tails, lambda one: _size(one[1]), shape.length):
            self.halving(batch, read)

    def _read_off(self, inputs: list[_Input], shape: Shape, results: _Results, **arguments: Any) -> Any:
        """Ask the model, keep what is read off the inputs, and return what it gave."""
        rows: list[int] = []
        positions: list[int] = []
        lines, targets, slots = [], [], []
        for row, one in enumerate(inputs):
            line = {position: len(rows) + number for number, position in enumerate(one.positions)}
            width = shape.n_read or len(line)
            rows += [row] * width
            positions += [*line, *[one.positions[-1]] * (width - len(line))]
            for position, target, slot in one.reads:
                lines.append(line[position])
                targets.append(target)
                slots.append(slot)
        for row in range(len(inputs), shape.n_rows):
            rows += [row] * (shape.n_read or 0)
            positions += [0] * (shape.n_read or 0)
        with only_at(self.model, self.tensor(rows), self.tensor(positions)):
            given = self.model.module(**arguments)
        results.log_probs[slots], results.ranks[slots] = log_probs(
            given.logits[0], self.tensor(lines), self.tensor(targets), self.has_ranks
        )
        return given


def _size(one: _Input) -> tuple[int, int]:
    return len(one.tokens), len(one.positions)


def _grouped(inputs: list[_Input], common: Callable[[_Input], tuple[int, ...]]) -> list[_Group]:
    groups: dict[tuple[int, ...], list[_Input]] = {}
    for one in inputs:
        groups.setdefault(common(one), []).append(one)
    return [_Group(shared, members) for shared, members in groups.items()]


def _grouped_by_length(groups: list[_Group]) -> list[list[_Group]]:
    by_length: dict[int, list[_Group]] = {}
    for group in groups:
        by_length.setdefault(len(group.common), []).append(group)
    return [by_length[length] for length in sorted(by_length)]


def _rows_of(cache: DynamicCache, rows: torch.Tensor) -> DynamicCache:
    """A copy of some rows of a cache, which the model may extend."""
    copied = DynamicCache()
    for number, layer in enumerate(cache.layers):
        copied.update(layer.keys[rows], layer.values[rows], number)
    return copied
