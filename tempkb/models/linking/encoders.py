"""Turns mentions and entities into vectors by a checkpoint that is loaded with transformers alone.

Texts of one length are encoded together, and a batch is padded only to its own longest text, so that hardly anything is
computed for padding. Texts are read in chunks, so memory does not grow with their number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, normalizers

from tempkb.core.errors import ModelError
from tempkb.engine.items import Report
from tempkb.models.checkpoints import (
    UNFIT,
    check_vocabulary,
    check_weights,
    context_tokens_of,
    quiet_transformers,
    read_tokenizer,
)
from tempkb.models.files import first_line, weight_files
from tempkb.models.linking.checkpoints import Layout, ModuleFiles, layout_of, read_object, read_whole
from tempkb.models.linking.inputs import EntityText, Inputs, MentionText, Tower, Whole

POOLING_MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
"""Ways in which sentence-transformers makes one vector of a text's tokens."""

_CONFIG, _SETTINGS = "config.json", "sentence_bert_config.json"
_CHUNK = 8_192  # texts that are sorted by length at once
_READ = 512  # texts that are tokenized at once
_BATCH_TOKENS = {"cpu": 2_048, "cuda": 32_768}  # padded tokens that are encoded at once
_LEGACY = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_ACTIVATIONS = ("Tanh", "Identity", "ReLU", "GELU", "Sigmoid", "SiLU")
_TINY = 1e-9

Step = Callable[[torch.Tensor], torch.Tensor]
TextT = TypeVar("TextT")


def _tell_nobody(_done: float) -> None:
    """A report of progress that nobody reads."""


