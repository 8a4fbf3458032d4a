"""A model in memory, ready to be asked: module, tokenizer, device and number type."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tempkb.core.model_words import Dtype, Family
from tempkb.models.families import TRAITS, Traits
from tempkb.models.rows import Planner, Tokens, tokenize


@dataclass(frozen=True)
class LoadedModel:
    """A model that can be asked.

    Attributes:
        module: the model of transformers, in evaluation mode.
        device: where it computes, such as `cpu` or `cuda:0`.
        dtype: in which numbers; log-probabilities are computed in float32 at least.
        context_tokens: how many tokens it reads, special ones included; None for any number.
    """

    family: Family
    module: Any
    tokenizer: Any
    device: torch.device
    dtype: Dtype
    context_tokens: int | None

    @property
    def traits(self) -> Traits:
        """What tells its family from the others."""
        return TRAITS[self.family]

    def planner(self, template: str) -> Planner:
        """Return what turns prompts into rows for this model.

        Raises:
            ModelError: the tokenizer lacks a token that the template needs.
        """
        return self.traits.planner(template, self.tokenizer, self.module.config, self.context_tokens)

    @property
    def pad_id(self) -> int:
        """A token that fills up rows; what it is has no influence, since it is hidden from the others."""
        of_config = getattr(self.module.config, "pad_token_id", None)
        for found in (self.tokenizer.pad_token_id, of_config, self.tokenizer.eos_token_id):
            if found is not None:
                return int(found)
        return 0

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Within this block the model computes without gradients, and in its number type throughout.

        Architectures compute some of their steps in float32 whatever their weights are: norms of T5 and Llama, the
        attention of GPT-Neo. A model in float64 is there to compare with, so it takes no such step.
        """
        with torch.inference_mode():
            if self.dtype != "float64":
                yield
                return
            with _Float64():
                yield

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenize texts."""
        return tokenize(self.tokenizer, texts)


def loaded(
    family: Family,
    module: Any,
    tokenizer: Any,
    device: str = "cpu",
    dtype: Dtype = "float32",
    context_tokens: int | None = None,
) -> LoadedModel:
    """Put a module on a device in a number type, ready to be asked.

    A module whose weights are of that type already keeps all else as it is: what architectures hold in float32 on
    purpose, such as the frequencies of rotary positions, is too coarse in bfloat16.
    """
    place, number = torch.device(device), getattr(torch, dtype)
    if module.dtype != number:
        module = module.to(dtype=number)
    module = module.to(device=place).eval().requires_grad_(False)
    return LoadedModel(family, module, tokenizer, place, dtype, context_tokens)


class _Float64(TorchFunctionMode):
    """Reads float64 where a model asks for float32."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        args = [torch.float64 if one is torch.float32 else one for one in args]
        kwargs = {name: torch.float64 if one is torch.float32 else one for name, one in (kwargs or {}).items()}
        return func(*args, **kwargs)
