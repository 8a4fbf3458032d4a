"""What people said of a model or a linker, in one small checked file each beside the lake, which damage to it spares.

    <home>/models/NAME.json, <home>/linkers/NAME.json

A repair asks for just that again.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tempkb.core.errors import SettingsError
from tempkb.core.files import own, read_summed, write_summed
from tempkb.core.locks import locked
from tempkb.core.options import Words

Noted = Literal["asked", "generated"]


@dataclass(frozen=True)
class Said:
    """What people said of a model or a linker.

    Attributes:
        words: of the request that made it; empty if they are not known.
        asked: words of the requests that gave it scores, each once, in their order.
        generated: likewise of those by which it said something.
    """

    words: Words
    asked: tuple[Words, ...] = ()
    generated: tuple[Words, ...] = ()


def said_path(folder: Path, name: str) -> Path:
    """Return the path of a file."""
    return folder / f"{name}.json"


def said_names(folder: Path) -> list[str]:
    """Return the names of those of whom something was said, sorted."""
    return sorted(path.stem for path in folder.glob("*.json"))


def read_said(folder: Path, name: str) -> Said:
    """Return what was said; nothing if there is no file.

    Raises:
        SettingsError: the file has another content than tempkb wrote.
    """
    path = said_path(folder, name)
    if not path.exists():
        return Said({})
    entry = read_summed(path)
    if entry is not None and entry["name"] == name:
        return Said(entry["words"], tuple(entry["asked"]), tuple(entry["generated"]))
    raise SettingsError(
        f"{name!r}: {path} has another content than tempkb wrote; expected what was said of it when it was added or "
        f"scored. The tables are intact. Put a good copy there, or remove that file and add it again as it was"
    )


def readable_said(folder: Path, name: str) -> Said:
    """Return what was said; nothing also if the file was damaged, which `tempkb verify` names."""
    try:
        return read_said(folder, name)
    except SettingsError:
        return Said({})


def is_unsaid(folder: Path, name: str) -> bool:
    """Return whether the file is gone in which it stood how something was added, or no longer has that."""
    try:
        return not read_said(folder, name).words
    except SettingsError:
        return False


def change_said(folder: Path, name: str, change: Callable[[Said], Said]) -> None:
    """Replace what was said by what `change` makes of it, unless that is equal; see `read_said` for errors."""
    own(folder.parent, folder).mkdir(parents=True, exist_ok=True)
    with locked(folder / f".{name}.lock"):
        before = read_said(folder, name)
        after = change(before)
        if after != before:
            write_summed(said_path(folder, name), {"name": name, **asdict(after)})


def note_asked(folder: Path, name: str, words: Words, noted: Noted = "asked") -> None:
    """Add the words of a request for scores, or for what a model says, unless they are there; see `read_said`."""

    def add(said: Said) -> Said:
        before: tuple[Words, ...] = getattr(said, noted)
        new: dict[str, Any] = {noted: (*before, dict(words))}
        return said if words in before else replace(said, **new)

    change_said(folder, name, add)


def forget_release(folder: Path, release: str) -> None:
    """Take a release out of what all models or linkers of a folder were asked, since none of it can be asked again.

    Another release may get its name. Files that cannot be read are left to `tempkb verify`.
    """

    def without(said: Said) -> Said:
        return Said(said.words, _without(said.asked, release), _without(said.generated, release))

    for name in said_names(folder):
        with contextlib.suppress(SettingsError):
            change_said(folder, name, without)


def _without(asked: Sequence[Words], release: str) -> tuple[Words, ...]:
    left = [(words, [one for one in words.get("releases", "").split(",") if one != release]) for words in asked]
    return tuple({**words, "releases": ",".join(names)} if any(names) else words for words, names in left if names)
