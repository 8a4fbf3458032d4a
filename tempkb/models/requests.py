"""What a person asks for when adding a model: a name, a checkpoint and what is known about it. No torch here."""

import re
from collections.abc import Sequence
from pathlib import Path

from tempkb.errors import SettingsError
from tempkb.models.declaration import ModelRequest
from tempkb.models.known import located
from tempkb.models.presets import PRESETS
from tempkb.models.tables import NAME_PATTERN
from tempkb.options import Words
from tempkb.settings import Home


def request_of(name: str, words: Words) -> ModelRequest:
    """Return the request that words make.

    Raises:
        SettingsError: the name or a word is not allowed.
    """
    what = f"model {name!r}"
    if not re.fullmatch(NAME_PATTERN, name):
        raise SettingsError(
            f"{what}: found a name that is not allowed; expected lower-case letters, digits, dots, underscores "
            "and single hyphens, such as roberta-2019-q4"
        )
    request = ModelRequest.of(words, what, name=name)
    if not request.checkpoint:
        raise SettingsError(f"{what}: found no checkpoint; expected a folder or an id of the Hugging Face hub")
    return request


def requested(home: Home, name: str, words: Words, said: Words) -> dict[str, Words]:
    """Return what is asked for: one model as typed, as `tempkb.toml` has it or as before, or all of `tempkb.toml`.

    Args:
        name: of the model; empty for all of `tempkb.toml`.
        words: what was typed; without a checkpoint they are added to the lines of that name.
        said: the words with which the model was added before; empty if it was not.

    Raises:
        SettingsError: nothing is asked for, or a word is not allowed.
    """
    lines = lines_of(home)
    if not name:
        if not lines:
            raise SettingsError(
                "model add: found neither a name nor lines [models.NAME] in tempkb.toml of the home; expected a name "
                "and a checkpoint, such as: tempkb model add t5-large google-t5/t5-large"
            )
        wanted = lines
    elif words.get("checkpoint"):
        wanted = {name: words}
    elif name in lines or said:
        wanted = {name: {**lines.get(name, said), **words}}
    else:
        raise SettingsError(
            f"model {name!r}: found no checkpoint and no lines [models.{name}] in tempkb.toml of the home; expected a "
            f"folder or an id of the Hugging Face hub: tempkb model add {name} CHECKPOINT"
        )
    for one, own in wanted.items():
        request_of(one, own)
    return dict(wanted)


def lines_of(home: Home) -> dict[str, Words]:
    """Return what `tempkb.toml` of a home says of models, by name; a folder in it is named from the home."""
    return {
        name: {**words, "checkpoint": located(home.path, str(Path(words["checkpoint"]).expanduser()))}
        for name, words in home.settings.models
    }


def preset(names: Sequence[str]) -> dict[str, Words]:
    """Return the models of presets.

    Raises:
        SettingsError: there is no preset of that name.
    """
    unknown = [name for name in names if name not in PRESETS]
    if unknown:
        raise SettingsError(f"--preset {unknown[0]}: no such preset; expected one of {', '.join(PRESETS)}")
    return {model: words for name in names for model, words in PRESETS[name].items()}
