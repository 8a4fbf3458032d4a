"""Promises of tables to one another: declared as data, and asked of the lake. No Dagster here."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.store.memory import asking, in_memory, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table

_EXAMPLES = 5


@dataclass(frozen=True)
class Subject:
    """What a promise is asked about.

    Attributes:
        partitions: keys of partitions of the promise's table; None: all.
        facts: what the step that has just made the promise's table has reported of it, by name; empty if none has.
    """

    partitions: Collection[str] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What was found about a promise.

    Attributes:
        passed: does it hold?
        facts: what people should see of it, by name.
        is_warning: is a breach no failure?
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
        name: also of the asset check.
        meaning: one sentence for people.
        about: table at which the check is shown.
        query: SQL that returns what breaks it.
        tables: by the names that the query uses.
        is_warning: is a breach for people to know, and no failure?
        finds: takes the place of a query where SQL cannot say it.
        shown: a row that breaks it, in words.
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
        """Look whether the promise holds; the facts tell how many rows break it, and show some of them.

        Args:
            store: where the tables are.
            subject: what is asked about.
        """
        rows = self.broken(store, subject)
        if rows is None:
            return Verdict(True, {"compared": 0}, self.is_warning)
        return self.verdict(rows, self.is_warning)

    def verdict(self, rows: Sequence[tuple[Any, ...]], is_warning: bool, **seen: Any) -> Verdict:
        """Return what follows from the rows that break the promise.

        Args:
            rows: that were found.
            is_warning: is a breach no failure?
            seen: further facts for people, by name.
        """
        examples = [self.shown(row) for row in rows[:_EXAMPLES]] or ["none"]
        return Verdict(not rows, {"broken": len(rows), "examples": examples, **seen}, is_warning)

    def broken(self, store: Store, subject: Subject) -> list[tuple[Any, ...]] | None:
        """Return the rows that break the promise; None if there is nothing to compare.

        Tables that are partitioned as the promise's own are looked at in the subject's partitions, all others whole.

        Args:
            store: where the tables are.
            subject: what is asked about.
        """
        if self.finds is not None:
            found = self.finds(store, subject)
            return None if found is None else list(found)

        def partitions(table: Table) -> list[str] | None:
            if subject.partitions is None or table.partitioned_by != self.about.partitioned_by:
                return None
            return [key for key in store.lake.partitions(table.name) if key in subject.partitions]

        return broken(store, self.query, self.tables, partitions)


def broken(
    store: Store,
    query: str,
    tables: Mapping[str, Table],
    partitions: Callable[[Table], Sequence[str] | None] = lambda _table: None,
    given: Mapping[str, pa.Table] | None = None,
    prepare: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    narrowed: Mapping[str, str] | None = None,
) -> list[tuple[Any, ...]]:
    """Return the rows that break a promise; nothing when a table is not there yet.

    Args:
        store: where the tables are.
        query: SQL that returns what is broken.
        tables: by the names that the query uses.
        partitions: which of a table's partitions are looked at; None for all.
        given: rows that take the place of a table's, by the names that the query uses.
        prepare: gives the connection functions that the query needs.
        narrowed: by the names that the query uses, SQL that selects from `rows`, which are all of the table, those
            that the query sees.
    """
    given = given or {}
    files = {
        name: store.lake.files(table.name, partitions(table)) for name, table in tables.items() if name not in given
    }
    if not all(files.values()):
        return []
    # Functions would be everybody's in the DuckDB that all questions share.
    with asking() if prepare is None else in_memory() as connection:
        if prepare is not None:
            prepare(connection)
        for name, paths in files.items():
            view_files(connection, name, paths, narrowed=(narrowed or {}).get(name, ""))
        for name, rows in given.items():
            connection.register(name, rows)
        return connection.execute(query).fetchall()
