"""Reads encoders of sentences: checkpoints in the layout of sentence-transformers, by transformers alone.

A checkpoint is a list of modules: a Transformer, then pooling, projections and normalisation; or a Router to two such
lists, one for mentions (queries) and one for entities (documents). Nothing of it is ever run as code, and weights are
safetensors.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tempkb.core.errors import ModelError
from tempkb.models.files import (
    TOKENIZER_FILES,
    digest_of,
    digest_of_all,
    find_folder,
    weight_files,
)
from tempkb.models.linking.known import gone, mend_in_words

LAYOUT = "modules.json"
MENTIONS, ENTITIES = ROUTES = ("query", "document")
"""What sentence-transformers calls the two towers."""
KNOWN_MODULES = ("Transformer", "Pooling", "Dense", "Normalize")
"""Modules that a tower may have, in the order in which they come first."""

_FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model")
_ROUTERS = ("Router", "Asym")
_OWN = "sentence_transformers."
_PROMPTS = {MENTIONS: ("query",), ENTITIES: ("document", "passage", "corpus")}
_ABOUT = "config_sentence_transformers.json"
_CONFIGS = (LAYOUT, _ABOUT, "router_config.json", "sentence_bert_config.json", "config.json")


@dataclass(frozen=True)
class ModuleFiles:
    """One module of a tower."""

    kind: str
    folder: Path


@dataclass(frozen=True)
class Layout:
    """An encoder's files.

    Attributes:
        name: the folder or hub id that was asked for.
        hub_revision: the commit on the hub; None for a folder.
        towers: the modules that encode mentions, and those that encode entities; the same if there is one tower.
        prompts: what comes before a mention and before an entity.
        is_cosine: whether vectors are compared by their angle, so that they have to be normalised.
    """

    name: str
    folder: Path
    hub_revision: str | None
    towers: tuple[tuple[ModuleFiles, ...], tuple[ModuleFiles, ...]]
    prompts: tuple[str, str]
    is_cosine: bool

    @property
    def n_towers(self) -> int:
        """2 if mentions and entities have weights of their own."""
        return len(set(self.towers))

    def modules(self) -> list[ModuleFiles]:
        """Return all modules, each once."""
        return list(dict.fromkeys(module for tower in self.towers for module in tower))

    def files(self) -> tuple[list[Path], list[Path], list[Path]]:
        """Return all files that make the encoder: weights, configs, and those of the tokenizers.

        Raises:
            ModelError: a module has no weights.
        """
        weights = [file for module in self.modules() for file in _weights(self.name, module)]
        folders = list(dict.fromkeys([self.folder, *(module.folder for module in self.modules())]))
        vocabularies = _existing([one.folder for one in self.modules() if one.kind == "Transformer"], TOKENIZER_FILES)
        return weights, _existing(folders, _CONFIGS), vocabularies

    def digests(self) -> dict[str, str]:
        """Return the digests to which a linker's name is bound.

        Raises:
            ModelError: a module has no weights.
        """
        weights, configs, vocabularies = self.files()
        return {
            "weights_sha256": digest_of(weights[0]) if len(weights) == 1 else digest_of_all(weights, self.folder),
            "config_sha256": digest_of_all(configs, self.folder),
            "tokenizer_sha256": digest_of_all(vocabularies, self.folder),
        }


def read_layout(name: str, revision: str | None = None, may_fetch: bool = False) -> Layout:
    """Return what a checkpoint consists of, without loading its weights.

    Args:
        name: a folder, or an id of the hub such as `sentence-transformers/all-MiniLM-L6-v2`.
        revision: branch, tag or commit on the hub; its main branch by default.
        may_fetch: whether files may be fetched from the hub; otherwise they must be in this machine's cache.

    Raises:
        ModelError: it is not there, is not in this layout, or has modules that are not known.
    """
    folder, commit = find_folder(name, revision, may_fetch, _FETCHED)
    if not (folder / LAYOUT).is_file():
        raise ModelError(
            f"{name} is no encoder of sentences: expected {LAYOUT} of sentence-transformers in {folder}, which "
            "says how vectors are made. Name such a checkpoint; or train a linker with this one as its base."
        )
    modules = _typed(name, folder / LAYOUT, [(one["type"], one["path"]) for one in _list_of_modules(name, folder)])
    routers = [place for place, (kind, _) in enumerate(modules) if kind in _ROUTERS]
    if routers and routers != [0]:
        raise ModelError(f"{name} has a Router after other modules in {folder / LAYOUT}; expected it first.")
    if routers:
        shared = _files(name, folder, modules[1:])
        towers = tuple((*tower, *shared) for tower in _routes(name, _inside(name, folder, modules[0][1])))
    else:
        towers = (_files(name, folder, modules),) * 2
    for tower in towers:
        _require_order(name, tower)
    about = _about(name, folder)
    return Layout(name, folder, commit, (towers[0], towers[1]), _prompts(name, about), _is_cosine(name, about))


def layout_of(row: Mapping[str, Any]) -> Layout:
    """Return what the checkpoint of a linker consists of, whose files have the digests of its row.

    Raises:
        ModelError: its folder is gone, it cannot be read, or the digests differ; the message has what to type.
    """
    try:
        return _bound_layout(row)
    except ModelError as error:
        raise ModelError(f"linker {row['linker']!r}: {str(error).rstrip('.')}. {mend_in_words(row)}") from error


def _bound_layout(row: Mapping[str, Any]) -> Layout:
    if found := gone(row):
        raise ModelError(found)
    layout = read_layout(row["checkpoint"], row["hub_revision"])
    for (column, digest), files in zip(layout.digests().items(), layout.files(), strict=True):
        if row[column] != digest:
            names = ", ".join(file.relative_to(layout.folder).as_posix() for file in files) or "no file"
            raise ModelError(
                f"expected in {row['checkpoint']} the files to which its name is bound ({column} {row[column]}), found "
                f"{digest} ({names})"
            )
    return layout


def read_json(name: str, file: Path) -> Any:
    """Return what a JSON file of a checkpoint holds.

    Raises:
        ModelError: it is not there, or is not JSON.
    """
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{name}: {file} cannot be read as JSON ({error}). Fetch the checkpoint again.") from error


def read_object(name: str, file: Path) -> dict[str, Any]:
    """Return the JSON object that a file of a checkpoint holds.

    Raises:
        ModelError: it is not there, or is no JSON object.
    """
    found = read_json(name, file)
    if not isinstance(found, dict):
        raise ModelError(f"{name}: {file} is no JSON object. Fetch the checkpoint again.")
    return found


def read_whole(name: str, file: Path, config: Mapping[str, Any], key: str) -> int:
    """Return a whole number from 1 of a config.

    Raises:
        ModelError: there is no such number.
    """
    try:
        found = int(config[key])
    except (KeyError, TypeError, ValueError, OverflowError):
        found = 0
    if found < 1:
        raise ModelError(
            f"{name}: {key} in {file} is {config.get(key)!r}; expected a whole number from 1. Fetch the checkpoint "
            "again."
        )
    return found


def _list_of_modules(name: str, folder: Path) -> list[dict[str, str]]:
    found = read_json(name, folder / LAYOUT)
    is_list = isinstance(found, list) and found and all(isinstance(one, dict) for one in found)
    if not is_list or not all(isinstance(one.get(key), str) for one in found for key in ("type", "path")):
        raise ModelError(f"{name}: {folder / LAYOUT} is no list of modules with type and path. Fetch it again.")
    return list(found)


def _typed(name: str, file: Path, modules: Sequence[tuple[Any, str]]) -> list[tuple[str, str]]:
    """Modules by the last part of their type's name, with their paths."""
    typed = []
    for named, path in modules:
        kind = str(named).rpartition(".")[2]
        if not str(named).startswith(_OWN) or kind not in (*KNOWN_MODULES, *_ROUTERS):
            raise ModelError(
                f"{name} has the module {named} (in {file}), which tempkb does not know; expected "
                f"{', '.join(KNOWN_MODULES)} or Router of sentence-transformers. Code of a checkpoint is never run."
            )
        typed.append((kind, path))
    return typed


