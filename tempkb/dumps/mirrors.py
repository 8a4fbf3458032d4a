"""Where dumps are published: a folder or a web server, behind one interface.

A place is a path below the mirror's root, with slashes: `simplewiki/20260401`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tempkb.errors import SourceError

_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# Lists of files are small: even that of the largest wiki has a few megabytes.
LONGEST_LIST = 64 << 20


class Mirror(Protocol):
    """What the catalogue asks of a place where dumps are published."""

    @property
    def where(self) -> str:
        """The root, as people would write it."""

    def folders(self, place: str) -> list[str]:
        """Names of the folders in a place, sorted; none when there is no such place."""

    def sizes(self, place: str) -> dict[str, int]:
        """Sizes of the files in a place by name, as far as they are told."""

    def small_file(self, place: str) -> bytes | None:
        """Content of a list of files; None when there is none.

        Raises:
            SourceError: it is longer than any list of files, or cannot be read.
        """


@dataclass(frozen=True)
class FolderMirror:
    """A folder of this machine, or one that it has mounted.

    Args:
        root: the folder.
        is_own: is it the home's own folder, in which a link may lead anywhere? In a mirror, which others fill, a link
            may lead only to what lies in the mirror.
    """

    root: Path
    is_own: bool = False

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.root)

    def folders(self, place: str) -> list[str]:
        """Names of the folders in a place, sorted."""
        folder = self.path_of(place)
        return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []

    def small_file(self, place: str) -> bytes | None:
        """Content of a list of files; None when there is none."""
        path = self.path_of(place)
        if not path.is_file():
            return None
        if path.stat().st_size > LONGEST_LIST:
            raise SourceError(f"{path}: {path.stat().st_size} bytes; expected a list of files, which is much shorter")
        return path.read_bytes()

    def sizes(self, place: str) -> dict[str, int]:
        """Sizes of the files in a place by name."""
        folder = self.path_of(place)
        files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
        return {path.name: path.stat().st_size for path in files}

    def size_of(self, place: str) -> int | None:
        """Size of a file in bytes; None when it is not there."""
        path = self.path_of(place)
        return path.stat().st_size if path.is_file() else None

    def path_of(self, place: str) -> Path:
        """Where a place lies.

        Raises:
            SourceError: on the way there, a link leads out of the mirror.
        """
        path = self.root / place
        if not self.is_own and not (found := path.resolve()).is_relative_to(self.root.resolve()):
            raise SourceError(
                f"{path}: a link that leads to {found}, outside of the mirror {self.root}; expected a file or folder "
                "in the mirror. Nothing is taken from there; put the file itself into the mirror, or name the "
                "folder in which it lies as the mirror"
            )
        return path


def below(root: Path, place: str) -> Path:
    """Return the path of a place below a folder.

    Raises:
        SourceError: if the place would lie elsewhere, or has steps that no dump has.
    """
    steps = place.split("/")
    if not all(_STEP.fullmatch(step) for step in steps):
        raise SourceError(
            f"{place!r}: a name from a mirror that is no plain path below its root; expected steps such as "
            "simplewiki/20260401/simplewiki-20260401-page.sql.gz. Nothing was written; look at what the mirror offers."
        )
    return root.joinpath(*steps)
