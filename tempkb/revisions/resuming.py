"""Which items are the same, and what came out of one as a file: a build that crashed goes on from there."""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import tempkb
from tempkb.errors import ContractError
from tempkb.revisions.reading import Item, Receipt
from tempkb.store.damage import sum_of
from tempkb.store.lake import Lake, Version


@dataclasses.dataclass
class _Noted:
    receipt: Receipt
    sums: dict[str, str]


_NOTED = TypeAdapter(_Noted)
_VERSIONS = TypeAdapter(dict[str, list[Version]])
_BEFORE = "before.json"


def item_name(item: Item) -> str:
    """Name an item by all that its rows depend on: the bytes of its files, what is asked, and the code."""
    files = [(file.path.name, file.dump_id, file.sha256) for file in item.files]
    return _hash({**_asked(item), "files": files})


def plan_name(item: Item) -> str:
    """Name the plan of an item by what all its items share, so that a file that is fetched anew costs only its own."""
    return _hash(_asked(item))


def _asked(item: Item) -> dict[str, Any]:
    said = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    del said["files"], said["name"]
    said |= {"windows": [window.key for window in item.windows], "asked": sorted(item.asked)}
    said["namespaces"] = None if item.namespaces is None else sorted(item.namespaces)
    said |= {"salt": item.salt.hex(), "choice": item.choice.name}
    return {**said, "code": _code()}


def _hash(said: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]


def encode_receipt(receipt: Receipt) -> bytes:
    """A receipt as JSON below its sum, with the sums of the files it tells of, all of which are on the disk by then."""
    sums = {}
    for path in sorted({path for run, _ in receipt.runs for path in run.paths()}):
        with path.open("rb") as handle:
            os.fsync(handle.fileno())
        sums[str(path)] = sum_of(path)
    body = _NOTED.dump_json(_Noted(receipt, sums))
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode_receipt(data: bytes) -> Receipt:
    """Read a receipt back.

    Raises:
        FileNotFoundError: files that it tells of are gone or are not as they were, or the receipt is not;
            the item is then read once more.
    """
    digest, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise FileNotFoundError("a whole receipt")
    noted = _NOTED.validate_json(body)
    for path, expected in noted.sums.items():
        if not Path(path).is_file() or sum_of(Path(path), anew=True) != expected:
            raise FileNotFoundError(path)
    return noted.receipt


class Before:
    """Which versions stood before a build began, also to a later run that goes on with it.

    Args:
        lake: whose versions.
        drafts: folder of the build's drafts, where they are noted.
    """

    def __init__(self, lake: Lake, drafts: Path) -> None:
        self._lake, self._path = lake, drafts / _BEFORE
        self._noted = _read_note(self._path) if self._path.exists() else {}

    def note(self, windows: Iterable[str], tables: Sequence[str]) -> None:
        """Note what stands of some windows now, but for those that an earlier run has noted."""
        for window in windows:
            if window not in self._noted:
                versions = [self._lake.current(table, window) for table in tables]
                self._noted[window] = [version for version in versions if version is not None]
        draft = self._path.with_suffix(".draft")
        draft.write_bytes(_VERSIONS.dump_json(self._noted))
        draft.replace(self._path)

    def of(self, window: str) -> dict[str, Version]:
        """What stood of a window, by table, as far as its files are still there as they were."""
        return {
            version.table: version for version in self._noted.get(window, []) if version.first_fault(sums=True) is None
        }


def _read_note(path: Path) -> dict[str, list[Version]]:
    try:
        return _VERSIONS.validate_json(path.read_bytes())
    except ValidationError:
        raise ContractError(
            f"{path}: found something else than the note of an earlier run; what was read so far is of no use without "
            "it: tempkb gc, then build again"
        ) from None


def interrupted_windows(lake: Lake) -> list[frozenset[str]]:
    """Return, for each build that ended while it wrote, the windows it was to write.

    Only a build that is asked for all of them goes on from its finished items.
    """
    notes = (folder / _BEFORE for folder in lake.unfinished())
    return [frozenset(_read_note(path)) for path in notes if path.exists()]


def new_try(folder: Path, kept: Iterable[Receipt]) -> Path:
    """Return a new folder below `folder` for a run's items; what killed runs left half done is removed."""
    used = {path for receipt in kept for run, _ in receipt.runs for path in (run.folder, *run.folder.parents)}
    tries = sorted(folder.glob("try-*"))
    for item in (path for one in tries for path in one.iterdir()):
        if item not in used:
            shutil.rmtree(item)
    return folder / f"try-{len(tries):04}"


@cache
def _code() -> str:
    """Hash of our own source files: other code may give other rows."""
    root = Path(tempkb.__file__).parent
    hashes = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        hashes.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return hashes.hexdigest()
