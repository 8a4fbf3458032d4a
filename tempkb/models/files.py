"""The files of a checkpoint: where they are, on this machine or on the hub, and their digests. Loads no torch."""

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
)

from tempkb.core.errors import ModelError
from tempkb.core.files import sum_of
from tempkb.models.dating import expert_files

WeightsFormat = Literal["safetensors", "bin"]

_WEIGHTS: dict[WeightsFormat, str] = {"safetensors": "model.safetensors", "bin": "pytorch_model.bin"}
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
# The hub's client passes on errors of its HTTP library: httpx, or in later versions httpx2.
_TRANSPORT_ERRORS = tuple(
    importlib.import_module(library).HTTPError for library in ("httpx", "httpx2") if importlib.util.find_spec(library)
)


def find_folder(
    name: str, revision: str | None, may_fetch: bool, wanted: Sequence[str] = ()
) -> tuple[Path, str | None]:
    """Return the folder of a checkpoint, and its commit on the hub.

    Args:
        wanted: patterns of the files to be fetched; by default those of a language model.

    Raises:
        ModelError: it is not there.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise ModelError(f"{name} is a folder, which has no revision {revision!r}. Leave the revision out.")
        return folder, None
    try:
        found = Path(_snapshot(name, revision, may_fetch, wanted))
    except HFValidationError as error:
        raise ModelError(
            f"{name!r} is neither a folder of this machine nor an id of the hub; expected one of them, such as "
            "google-t5/t5-large."
        ) from error
    except LocalEntryNotFoundError as error:
        # The library also raises it when the hub cannot be reached, and says why in its cause.
        why = first_line(error.__cause__ or error) if may_fetch else "fetching was not allowed"
        raise _absent(name, revision, wanted, why) from error
    except (HfHubHTTPError, OSError, *_TRANSPORT_ERRORS) as error:
        raise _absent(name, revision, wanted, first_line(error)) from error
    return found, found.name


def _absent(name: str, revision: str | None, wanted: Sequence[str], why: str) -> ModelError:
    """The error for a checkpoint that is not on this machine, and cannot be fetched for a reason."""
    files = (
        f"its files {', '.join(wanted)}"
        if wanted
        else "its config.json, tokenizer files, and weights as safetensors, else as pytorch_model.bin"
    )
    return ModelError(
        f"{name!r} is neither a folder of this machine nor in its cache {constants.HF_HUB_CACHE}, and could not be "
        f"fetched ({why}). What would be fetched: revision {revision or 'main'} of {constants.ENDPOINT}/{name}, "
        f"{files}. Check name, revision and network; or put these files into a folder, and name that instead."
    )


def _snapshot(name: str, revision: str | None, may_fetch: bool, wanted: Sequence[str]) -> str:
    """The folder in the cache with the files of a checkpoint, which are fetched if that is allowed."""
    if may_fetch:
        try:
            return _fetched(name, revision, wanted)
        except (OfflineModeIsEnabled, *_TRANSPORT_ERRORS) as error:
            try:
                return str(snapshot_download(name, revision=revision, local_files_only=True))
            except LocalEntryNotFoundError:
                raise error from None
    return str(snapshot_download(name, revision=revision, local_files_only=True))


def _fetched(name: str, revision: str | None, wanted: Sequence[str]) -> str:
    if wanted:
        return str(snapshot_download(name, revision=revision, allow_patterns=list(wanted)))
    names = {one.rfilename for one in HfApi().model_info(name, revision=revision).siblings or ()}
    has_safe = any(file.endswith(".safetensors") and "/" not in file for file in names)
    weights = "*.safetensors*" if has_safe else "pytorch_model*.bin*"
    files = ["config.json", *TOKENIZER_FILES, "chat_template.jinja", "generation_config.json", weights]
    return str(snapshot_download(name, revision=revision, allow_patterns=files, ignore_patterns=["*/*"]))


def weight_files(name: str, folder: Path) -> tuple[list[Path], WeightsFormat]:
    """Return the files with the weights, safetensors before PyTorch's own.

    Raises:
        ModelError: there are none, or not all that their index names.
    """
    for weights_format, whole in _WEIGHTS.items():
        if (folder / whole).is_file():
            return [folder / whole], weights_format
        index = folder / f"{whole}.index.json"
        if index.is_file():
            parts = _parts_of(index)
            for part in parts:
                if Path(part).name != part or not (folder / part).is_file():
                    raise ModelError(
                        f"{name} lacks {part}, which {index} names; expected a file beside it. Fetch the checkpoint "
                        "again."
                    )
            return [folder / part for part in parts], weights_format
    raise ModelError(
        f"{name} has no weights; expected {' or '.join(_WEIGHTS.values())} (or their parts with an index) in {folder}."
    )


def _parts_of(index: Path) -> list[str]:
    """Names of the files with the weights, as their index has them."""
    try:
        # What is no text names no file either, and is missing then.
        return sorted({str(part) for part in json.loads(index.read_text("utf-8"))["weight_map"].values()})
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelError(f"{index} does not say where the weights are. Fetch the checkpoint again.") from error


def digests_of(name: str, folder: Path) -> dict[str, str]:
    """Return the digests to which a model's name is bound, but for that of its chat template.

    Raises:
        ModelError: there are no weights, or not all.
    """
    files = [*weight_files(name, folder)[0], *expert_files(folder)]
    return {
        "weights_sha256": digest_of(files[0]) if len(files) == 1 else digest_of_all(files),
        "config_sha256": digest_of(folder / "config.json"),
        "tokenizer_sha256": digest_of_all(folder / file for file in TOKENIZER_FILES if (folder / file).is_file()),
    }


def are_files_of(row: Mapping[str, Any], folder: Path) -> bool:
    """Do the files of a folder surely have the digests of a model's row? A chat template has no file of its own then.

    Raises:
        ModelError: there are no weights, or not all.
    """
    is_plain = (folder / "config.json").is_file() and not any(folder.glob("*chat_template*"))
    return is_plain and digests_of(row["model"], folder).items() <= row.items()


digest_of = partial(sum_of, anew=True)
"""Returns the SHA-256 of a file as it is now."""


def digest_of_all(files: Iterable[Path], below: Path | None = None) -> str:
    """Return the SHA-256 of files by their names, or their paths below a folder, and their digests."""
    names = {file: file.relative_to(below).as_posix() if below else file.name for file in files}
    lines = "".join(f"{names[file]} {digest_of(file)}\n" for file in sorted(names))
    return hashlib.sha256(lines.encode()).hexdigest()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, and the next one where it ends in a colon; without its full stop."""
    first, *rest = str(error).strip().splitlines() or [type(error).__name__]
    return (f"{first} {rest[0].strip()}" if rest and first.endswith(":") else first).rstrip(".")
