"""The part of a large release on which a promise is judged, where all of it would cost as much as building it.

A fault in how a table is made shows in any part of it. So a promise that recomputes a table by other means looks
at some windows, or at some subjects, once the table is large; which ones follows from the release's name alone.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from tempkb.benchmarks.register import partitions_of_release
from tempkb.store.lake import Lake
from tempkb.store.quoting import literal
from tempkb.store.tables import Table

LARGE = 100_000
"""Rows of a table up to which all of it is judged; of a larger one, windows or subjects of about so many."""


@dataclass(frozen=True)
class Sample:
    """A part of a release.

    Attributes:
        said: which part, in words.
        narrowed: by the names that a promise's query uses, SQL that selects from `rows` those of the part.
        windows: first days of the windows that are read, where a table has a partition for each window; None: all.
    """

    said: str
    narrowed: dict[str, str] = field(default_factory=dict)
    windows: frozenset[str] | None = None


def stretch_of_windows(lake: Lake, table: Table, release: str) -> Sample | None:
    """Choose adjacent windows of a release: its study is narrowed to them; None where all of it is to be judged.

    Windows of the table are chosen together with the one before the first, from whose answers the first follows.
    The view `releases` is narrowed, so that queries may go by `study_from` and `study_to` as always.
    """
    keys = sorted(partitions_of_release(lake, table, release))
    n_judged = max(1, LARGE * len(keys) // max(_n_rows(lake, table, keys), 1))
    if n_judged >= len(keys):
        return None
    days = [key.removeprefix(f"{release}.") for key in keys]
    first = 1 + _chance(release) % (len(keys) - n_judged)
    chosen = days[first - 1 : first + n_judged]
    until = literal(days[first + n_judged]) if first + n_judged < len(days) else "study_to"
    study = f"CAST({literal(chosen[0])} AS DATE) AS study_from, CAST({until} AS DATE) AS study_to"
    said = f"windows {chosen[0]} .. {chosen[-1]} of {len(keys)}, chosen by the release's name"
    return Sample(said, {"releases": f"SELECT * REPLACE ({study}) FROM rows"}, frozenset(chosen))


def subjects_of(*names: str) -> Callable[[Lake, Table, str], Sample | None]:
    """Return what chooses subjects of a release by a hash of their ids, or None where all of them are to be judged.

    Args:
        names: views of the promise's query that have a column `subject_id`.
    """

    def some_subjects(lake: Lake, table: Table, release: str) -> Sample | None:
        one_in = _n_rows(lake, table, partitions_of_release(lake, table, release)) // LARGE
        if one_in < 2:
            return None
        narrowed = f"SELECT * FROM rows WHERE hash(subject_id) % {one_in} = {_chance(release) % one_in}"
        return Sample(f"one subject in {one_in}, chosen by hash", dict.fromkeys(names, narrowed))

    return some_subjects


def _n_rows(lake: Lake, table: Table, keys: list[str]) -> int:
    return sum(version.rows for version in lake.versions(table.name, keys))


def _chance(release: str) -> int:
    return int.from_bytes(hashlib.sha256(release.encode()).digest()[:8])
