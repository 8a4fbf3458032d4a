"""Files that are whole or absent, known by checksums, and tempkb's own. Arrow is imported only to read Parquet.

Bits flip on disks and copies break off. Sizes are compared whenever a version is looked up, checksums before its
files are read, once per process. DuckDB (2.0.0) ignores the checksums of Parquet's pages, which our readers verify,
so those of whole files are verified before it reads them (`Version.paths`).

A home, its `lake` or its `dumps` as a whole may be a link to another disk. Each is a root; nothing is deleted, moved
or written through a link that lies below one.
"""

import contextlib
import errno
import hashlib
import json
import os
import shlex
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.core.errors import TempkbError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


NO_ROOM = errno.ENOSPC, errno.EDQUOT

# Checksums of files that this process has read, with the state of the file for which they hold.
_SUMS: dict[Path, tuple[tuple[int, int, int], str]] = {}


def sum_of(path: Path, *, anew: bool = False) -> str:
    """Return the sha256 of a file in hexadecimal; an unchanged file is read once per process."""
    state = path.stat()
    seen = (state.st_size, state.st_mtime_ns, state.st_ino)
    known = _SUMS.get(path)
    if known is not None and known[0] == seen and not anew:
        return known[1]
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    _SUMS[path] = (seen, digest)
    return digest


def fault_of(path: str, size: int, digest: str = "", *, anew: bool = False) -> tuple[str, str] | None:
    """Compare a file's size, and its checksum if one is given, with the noted ones.

    Returns:
        what was found and what was expected; None if they are equal.

    Raises:
        OSError: the system does not let us read the file now, which does not mean that it is damaged.
    """
    try:
        found = os.stat(path).st_size  # noqa: PTH116 - called for each file of each partition, where it costs half
    except (FileNotFoundError, NotADirectoryError):
        return "no such file", f"{size:,} bytes"
    if found != size:
        return f"{found:,} bytes", f"{size:,} bytes"
    try:
        sha256 = sum_of(Path(path), anew=anew) if digest else ""
    except OSError as error:
        # Too many open files, or a missing permission. A disk that cannot read its block is named like damage.
        if error.errno not in (errno.EIO, errno.ENOENT):
            raise
        return f"a file that cannot be read ({error.strerror})", f"sha256 {digest[:16]}…"
    return None if sha256 == digest else (f"sha256 {sha256[:16]}…", f"sha256 {digest[:16]}…")


def carry_sum(old: Path, new: Path) -> None:
    """Keep the known checksum of a file that was moved."""
    if (known := _SUMS.pop(old, None)) is not None:
        _SUMS[new] = known


def replace_whole(path: Path, data: bytes) -> None:
    """Write a small file in one step; make its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(data)
        sync(draft)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    sync(path.parent)


def write_summed(path: Path, said: Mapping[str, Any]) -> None:
    """Write a small JSON file in one step, with its own checksum in the last line."""
    body = json.dumps(said, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")
    replace_whole(path, body.removesuffix(b"\n}") + _last_line(body))


def read_summed(path: Path) -> dict[str, Any] | None:
    """Return what `write_summed` has written; None if the file is missing, or not as it was written."""
    try:
        written = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    size = len(_last_line(b""))
    body, line = written[:-size] + b"\n}", written[-size:]
    return json.loads(body) if line == _last_line(body) else None


def _last_line(body: bytes) -> bytes:
    return b',\n "sum": "' + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'


@cache
def toml_beside(module: str, name: str) -> dict[str, Any]:
    """Return what a file of TOML has, by its path from the folder of a module: `toml_beside(__file__, "a.toml")`."""
    return tomllib.loads((Path(module).parent / name).read_text("utf-8"))


def sync(path: Path) -> None:
    """Have the system write a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class LinkError(TempkbError):
    """A link lies where something was to be deleted, moved or written; what it leads to was not touched."""

    def __init__(self, link: Path) -> None:
        super().__init__(
            f"{link}: found a link to {link.readlink()}; expected a file or folder of tempkb's own, which follows no "
            f"link inside a home. Put there what belongs there, or remove only the link: rm {shlex.quote(str(link))}"
        )


def own(root: Path, path: Path) -> Path:
    """Return a path below a root, which need not exist, to delete, move or write what is there.

    Raises:
        LinkError: it, or a folder on the way to it, is a link.
    """
    at = root
    for step in path.relative_to(root).parts:
        at /= step
        if at.is_symlink():
            raise LinkError(at)
    return path


def own_tree(root: Path, folder: Path) -> Path:
    """Return the same as `own`; a link in the depths of the folder is refused as well."""
    for link in links_in(own(root, folder)):
        raise LinkError(link)
    return folder


def links_in(folder: Path) -> list[Path]:
    """Return the links in a folder and in the folders below it, sorted; none is followed."""
    found = (Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))
    return sorted(path for path in found if path.is_symlink())


def real_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, sorted, without links to folders; none if it does not exist."""
    return sorted(one for one in folder.iterdir() if one.is_dir() and not one.is_symlink()) if folder.is_dir() else []


def remove_tree(root: Path, folder: Path, last: str = "", *, may_fail: bool = False) -> None:
    """Delete a folder below a root with all that it holds, if it is there; links in it are deleted, not followed.

    Args:
        last: the file by which the folder is known as tempkb's own, which a kill must leave.
        may_fail: leave without a word what the system does not let us delete.
    """
    own(root, folder)
    with contextlib.suppress(OSError if may_fail else FileNotFoundError):
        for path in folder.iterdir() if last else ():
            if path.name != last:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(folder)


# Imported by functions that read or write a file: commands that only look do not need it, and it takes long.


def open_parquet(path: Path) -> "pq.ParquetFile":
    """Open a file whose pages are verified against their checksums when they are read."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, page_checksum_verification=True)


def read_parquet(paths: Path | Sequence[Path], columns: Sequence[str] | None = None) -> "pa.Table":
    """Return all rows of one file or several."""
    import pyarrow.parquet as pq

    listed = paths if isinstance(paths, Path) else list(paths)
    return pq.read_table(listed, columns=columns, page_checksum_verification=True)


def parquet_writer(path: Path, schema: "pa.Schema", **options: Any) -> "pq.ParquetWriter":
    """Open a file for writing, with a checksum in each page."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, schema, write_page_checksum=True, **options)
