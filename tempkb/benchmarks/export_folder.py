"""Writes export folders, completely or not at all, with the checksum of every file."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tempkb.core.errors import SettingsError
from tempkb.core.files import own, remove_tree, sum_of
from tempkb.core.locks import passing_lock

SUMS = "SHA256SUMS"


class ExportFolder:
    """A folder that is being written, with the checksums of its files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sums: dict[str, str] = {}

    def write_text(self, name: str, text: str) -> None:
        """Write a text file."""
        path = self._prepared(name)
        path.write_text(text, "utf-8")
        self._sum(name, path)

    def write_json_lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Write one JSON object per line, with keys in the given order, and return their number."""
        return self.write_lines(name, (json.dumps(row, ensure_ascii=False, default=_plain) for row in rows))

    def write_lines(self, name: str, lines: Iterable[str]) -> int:
        """Write lines, which are given without their ends, and return their number."""
        path = self._prepared(name)
        n = 0
        with path.open("w", encoding="utf-8") as file:
            for line in lines:
                file.write(f"{line}\n")
                n += 1
        self._sum(name, path)
        return n

    def write_parquet(self, name: str, schema: pa.Schema, batches: Iterable[pa.Table]) -> int:
        """Write a Parquet file, and return the number of its rows."""
        path = self._prepared(name)
        n = 0
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_table(batch)
                n += batch.num_rows
        self._sum(name, path)
        return n

    @contextmanager
    def adding(self, name: str) -> Iterator[Path]:
        """Yield the path of a file that is written inside the block."""
        path = self._prepared(name)
        yield path
        self._sum(name, path)

    def write_sums(self) -> None:
        """Write the checksums in the format of `sha256sum -c`."""
        (self._folder / SUMS).write_text(self._sums_of(""), "utf-8")

    def written(self, folder: str) -> Iterator[tuple[str, int, str]]:
        """Yield name, size (bytes) and SHA-256 of the files that were written to a folder so far."""
        for name, digest in sorted(self._sums.items()):
            if name.startswith(f"{folder}/"):
                yield name, (self._folder / name).stat().st_size, digest

    def digest(self, folder: str) -> str:
        """Return the SHA-256 of the names and checksums of the files that were written to a folder so far."""
        return hashlib.sha256(self._sums_of(f"{folder}/").encode()).hexdigest()

    def _sums_of(self, beginning: str) -> str:
        found = sorted((name, digest) for name, digest in self._sums.items() if name.startswith(beginning))
        return "".join(f"{digest}  {name}\n" for name, digest in found)

    def _prepared(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _sum(self, name: str, path: Path) -> None:
        self._sums[name] = sum_of(path, anew=True)


@contextmanager
def export_folder(target: Path, kind: str, always: Collection[str]) -> Iterator[ExportFolder]:
    """Yield a folder to write to; it replaces `target` at the end, and is removed after an error.

    Args:
        target: the folder; only one of the same kind, in which nobody has put anything, is replaced.
        kind: what the folder is, with its article.
        always: names of files that every folder of this kind has.

    Raises:
        LockTimeoutError: another process writes to `target`.
        LinkError: a link lies beside `target` where it is prepared.
        SettingsError: `target` is not of this kind, holds a file of somebody else, or cannot be a folder.
    """
    _refuse_no_folder(target)
    # Where a link leads: the folder is replaced there, and the link stays.
    place = target.resolve()
    beside = (place.with_name(f".{place.name}.{what}") for what in ("draft", "former", "lock"))
    draft, former, lock = (own(place.parent, path) for path in beside)
    with passing_lock(lock, f"{target}: another export writes this folder; wait for it, then type the same again"):
        _put_back(former, place)
        _refuse_others(target, kind, always)
        remove_tree(place.parent, draft)
        draft.mkdir()
        try:
            folder = ExportFolder(draft)
            yield folder
            folder.write_sums()
            remove_tree(place.parent, former, may_fail=True)
            # Once more, since it may have taken hours to write the draft.
            _refuse_others(target, kind, always)
            if place.exists():
                # Moved in one step: a folder that is half removed after a kill would not be recognised as an export.
                place.replace(former)
            draft.replace(place)
        finally:
            _put_back(former, place)
            for left in (draft, former):
                remove_tree(place.parent, left, may_fail=True)


def _put_back(former: Path, target: Path) -> None:
    """Move a folder back that was moved away for one that did not come."""
    if former.exists() and not target.exists():
        former.replace(target)


def _refuse_no_folder(target: Path) -> None:
    """Refuse a target that is no folder, or lies below what is none."""
    for place in (target, *target.parents):
        if place.is_dir():
            return
        if place.exists():
            raise SettingsError(f"{place}: is a file; choose a folder")
        if place.is_symlink():
            raise SettingsError(
                f"{place}: is a link to {place.readlink()}, which does not exist; remove the link, or choose another "
                "folder"
            )


def _refuse_others(target: Path, kind: str, always: Collection[str]) -> None:
    """Refuse to replace what is not known, by its checksums, to have been written by us as a whole."""
    if not target.exists():
        return
    listed = {name for _, name in _listed(target)} if (target / SUMS).is_file() else set()
    if not listed.issuperset(always):
        raise SettingsError(f"{target}: exists and is not {kind}, so it is not replaced; choose another folder")
    ours = {SUMS, *listed}
    for path in sorted(target.rglob("*")):
        name = path.relative_to(target)
        is_ours = path.is_dir() or name.as_posix() in ours or _is_compiled(name, listed)
        if path.is_symlink() or not is_ours:
            raise SettingsError(
                f"{target}: holds {name}, which tempkb did not write, so the folder is not replaced; move it "
                "elsewhere, then type the same again, or choose another folder"
            )


def _is_compiled(name: Path, listed: Collection[str]) -> bool:
    """Is this the compiled form of one of our files, which Python keeps beside a file that was imported?"""
    source = name.parent.parent / f"{name.name.partition('.')[0]}.py"
    return name.parent.name == "__pycache__" and source.as_posix() in listed


def _listed(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield checksum and name of each file that `SHA256SUMS` lists."""
    for line in (folder / SUMS).read_text("utf-8", errors="replace").split("\n"):
        if line:
            digest, _, name = line.partition("  ")
            yield digest, name


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no JSON for {type(value).__name__}")
