"""Reads checkpoints: what they are, by which digests they are known, and whether they are models that can be scored.

A checkpoint is a folder or an id of the Hugging Face hub. Nothing of it is ever run as code: models and tokenizers are
those of transformers, and weights are safetensors, or PyTorch files read as plain tensors.
"""

import hashlib
import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from tempkb.core.errors import ModelError
from tempkb.core.model_words import Dtype, Family
from tempkb.models.batching import Limits
from tempkb.models.dating import expert_files
from tempkb.models.families import TRAITS
from tempkb.models.files import WeightsFormat, digests_of, find_folder, first_line, weight_files
from tempkb.models.loading import LoadedModel, loaded
from tempkb.models.scoring import require_sound

# Of models that could be of two families (BART also fills masks), the first is meant.
_FAMILIES = dict(sorted(TRAITS.items(), key=lambda one: not one[1].has_sources))
# Types of models whose scores would be wrong, with the reason. Others are found by asking them (`scoring.py`).
_DROPS_TOKENS = (
    "its experts leave out tokens beyond their capacity, and what its encoder gives cannot be used for several targets"
)
_UNSOUND = {
    "xlnet": "its attention sees both sides of each token, so that a causal score would know what it is asked for",
    "switch_transformers": _DROPS_TOKENS,
    "nllb-moe": _DROPS_TOKENS,
}

# Each of these sets of files is a vocabulary. Without any, transformers would make an empty tokenizer, and say nothing.
_VOCABULARIES = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("vocab.txt",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("tokenizer.model",),
)
UNFIT = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    StrictDataclassError,
    TypeError,
    ValueError,
)
"""What transformers and torch raise for odd configs: they check few values, and fail where they first use one."""
_UNLIMITED = 1_000_000_000  # tokenizers without a limit say a number of thirty digits


@dataclass(frozen=True)
class CheckpointFiles:
    """The files of a checkpoint.

    Attributes:
        name: the folder or hub id that was asked for.
        hub_revision: the commit on the hub; None for a folder.
        weights_format: `safetensors`, or `bin` for PyTorch's own format.
        weights_sha256: digest of the file with the weights; of several, that of their names and digests.
        tokenizer_sha256: that of the names and digests of the tokenizer's files.
        chat_template_sha256: digest of the chat template; None if it has none.
    """

    name: str
    folder: Path
    hub_revision: str | None
    weights_format: WeightsFormat
    weights_sha256: str
    config_sha256: str
    tokenizer_sha256: str
    chat_template_sha256: str | None


@dataclass(frozen=True)
class Checkpoint(CheckpointFiles):
    """A checkpoint that was read and loaded once.

    Attributes:
        n_parameters: how many numbers it has, those that are used twice counted once.
        context_tokens: how many tokens it reads, special ones included; None if nothing limits them.
    """

    family: Family
    architecture: str
    n_parameters: int
    context_tokens: int | None


def read_checkpoint(
    name: str, revision: str | None = None, family: Family | None = None, may_fetch: bool = False
) -> Checkpoint:
    """Load a checkpoint once, to see that it can be, and return what is to be known about it.

    Args:
        name: a folder, or an id of the hub such as `google-t5/t5-large`.
        revision: branch, tag or commit on the hub; its main branch by default.
        family: what kind of model it has to be; by default what its architecture says.
        may_fetch: whether files may be fetched from the hub; otherwise they must be in this machine's cache.

    Raises:
        ModelError: it is not there, or is not a model that can be scored, for the reason in the message.
    """
    folder, commit = find_folder(name, revision, may_fetch)
    config, found = read_config(name, folder, family)
    tokenizer = read_tokenizer(name, folder)
    module = load_module(name, folder, config, found)
    check_vocabulary(name, module, tokenizer)
    model = loaded(found, module, tokenizer, context_tokens=context_tokens_of(config, module, tokenizer))
    model.planner(model.traits.templates[0])
    require_sound(name, model)
    return Checkpoint(
        **vars(_described(name, folder, commit, tokenizer)),
        family=found,
        architecture=type(module).__name__,
        n_parameters=sum(weights.numel() for weights in module.parameters()) * (1 + len(expert_files(folder))),
        context_tokens=model.context_tokens,
    )