def _routes(name: str, folder: Path) -> list[tuple[ModuleFiles, ...]]:
    """The modules of the two towers of a Router."""
    file = folder / "router_config.json"
    file = file if file.is_file() else folder / "config.json"
    config = read_json(name, file)
    try:
        types, structure = dict(config["types"]), dict(config["structure"])
        routes = {route: [(types[one], one) for one in structure[route]] for route in ROUTES}
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{name}: {file} has not both routes {' and '.join(ROUTES)} ({error!r}). Expected an encoder with two "
            "towers; others cannot link mentions to entities."
        ) from error
    return [_files(name, folder, _typed(name, file, modules)) for modules in routes.values()]


def _files(name: str, folder: Path, modules: Sequence[tuple[str, str]]) -> tuple[ModuleFiles, ...]:
    return tuple(ModuleFiles(kind, _inside(name, folder, path)) for kind, path in modules)


def _inside(name: str, folder: Path, path: str) -> Path:
    place = folder / path
    if ".." in Path(path).parts or Path(path).is_absolute():
        raise ModelError(f"{name} names the folder {path}, which is not within {folder}. Fetch the checkpoint again.")
    return place


def _require_order(name: str, tower: Sequence[ModuleFiles]) -> None:
    kinds = [module.kind for module in tower]
    later = kinds[2:]
    if kinds[:2] != ["Transformer", "Pooling"] or any(kind not in ("Dense", "Normalize") for kind in later):
        raise ModelError(
            f"{name} has the modules {', '.join(kinds) or 'none'}; expected Transformer, Pooling, and then nothing or "
            "any of Dense and Normalize."
        )


