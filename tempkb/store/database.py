"""The DuckDB file that people query, kept equal to the lake.

A writer locks a DuckDB file against everybody else, so we hold it only for one
short transaction per partition, under a lock file of our own. Where readers have it
open, a copy takes its place (`swapping.py`). What is pending is computed: wherever `CURRENT` in
the lake differs from the table `published`, the next commit or `tempkb publish`
brings the partition in. Only that something is pending is noted, for `tempkb sql`.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from tempkb.errors import TempkbError
from tempkb.store.damage import refuse, replace_whole
from tempkb.store.lake import Lake, Version
from tempkb.store.locks import LockTimeoutError, Patience, locked
from tempkb.store.opening import (
    DamagedDatabaseError,
    DatabaseFileError,
    NothingPublishedError,
    ReadersError,
    connected,
    is_begun,
    is_too_new,
    make_file,
    note_of,
    noted_damage,
)
from tempkb.store.questions import close_off
from tempkb.store.quoting import file_names, identifier, literal, parquet
from tempkb.store.swapping import (
    SwapError,
    copied,
    draft_of,
    held_for_reading,
    made_again,
    mend,
    move_aside,
    numbered,
    old_files,
    put_in_place,
)
from tempkb.store.tables import SIDE_TABLES, Table, View

_BOOKS = """
CREATE TABLE IF NOT EXISTS published (
    table_name VARCHAR, partition VARCHAR, version VARCHAR, rows BIGINT, published_at TIMESTAMPTZ,
    sides VARCHAR, PRIMARY KEY (table_name, partition)
);
COMMENT ON TABLE published IS 'The version of each partition that this file shows.';
COMMENT ON COLUMN published.table_name IS 'table to which the partition belongs';
COMMENT ON COLUMN published.partition IS 'partition key';
COMMENT ON COLUMN published.version IS 'content hash of the version shown';
COMMENT ON COLUMN published.rows IS 'rows of the partition';
COMMENT ON COLUMN published.published_at IS 'when the version was published';
COMMENT ON COLUMN published.sides IS 'hash of the exclusions and the manifest of the version';
CREATE TABLE IF NOT EXISTS declared (table_name VARCHAR PRIMARY KEY, form VARCHAR, fingerprint VARCHAR);
COMMENT ON TABLE declared IS 'The declaration under which each table and view was made.';
COMMENT ON COLUMN declared.table_name IS 'table or view';
COMMENT ON COLUMN declared.form IS 'table, view (over files of the lake), or question (a view over other tables)';
COMMENT ON COLUMN declared.fingerprint IS 'changes when the declaration changes';
"""

_BOOK_NAMES = ("published", "declared")
_BOOK_COLUMN = re.compile(r"COMMENT ON COLUMN (\w+)\.(\w+) IS '([^']*)'")
_ROWS_AT_ONCE = 200
# Raised when the same files are to be shown differently; all tables are then published again. 2: lists are, too.
_BROUGHT_IN = "2"

_BEGUN = (
    "a command that publishes is at work, or was killed, so SQL may show older rows; if none is at work, type: tempkb "
    "publish"
)
_WRITTEN_MEANWHILE = (
    "somebody has written to it after a publication was killed; what its write-ahead log held then, perhaps of tables "
    "of your own, is in"
)
_ABSENT = re.compile(r"Catalog Error: Table with name (.+) does not exist!")
_NO_ROOM = re.compile("|".join(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT)))
_SUGGESTED = re.compile(r"\nDid you mean \"(sqlite|pg|duckdb)_\w+\"\?")


@dataclass(frozen=True)
class Pending:
    """A partition whose published version is not the lake's; `version` is None if it was removed."""

    table: Table
    partition: str
    version: Version | None


@dataclass(frozen=True)
class Publication:
    """Result of `publish`.

    Attributes:
        done: partitions that were published or removed.
        left: partitions that are still pending.
        damaged: partitions that were found damaged in the lake, in words; they count as absent.
        set_aside: message about a damaged DuckDB file that was moved away; empty if there was none.
        no_room: was it prevented by a full disk?
    """

    done: int
    left: int
    reason: str = ""
    damaged: tuple[str, ...] = ()
    set_aside: str = ""
    no_room: bool = False


