"""Chooses a part of a large release for promises whose check of all rows would cost as much as building them.

A fault in how a table is made appears in any part of it. So a promise that recomputes a table by other means checks
some windows, or some subjects, if the table is large. The release's name decides which.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from tempkb.benchmarks.register import release_versions
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.store.tables import Table

LARGE = 100_000
"""Tables with up to this many rows are checked as a whole; of larger ones, a part with about as many rows is."""


@dataclass(frozen=True)
class Sample:
    """A part of a release.

    Attributes:
        narrowed: name in the promise's query -> SQL that selects the part from `rows`.
        windows: first days of the windows that are read, if the table has one partition per window; None for all.
    """

    description: str
    narrowed: dict[str, str] = field(default_factory=dict)
    windows: frozenset[str] | None = None


def stretch_of_windows(store: Store, table: Table, release: str) -> Sample | None:
    """Choose adjacent windows of a release, and narrow its study to them; None if all of it is checked.

    The window before the first one is included, because the changes of a window follow from the answers of the window
    before. The view `releases` is narrowed, so that queries can use `study_from` and `study_to` as usual.
    """
    # Prompts about the future are in a partition of their own, which is behind all windows.
    versions = [one for one in release_versions(store, table, release) if not one.partition.endswith(".future")]
    keys, n_rows = [one.partition for one in versions], sum(one.rows for one in versions)
    n_judged = max(1, LARGE * len(keys) // max(n_rows, 1))
    if n_judged >= len(keys):
        return None
    days = [key.removeprefix(f"{release}.") for key in keys]
    first = 1 + _chance(release) % (len(keys) - n_judged)
    chosen = days[first - 1 : first + n_judged]
    until = literal(days[first + n_judged]) if first + n_judged < len(days) else "study_to"
    study = f"CAST({literal(chosen[0])} AS DATE) AS study_from, CAST({until} AS DATE) AS study_to"
    description = f"windows {chosen[0]} .. {chosen[-1]} of {len(keys)}, chosen by the release's name"
    return Sample(description, {"releases": f"SELECT * REPLACE ({study}) FROM rows"}, frozenset(chosen))


def chosen_by(column: str, thing: str, *names: str) -> Callable[[Store, Table, str], Sample | None]:
    """Return a function that chooses things of a release by a hash of their ids, or None if all are checked.

    Args:
        column: the column with the ids.
        thing: what the ids are of, in words.
        names: views of the promise's query that have the column.
    """

    def some_things(store: Store, table: Table, release: str) -> Sample | None:
        one_in = sum(one.rows for one in release_versions(store, table, release)) // LARGE
        if one_in < 2:
            return None
        narrowed = f"SELECT * FROM rows WHERE hash({column}) % {one_in} = {_chance(release) % one_in}"
        return Sample(f"one {thing} in {one_in}, chosen by hash", dict.fromkeys(names, narrowed))

    return some_things


def _chance(release: str) -> int:
    return int.from_bytes(hashlib.sha256(release.encode()).digest()[:8])
