"""What a person asks for when adding a model: a name, a checkpoint and what is known about it. No torch here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tempkb.errors import SettingsError
from tempkb.models.families import FAMILIES, Family
from tempkb.models.presets import PRESETS
from tempkb.models.tables import NAME_PATTERN
from tempkb.settings import Home
from tempkb.values import MODEL_LINES, day

Words = Mapping[str, str]
"""A request as people type it: `checkpoint`, `revision`, `family` and `knows_until`; empty words are left out."""


@dataclass(frozen=True)
class ModelRequest:
    """A model to be added.

    Attributes:
        name: of the model.
        checkpoint: an absolute folder, or an id of the hub.
        revision: branch, tag or commit on the hub; None for its main branch.
        family: what kind of model it has to be; None for what its architecture says.
        knows_certainly_until: day before which its training texts certainly reach; None if unknown.
        knows_possibly_until: day from which on none of its training texts is; None if unknown.
    """

    name: str
    checkpoint: str
    revision: str | None = None
    family: Family | None = None
    knows_certainly_until: date | None = None
    knows_possibly_until: date | None = None


def request_of(name: str, words: Words) -> ModelRequest:
    """Return the request that words make.

    Raises:
        SettingsError: the name or a word is not allowed.
    """
    if not re.fullmatch(NAME_PATTERN, name):
        raise SettingsError(
            f"model {name!r}: found a name that is not allowed; expected lower-case letters, digits, dots, underscores "
            "and single hyphens, such as roberta-2019-q4"
        )
    odd = sorted(set(words) - set(MODEL_LINES))
    if odd:
        raise SettingsError(f"model {name!r}: found {', '.join(odd)}; expected only {', '.join(MODEL_LINES)}")
    checkpoint = words.get("checkpoint", "")
    if not checkpoint:
        raise SettingsError(f"model {name!r}: found no checkpoint; expected a folder or an id of the Hugging Face hub")
    family = words.get("family") or None
    if family not in (None, *FAMILIES):
        raise SettingsError(f"model {name!r}: found the family {family!r}; expected one of {', '.join(FAMILIES)}")
    folder = Path(checkpoint).expanduser()
    return ModelRequest(
        name,
        str(folder.resolve()) if folder.is_dir() else checkpoint,
        words.get("revision") or None,
        family,
        *_dates(name, words.get("knows_until", "")),
    )


def requested(home: Home, name: str, words: Words, said: Words) -> dict[str, Words]:
    """Return what is asked for: one model as typed, as `tempkb.toml` has it or as before, or all of `tempkb.toml`.

    Args:
        home: its settings have the lines of `tempkb.toml`.
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
    """Return what `tempkb.toml` of a home says of models, by name."""
    return {name: _from_home(home, words) for name, words in home.settings.models}


def preset(names: Sequence[str]) -> dict[str, Words]:
    """Return the models of presets.

    Raises:
        SettingsError: there is no preset of that name.
    """
    unknown = [name for name in names if name not in PRESETS]
    if unknown:
        raise SettingsError(f"--preset {unknown[0]}: no such preset; expected one of {', '.join(PRESETS)}")
    return {model: words for name in names for model, words in PRESETS[name].items()}


def _from_home(home: Home, words: Words) -> Words:
    """Lines of `tempkb.toml`; a folder in them is named from the home."""
    folder = home.path / Path(words["checkpoint"]).expanduser()
    return {**words, "checkpoint": str(folder)} if folder.is_dir() else words


def _dates(name: str, words: str) -> tuple[date | None, date | None]:
    """The days that `DATE` or `DATE..DATE` names."""
    if not words:
        return None, None
    first, dots, second = words.partition("..")
    try:
        certainly = day(first)
        possibly = day(second) if dots else certainly
    except ValueError:
        certainly, possibly = date.max, date.min
    if certainly > possibly:
        raise SettingsError(
            f"model {name!r}: found {words!r} as the days until which it knows; expected YYYY-MM-DD, or an earlier day "
            "that is certain and a later one that is possible, such as 2020-03-01..2021-01-01"
        )
    return certainly, possibly
