"""The journal of a home: what commands have made, a line each, which Dagster shows as runs.

A command that is killed leaves what it began, in a file beside the locks, and no lock on it.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import uuid4

from tempkb.core.failures import in_words
from tempkb.core.files import own
from tempkb.core.locks import at_work, is_at_work
from tempkb.core.settings import Home

_JOURNAL, _BEGUN = "journal.jsonl", "command "
_KILLED = "The command was killed, or the machine stopped; when is not known. What it had finished is kept."


@dataclass(frozen=True)
class Entry:
    """What a command did with tables of one family.

    Attributes:
        table: the first that was to be made.
        keys: windows, dumps, a release, or a model, linker or corpus.
        began: in seconds since 1970, as `ended`.
        failures: what went wrong, in words.
    """

    run_id: str
    command: str
    table: str
    keys: Sequence[str]
    began: float
    ended: float
    failures: Sequence[str] = ()


@contextmanager
def journaled(home: Home, command: str, table: str, keys: Sequence[str], failures: Sequence[str]) -> Iterator[None]:
    """Write down what is done inside the block, however it ends.

    Args:
        failures: those before it; those that the block adds are its own.
    """
    began, before = time.time(), len(failures)
    entry = Entry(str(uuid4()), command, table, [*keys], began, began)
    working = own(home.path, home.working)
    with at_work(working, [name := _BEGUN + entry.run_id]):
        (working / name).write_bytes(_line(entry))
        thrown: list[str] = []
        try:
            yield
        except BaseException as error:
            thrown.append("interrupted" if isinstance(error, KeyboardInterrupt) else in_words(error) or repr(error))
            raise
        finally:
            _end(working / name, replace(entry, ended=time.time(), failures=[*failures[before:], *thrown]))


def read_journal(home: Home, start: int) -> Iterator[tuple[Entry, int]]:
    """Yield what has ended, in that order, of commands that were killed as well; and where in the journal it ends.

    Args:
        start: where the last entry that was read ends.
    """
    for begun in home.working.glob(f"{_BEGUN}*"):
        # It may have ended, and be gone, since we looked.
        with suppress(FileNotFoundError):
            if not is_at_work(home.working, begun.name):
                for entry in _entries(begun.read_bytes()):
                    # To Dagster a run without a length has never begun.
                    _end(begun, replace(entry, ended=entry.began + 1, failures=[_KILLED]))
                begun.unlink()
    path = home.working / _JOURNAL
    size = path.stat().st_size if path.is_file() else 0
    if size == start:
        return
    with path.open("rb") as file:
        # Of a shorter journal somebody has removed the beginning.
        file.seek(start if start < size else 0)
        while line := file.readline():
            yield from ((entry, file.tell()) for entry in _entries(line))


def _end(begun: Path, entry: Entry) -> None:
    with begun.with_name(_JOURNAL).open("ab") as file:
        file.write(_line(entry))
    begun.unlink(missing_ok=True)


def _line(entry: Entry) -> bytes:
    return f"{json.dumps(asdict(entry))}\n".encode()


def _entries(line: bytes) -> Iterator[Entry]:
    # A line that was cut when the disk was full or the machine stopped says nothing more.
    with suppress(ValueError, TypeError):
        yield Entry(**json.loads(line))