@dataclass(frozen=True)
class LoadedTower:
    """A tower that can be asked.

    Attributes:
        module: the transformer, in evaluation mode.
        pooling: ways of making one vector of a text's tokens, whose results are put together.
        reads: its tokenizer and limits.
    """

    module: Any
    pooling: tuple[str, ...]
    steps: tuple[Step, ...]
    reads: Tower
    pad_id: int
    dim: int

    def encode(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the vectors of rows of tokens, in float32."""
        hidden = self.module(input_ids=ids, attention_mask=mask).last_hidden_state
        vectors = torch.cat([_pooled(mode, hidden, mask) for mode in self.pooling], dim=-1)
        for step in self.steps:
            vectors = step(vectors)
        return vectors.float()


class Encoder:
    """Encodes mentions and entities.

    Attributes:
        n_towers: 2 if mentions and entities have weights of their own, else 1.
        n_parameters: how many numbers it has, those of both towers together.
        n_around: characters on either side of a mention that it needs of a text.
    """

    def __init__(
        self, mentions: LoadedTower, entities: LoadedTower, device: torch.device, batch_tokens: int | None = None
    ) -> None:
        """Encode by two towers, which may be the same.

        Args:
            batch_tokens: padded tokens that are encoded at once; None for what is fast.

        Raises:
            ModelError: their vectors are not equally long.
        """
        if mentions.dim != entities.dim:
            raise ModelError(
                f"found vectors of {mentions.dim} numbers for mentions and of {entities.dim} for entities; expected "
                "as many for both, since they are compared."
            )
        self._mentions, self._entities = mentions, entities
        self.dim, self.device = mentions.dim, device
        self.inputs = Inputs(mentions.reads, entities.reads)
        self.n_around = self.inputs.n_around
        self.n_towers = 1 if mentions is entities else 2
        self.n_parameters = sum(
            _n_parameters(tower) for tower in ({id(one): one for one in (mentions, entities)}.values())
        )
        self._batch_tokens = batch_tokens or _BATCH_TOKENS["cuda" if device.type == "cuda" else "cpu"]

    def mentions(self, texts: Sequence[MentionText]) -> np.ndarray:
        """Return the vectors of mentions as float32 (n, dim), in the order of the texts."""
        return self._encode(self._mentions, texts, self.inputs.mentions)

    def entities(self, texts: Sequence[EntityText], report: Report = _tell_nobody) -> np.ndarray:
        """Return the vectors of entities as float32 (n, dim), in the order of the texts."""
        return self._encode(self._entities, texts, self.inputs.entities, report)

    def _encode(
        self,
        tower: LoadedTower,
        texts: Sequence[TextT],
        read: Callable[[Sequence[TextT]], list[Whole]],
        report: Report = _tell_nobody,
    ) -> np.ndarray:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), _CHUNK):
            end = min(start + _CHUNK, len(texts))
            rows = [one.ids for at in range(start, end, _READ) for one in read(texts[at : min(at + _READ, end)])]
            vectors[start:end] = self._vectors(tower, rows, report, start)
        return vectors

    def _vectors(
        self, tower: LoadedTower, rows: Sequence[Sequence[int]], report: Report = _tell_nobody, done: int = 0
    ) -> np.ndarray:
        vectors = np.empty((len(rows), self.dim), dtype=np.float32)
        for batch in _batches([len(row) for row in rows], self._batch_tokens):
            ids, mask = _padded([rows[place] for place in batch], tower.pad_id)
            with torch.inference_mode():
                found = tower.encode(ids.to(self.device), mask.to(self.device))
            vectors[batch] = found.cpu().numpy()
            done += len(batch)
            report(done)
        return vectors


def load_encoder(
    row: Mapping[str, Any], device: str = "", dtype: str = "float32", batch_tokens: int | None = None
) -> Encoder:
    """Load the encoder of a row of `linkers`, after comparing the digests of its files with those of the row.

    Args:
        row: of a linker that has weights.
        device: such as `cpu` or `cuda:0`; empty for a GPU if there is one.
        dtype: float32 or bfloat16; vectors are float32 in both cases.
        batch_tokens: padded tokens that are encoded at once; None for what is fast.

    Raises:
        ModelError: its files are not there, were changed, or cannot be loaded.
    """
    return load_layout(layout_of(row), device, dtype, batch_tokens)


def load_layout(layout: Layout, device: str = "", dtype: str = "float32", batch_tokens: int | None = None) -> Encoder:
    """Load an encoder whose files were read; the arguments are those of `load_encoder`.

    Raises:
        ModelError: it cannot be loaded.
    """
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    kind = getattr(torch, dtype)
    loaded = [
        _tower(layout, modules, prompt, place, kind)
        for modules, prompt in dict.fromkeys(zip(layout.towers, layout.prompts, strict=True))
    ]
    return Encoder(loaded[0], loaded[-1], place, batch_tokens)


def _tower(
    layout: Layout, modules: Sequence[ModuleFiles], prompt: str, device: torch.device, dtype: torch.dtype
) -> LoadedTower:
    name, folder = layout.name, modules[0].folder
    module, tokenizer = _transformer(name, folder)
    pooling = _pooling(name, modules[1].folder)
    steps: list[Step] = []
    dim = int(module.config.hidden_size) * len(pooling)
    for one in modules[2:]:
        if one.kind == "Normalize":
            steps.append(_normalised)
        else:
            step, dim = _dense(name, one.folder, dim)
            steps.append(step.to(device=device, dtype=dtype))
    if layout.is_cosine and (not steps or steps[-1] is not _normalised):
        steps.append(_normalised)
    settings = _settings(name, folder)
    reads = Tower(_lowercasing(tokenizer, settings), _max_tokens(name, folder, module, tokenizer, settings), prompt)
    pad_id = next(one for one in (tokenizer.pad_token_id, module.config.pad_token_id, 0) if one is not None)
    return LoadedTower(
        module.to(device=device, dtype=dtype).eval().requires_grad_(False), pooling, tuple(steps), reads, pad_id, dim
    )


def _transformer(name: str, folder: Path) -> tuple[Any, Any]:
    """The model of transformers in a folder, and its tokenizer."""
    files, weights_format = weight_files(name, folder)
    for file in files:
        check_weights(name, file, weights_format)
    tokenizer = read_tokenizer(name, folder)
    try:
        with quiet_transformers():
            config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            kind = transformers.T5EncoderModel if config.model_type == "t5" else transformers.AutoModel
            if config.is_encoder_decoder and config.model_type != "t5":
                raise ModelError(
                    f"{name} has an encoder and a decoder ({config.model_type}); expected an encoder alone, or T5."
                )
            module, report = kind.from_pretrained(
                folder,
                config=config,
                trust_remote_code=False,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
            )
    except UNFIT as error:
        raise ModelError(f"The weights of {name} in {folder} cannot be loaded: {first_line(error)}.") from error
    # A pooler makes a vector of its own, which is not used.
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise ModelError(
            f"{name} lacks {len(missing)} weights of its {config.model_type}, such as {missing[0]}; they would be "
            "random numbers. Fetch the checkpoint again."
        )
    check_vocabulary(name, module, tokenizer)
    return module, tokenizer


def _settings(name: str, folder: Path) -> dict[str, Any]:
    file = folder / _SETTINGS
    return read_object(name, file) if file.is_file() else {}


def _lowercasing(tokenizer: Any, settings: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer itself, which makes texts lower-case first if the checkpoint says so."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    if settings.get("do_lower_case"):
        own = [backend.normalizer] if backend.normalizer is not None else []
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return backend


def _max_tokens(name: str, folder: Path, module: Any, tokenizer: Any, settings: Mapping[str, Any]) -> int:
    found = context_tokens_of(module.config, module, tokenizer)
    limits = [found] if found is not None else []
    if settings.get("max_seq_length") is not None:
        limits.append(read_whole(name, folder / _SETTINGS, settings, "max_seq_length"))
    if not limits:
        raise ModelError(
            f"{name} does not say how many tokens it reads; expected max_seq_length in {_SETTINGS}, or "
            "model_max_length in tokenizer_config.json. Add one of them."
        )
    return min(limits)


def _pooling(name: str, folder: Path) -> tuple[str, ...]:
    config = read_object(name, folder / _CONFIG)
    found = config.get("pooling_mode") or [mode for key, mode in _LEGACY.items() if config.get(key)] or "mean"
    modes = tuple(found) if isinstance(found, list) else (found,)
    if odd := [mode for mode in modes if mode not in POOLING_MODES]:
        raise ModelError(f"{name} pools by {odd[0]} ({folder}); expected one of {', '.join(POOLING_MODES)}.")
    if not config.get("include_prompt", True):
        raise ModelError(f"{name} pools without its prompt ({folder}), which tempkb does not do. Use another encoder.")
    return modes


def _pooled(mode: str, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """One vector for each row; padding is on the right, and counts for nothing."""
    if mode == "cls":
        return hidden[:, 0]
    if mode == "lasttoken":
        return hidden[torch.arange(len(hidden), device=hidden.device), mask.sum(dim=1) - 1]
    if mode == "max":
        return hidden.masked_fill(mask.unsqueeze(-1) == 0, float("-inf")).amax(dim=1)
    weights = mask.float()
    if mode == "weightedmean":
        weights = weights * torch.arange(1, mask.shape[1] + 1, device=mask.device)
    total = (hidden.float() * weights.unsqueeze(-1)).sum(dim=1)
    n = weights.sum(dim=1, keepdim=True).clamp(min=_TINY)
    return (total / (n.sqrt() if mode == "mean_sqrt_len_tokens" else n)).to(hidden.dtype)


def _normalised(vectors: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(vectors, p=2, dim=-1)


def _dense(name: str, folder: Path, dim: int) -> tuple[torch.nn.Module, int]:
    """A projection, and the length of what it gives."""
    config = read_object(name, folder / _CONFIG)
    named = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    activation = named.rpartition(".")[2]
    if not named.startswith("torch.nn.") or activation not in _ACTIVATIONS:
        raise ModelError(
            f"{name} has a Dense module with the activation {named} ({folder}); expected one of torch.nn: "
            f"{', '.join(_ACTIVATIONS)}."
        )
    ways = {
        "module_input_name": "sentence_embedding",
        "module_output_name": "sentence_embedding",
        "use_residual": False,
    }
    for key, expected in ways.items():
        if config.get(key, expected) not in (expected, None):
            raise ModelError(f"{name} has a Dense module with {key} {config[key]!r} ({folder}); expected {expected!r}.")
    n_in, n_out = (read_whole(name, folder / _CONFIG, config, key) for key in ("in_features", "out_features"))
    linear = torch.nn.Linear(n_in, n_out, bias=bool(config.get("bias", True)))
    check_weights(name, folder / "model.safetensors", "safetensors")
    weights = {key.removeprefix("linear."): value for key, value in load_file(folder / "model.safetensors").items()}
    try:
        linear.load_state_dict(weights)
    except RuntimeError as error:
        raise ModelError(f"The weights in {folder} do not fit their config: {first_line(error)}.") from error
    if linear.in_features != dim:
        raise ModelError(f"{name} has a projection of {linear.in_features} numbers ({folder}); expected {dim}.")
    return torch.nn.Sequential(linear, getattr(torch.nn, activation)()).eval().requires_grad_(
        False
    ), linear.out_features


def _n_parameters(tower: LoadedTower) -> int:
    modules = [tower.module, *(step for step in tower.steps if isinstance(step, torch.nn.Module))]
    return sum(weights.numel() for module in modules for weights in module.parameters())


def _batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Places of rows, in batches of equally long rows as far as possible, none with more padded tokens than allowed.

    The longest come first, so that memory that is not enough is noticed at once.
    """
    batches: list[list[int]] = []
    longest = 0
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if not batches or (len(batches[-1]) + 1) * longest > batch_tokens:
            batches.append([])
            longest = lengths[place]
        batches[-1].append(place)
    return batches


def _padded(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of equal length, and which of their tokens are not padding."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[place, : len(row)] = 1
    return ids, mask
