"""Released files as one list of records with ids of their own: the released ones repeat. Pure but for reading files.

A released id names page, sentence and span by their places in a list that is not the
same for both kinds of spans, so two records may share one although they mask other
words. Nothing is dropped, and it is told how many share an id.
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
        own_id: the released id with a hash of what is asked, and a number where a record stands more than once.
        path: the file that it stands in.
        record: as it was released.
    """

    own_id: str
    path: Path
    record: _Record


def import_records(
    paths: Sequence[Path], read: Callable[[Mapping[str, Any]], _Record], warn: Callable[[str], None]
) -> list[Imported[_Record]]:
    """Read released files; every record is kept, in the order of the files, and no two have the same `own_id`.

    Args:
        paths: the files.
        read: `cloze_record` or `probe_record`.
        warn: is told how many records repeat the id of an earlier one, and how many of these repeat all of it.

    Raises:
        SourceError: a line is no record, or there is no record at all.
    """
    found: list[Imported[_Record]] = []
    released: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    example = ""
    for path in paths:
        for record in read_records(path, read):
            name = f"{record.ex_id}~{_digest(record)}"
            example = example or (record.ex_id if released[record.ex_id] else "")
            released[record.ex_id] += 1
            asked[name] += 1
            found.append(Imported(name if asked[name] == 1 else f"{name}~{asked[name]}", path, record))
    if not found:
        raise SourceError(f"{', '.join(map(str, paths)) or 'no file'}: holds no record; expected JSON lines")
    if len(released) < len(found):
        warn(
            f"{', '.join(path.name for path in paths)}: {len(found) - len(released)} of {len(found)} records repeat "
            f"the ex_id of an earlier one, such as {example!r}; {len(found) - len(asked)} of these ask the same again. "
            "All are kept, each under an id of its own"
        )
    return found


def _digest(record: ClozeRecord | ProbeRecord) -> str:
    """What a record asks, as a short hash: sentence with mask, and what fills it."""
    if isinstance(record, ClozeRecord):
        said = [record.masked_sentence, record.answer]
    else:
        said = [record.probe, *([record.labels] if isinstance(record.labels, str) else record.labels)]
    return hashlib.blake2b("\x1f".join(said).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
