"""Accounting of a pass: every `<revision>` tag in the bytes has become a row, or is counted with a reason.

Finished items have receipts, with which an interrupted build continues.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import tempkb
from tempkb.core.errors import ContractError
from tempkb.core.files import remove_tree, sum_of
from tempkb.core.windows import Window, window_of
from tempkb.store.drafts import Exclusion
from tempkb.store.lake import Lake
from tempkb.store.versions import Version
from tempkb.wiki.dumps.catalogue import Dump, day_in, horizon_day
from tempkb.wiki.dumps.pages import describe_files
from tempkb.wiki.revisions.reading import Item, Receipt
from tempkb.wiki.revisions.tables import REVISION_LOG


@dataclass(frozen=True)
class ElementCounts:
    """Numbers of `<revision>` elements of a dump's files, by what became of them.

    Attributes:
        elements: start tags counted in the bytes, without parsing.
        outside: revisions in none of the windows to build.
        duplicates: repeats of a revision.
        lost: revisions in damaged pages or parts of files.
        not_chosen: revisions of pages that the home does not hold.
    """

    elements: int
    logged: int
    outside: int
    duplicates: int
    lost: int
    not_chosen: int = 0

    @property
    def agree(self) -> bool:
        """Is every element accounted for?"""
        return self.elements == self.logged + self.outside + self.duplicates + self.lost + self.not_chosen


def count_elements(receipts: Sequence[Receipt], logged: int, *, all_written: bool) -> ElementCounts:
    """Add up the counts of the workers and the rows that were written.

    Args:
        all_written: was the log of every window to build written? If not, the windows
            without a log hold none of their revisions.
    """
    outside = sum(receipt.outside for receipt in receipts)
    if not all_written:
        outside = sum(receipt.kept for receipt in receipts) - logged
    return ElementCounts(
        elements=sum(receipt.elements.total() for receipt in receipts),
        logged=logged,
        outside=outside,
        duplicates=sum(receipt.duplicates for receipt in receipts),
        lost=sum(one.lost_revisions for receipt in receipts for many in receipt.damages.values() for one in many),
        not_chosen=sum(receipt.not_chosen for receipt in receipts),
    )


def damages_in_words(receipts: Sequence[Receipt]) -> dict[str, str]:
    """Return for each damaged file where and how it is damaged, and what is lost, in words."""
    return {
        name: "; ".join(
            (f"byte {one.position} ({one.of}): " if one.position >= 0 else "")
            + f"{one.reason}, {one.lost_revisions} revisions lost"
            for one in many
        )
        for receipt in receipts
        for name, many in receipt.damages.items()
    }


def after_in_words(dump: Dump, receipts: Sequence[Receipt], last: Window, today: date) -> str:
    """Say how many revisions lie in no window, since they follow the last one, and what helps; empty if none does."""
    after = sum(receipt.after for receipt in receipts)
    if not after:
        return ""
    kept, cut = sum(receipt.kept for receipt in receipts), window_of(last.end, last.granularity).cut
    said = f"{after:,} of {kept:,} revisions of {dump.dump_id} {'lies' if after == 1 else 'lie'} in no window: "
    undated = next((file.path.name for file in dump.history if day_in(file.path.name) is None), "")
    # A dump from the future serves no window, so such a day would not help.
    if dump.date is not None or not undated or cut > today:
        return f"{said}the next one ends on {cut}. A dump of that day or later has what belongs to it"
    return (
        f"{said}the next one ends on {cut}, and without a day in its name a dump reaches only to its last revision, "
        f"here of {horizon_day(dump)}. If it was made on {cut} or later, say so in the file's name, and build again: "
        f"{dump.wiki}-{cut:%Y%m%d}-{undated}"
    )


def describe_read_files(dump: Dump, receipts: Sequence[Receipt], damages: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of `dump_files` with what the pass found."""
    rows = describe_files(dump)
    for row in rows:
        name = row["file_name"]
        seen = [receipt for receipt in receipts if name in receipt.elements]
        if seen:
            row["n_pages"] = sum(receipt.pages[name] for receipt in seen)
            row["n_revision_elements"] = sum(receipt.elements[name] for receipt in seen)
        if name in damages:
            row["status"], row["reason"] = "damaged", damages[name]
    return rows


def exclusions_of(counts: ElementCounts, logged_before: int, damages: Mapping[str, str]) -> list[Exclusion]:
    """Return what is missing from the log, by reason.

    Args:
        logged_before: rows of the same dump in windows that were built earlier.
        damages: by file, one of which is the example.
    """
    example = next((f"{name}: {where}" for name, where in damages.items()), "")
    log = REVISION_LOG.name
    return [
        Exclusion("outside_windows", counts.outside - logged_before, "saved in no window built from this dump", log),
        Exclusion("duplicate_revision", counts.duplicates, "came twice; the newer file's counts", log),
        Exclusion("damaged", counts.lost, example, log),
        Exclusion("not_chosen", counts.not_chosen, "the page is not in the part of the wiki that the home holds", log),
    ]


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
