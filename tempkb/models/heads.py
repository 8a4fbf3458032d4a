"""The vocabulary head of a model, at chosen positions only, and log-probabilities from what it gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from tempkb.errors import ModelError
from tempkb.models.loading import LoadedModel

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
