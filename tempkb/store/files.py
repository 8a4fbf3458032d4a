"""Files written in one step, and checksums of files. Standard library only.

Bits flip on disks and copies break off. Sizes are compared whenever a version is
looked up, checksums before its files are read, once per process.
"""

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def sync(path: Path) -> None:
    """Have the system write a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
