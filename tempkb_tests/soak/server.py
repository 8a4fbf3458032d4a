"""A folder of dumps behind a web server of its own, for jobs that fetch: python -m tempkb_tests.soak.server FOLDER

Prints its address, and serves what the folder holds at each request until its standard input is closed.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tempkb_tests.wiki.dumps.server import serving


class _Files(Mapping[str, bytes]):
    """The files below a folder by their place, as they are when somebody asks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, place: str) -> bytes:
        path = self._folder / place
        if not path.is_file():
            raise KeyError(place)
        return path.read_bytes()

    def __iter__(self) -> Iterator[str]:
        return (path.relative_to(self._folder).as_posix() for path in self._folder.rglob("*") if path.is_file())

    def __len__(self) -> int:
        return sum(1 for _ in self)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Give the address under which a folder is served for the length of the block.

    By another process: the threads of a server would be in the way of forks.
    """
    command = [sys.executable, "-m", __name__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()


if __name__ == "__main__":
    with serving() as server:
        server.files = _Files(Path(sys.argv[1]))
        print(server.root, flush=True)
        sys.stdin.read()