def read_digests(name: str, revision: str | None = None, may_fetch: bool = False) -> CheckpointFiles:
    """Return the digests of a checkpoint's files without loading its weights.

    The arguments are those of `read_checkpoint`.

    Raises:
        ModelError: it is not there, or lacks files.
    """
    folder, commit = find_folder(name, revision, may_fetch)
    _raw_config(name, folder)
    return _described(name, folder, commit, read_tokenizer(name, folder))


def _described(name: str, folder: Path, commit: str | None, tokenizer: Any) -> CheckpointFiles:
    template = tokenizer.chat_template
    said = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest() if template else None
    weights_format = weight_files(name, folder)[1]
    return CheckpointFiles(name, folder, commit, weights_format, **digests_of(name, folder), chat_template_sha256=said)


def load(checkpoint: Checkpoint, device: str = "cpu", dtype: Dtype = "float32") -> LoadedModel:
    """Load a checkpoint, ready to be asked.

    Raises:
        ModelError: its files are not as they were when it was read, so that it cannot be loaded any more.
    """
    return load_files(checkpoint, checkpoint.family, checkpoint.context_tokens, device, dtype)


def load_files(
    files: CheckpointFiles,
    family: Family,
    context_tokens: int | None,
    device: str = "cpu",
    dtype: Dtype = "float32",
    limits: Limits | None = None,
) -> LoadedModel:
    """Load a checkpoint of which family and context are known, ready to be asked.

    Args:
        context_tokens: how many tokens it reads; None if nothing limits them.

    Raises:
        ModelError: it cannot be loaded, or its scores would be wrong (`scoring.py`).
    """
    config, _ = read_config(files.name, files.folder, family)
    module = load_module(files.name, files.folder, config, family, dtype)
    model = loaded(family, module, read_tokenizer(files.name, files.folder), device, dtype, context_tokens)
    require_sound(files.name, model, limits)
    return model


def _raw_config(name: str, folder: Path) -> Any:
    """What config.json of a checkpoint holds."""
    file = folder / "config.json"
    if not file.is_file():
        raise ModelError(
            f"{name} has no config.json; expected one in {folder}. Name the folder of a complete checkpoint."
        )
    try:
        return json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise ModelError(f"{file} is not JSON ({error}). Fetch or save the checkpoint again.") from error


def read_config(name: str, folder: Path, family: Family | None = None) -> tuple[Any, Family]:
    """Return the config of a checkpoint, and its family.

    Raises:
        ModelError: it cannot be read, or is not that of a model of the family that can be asked.
    """
    file, raw = folder / "config.json", _raw_config(name, folder)
    kind = raw.get("model_type") if isinstance(raw, dict) else None
    architectures = (raw.get("architectures") if isinstance(raw, dict) else None) or []
    if not isinstance(architectures, list) or not all(isinstance(one, str) for one in architectures):
        raise ModelError(
            f"{name} has the architectures {architectures!r} in {file}; expected a list of names. Fetch the checkpoint "
            "again."
        )
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING_NAMES:
        if isinstance(raw, dict) and raw.get("auto_map"):
            raise ModelError(
                f"{name} wants to run code of its own (auto_map in {file}), which is never done. Expected an "
                f"architecture that transformers {transformers.__version__} has itself; found model_type {kind!r}."
            )
        raise ModelError(
            f"{name} has the unknown architecture {kind!r} (model_type in {file}); expected one that transformers "
            f"{transformers.__version__} knows. A newer version may know it."
        )
    try:
        with quiet_transformers():
            config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except UNFIT as error:
        raise ModelError(f"The config of {name} cannot be read: {first_line(error)}. Found in {file}.") from error
    found = _family(name, config, family)
    _require_sound_config(name, config, found)
    return config, found


def _classes(family: Family) -> Mapping[str, str]:
    """The classes of transformers that make models of a family, by the type that a config names."""
    classes: Mapping[str, str] = getattr(modeling_auto, TRAITS[family].classes)
    return classes


def _family(name: str, config: Any, asked: Family | None) -> Family:
    """The family of a model by its architecture, or the one that was asked for if its architecture leaves it open."""
    possible = [family for family in _FAMILIES if config.model_type in _classes(family)]
    architectures = config.architectures or []
    matching = [
        family
        for family in possible
        for architecture in architectures
        if architecture in (_classes(family)[config.model_type], *TRAITS[family].old_architectures)
    ]
    told = next(iter(matching), None)
    if {"masked", "causal"} <= set(matching):  # XLM has one class for both, and its config says how it was trained
        told = "causal" if config.causal else "masked"
    family = asked or told
    if family is None or family not in possible or (told is not None and told != family):
        found = f"found {', '.join(architectures) or 'no architecture'} of type {config.model_type}"
        if told:
            wanted = f"which is a {told} model"
        elif possible:
            wanted = f"of which {' or '.join(sorted(possible))} models can be made, if the checkpoint has their head"
        else:
            wanted = "which is no language model of a known family"
        raise ModelError(
            f"{name} is not a model of the family {asked}: {found}, {wanted}. Name its own family."
            if asked
            else f"The family of {name} is open: {found}, {wanted}. Name the family ({', '.join(sorted(_FAMILIES))})."
        )
    return family