def _about(name: str, folder: Path) -> dict[str, Any]:
    """What a checkpoint says of its prompts and of how its vectors are compared."""
    found = read_json(name, folder / _ABOUT) if (folder / _ABOUT).is_file() else {}
    return found if isinstance(found, dict) else {}


def _prompts(name: str, about: dict[str, Any]) -> tuple[str, str]:
    """What sentence-transformers puts before queries and documents. An empty prompt is one that was never set."""
    prompts = about.get("prompts") or {}
    if not isinstance(prompts, dict):
        raise ModelError(
            f"{name}: found the prompts {prompts!r} in {_ABOUT}; expected an object with a text for each name. Fetch "
            "the checkpoint again."
        )
    mentions, entities = (
        next((str(prompts[one]) for one in names if prompts.get(one)), "") for names in _PROMPTS.values()
    )
    return mentions, entities


def _is_cosine(name: str, about: dict[str, Any]) -> bool:
    measure = about.get("similarity_fn_name")
    if measure not in (None, "dot", "cosine"):
        raise ModelError(f"{name} compares vectors by {measure} ({_ABOUT}); expected dot or cosine.")
    return bool(measure == "cosine")


def _weights(name: str, module: ModuleFiles) -> Iterator[Path]:
    if module.kind == "Transformer":
        files, weights_format = weight_files(name, module.folder)
        if weights_format != "safetensors":
            raise ModelError(f"{name} has the weights {files[0]}; expected safetensors, which cannot hold code.")
        yield from files
    elif module.kind == "Dense":
        file = module.folder / "model.safetensors"
        if not file.is_file():
            raise ModelError(f"{name} has a Dense module without weights; expected {file}. Fetch it again.")
        yield file


def _existing(folders: Sequence[Path], names: Sequence[str]) -> list[Path]:
    return [file for folder in folders for file in (folder / name for name in names) if file.is_file()]
