"""What to type when the row or the checkpoint of a linker is damaged or lost; reads no weights, and needs no torch."""

import json
import shlex
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tempkb.linking.requests import PRESETS as PRESET_NAMES
from tempkb.linking.requests import command_of_link, default_name
from tempkb.linking.training.recipe import PRESETS, other_numbers
from tempkb.store.said import readable_said

TRAINING = "training.json"
"""File of a checkpoint that was trained here: the curves of its training, and what of its row was known before."""
KNOWN = "row"
"""What of the row was known is there under this name."""

Row = Mapping[str, Any]
# Numbers of a recipe that `--set` does not take.
_UNSETTABLE = {"version", "hard_negatives"}


def command_of(row: Row) -> str:
    """Return the command that trains or adds a linker as its row in `linkers` says that it was."""
    if row["kind"] == "sentence-encoder":
        options = [row["linker"], row["checkpoint"], *_option("--revision", row["hub_revision"])]
        return f"tempkb linker add {shlex.join(options)}"
    return f"tempkb linker train {shlex.join([row['release'], *_options(row)])}"


def command_without_row(folder: Path, linker: str) -> str:
    """Return the command that makes a linker again whose row is lost: as it was trained, or from where it was added."""
    try:
        row = json.loads((folder / linker / TRAINING).read_text("utf-8"))[KNOWN]
        return command_of({**row, "cut": date.fromisoformat(row["cut"])})
    except (OSError, ValueError, KeyError, TypeError):
        words = readable_said(folder, linker).words
        if words:
            added = {"kind": "sentence-encoder", "linker": linker, "hub_revision": words.get("revision")}
            return command_of({**words, **added})
        return (
            f"tempkb linker add {linker} CHECKPOINT, or, if it was trained here: "
            f"tempkb linker train RELEASE --cut DATE --preset PRESET --name {linker}"
        )


def commands_of_scores(folder: Path, linker: str) -> str:
    """Return the commands that encode and link again what a linker was asked for; see `command_without_row`."""
    asked = readable_said(folder, linker).asked
    return " && ".join(command_of_link(linker, words) for words in asked) or f"tempkb linker score {linker}"


def is_gone(row: Row) -> bool:
    """Return whether the folder of a linker's checkpoint is not there; what the hub has is not asked for."""
    return row["checkpoint"] is not None and row["hub_revision"] is None and not Path(row["checkpoint"]).is_dir()


def gone_in_words(path: Path | str) -> str:
    """Return what is found of a linker of whose checkpoint a path is gone."""
    return f"found no {path}; expected the files of its checkpoint"


def mend_in_words(row: Row) -> str:
    """Return what to do about a linker whose files are not those to which its name is bound."""
    if row["hub_revision"]:
        return f"Fetch them again: {command_of(row)}"
    if row["kind"] == "sentence-encoder":
        return f"Put them back, or name the folder where they are now: tempkb linker add {row['linker']} FOLDER"
    return (
        "Put them back, or remove the linker with its vectors and scores and train it again: "
        f"tempkb linker rm {row['linker']} && {command_of(row)}"
    )


def _options(row: Row) -> Iterator[str]:
    """The options of a training that are not the usual ones."""
    name, cut, seed, preset, base = (row[column] for column in ("linker", "cut", "seed", "preset", "base"))
    yield from ("--cut", str(cut))
    yield from _option("--seed", str(seed) if seed != 1 else None)
    yield from _option("--preset", preset if preset != PRESET_NAMES[0] else None)
    if preset in PRESETS:
        numbers = json.loads(row["recipe"])
        yield from _option("--base", base if base != PRESETS[preset].base else None)
        for number, (value, _) in other_numbers(preset, base or "", numbers).items():
            if number not in _UNSETTABLE:
                yield from ("--set", f"{number}={value}")
        yield from _option("--hard-negatives", numbers.get("hard_negatives"))
        yield from _option("--negatives-of", json.loads(row["trained_from"] or "{}").get("negatives_of"))
    yield from _option("--name", name if name != default_name(row["release"], cut, seed, preset) else None)


def _option(name: str, value: Any) -> list[str]:
    return [name, str(value)] if value else []