def _require_sound_config(name: str, config: Any, family: Family) -> None:
    """See that nothing in a config says that scores would be wrong."""
    kind = config.model_type
    if kind in _UNSOUND:
        raise ModelError(
            f"{name} cannot be scored: it is of type {kind}, and {_UNSOUND[kind]}. Choose a model of another "
            "architecture."
        )
    layers = getattr(config, "num_hidden_layers", None)
    if isinstance(layers, int) and layers < 1:
        raise ModelError(
            f"{name} cannot be scored: found {layers} layers in its config, expected 1 at least. Fetch the checkpoint "
            "again."
        )
    is_encoder = kind in _classes("masked") and kind not in _classes("seq2seq")
    sees_all = not any(getattr(config, sign, False) for sign in ("is_decoder", "causal"))
    if family == "causal" and is_encoder and sees_all:
        raise ModelError(
            f"{name} cannot be scored as a causal model: found is_decoder false in the config of a model of type "
            f"{kind}, so that each token sees those after it; expected true, as in checkpoints that were trained to "
            "name the next token. Add it with the family masked if it has that head, or choose another checkpoint."
        )


def read_tokenizer(name: str, folder: Path) -> Any:
    """Return the fast tokenizer in a folder.

    Raises:
        ModelError: there is none.
    """
    if not any(all((folder / file).is_file() for file in files) for files in _VOCABULARIES):
        raise ModelError(
            f"{name} has no tokenizer; expected {', or '.join(' with '.join(files) for files in _VOCABULARIES)} "
            f"in {folder}."
        )
    try:
        with quiet_transformers():
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    # The library tokenizers raises plain Exceptions; whatever is raised here means that there is no tokenizer.
    except Exception as error:
        raise ModelError(
            f"{name} has no fast tokenizer: {first_line(error)}. Expected a tokenizer.json in {folder}, or files that "
            "transformers can turn into one."
        ) from error
    if not tokenizer.is_fast:
        raise ModelError(
            f"{name} has no fast tokenizer: found {type(tokenizer).__name__}, which does not say which characters a "
            f"token stands for. Expected a tokenizer.json in {folder}."
        )
    return tokenizer


def load_expert(model: LoadedModel, files: Iterable[Path]) -> None:
    """Give a model the weights of another one of its architecture, in safetensors.

    Raises:
        ModelError: they do not fit it.
    """
    for file in files:
        try:
            found = model.module.load_state_dict(load_file(file), strict=False)
        except (RuntimeError, SafetensorError) as error:
            raise ModelError(f"The weights in {file} do not fit their config: {first_line(error)}.") from error
        if found.unexpected_keys:
            raise ModelError(f"The weights in {file} do not fit their config: found {found.unexpected_keys[0]}.")


def check_weights(name: str, file: Path, weights_format: WeightsFormat) -> None:
    """See that a file with weights is whole and holds nothing but weights.

    Raises:
        ModelError: it does not.
    """
    try:
        if weights_format == "safetensors":
            with safe_open(file, framework="pt") as tensors:
                tensors.keys()
        else:
            torch.load(file, map_location="meta", weights_only=True)
    except SafetensorError as error:
        raise ModelError(f"{file} of {name} is cut or damaged: {first_line(error)}. Fetch it again.") from error
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{file} of {name} holds more than weights, possibly code, and is not read. Expected nothing but tensors. "
            "Save the model as safetensors."
        ) from error
    except (RuntimeError, EOFError, OSError) as error:
        raise ModelError(f"{file} of {name} is cut or damaged: {first_line(error)}. Fetch it again.") from error


