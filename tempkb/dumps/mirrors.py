"""Where dumps are published: a folder or a web server, behind one interface.

A place is a path below the mirror's root, with slashes: `simplewiki/20260401`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tempkb.errors import SourceError

_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# Lists of files are small: that of the largest wiki has a few megabytes.
LONGEST_LIST = 64 << 20


class Mirror(Protocol):
    """What the catalogue needs of a place where dumps are published."""

    @property
    def where(self) -> str:
        """The root, as people would write it."""

    def folders(self, place: str) -> list[str]:
        """Return the names of the folders in a place, sorted; none if there is no such place."""

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of the files in a place, by name, as far as they are known."""

    def small_file(self, place: str) -> bytes | None:
        """Return the content of a list of files; None if there is none.

        Raises:
            SourceError: it is longer than any list of files, or cannot be read.
        """


@dataclass(frozen=True)
class FolderMirror:
    """A folder of this machine, or one that is mounted on it.

    Args:
        is_own: is it the home's own folder? A link in it may lead anywhere. A mirror is filled by others, so a link
            in a mirror must lead to a place in the mirror.
    """

    root: Path
    is_own: bool = False

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.root)

    def folders(self, place: str) -> list[str]:
        """Return the names of the folders in a place, sorted."""
        folder = self.path_of(place)
        return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []

    def small_file(self, place: str) -> bytes | None:
        """Return the content of a list of files; None if there is none."""
        path = self.path_of(place)
        if not path.is_file():
            return None
        if path.stat().st_size > LONGEST_LIST:
            raise SourceError(f"{path}: {path.stat().st_size} bytes; expected a list of files, which is much shorter")
        return path.read_bytes()

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of the files in a place, by name."""
        folder = self.path_of(place)
        files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
        return {path.name: path.stat().st_size for path in files}

    def size_of(self, place: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        path = self.path_of(place)
        return path.stat().st_size if path.is_file() else None

    def path_of(self, place: str) -> Path:
        """Return the path of a place.

        Raises:
            SourceError: a link on the way leads out of the mirror.
        """
        path = self.root / place
        if not self.is_own and not (found := path.resolve()).is_relative_to(self.root.resolve()):
            raise SourceError(
                f"{path}: a link that leads to {found}, outside of the mirror {self.root}; expected a file or folder "
                "in the mirror. Nothing is read from there. Put the file itself into the mirror, or set the folder "
                "that has it as the mirror"
            )
        return path


def below(root: Path, place: str) -> Path:
    """Return the path of a place below a folder.

    Raises:
        SourceError: the place would be elsewhere, or has steps that no dump has.
    """
    steps = place.split("/")
    if not all(_STEP.fullmatch(step) for step in steps):
        raise SourceError(
            f"{place!r}: the mirror gives a name that is not a plain path below its root; expected steps such as "
            "simplewiki/20260401/simplewiki-20260401-page.sql.gz. Nothing was written; check what the mirror offers."
        )
    return root.joinpath(*steps)
