"""Promises of tables to one another: queries over the lake that return the rows which break them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tempkb.core.windows import window_of_key
from tempkb.store.memory import asking, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version

_EXAMPLES = 5
# Queries that found nothing in this process. The path of a file names its version, and so its content.
_UNBROKEN: set[tuple[str | Path, ...]] = set()


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
        query: SQL that returns the rows that break it, over this table and others, each by its name.
        others: the other tables; nothing is checked before all are there.
        optional: further ones, which are empty before they are there.
        finds: replaces the query if SQL cannot express the promise.
        shown: returns a row that breaks it in words.
    """

    name: str
    meaning: str
    about: Table
    query: str = ""
    others: tuple[Table, ...] = ()
    optional: tuple[Table, ...] = ()
    is_warning: bool = False
    finds: Finder | None = None
    shown: Callable[[tuple[Any, ...]], str] = str

    def judged(self, store: Store, subject: Subject) -> Verdict:
        """Check the promise; the metadata has the number of rows that break it, and some of them."""
        rows = self.broken(store, subject)
        return Verdict(True, {"compared": 0}, self.is_warning) if rows is None else self.verdict(rows)

    def verdict(self, rows: Sequence[tuple[Any, ...]]) -> Verdict:
        """Return the result that follows from the rows that break the promise."""
        examples = [self.shown(row) for row in rows[:_EXAMPLES]] or ["none"]
        return Verdict(not rows, {"broken": len(rows), "examples": examples}, self.is_warning)

    def broken(self, store: Store, subject: Subject) -> list[tuple[Any, ...]] | None:
        """Return the rows that break the promise; None if there is nothing to compare.

        Of tables partitioned like the promise's own, only the subject's partitions are read; the others are read whole.
        """
        if self.finds is not None:
            found = self.finds(store, subject)
            return None if found is None else list(found)

        def versions(table: Table) -> list[Version]:
            is_like = table.partitioned_by == self.about.partitioned_by
            return versions_of(store, table, subject if is_like else Subject())

        return broken(store, self.query, (self.about, *self.others), versions, self.optional)


def versions_of(store: Store, table: Table, subject: Subject) -> list[Version]:
    """Return the versions of a table that a check is about."""
    found = store.lake.versions(table.name)
    return [one for one in found if subject.has(table.owner_of(one.partition) or one.partition)]


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
    tables: Collection[Table],
    versions: Callable[[Table], Sequence[Version]] | None = None,
    optional: Collection[Table] = (),
) -> list[tuple[Any, ...]]:
    """Return the rows that break a promise; none if a table does not exist yet.

    A step of a release requires promises of what it has written, and asset checks ask the same right afterwards. So a
    query that found nothing is not repeated in the same process of the same versions.

    Args:
        query: SQL over the tables, each by its name, that returns the broken rows.
        versions: those of a table that are checked; None: all current ones.
        optional: further tables, of which some may not exist yet.
    """
    chosen = versions or (lambda table: store.lake.versions(table.name))
    needed, schemas = {table.name for table in tables}, {one.name: one.schema for one in (*tables, *optional)}
    files = {one.name: [path for own in chosen(one) for path in own.paths()] for one in (*tables, *optional)}
    known: tuple[str | Path, ...] = (query, *(path for paths in files.values() for path in paths))
    if known in _UNBROKEN or not all(files[name] for name in needed):
        return []
    with asking() as connection:
        for name, paths in files.items():
            view_files(connection, name, paths, schemas[name])
        rows = connection.execute(query).fetchall()
    if not rows:
        _UNBROKEN.add(known)
    return rows
