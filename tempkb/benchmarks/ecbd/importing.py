"""Reads released files as one list of records with unique ids. Pure, except that files are read.

A released id consists of the positions of page, sentence and span in lists that differ
between the kinds of spans, so two records with different masks may share an id. No
record is dropped, and a warning gives the number of shared ids.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from tempkb.benchmarks.ecbd.records import ClozeRecord, ProbeRecord, read_records
from tempkb.errors import SourceError

_Record = TypeVar("_Record", ClozeRecord, ProbeRecord)


@dataclass(frozen=True)
class Imported(Generic[_Record]):
    """A released record.

    Attributes:
        own_id: the released id with a hash of the content, and a number if a record occurs more than once.
        path: the file with the record.
        record: the record as released.
    """

    own_id: str
    path: Path
    record: _Record


def import_records(
    paths: Sequence[Path], read: Callable[[Mapping[str, Any]], _Record], warn: Callable[[str], None]
) -> list[Imported[_Record]]:
    """Return the records of released files, all of them and in the order of the files, with a unique `own_id` each.

    Args:
        paths: the files.
        read: `cloze_record` or `probe_record`.
        warn: receives a message if records repeat the id of an earlier one, and how many of these are equal to it.

    Raises:
        SourceError: a line is not a record, or there is no record at all.
    """
    found: list[Imported[_Record]] = []
    released: Counter[str] = Counter()
    names: Counter[str] = Counter()
    example = ""
    for path in paths:
        for record in read_records(path, read):
            name = f"{record.ex_id}~{_digest(record)}"
            example = example or (record.ex_id if released[record.ex_id] else "")
            released[record.ex_id] += 1
            names[name] += 1
            found.append(Imported(name if names[name] == 1 else f"{name}~{names[name]}", path, record))
    if not found:
        raise SourceError(f"{', '.join(map(str, paths)) or 'no file'}: has no record; expected JSON lines")
    if len(released) < len(found):
        warn(
            f"{', '.join(path.name for path in paths)}: {len(found) - len(released)} of {len(found)} records repeat "
            f"the ex_id of an earlier one, such as {example!r}; {len(found) - len(names)} of these are equal to it. "
            "All are kept, each with an id of its own"
        )
    return found


def _digest(record: ClozeRecord | ProbeRecord) -> str:
    """A short hash of a record's content: the sentence with its mask, and the answers."""
    if isinstance(record, ClozeRecord):
        content = [record.masked_sentence, record.answer]
    else:
        content = [record.probe, *([record.labels] if isinstance(record.labels, str) else record.labels)]
    return hashlib.blake2b("\x1f".join(content).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
