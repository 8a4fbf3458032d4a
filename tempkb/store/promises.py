"""Promises of tables to one another: queries over the lake that return the rows which break them."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tempkb.store.memory import asking, in_memory, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.windows import window_of_key

_EXAMPLES = 5
# Queries that found nothing in this process. The path of a file names its version, and so its content.
_UNBROKEN: set[tuple[Callable[[duckdb.DuckDBPyConnection], None] | None, bytes]] = set()


@dataclass(frozen=True)
class Subject:
    """The subject of a check of a promise.

    Attributes:
        partitions: keys of partitions of the promise's table; None: all.
        facts: metadata from the step that has just written the promise's table, by name; empty if there is none.
    """

    partitions: Collection[str] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def has(self, *partitions: str) -> bool:
        """Is any of these partitions to be checked?"""
        return self.partitions is None or any(key in self.partitions for key in partitions)


@dataclass(frozen=True)
class Verdict:
    """The result of checking a promise.

    Attributes:
        facts: metadata for people, by name.
        is_warning: is a breach only a warning?
    """

    passed: bool
    facts: Mapping[str, Any]
    is_warning: bool = False


Finder = Callable[[Store, Subject], Iterable[tuple[Any, ...]] | None]
"""Returns the rows that break a promise about a subject; None if there is nothing to compare."""


@dataclass(frozen=True)
class Promise:
    """A promise of a table.

    Attributes:
        name: also the name of the asset check.
        about: table with which the check is shown.
        query: SQL that returns the rows that break it.
        tables: by the names that the query uses.
        finds: replaces the query if SQL cannot express the promise.
        shown: returns a row that breaks it in words.
    """

    name: str
    meaning: str
    about: Table
    query: str = ""
    tables: Mapping[str, Table] = field(default_factory=dict)
    is_warning: bool = False
    finds: Finder | None = None
    shown: Callable[[tuple[Any, ...]], str] = str

    def judged(self, store: Store, subject: Subject) -> Verdict:
        """Check the promise; the metadata has the number of rows that break it, and some of them."""
        rows = self.broken(store, subject)
        if rows is None:
            return Verdict(True, {"compared": 0}, self.is_warning)
        return self.verdict(rows, self.is_warning)

    def verdict(self, rows: Sequence[tuple[Any, ...]], is_warning: bool, **seen: Any) -> Verdict:
        """Return the result that follows from the rows that break the promise.

        Args:
            is_warning: is a breach only a warning?
            seen: further metadata for people, by name.
        """
        examples = [self.shown(row) for row in rows[:_EXAMPLES]] or ["none"]
        return Verdict(not rows, {"broken": len(rows), "examples": examples, **seen}, is_warning)

    def broken(self, store: Store, subject: Subject) -> list[tuple[Any, ...]] | None:
        """Return the rows that break the promise; None if there is nothing to compare.

        Of tables partitioned like the promise's own, only the subject's partitions are read; the others are read whole.
        """
        if self.finds is not None:
            found = self.finds(store, subject)
            return None if found is None else list(found)

        def versions(table: Table) -> list[Version]:
            is_all = subject.partitions is None or table.partitioned_by != self.about.partitioned_by
            return [one for one in store.lake.versions(table.name) if is_all or subject.has(one.partition)]

        return broken(store, self.query, self.tables, versions)


def no_empty_window_between(table: Table) -> Promise:
    """Return the promise that a table has rows of a window if it has rows of the windows before and after it.

    A wiki may have no edit in a week, so a breach is only a warning.
    """
    return Promise(
        "no_empty_window_between_others",
        "No window is empty of which the windows before and after have rows.",
        table,
        finds=partial(_empty_between, table.name),
        is_warning=True,
        shown=lambda row: f"window {row[0]}",
    )


def _empty_between(table: str, store: Store, subject: Subject) -> Iterator[tuple[str]]:
    n_rows = {one.partition: one.rows for one in store.lake.versions(table)}
    windows = [window_of_key(key, store.home.settings.granularity) for key in sorted(n_rows)]
    for before, own, after in zip(windows, windows[1:], windows[2:], strict=False):
        keys = (before.key, own.key, after.key)
        is_between = before.end == own.start and own.end == after.start
        # A window that was built earlier may only now have a neighbour.
        if is_between and subject.has(*keys) and [n_rows[key] > 0 for key in keys] == [True, False, True]:
            yield (own.key,)


def broken(
    store: Store,
    query: str,
    tables: Mapping[str, Table],
    versions: Callable[[Table], Sequence[Version]] | None = None,
    prepare: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    narrowed: Mapping[str, str] | None = None,
) -> list[tuple[Any, ...]]:
    """Return the rows that break a promise; none if a table does not exist yet.

    A step of a release requires promises of what it has written, and asset checks ask the same right afterwards. So a
    query that found nothing is not repeated in the same process of the same versions.

    Args:
        query: SQL that returns the broken rows.
        tables: by the names that the query uses.
        versions: those of a table that are checked; None: all current ones.
        narrowed: SQL that selects from `rows`, all rows of a table, those that the query sees; by the names that the
            query uses.
    """
    chosen = versions or (lambda table: store.lake.versions(table.name))
    files = {name: [path for one in chosen(table) for path in one.paths()] for name, table in tables.items()}
    if not all(files.values()):
        return []
    known = prepare, _digest(query, narrowed or {}, files)
    if known in _UNBROKEN:
        return []
    # Functions would be shared by all users of the process's one DuckDB.
    with asking() if prepare is None else in_memory() as connection:
        if prepare is not None:
            prepare(connection)
        for name, paths in files.items():
            view_files(connection, name, paths, narrowed=(narrowed or {}).get(name, ""))
        rows = connection.execute(query).fetchall()
    if not rows:
        _UNBROKEN.add(known)
    return rows


def _digest(query: str, narrowed: Mapping[str, str], files: Mapping[str, Sequence[Path]]) -> bytes:
    """Return a hash of a query and of the files that it reads; the lake has verified their checksums."""
    read = {name: [str(path) for path in paths] for name, paths in files.items()}
    return hashlib.sha256(repr((query, sorted(narrowed.items()), read)).encode()).digest()
