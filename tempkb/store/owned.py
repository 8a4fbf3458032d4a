"""What is tempkb's own in a home: nothing is deleted, moved or written through a link that lies inside one.

A home, its `lake` or its `dumps` as a whole may be a link to another disk. Each is a root; what lies below it counts.
"""

import contextlib
import os
import shlex
import shutil
from pathlib import Path

from tempkb.errors import TempkbError


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