@dataclass(frozen=True)
class _Due:
    """What a file lacks.

    Attributes:
        forms: how each of its tables and views was made.
        blocked: names of an analyst's tables and views that tempkb needs.
        possible: partitions to be published or removed.
        n_blocked: partitions that cannot be, because of those names.
    """

    forms: dict[str, tuple[str, str]]
    blocked: Sequence[str]
    possible: Sequence[Pending]
    n_blocked: int

    @property
    def names(self) -> set[str]:
        """`blocked` as names of ours."""
        return {name.lower() for name in self.blocked}

    def publication(self, path: Path, damaged: Sequence[str] = ()) -> Publication:
        """Return what has been published to the file at a path once all that is possible is done."""
        reason = refusal(path, self.blocked) if self.blocked else ""
        return Publication(len(self.possible), self.n_blocked, reason, tuple(damaged))


class Database:
    """The published side of a home.

    Args:
        path: the `.duckdb` file; its lock file is beside it.
        tables: all declarations, by name.
        max_rows: a table with more rows becomes a view over the lake's files.
        views: named views over the tables; each may use those before it.
    """

    def __init__(
        self, path: Path, lake: Lake, tables: Mapping[str, Table], max_rows: int, views: Sequence[View] = ()
    ) -> None:
        self.path, self._lake, self._tables, self._max_rows = path.absolute(), lake, tables, max_rows
        self._views = views
        # What the mark should say, where the disk has no room for it.
        self._unmarked = ""

    @contextlib.contextmanager
    def reading(self, patience: Patience | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file read-only; wait for short commits of others.

        Raises:
            NothingPublishedError: nothing has been published yet.
            DatabaseFileError: the file is not a DuckDB file, or cannot be read.
            LockTimeoutError: a writer keeps the file for too long.
        """
        if not is_begun(self.path):
            raise (
                self._nothing_published()
                if self._holds_anything()
                else NothingPublishedError(
                    f"{self.path} does not exist yet; build something first: tempkb build (the first "
                    "tables are published when a step of the build is done)"
                )
            )
        with connected(self.path, patience or Patience(), read_only=True) as connection:
            if not self._has_books(connection):
                raise self._nothing_published()
            yield connection

    def _holds_anything(self) -> bool:
        return any(self._lake.keys(name) for name in self._tables)

    def _nothing_published(self) -> NothingPublishedError:
        return NothingPublishedError(
            f"{self.path}: nothing is published yet; wait for the build that runs, or type: tempkb build, or after a "
            "build: tempkb publish"
        )

    def compare(self, connection: duckdb.DuckDBPyConnection) -> tuple[list[Pending], list[str]]:
        """Return what is pending, as `pending` does, and the names of the user's own tables and views.

        The names are sorted; those outside the main schema have theirs in front.
        """
        relations = _relations(connection)
        forms = _forms(connection, relations)
        return self._pending(shown_in(connection), forms), self._others(relations, forms)

    def _others(self, relations: Sequence[tuple[str, str, bool]], forms: Iterable[str]) -> list[str]:
        ours = {*forms, *_BOOK_NAMES, *(table.name for table in SIDE_TABLES)}
        return sorted(
            name if schema == "main" else f"{schema}.{name}"
            for schema, name, is_explained in relations
            if not (schema == "main" and is_explained and name in ours)
        )

    def in_the_way(self, others: Iterable[str]) -> list[str]:
        """Return the user's tables and views with the name of one of ours, which therefore cannot be published."""
        names = {*self._tables, *(view.name for view in self._views)}
        return [name for name in others if name.lower() in names]

    def explain(self, error: duckdb.Error) -> str:
        """Return DuckDB's message about a query; if a table of ours is not published yet, say so instead."""
        message = str(error)
        absent = _ABSENT.match(message)
        if absent and absent[1].lower() in {*self._tables, *(view.name for view in self._views)}:
            return (
                f"nothing of {absent[1]} is published yet; wait for the build that runs, or see what is built: "
                "tempkb status"
            )
        # The nearest name may be one of DuckDB's own tables, which is no help.
        return _SUGGESTED.sub("", message) if absent else message

    @contextlib.contextmanager
    def asking(self, patience: Patience | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file for queries of users, which can reach only it and the lake's tables; see `reading`."""
        with self.reading(patience) as connection:
            close_off(connection, [self._lake.root / name for name in self._tables])
            yield connection

    def pending(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Pending]:
        """Compare the lake's `CURRENT` files with what is published, in a fixed order.

        Args:
            connection: an open connection to the file; None: nothing is published.
        """
        if connection is None:
            return self._pending({}, {})
        return self._pending(shown_in(connection), _forms(connection, _relations(connection)))

    def _pending(
        self, shown: Mapping[tuple[str, str], tuple[str, str | None]], forms: Mapping[str, tuple[str, str]]
    ) -> list[Pending]:
        result = []
        for table in self._tables.values():
            versions = {version.partition: version for version in self._lake.versions(table.name)}
            changed = bool(versions) and forms.get(table.name) != self._form(table, versions.values())
            known = {partition for name, partition in shown if name == table.name}
            for partition in sorted(versions.keys() | known):
                version = versions.get(partition)
                current = (version.version, version.sum_of_sides()) if version is not None else None
                # Equal rows that were written again, perhaps from other files, keep their version.
                if changed or current is None or shown.get((table.name, partition)) != current:
                    result.append(Pending(table, partition, version))
        return result

    def publish(self, patience: Patience, *, may_copy: bool = True) -> Publication:
        """Publish everything that is pending, one transaction per partition, as far as patience allows.

        A damaged file is moved away, and a new one takes its place.

        Args:
            patience: for those who write to the file; readers are waited for only briefly.
            may_copy: where readers have the file open, publish to a copy, which then takes its place.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        begun = f"{uuid.uuid4()}\n{_BEGUN}"
        try:
            replace_whole(self._mark, begun.encode())
            with locked(self.path.with_name(self.path.name + ".lock"), patience):
                publication = self._publish_past_damage(patience, may_copy=may_copy)
        except DamagedDatabaseError as error:
            publication = Publication(0, len(self.pending()), str(error))
        except (LockTimeoutError, DatabaseFileError, SwapError, duckdb.Error, OSError) as error:
            no_room = _NO_ROOM.search(str(error)) is not None
            if isinstance(error, duckdb.Error | OSError) and not no_room:
                raise
            reason = "the disk is full; make room, then: tempkb publish" if no_room else str(error)
            publication = Publication(0, self._count_pending(), reason, no_room=no_room)
        self._unmarked = ""
        if publication.left:
            said = f"{self.path.name} was not brought up to date, so SQL may show older rows: {publication.reason}"
            try:
                replace_whole(self._mark, f"\n{said}".encode())
            except OSError:
                if not publication.no_room:
                    raise
                self._unmarked = said
        elif self._marked() == begun:
            # Otherwise another process has left something pending meanwhile.
            self._mark.unlink(missing_ok=True)
        return publication

    def held_back(self) -> str:
        """Return what the last publication said of partitions that it left pending; empty if it left none."""
        return self._unmarked or self._marked().partition("\n")[2]

    @property
    def _mark(self) -> Path:
        return self.path.with_name(f"{self.path.name}.pending")

    def _marked(self) -> str:
        try:
            return self._mark.read_text("utf-8")
        except FileNotFoundError:
            return ""

    def _publish_past_damage(self, patience: Patience, *, may_copy: bool) -> Publication:
        kept = mend(self.path)
        message = f"{self.path}: {_WRITTEN_MEANWHILE} {kept}" if kept else ""
        old_files(self.path)
        try:
            publication = self._publish(patience, may_copy=may_copy)
        except DamagedDatabaseError as error:
            place = move_aside(self.path, "damaged")
            note_of(self.path).unlink(missing_ok=True)
            message = f"{error.found}. {set_aside_in_words(place)}"
            publication = self._publish(patience, may_copy=may_copy)
        return replace(publication, set_aside=message)

    def _publish(self, patience: Patience, *, may_copy: bool) -> Publication:
        try:
            with self._updating(self.path, patience) as connection:
                publication = self._bring_up_to_date(connection, self._due(connection))
                is_done = not (may_copy and is_too_new(connection))
            if not is_done:
                with held_for_reading(self.path):
                    self._publish_to_copy(patience)
                old_files(self.path)
            return publication
        except ReadersError as error:
            if not may_copy:
                raise LockTimeoutError(
                    f"{self.path} is open in a program that reads it, so it is published at the end of the command; if "
                    "none is at work, type: tempkb publish"
                ) from None
            is_here = error.is_here
        with held_for_reading(self.path):
            # What this process has open may be an earlier file.
            if not is_here:
                with connected(self.path, Patience(0), read_only=True) as connection:
                    is_whole = self._has_books(connection) and not is_too_new(connection)
                    if is_whole and not self._lacks(due := self._due(connection)):
                        return due.publication(self.path)
            return self._publish_to_copy(patience)

    def _publish_to_copy(self, patience: Patience) -> Publication:
        """Publish to a copy of the file, which takes its place; the caller keeps writers away."""
        with copied(self.path) as draft:
            try:
                with self._updating(draft, patience) as connection:
                    publication = self._bring_up_to_date(connection, self._due(connection))
                    connection.execute("CHECKPOINT")
            except DamagedDatabaseError as error:
                note_of(draft).unlink(missing_ok=True)
                raise DamagedDatabaseError(error.found.replace(str(draft), str(self.path))) from None
            made_again(self.path)
            put_in_place(self.path, draft)
            return publication

    def _due(self, connection: duckdb.DuckDBPyConnection) -> "_Due":
        """Find out what the file lacks."""
        # DuckDB takes long to list what it holds.
        relations = _relations(connection)
        forms = _forms(connection, relations)
        blocked = self.in_the_way(self._others(relations, forms))
        names = {name.lower() for name in blocked}
        pending = self._pending(shown_in(connection), forms)
        possible = [one for one in pending if one.table.name not in names]
        return _Due(forms, blocked, possible, len(pending) - len(possible))

    def _lacks(self, due: "_Due") -> bool:
        """Is there anything to publish, or a named view to be made?"""
        return bool(due.possible) or any(self._views_due(due.names, due.forms))

    def _bring_up_to_date(self, connection: duckdb.DuckDBPyConnection, due: "_Due") -> Publication:
        # Nobody else can change the file meanwhile.
        damaged: list[str] = []
        for table, group in itertools.groupby(due.possible, key=lambda one: one.table):
            self._bring_in(connection, table, list(group), damaged, due.forms)
        self._make_named_views(connection, due.names, due.forms)
        return due.publication(self.path, damaged)

    def set_aside_files(self) -> list[Path]:
        """Return the damaged files that were moved away, sorted."""
        return numbered(self.path, "damaged")

    @contextlib.contextmanager
    def _updating(self, path: Path, patience: Patience) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file, or its copy, for writing, with its bookkeeping tables; the caller holds the lock."""
        if not is_begun(path):
            self._begin(patience)
        # Before anything is written to the file: afterwards it would differ from the one that the note describes.
        damage = noted_damage(self.path)
        with connected(path, patience, read_only=False) as connection:
            if damage:
                raise DamagedDatabaseError(damage)
            self._has_books(connection)
            # A file that an analyst made before us has no such tables.
            if not _books_are_whole(connection):
                with _transaction(connection):
                    _make_books(connection)
            yield connection

    def _begin(self, patience: Patience) -> None:
        """Make the file elsewhere, with its bookkeeping tables, and move it in, so that nobody sees half a file."""
        draft = draft_of(self.path)
        draft.unlink(missing_ok=True)
        make_file(draft)
        with connected(draft, patience, read_only=False) as connection, _transaction(connection):
            _make_books(connection)
        if self.path.exists():
            draft.replace(self.path)
            return
        try:
            # Unlike a rename, a link never replaces a file that an analyst makes in this very moment.
            self.path.hardlink_to(draft)
        except FileExistsError:
            pass
        finally:
            draft.unlink()

    def _has_books(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Does the file have the bookkeeping tables, which say what it shows?

        Raises:
            DatabaseFileError: a user's table or view has the name of one of them.
        """
        names = {*_BOOK_NAMES, *(table.name for table in SIDE_TABLES)}
        relations = _relations(connection)
        there = {name.lower(): is_explained for schema, name, is_explained in relations if schema == "main"}
        blocked = sorted(name for name in names if not there.get(name, True))
        if blocked:
            raise DatabaseFileError(refusal(self.path, blocked))
        return set(_BOOK_NAMES) <= there.keys()

    def _count_pending(self) -> int:
        """Count the pending partitions while another program has the file open; all of them if it cannot be read."""
        try:
            with self.reading(Patience(0)) as connection:
                return len(self.pending(connection))
        except TempkbError:
            return len(self.pending())

    def shown_versions(self) -> set[tuple[str, str, str]]:
        """Return (table, partition, version) of everything published; empty if nothing has been.

        Those of replaced files that somebody still has open are among them, since views name files of the lake.
        """
        try:
            with self.reading() as connection:
                shown = list(shown_in(connection).items())
        except NothingPublishedError:
            return set()
        for old in old_files(self.path):
            with connected(old, Patience(), read_only=True) as connection:
                shown += shown_in(connection).items()
        return {(table, partition, version) for (table, partition), (version, _) in shown}

    def files_of_view(self, table: Table) -> list[Path]:
        """Return the files that the view of a table must name: those of the lake's versions."""
        return [path for version in self._lake.versions(table.name) for path in version.places()]

    def _form(self, table: Table, versions: Iterable[Version]) -> tuple[str, str]:
        form = table.form(sum(version.rows for version in versions), self._max_rows)
        # A view names absolute paths, so the views of a home that was moved must be made again.
        return form, f"{table.fingerprint} {_BROUGHT_IN}" + (f" {self._lake.root}" if form == "view" else "")

    def _bring_in(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: Table,
        pending: Sequence[Pending],
        damaged: list[str],
        forms: dict[str, tuple[str, str]],
    ) -> None:
        """Publish the pending partitions of one table: rows in one transaction per partition, a view all at once.

        Args:
            damaged: gets those that were found damaged, in words.
            forms: how each table and view was made; gets what is made here.
        """
        form, _ = self._form(table, self._lake.versions(table.name))
        pending = [_whole_or_absent(one, damaged, sums=form == "table") for one in pending]
        versions = self._lake.versions(table.name)
        form, fingerprint = self._form(table, versions)
        with _transaction(connection):
            if forms.get(table.name) != (form, fingerprint):
                _drop(connection, table)
                if form == "table":
                    _create(connection, table)
                connection.execute("INSERT INTO declared VALUES (?, ?, ?)", [table.name, form, fingerprint])
                forms[table.name] = form, fingerprint
            booked = _booked(connection, table)
            if form == "view":
                _make_view(connection, table, [path for version in versions for path in version.places()])
                for one in pending:
                    self._keep_books(connection, one, is_booked=one.partition in booked)
                return
        for one in pending:
            with _transaction(connection):
                _replace_rows(connection, one, is_booked=one.partition in booked)
                self._keep_books(connection, one, is_booked=one.partition in booked)

    def _make_named_views(
        self, connection: duckdb.DuckDBPyConnection, blocked: Collection[str], forms: dict[str, tuple[str, str]]
    ) -> None:
        """Make the named views whose tables exist, and again those of which a table has changed its form.

        Args:
            blocked: names of the user's own tables and views.
            forms: how each table and view was made; gets what is made here.
        """
        for view, query, form in self._views_due(blocked, forms):
            with _transaction(connection):
                connection.execute(f"CREATE OR REPLACE VIEW {identifier(view.name)} AS {query}")
                connection.execute(f"COMMENT ON VIEW {identifier(view.name)} IS {literal(view.meaning)}")
                connection.execute("DELETE FROM declared WHERE table_name = ?", [view.name])
                connection.execute("INSERT INTO declared VALUES (?, ?, ?)", [view.name, *form])
            forms[view.name] = form

    def _views_due(
        self, blocked: Collection[str], forms: Mapping[str, tuple[str, str]]
    ) -> Iterator[tuple[View, str, tuple[str, str]]]:
        """Yield each named view that is to be made, with its query and form; `forms` may grow meanwhile."""
        for view in self._views:
            if view.name in blocked or not set(view.needs) <= forms.keys():
                continue
            absent: dict[str, str] = {}
            for name in view.optional:
                self._add_absent(name, forms, absent)
            used = [name for name in (*view.needs, *view.optional) if name in forms]
            query = view.query_without(absent)
            declared = "\n".join([view.meaning, query, *(" ".join(forms[name]) for name in used)])
            form = ("question", hashlib.sha256(declared.encode()).hexdigest()[:16])
            if forms.get(view.name) != form:
                yield view, query, form

    def _add_absent(self, name: str, forms: Collection[str], absent: dict[str, str]) -> None:
        """Add to `absent` what takes the place of a table or view that does not exist: SQL that returns no rows.

        A view is replaced by its own query, over empty tables where its tables do not exist.
        """
        if name in forms or name in absent:
            return
        if name in self._tables:
            absent[name] = self._tables[name].empty_query
            return
        view = next(one for one in self._views if one.name == name)
        for other in (*view.needs, *view.optional):
            self._add_absent(other, forms, absent)
        absent[name] = view.query

    def _keep_books(self, connection: duckdb.DuckDBPyConnection, one: Pending, *, is_booked: bool) -> None:
        named = [one.table.name, one.partition]
        if is_booked:
            connection.execute("DELETE FROM exclusions WHERE recorded_in = ? AND partition = ?", named)
            connection.execute("DELETE FROM manifest WHERE table_name = ? AND partition = ?", named)
            connection.execute("DELETE FROM published WHERE table_name = ? AND partition = ?", named)
        if one.version is None:
            return
        version = one.version
        for side in SIDE_TABLES:
            rows = [list(row.values()) for row in version.side_rows(side.name)]
            _insert(connection, side, rows)
        books = "INSERT INTO published VALUES (?, ?, ?, ?, now(), ?)"
        connection.execute(books, [*named, version.version, version.rows, version.sum_of_sides()])


def set_aside_in_words(place: Path) -> str:
    """Return a message that says where a damaged file is now."""
    return (
        f"The damaged DuckDB file was set aside as {place}, and the tables were published again from the lake; tables "
        "of your own, if you made any, are in that file only"
    )


def refusal(path: Path, names: Sequence[str]) -> str:
    """Return the message that tables or views of an analyst have names that tempkb needs."""
    return (
        f"{path} holds {', '.join(names)}, which tempkb did not make and leaves as it is, though it publishes under "
        "the same name; rename or drop it, then: tempkb publish"
    )


def _make_books(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(_BOOKS)
    for table in SIDE_TABLES:
        _create(connection, table)


def _books_are_whole(connection: duckdb.DuckDBPyConnection) -> bool:
    """Has the file all bookkeeping tables, as declared? Making them again takes a tenth of a publication."""
    declared = {tuple(one) for one in _BOOK_COLUMN.findall(_BOOKS)}
    declared |= {(table.name, column.name, column.meaning) for table in SIDE_TABLES for column in table.columns}
    query = "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'main'"
    return declared <= set(connection.execute(query).fetchall())


def _relations(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, bool]]:
    """Return tables and views as (schema, name, has it a comment?). Each of ours gets a comment when it is made."""
    return connection.execute(
        "SELECT schema_name, table_name, comment IS NOT NULL FROM duckdb_tables() "
        "WHERE database_name = current_database() AND NOT internal UNION ALL "
        "SELECT schema_name, view_name, comment IS NOT NULL FROM duckdb_views() "
        "WHERE database_name = current_database() AND NOT internal"
    ).fetchall()


def _whole_or_absent(one: Pending, damaged: list[str], *, sums: bool) -> Pending:
    """Return a partition to publish or, if it is damaged, its removal; the damage is noted and reported."""
    fault = one.version.first_fault(sums=sums) if one.version is not None else None
    if one.version is None or fault is None:
        return one
    damaged.append(str(refuse(one.version.folder, fault)))
    return Pending(one.table, one.partition, None)


def _booked(connection: duckdb.DuckDBPyConnection, table: Table) -> set[str]:
    """Partitions of a table of which the file holds anything; of others nothing need be deleted, which is slow."""
    query = (
        "SELECT partition FROM published WHERE table_name = $table "
        "UNION SELECT partition FROM manifest WHERE table_name = $table "
        "UNION SELECT partition FROM exclusions WHERE recorded_in = $table"
    )
    return {partition for (partition,) in connection.execute(query, {"table": table.name}).fetchall()}


def _replace_rows(connection: duckdb.DuckDBPyConnection, one: Pending, *, is_booked: bool) -> None:
    name = identifier(one.table.name)
    if is_booked:
        # Rows of a partition are found by a column with the partition's key, which the lake's files do not have.
        connection.execute(f"DELETE FROM {name} WHERE lake_partition = ?", [one.partition])
    if one.version is not None:
        connection.execute(
            f"INSERT INTO {name} BY NAME SELECT {_known_columns(connection, one)}, ? AS lake_partition "
            "FROM read_parquet(?, union_by_name = true)",
            [one.partition, file_names(one.version.paths())],
        )


def _known_columns(connection: duckdb.DuckDBPyConnection, one: Pending) -> str:
    """Return the columns of the files that the declaration still has; older files may lack some."""
    assert one.version is not None  # noqa: S101 - the caller checked; for the type checker
    if one.version.schema == one.table.fingerprint:
        return ", ".join(map(identifier, one.table.column_names()))
    query = "DESCRIBE SELECT * FROM read_parquet(?)"
    held = {row[0] for row in connection.execute(query, file_names(one.version.paths()[:1])).fetchall()}
    return ", ".join(identifier(column.name) for column in one.table.columns if column.name in held)


def _insert(connection: duckdb.DuckDBPyConnection, side: Table, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows into a table of the books, many with each statement: one by one DuckDB takes ten times as long."""
    marks = f"({', '.join('?' for _ in side.columns)})"
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        few = rows[first : first + _ROWS_AT_ONCE]
        values = ", ".join(marks for _ in few)
        connection.execute(f"INSERT INTO {identifier(side.name)} VALUES {values}", list(itertools.chain(*few)))


def _create(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    columns = [f"{identifier(column.name)} {column.sql_type}" for column in table.columns]
    if table not in SIDE_TABLES:
        columns.append("lake_partition VARCHAR")
    connection.execute(f"CREATE TABLE IF NOT EXISTS {identifier(table.name)} ({', '.join(columns)})")
    _comment(connection, table, "TABLE")


def _make_view(connection: duckdb.DuckDBPyConnection, table: Table, paths: Sequence[Path]) -> None:
    absent = {column.name: f"CAST(NULL AS {column.sql_type}) AS {identifier(column.name)}" for column in table.columns}
    if paths:
        source = parquet(paths)
        connection.execute(f"CREATE OR REPLACE VIEW {identifier(table.name)} AS FROM {source}")
        query = "SELECT column_name FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = ?"
        for (name,) in connection.execute(query, [table.name]).fetchall():
            absent.pop(name, None)
        # Files of an earlier declaration lack later columns; these read as null.
        made = f"SELECT *, {', '.join(absent.values())} FROM {source}" if absent else ""
    else:
        made = f"SELECT {', '.join(absent.values())} WHERE false"
    if made:
        connection.execute(f"CREATE OR REPLACE VIEW {identifier(table.name)} AS {made}")
    _comment(connection, table, "VIEW")


def _drop(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    query = "SELECT table_type FROM information_schema.tables WHERE table_schema = 'main' AND table_name = ?"
    for (kind,) in connection.execute(query, [table.name]).fetchall():
        connection.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} {identifier(table.name)}")
    connection.execute("DELETE FROM published WHERE table_name = ?", [table.name])
    connection.execute("DELETE FROM declared WHERE table_name = ?", [table.name])


def _comment(connection: duckdb.DuckDBPyConnection, table: Table, kind: str) -> None:
    name = identifier(table.name)
    meanings = {column.name: column.meaning for column in table.columns}
    if kind == "TABLE" and table not in SIDE_TABLES:
        meanings["lake_partition"] = "partition of the lake that the row comes from"
    comments = [f"COMMENT ON {kind} {name} IS {literal(table.meaning)}"]
    comments += [f"COMMENT ON COLUMN {name}.{identifier(one)} IS {literal(text)}" for one, text in meanings.items()]
    connection.execute("; ".join(comments))


def shown_in(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], tuple[str, str]]:
    """Return version and hash of side files of each published partition."""
    rows = connection.execute("SELECT table_name, partition, version, sides FROM published").fetchall()
    return {(table, partition): (version, sides) for table, partition, version, sides in rows}


def _forms(
    connection: duckdb.DuckDBPyConnection, relations: Sequence[tuple[str, str, bool]]
) -> dict[str, tuple[str, str]]:
    """Return how each table and view of ours was made, without those that an analyst has dropped or replaced."""
    there = {name for schema, name, is_explained in relations if schema == "main" and is_explained}
    rows = connection.execute("SELECT table_name, form, fingerprint FROM declared").fetchall()
    return {table: (form, fingerprint) for table, form, fingerprint in rows if table in there}


@contextlib.contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
