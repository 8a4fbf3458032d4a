"""Names of items and receipts of finished ones, with which an interrupted build continues."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import tempkb
from tempkb.errors import ContractError
from tempkb.revisions.reading import Item, Receipt
from tempkb.store.files import sum_of
from tempkb.store.lake import Lake
from tempkb.store.owned import remove_tree
from tempkb.store.versions import Version


@dataclasses.dataclass
class _Noted:
    receipt: Receipt
    sums: dict[str, str]


_NOTED = TypeAdapter(_Noted)
_VERSIONS = TypeAdapter(dict[str, dict[str, str]])
_BEFORE = "before.json"


def item_name(item: Item) -> str:
    """Name an item by everything that its rows depend on: the bytes of its files, the options, and the code."""
    files = [(file.path.name, file.dump_id, file.sha256) for file in item.files]
    return _hash({**_options(item), "files": files})


def plan_name(item: Item) -> str:
    """Name the plan of an item by what all its items share; a file that is fetched again changes only its own item."""
    return _hash(_options(item))


def _options(item: Item) -> dict[str, Any]:
    options = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    del options["files"], options["name"]
    options |= {"windows": [window.key for window in item.windows], "to_build": sorted(item.to_build)}
    options["namespaces"] = None if item.namespaces is None else sorted(item.namespaces)
    options |= {"salt": item.salt.hex(), "choice": item.choice.name}
    return {**options, "code": _code()}


def _hash(options: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:24]


def encode_receipt(receipt: Receipt) -> bytes:
    """Return a receipt as JSON after its checksum, with the checksums of its files, which are flushed to disk first."""
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
        FileNotFoundError: its files are missing or changed, or the receipt is damaged; the item is then read again.
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
    """The versions that were current before a build began, also for a later run that continues it.

    Args:
        drafts: folder of the build's drafts, where they are noted.
    """

    def __init__(self, lake: Lake, drafts: Path) -> None:
        self._lake, self._path = lake, drafts / _BEFORE
        self._noted = _read_note(self._path) if self._path.exists() else {}

    def note(self, windows: Iterable[str], tables: Sequence[str]) -> None:
        """Note the current versions of some windows, except windows that an earlier run has noted."""
        for window in windows:
            if window not in self._noted:
                versions = [self._lake.current(table, window) for table in tables]
                self._noted[window] = {one.table: one.version for one in versions if one is not None}
        draft = self._path.with_suffix(".draft")
        draft.write_bytes(_VERSIONS.dump_json(self._noted))
        draft.replace(self._path)

    def of(self, window: str) -> dict[str, Version]:
        """Return the version of each table of a window, leaving out versions whose files are gone or changed."""
        named = self._noted.get(window, {}).items()
        versions = (self._lake.version(table, window, name) for table, name in named)
        return {one.table: one for one in versions if one is not None and one.fault(sums=True) is None}


def _read_note(path: Path) -> dict[str, dict[str, str]]:
    try:
        return _VERSIONS.validate_json(path.read_bytes())
    except ValidationError:
        raise ContractError(
            f"{path}: this is not the note of an earlier run; what was read so far cannot be used without "
            "it: tempkb gc, then build again"
        ) from None


def interrupted_windows(lake: Lake) -> list[frozenset[str]]:
    """Return, for each build that was interrupted, the windows that it was to write.

    Only a build of all of them continues with its finished items.
    """
    notes = (folder / _BEFORE for folder in lake.unfinished())
    return [frozenset(_read_note(path)) for path in notes if path.exists()]


def new_try(folder: Path, kept: Iterable[Receipt]) -> Path:
    """Return a new folder below `folder` for a run's items; remove what killed runs left unfinished."""
    used = {path for receipt in kept for run, _ in receipt.runs for path in (run.folder, *run.folder.parents)}
    tries = sorted(folder.glob("try-*"))
    for item in (path for one in tries for path in one.iterdir()):
        if item not in used:
            remove_tree(folder, item)
    return folder / f"try-{len(tries):04}"


@cache
def _code() -> str:
    """Return a hash of tempkb's own source files, since other code may give other rows."""
    root = Path(tempkb.__file__).parent
    hashes = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        hashes.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return hashes.hexdigest()