def load_module(name: str, folder: Path, config: Any, family: Family, dtype: Dtype = "float32") -> Any:
    """Return the model of a checkpoint as its config describes it.

    Raises:
        ModelError: its weights hold more than that, do not fit the config, or not all are there.
    """
    files, weights_format = weight_files(name, folder)
    for file in (*files, *expert_files(folder)):
        check_weights(name, file, weights_format)
    maker, number = getattr(transformers, TRAITS[family].loader), getattr(torch, dtype)
    try:
        with quiet_transformers():
            with torch.device("meta"):  # where weights take no memory
                empty = maker.from_config(config, dtype=number, trust_remote_code=False)
            _require_its_size(name, folder, config, sum(weights.numel() for weights in empty.parameters()))
            module, report = maker.from_pretrained(
                folder,
                config=config,
                dtype=number,
                trust_remote_code=False,
                local_files_only=True,
                use_safetensors=weights_format == "safetensors",
                weights_only=True,
                ignore_mismatched_sizes=True,  # they are reported
                output_loading_info=True,
            )
    except ImportError as error:
        raise ModelError(
            f"{name} needs a library that is not installed: {first_line(error)}. Expected a checkpoint that "
            "transformers and PyTorch load alone: without quantization_config and attn_implementation in its "
            "config.json. Name such a checkpoint."
        ) from error
    except UNFIT as error:
        raise ModelError(f"The weights of {name} do not fit its config: {first_line(error)}.") from error
    _require_all_weights(name, folder, config, family, report)
    return module


def _require_its_size(name: str, folder: Path, config: Any, n_parameters: int) -> None:
    """See that a config asks for no more numbers than its weights can hold; no machine might have memory for them.

    A number takes a byte at least (float8), but in weights that are quantised, where it takes a bit at least.
    """
    stored = sum(file.stat().st_size for file in weight_files(name, folder)[0])
    if n_parameters > stored * (8 if hasattr(config, "quantization_config") else 1):
        raise ModelError(
            f"The weights of {name} do not fit its config: {folder / 'config.json'} describes a model of "
            f"{n_parameters} numbers, and its weights have {stored} bytes. Fetch the checkpoint again."
        )


def _require_all_weights(name: str, folder: Path, config: Any, family: Family, report: Any) -> None:
    """See that a checkpoint has all weights of the model that its config describes, each in its shape."""
    for weights, found, expected in sorted(report["mismatched_keys"]):
        raise ModelError(
            f"The weights of {name} do not fit its config: {weights} has the shape {list(found)}, expected "
            f"{list(expected)} by {folder / 'config.json'}. Fetch the checkpoint again."
        )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"{name} lacks {len(missing)} weights of a {family} model of type {config.model_type}, such as "
            f"{missing[0]}; they would be random numbers. Name a checkpoint that has this head, or its own family."
        )


def check_vocabulary(name: str, module: Any, tokenizer: Any) -> None:
    """See that a model knows all tokens of its tokenizer.

    Raises:
        ModelError: it does not.
    """
    known = module.get_input_embeddings().weight.shape[0]
    most = max(tokenizer.get_vocab().values(), default=0)
    if most >= known:
        raise ModelError(
            f"{name} knows {known} tokens, but its tokenizer gives numbers up to {most}; expected the tokenizer that "
            "the model was trained with. Fetch the checkpoint again."
        )


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Within this block transformers says nothing: what matters of it becomes an error of ours."""
    logging = transformers.utils.logging
    verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()


def context_tokens_of(config: Any, module: Any, tokenizer: Any) -> int | None:
    """Return how many tokens a model reads, by its positions and by its tokenizer; None if nothing limits them."""
    text = config.get_text_config(decoder=True)  # of a model that also reads pictures; else the config itself
    most = getattr(text, "max_position_embeddings", None) or getattr(text, "n_positions", None)
    for limit in (most, tokenizer.model_max_length):
        if not isinstance(limit, int | float | None):
            raise ModelError(
                f"{tokenizer.name_or_path} says that it reads {limit!r} tokens; expected a number "
                "(max_position_embeddings or n_positions in config.json, model_max_length in tokenizer_config.json)."
            )
    for name, part in module.named_modules():
        is_counted_from_padding = isinstance(part, torch.nn.Embedding) and part.padding_idx is not None
        if name.endswith("position_embeddings") and is_counted_from_padding and most is not None:
            most -= part.padding_idx + 1  # RoBERTa's first position comes after that of padding
            break
    # Some configs say -1 where nothing limits the positions.
    limits = [limit for limit in (most, tokenizer.model_max_length) if limit is not None and 0 < limit < _UNLIMITED]
    return min(limits, default=None)
