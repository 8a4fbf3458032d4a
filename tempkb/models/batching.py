"""Asks a model for the log-probabilities of many rows: no row twice, in batches, the vocabulary only where it is read.

Rows that a model reads alike become one input, from which all their tokens are read. Inputs are sorted by length and
packed by a budget of tokens; where memory runs out, batches become smaller. What several inputs have in common is
computed once: a source by the encoder, the tokens before the candidates of one query by a causal model. The vocabulary
head sees only the positions that are read.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, DynamicLayer
from transformers.modeling_outputs import BaseModelOutput

from tempkb.core.errors import ModelError, ModelMemoryError
from tempkb.models.loading import LoadedModel
from tempkb.models.rows import Row

T = TypeVar("T")

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


@dataclass(frozen=True)
class Shape:
    """The shape of a batch: rows, tokens a row, positions that are read a row (None: as many as there are)."""

    n_rows: int
    length: int
    n_read: int | None = None


class Packer:
    """Packs what one model is asked for. The budget of a batch shrinks for good when memory runs out.

    Attributes:
        usual_tokens: of a batch, on a CPU and on other devices, where the limits name none.
    """

    usual_tokens: ClassVar[tuple[int, int]] = (1024, 16_384)

    def __init__(self, model: LoadedModel, limits: Limits | None = None) -> None:
        self.model = model
        self.limits = limits or Limits()
        on_cpu, elsewhere = self.usual_tokens
        self.batch_tokens = self.limits.batch_tokens or (on_cpu if model.device.type == "cpu" else elsewhere)
        if self.limits.has_fixed_shapes:
            # Other implementations of attention choose a kernel by whether anything in the batch is padded.
            model.module.set_attn_implementation("eager")

    def batches(self, items: list[T], size: Callable[[T], tuple[int, int]], beside: int = 0) -> Iterator[list[T]]:
        """Items of like size, in batches within the budget.

        Args:
            items: what is put into batches.
            size: gives the tokens of an item, and at how many positions it is read.
            beside: tokens that each item brings along; the longer of the two counts.
        """
        rounded: dict[tuple[int, int], list[T]] = {}
        for item in items:
            key = self.rounded(*size(item)) if self.limits.has_fixed_shapes else (0, 0)
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

    def shape(self, sizes: list[tuple[int, int]], beside: int = 0) -> Shape:
        """Return the shape of a batch of items of these sizes."""
        if not self.limits.has_fixed_shapes:
            return Shape(len(sizes), max(length for length, _ in sizes))
        length, n_read = self.rounded(*sizes[0])
        return Shape(max(1, self.batch_tokens // max(length, beside)), length, n_read)

    def rounded(self, length: int, n_read: int) -> tuple[int, int]:
        """Return the size in the mode of fixed shapes: tokens up to a multiple, positions up to a power of two."""
        rounded = -(-length // _LENGTH_STEP) * _LENGTH_STEP
        most = self.model.context_tokens
        return rounded if most is None else min(rounded, most), 1 << max(n_read - 1, 0).bit_length()

    def halving(self, items: list[T], read: Callable[[list[T]], None]) -> None:
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
        self.halving(items[:middle], read)
        self.halving(items[middle:], read)

    def _no_memory(self) -> str:
        what = "a batch of fixed shape" if self.limits.has_fixed_shapes else "a single input"
        return (
            f"The memory of {self.model.device} is too small for {what} of this model in {self.model.dtype}; expected "
            "at least that to fit. Choose a device with more memory, bfloat16, or fewer tokens a batch "
            f"(now {self.batch_tokens})."
        )

    def padded(self, rows: list[tuple[int, ...]], shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
        """Return token ids, filled up at the end, and a mask of those that count; missing rows repeat the first."""
        ids = np.full((shape.n_rows, shape.length), self.model.pad_id, np.int64)
        mask = np.zeros((shape.n_rows, shape.length), np.int64)
        for at in range(shape.n_rows):
            row = rows[at] if at < len(rows) else rows[0]
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        return torch.from_numpy(ids).to(self.model.device), torch.from_numpy(mask).to(self.model.device)

    def tensor(self, numbers: list[int]) -> torch.Tensor:
        """Return numbers on the model's device."""
        return torch.tensor(numbers, dtype=torch.int64, device=self.model.device)


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory ran out; on a CPU, torch says so by a plain error."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


_LINES_AT_ONCE = 256  # distributions over the vocabulary that are normalised at once, which bounds the memory


@contextmanager
def only_at(model: LoadedModel, rows: torch.Tensor, positions: torch.Tensor) -> Iterator[None]:
    """Within this block the model's head sees only the given positions of the given rows, one line each.

    A head works on each position by itself, and is often dearer than the rest of the model. Its input is cut down on
    the way there, so that whatever an architecture does between its last layer and its logits stays as it is: T5's
    scaling with tied embeddings, BART's bias, caps on logits.

    Raises:
        ModelError: the model did not pass through the layers whose output is cut down, or more went to its head.
    """
    n_passes = 0

    def choose(module: Any, arguments: Any, output: Any) -> Any:
        nonlocal n_passes
        n_passes += 1
        if isinstance(output, tuple):
            return (output[0][rows, positions][None], *output[1:])
        name = next(iter(output))
        output[name] = output[name][rows, positions][None]
        return output

    def require_chosen(module: Any, arguments: Any, output: Any) -> None:
        found = tuple(output.logits.shape[:2])
        if n_passes != 1 or found != (1, len(rows)):
            raise ModelError(
                f"{type(module).__name__} cannot be read at chosen positions: found logits of {found[0]} rows and "
                f"{found[1]} positions after {n_passes} passes through its layers; expected (1, {len(rows)}) after one "
                "pass. Choose a model of another architecture."
            )

    handles = [_stack(model).register_forward_hook(choose), model.module.register_forward_hook(require_chosen)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _stack(model: LoadedModel) -> Any:
    """The layers before the head.

    Of models that predict text these are often a part of the base model, which does not run as such (OPT). What some
    architectures call their decoder is the head itself, which is no model.
    """
    found = model.traits.layers(model.module)
    return found if isinstance(found, PreTrainedModel) else model.module.base_model


def wide(logits: torch.Tensor) -> torch.Tensor:
    """Return logits in float32 at least, in which log-probabilities are computed."""
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits


def log_probs(
    logits: torch.Tensor, lines: torch.Tensor, targets: torch.Tensor, has_ranks: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the natural logarithm of each target's probability, and its rank (0 if not asked for).

    Args:
        logits: one line of the vocabulary's size a position that was read.
        lines: of each target, its line, ascending.
        targets: tokens.
        has_ranks: whether ranks are wanted: 1 + how many tokens are likelier.
    """
    found = torch.empty(len(lines), dtype=torch.float64)
    ranks = torch.zeros(len(lines), dtype=torch.int64)
    for start in range(0, len(logits), _LINES_AT_ONCE):
        here = ((lines >= start) & (lines < start + _LINES_AT_ONCE)).nonzero().flatten()
        part = logits[start : start + _LINES_AT_ONCE]
        part = wide(part).log_softmax(-1)
        at, wanted = lines[here] - start, targets[here]
        values = part[at, wanted]
        found[here.cpu()] = values.to(device="cpu", dtype=torch.float64)
        if has_ranks:
            ranks[here.cpu()] = 1 + (part[at] > values[:, None]).sum(-1).cpu()
    return found.numpy(), ranks.numpy()


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
