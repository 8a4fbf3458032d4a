"""What people said of a model or a linker, in one small checked file each beside the lake, which damage to it spares.

    <home>/models/NAME.json, <home>/linkers/NAME.json

`words` are those of the request that made it, `asked` and `generated` those of the requests that gave it scores, and
by which it said something. A repair asks for
just that again.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from tempkb.errors import SettingsError
from tempkb.options import Words
from tempkb.store.files import replace_whole
from tempkb.store.locks import locked
from tempkb.store.owned import own

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


def read_said(folder: Path, name: str) -> Said:
    """Return what was said; nothing if there is no file.

    Raises:
        SettingsError: the file has another content than tempkb wrote.
    """
    path = said_path(folder, name)
    try:
        entry = json.loads(path.read_text("utf-8"))
        said = Said(dict(entry["words"]), *(tuple(map(dict, entry.get(name, ()))) for name in get_args(Noted)))
        if entry["name"] == name and entry["sum"] == _sum_of(name, said):
            return said
    except FileNotFoundError:
        return Said({})
    except (ValueError, TypeError, KeyError):
        pass
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
    """Replace what was said by what `change` makes of it, unless that is equal.

    Raises:
        SettingsError: the file has another content than tempkb wrote.
    """
    own(folder.parent, folder).mkdir(parents=True, exist_ok=True)
    with locked(folder / f".{name}.lock"):
        before = read_said(folder, name)
        after = change(before)
        if after != before:
            entry = {"name": name, **_as_json(after), "sum": _sum_of(name, after)}
            replace_whole(said_path(folder, name), json.dumps(entry, indent=1).encode() + b"\n")


def note_asked(folder: Path, name: str, words: Words, noted: Noted = "asked") -> None:
    """Add the words of a request for scores, or for what a model says, unless they are there.

    Raises:
        SettingsError: the file has another content than tempkb wrote.
    """

    def add(said: Said) -> Said:
        before = getattr(said, noted)
        if words in before:
            return said
        after = (*before, dict(words))
        return replace(said, asked=after) if noted == "asked" else replace(said, generated=after)

    change_said(folder, name, add)


def forget_release(folder: Path, release: str) -> None:
    """Take a release out of what all models or linkers of a folder were asked, since none of it can be asked again.

    Another release may get its name. Files that cannot be read are left to `tempkb verify`.
    """
    for name in said_names(folder):
        try:
            change_said(
                folder,
                name,
                lambda said: Said(said.words, *(_without(getattr(said, one), release) for one in get_args(Noted))),
            )
        except SettingsError:
            continue


def said_names(folder: Path) -> list[str]:
    """Return the names of those of whom something was said, sorted."""
    return sorted(path.stem for path in folder.glob("*.json"))


def _without(asked: tuple[Words, ...], release: str) -> tuple[Words, ...]:
    kept = list[Words]()
    for words in asked:
        releases = words.get("releases", "").split(",")
        left = [name for name in releases if name != release]
        if left:
            kept.append({**words, "releases": ",".join(left)} if "releases" in words else words)
    return tuple(kept)


def _sum_of(name: str, said: Said) -> str:
    return hashlib.sha256(json.dumps([name, _as_json(said)], sort_keys=True).encode()).hexdigest()


def _as_json(said: Said) -> dict[str, Any]:
    """What a file holds; linkers, and models that were never asked to say something, have nothing of that kind."""
    return {key: value for key, value in asdict(said).items() if value or key != "generated"}
