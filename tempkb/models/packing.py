"""How much a model computes at once: batches by a budget of tokens, their shapes, and what is done without memory.

What asks a model is a `Packer`: it puts items of like size together, and takes smaller batches when memory runs out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import torch

from tempkb.errors import ModelMemoryError
from tempkb.models.loading import LoadedModel

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
