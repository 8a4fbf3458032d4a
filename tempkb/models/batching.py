"""Asks a model for the log-probabilities of many rows: no row twice, in batches, the vocabulary only where it is read.

Rows that a model reads alike become one input, from which all their tokens are read. Inputs are sorted by length and
packed by a budget of tokens. What several inputs have in common is computed once: a source by the encoder, the tokens
before the candidates of one query by a causal model. The vocabulary head sees only the positions that are read.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer
from transformers.modeling_outputs import BaseModelOutput

from tempkb.errors import ModelMemoryError
from tempkb.models.heads import log_probs, only_at
from tempkb.models.loading import LoadedModel
from tempkb.models.rows import Row

T = TypeVar("T")

_CPU_TOKENS, _GPU_TOKENS = 1024, 16_384
_LENGTH_STEP = 32  # in the mode of fixed shapes, lengths are multiples of it


@dataclass(frozen=True)
class Limits:
    """How much is computed at once.

    Attributes:
        batch_tokens: padded tokens of a batch; None for what is fast on the model's device.
        has_fixed_shapes: whether the shape of every computation depends on its own row alone, so that a machine gives a
            row the same bytes in any company. Slower.
    """

    batch_tokens: int | None = None
    has_fixed_shapes: bool = False


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
class _Shape:
    """The shape of a batch: rows, tokens a row, positions that are read a row (None: as many as there are)."""

    n_rows: int
    length: int
    n_read: int | None = None


@dataclass(frozen=True)
class _Group:
    """Inputs that have a source or a beginning in common."""

    common: tuple[int, ...]
    members: list[_Input]


class Reader:
    """Asks one model. The budget of a batch shrinks for good when memory runs out."""

    def __init__(self, model: LoadedModel, limits: Limits | None = None, has_ranks: bool = False) -> None:
        self.model = model
        self.limits = limits or Limits()
        self.has_ranks = has_ranks
        default = _CPU_TOKENS if model.device.type == "cpu" else _GPU_TOKENS
        self.batch_tokens = self.limits.batch_tokens or default
        if self.limits.has_fixed_shapes:
            # Other implementations of attention choose a kernel by whether anything in the batch is padded.
            model.module.set_attn_implementation("eager")

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
            for batch in self._batches(by_source, lambda one: (len(one.common), 0)):
                self._halving(batch, lambda part: self._read_sources(part, results))
            return
        alone, groups = inputs, []
        if self._can_share:
            by_beginning = _grouped(inputs, lambda one: one.tokens[: one.n_shared])
            alone = [group.members[0] for group in by_beginning if len(group.members) == 1]
            groups = [group for group in by_beginning if len(group.members) > 1]
        for rows in self._batches(alone, _size):
            self._halving(rows, lambda part: self._read_rows(part, results))
        # Beginnings of one length need no padding, which would lie between them and what follows.
        for same in _grouped_by_length(groups):
            for batch in self._batches(same, lambda one: (len(one.common), 1)):
                self._halving(batch, lambda part: self._read_beginnings(part, results))

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
        shape = self._shape([_size(one) for one in inputs])
        ids, mask = self._padded([one.tokens for one in inputs], shape)
        # What a causal model reads is never influenced by what follows, so nothing needs to be hidden from it.
        extra = {"attention_mask": mask} if self.model.traits.sees_later else {"use_cache": False}
        self._read_off(inputs, shape, results, input_ids=ids, **extra)

    def _read_sources(self, groups: list[_Group], results: _Results) -> None:
        """Encode sources once, and read all their answers."""
        shape = self._shape([(len(group.common), 0) for group in groups])
        ids, mask = self._padded([group.common for group in groups], shape)
        states = self.model.module.get_encoder()(input_ids=ids, attention_mask=mask)[0]
        answers = [(row, one) for row, group in enumerate(groups) for one in group.members]

        def read(part: list[tuple[int, _Input]]) -> None:
            inputs = [one for _, one in part]
            inner = self._shape([_size(one) for one in inputs], shape.length)
            rows = self._tensor([row for row, _ in part] + [part[0][0]] * (inner.n_rows - len(part)))
            ids, _ = self._padded([one.tokens for one in inputs], inner)
            self._read_off(
                inputs,
                inner,
                results,
                encoder_outputs=BaseModelOutput(last_hidden_state=states[rows]),
                attention_mask=mask[rows],
                decoder_input_ids=ids,
                use_cache=False,
            )

        for batch in self._batches(answers, lambda one: _size(one[1]), shape.length):
            self._halving(batch, read)

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
        shape = self._shape([_size(one) for one in heads])
        ids, _ = self._padded([one.tokens for one in heads], shape)
        cache = self._read_off(heads, shape, results, input_ids=ids, use_cache=True).past_key_values

        def read(part: list[tuple[int, _Input]]) -> None:
            inputs = [one for _, one in part]
            inner = self._shape([_size(one) for one in inputs])
            ids, _ = self._padded([one.tokens for one in inputs], inner)
            rows = self._tensor([row for row, _ in part])
            self._read_off(inputs, inner, results, input_ids=ids, past_key_values=_rows_of(cache, rows), use_cache=True)

        for batch in self._batches(tails, lambda one: _size(one[1]), shape.length):
            self._halving(batch, read)

    def _read_off(self, inputs: list[_Input], shape: _Shape, results: _Results, **arguments: Any) -> Any:
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
        with only_at(self.model, self._tensor(rows), self._tensor(positions)):
            given = self.model.module(**arguments)
        results.log_probs[slots], results.ranks[slots] = log_probs(
            given.logits[0], self._tensor(lines), self._tensor(targets), self.has_ranks
        )
        return given

    def _batches(self, items: list[T], size: Callable[[T], tuple[int, int]], beside: int = 0) -> Iterator[list[T]]:
        """Items of like size, in batches within the budget.

        Args:
            size: gives the tokens of an item, and at how many positions it is read.
            beside: tokens that each item brings along; the longer of the two counts.
        """
        rounded: dict[tuple[int, int], list[T]] = {}
        for item in items:
            key = self._rounded(*size(item)) if self.limits.has_fixed_shapes else (0, 0)
            rounded.setdefault(key, []).append(item)
        for (length, _), same in sorted(rounded.items(), key=lambda one: one[0]):
            batch: list[T] = []
            for item in sorted(same, key=lambda one: size(one)[0]):
                longest = max(length, size(item)[0], beside)
                if batch and (len(batch) + 1) * longest > self.batch_tokens:
                    yield batch
                    batch = []
                batch.append(item)
            yield batch

    def _shape(self, sizes: list[tuple[int, int]], beside: int = 0) -> _Shape:
        """The shape of a batch of items of these sizes."""
        if not self.limits.has_fixed_shapes:
            return _Shape(len(sizes), max(length for length, _ in sizes))
        length, n_read = self._rounded(*sizes[0])
        return _Shape(max(1, self.batch_tokens // max(length, beside)), length, n_read)

    def _rounded(self, length: int, n_read: int) -> tuple[int, int]:
        """Size in the mode of fixed shapes: tokens up to a multiple, positions up to a power of two."""
        rounded = -(-length // _LENGTH_STEP) * _LENGTH_STEP
        most = self.model.context_tokens
        return rounded if most is None else min(rounded, most), 1 << max(n_read - 1, 0).bit_length()

    def _halving(self, items: list[T], read: Callable[[list[T]], None]) -> None:
        """Read a batch; if memory runs out, its halves, and smaller batches from then on."""
        try:
            read(items)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            if len(items) == 1 or self.limits.has_fixed_shapes:
                raise ModelMemoryError(self._no_memory()) from error
        else:
            return
        # Outside the handler, whose traceback would keep the tensors of the failed attempt.
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        self.batch_tokens = max(1, self.batch_tokens // 2)
        middle = len(items) // 2
        self._halving(items[:middle], read)
        self._halving(items[middle:], read)

    def _no_memory(self) -> str:
        what = "a batch of fixed shape" if self.limits.has_fixed_shapes else "a single input"
        return (
            f"The memory of {self.model.device} is too small for {what} of this model in {self.model.dtype}; expected "
            "at least that to fit. Choose a device with more memory, bfloat16, or fewer tokens a batch "
            f"(now {self.batch_tokens})."
        )

    def _padded(self, rows: list[tuple[int, ...]], shape: _Shape) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids, filled up at the end, and a mask of those that count. Rows that are missing repeat the first."""
        ids = np.full((shape.n_rows, shape.length), self.model.pad_id, np.int64)
        mask = np.zeros((shape.n_rows, shape.length), np.int64)
        for at in range(shape.n_rows):
            row = rows[at] if at < len(rows) else rows[0]
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        return torch.from_numpy(ids).to(self.model.device), torch.from_numpy(mask).to(self.model.device)

    def _tensor(self, numbers: list[int]) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=self.model.device)


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


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory ran out; on a CPU, torch says so by a plain error."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
