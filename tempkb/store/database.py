"""The DuckDB file that people query, kept equal to the lake: a copy of it is changed, and moved into its place.

    tempkb.duckdb              what people open; nothing is ever written into it
    tempkb.duckdb.draft        the copy
    tempkb.duckdb.replaced.wal the write-ahead log of the file that is being replaced; the copy holds what it held

Open readers keep the file that they opened and hold nothing back; a kill leaves the old file or the new one. While it
is copied and replaced, the old one is held for reading, which fails if somebody writes in it and keeps writers out.
What an analyst keeps in the file is carried along by the copy.

A table is made again as a whole if a version of one of its partitions, or its declaration, is another one than the
file shows; tables of many rows are views over the lake's files.
"""

import contextlib
import hashlib
import itertools
import os
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from tempkb.errors import StoredDamageError, TempkbError
from tempkb.store.files import NO_ROOM
from tempkb.store.lake import Lake
from tempkb.store.locks import LockTimeoutError, Patience, locked
from tempkb.store.opening import (
    ATTACHED,
    DamagedDatabaseError,
    DatabaseFileError,
    NothingPublishedError,
    attached,
    made_again_by,
)
from tempkb.store.questions import close_off
from tempkb.store.quoting import identifier, literal, parquet
from tempkb.store.tables import SIDE_TABLES, Table, View
from tempkb.store.versions import Version

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
# Raised when the same files are to be shown differently; all tables are then published again.
_BROUGHT_IN = "3"
# With fewer rows to copy, several threads take longer than one.
_FEW_ROWS = 1 << 20
_OWNERS = {"exclusions": "recorded_in", "manifest": "table_name"}
_MARKS = "; as "
_NO_ROOM = re.compile("|".join(os.strerror(number) for number in NO_ROOM))
_ABSENT = re.compile(r"Catalog Error: Table with name (.+) does not exist!")
_SUGGESTED = re.compile(r"\nDid you mean \"(sqlite|pg|duckdb)_\w+\"\?")
# Independent of the order of rows, and as exact as 64 bits per row allow.
_HASH = "count(*), sum(CAST(hash({columns}) AS HUGEINT))"

Connection = duckdb.DuckDBPyConnection
Form = tuple[str, str]


@dataclass(frozen=True)
class Publication:
    """Result of `publish`.

    Attributes:
        done: partitions that were published or removed.
        left: partitions that are still pending.
        damaged: partitions that were found damaged in the lake, in words; they count as absent.
        set_aside: message about a DuckDB file that was moved away; empty if there was none.
        no_room: was it prevented by a full disk?
    """

    done: int
    left: int
    reason: str = ""
    damaged: tuple[str, ...] = ()
    set_aside: str = ""
    no_room: bool = False


@dataclass(frozen=True)
class Difference:
    """A difference between the DuckDB file and the lake.

    Attributes:
        thing: table and partition, or a view.
        is_pending: does the next publication correct it?
        is_lost: is it a partition that nobody removed, and of which the lake has no file any more?
    """

    thing: str
    found: str
    expected: str
    is_pending: bool = False
    is_lost: bool = False


@dataclass
class _Shown:
    """What a file shows.

    Attributes:
        versions: version and hash of the side files by table and partition.
        forms: how each table and view of ours was made, without those that were dropped or changed since.
        others: tables and views that are not ours, those outside the main schema with theirs in front.
    """

    versions: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    forms: dict[str, Form] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


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

    @contextlib.contextmanager
    def reading(self, patience: Patience | None = None) -> Iterator[Connection]:
        """Open the file read-only; wait for somebody who writes in it.

        Raises:
            NothingPublishedError: nothing has been published yet.
            DatabaseFileError: the file is not a DuckDB file, or cannot be read.
            LockTimeoutError: a writer keeps the file for too long.
        """
        if not self._is_begun():
            raise self._nothing_published()
        with attached(self.path, patience or Patience()) as connection:
            if not _has_books(connection):
                raise self._nothing_published()
            yield connection

    @contextlib.contextmanager
    def asking(self, patience: Patience | None = None) -> Iterator[Connection]:
        """Open the file for queries of users, which can reach only it and the lake's tables; see `reading`.

        Raises:
            DatabaseFileError: its views name files of another home, from which this one was copied.
        """
        with self.reading(patience) as connection:
            query = "SELECT count(*) FROM declared WHERE form = 'view' AND NOT contains(fingerprint, ?)"
            if connection.execute(query, [self._place + _MARKS]).fetchall()[0][0]:
                raise DatabaseFileError(
                    f"{self.path}: this home was copied or moved, and its tables still name the files of the one from "
                    "which it came; let them name its own: tempkb publish"
                )
            close_off(connection, [self._lake.root / name for name in self._tables])
            yield connection

    def explain(self, error: duckdb.Error) -> str:
        """Return DuckDB's message about a query; if a table of ours is not published yet, say so instead."""
        message = str(error)
        absent = _ABSENT.match(message)
        if absent and absent[1].lower() in self._names():
            return (
                f"nothing of {absent[1]} is published yet; wait for the build that runs, or see what is built: "
                "tempkb status"
            )
        # The nearest name may be one of DuckDB's own tables, which is no help.
        return _SUGGESTED.sub("", message) if absent else message

    def pending(self, patience: Patience | None = None) -> tuple[list[tuple[str, str]], list[str], str]:
        """Compare the file with the lake.

        Returns:
            the (table, partition) that the next publication brings in or removes; tables and views of others in the
            file; and why some cannot be published, empty if nothing prevents it.

        Raises:
            DatabaseFileError: the file cannot be read.
            LockTimeoutError: somebody writes in it.
        """
        shown = _Shown()
        if self._is_begun():
            with attached(self.path, patience or Patience()) as connection:
                shown = self._shown(connection)
        pending = [(name, key) for name, (keys, _) in self._due(shown).items() for key in keys]
        blocked = self._in_the_way(shown)
        return pending, shown.others, refusal(self.path, blocked) if blocked else ""

    def shown_versions(self) -> set[tuple[str, str, str]]:
        """Return (table, partition, version) of everything published; empty if nothing has been."""
        if not self._is_begun():
            return set()
        with attached(self.path, Patience()) as connection:
            return {(*key, version) for key, (version, _) in self._shown(connection).versions.items()}

    def publish(self, patience: Patience) -> Publication:
        """Let the file show the lake as it is now.

        A damaged file is moved away, and a new one takes its place.

        Args:
            patience: for other publications, and for those who write in the file.
        """
        if not self._is_begun() and not self._due(_Shown()):
            return Publication(0, 0)
        try:
            with locked(self.path.with_name(f"{self.path.name}.lock"), patience):
                aside = self._finish()
                try:
                    return replace(self._publish(patience), set_aside=aside)
                except DamagedDatabaseError as error:
                    aside = f"{error.found}. {set_aside_in_words(self._move_aside(self.path))}"
                    return replace(self._publish(patience), set_aside=aside)
                finally:
                    # Under the lock: without it, the draft is that of another publication.
                    self._delete(self._draft)
        except (LockTimeoutError, DatabaseFileError) as error:
            reason = str(error)
        except (OSError, duckdb.Error) as error:
            reason = f"{self.path} could not be replaced ({_said(error)}); then: tempkb publish"
            if not isinstance(error, OSError | duckdb.IOException) and not _NO_ROOM.search(reason):
                raise
        if no_room := _NO_ROOM.search(reason) is not None:
            reason = "the disk is full; make room, then: tempkb publish"
        return Publication(0, self._count_pending(), reason, no_room=no_room)

    def set_aside_files(self) -> list[Path]:
        """Return the damaged files that were moved away, sorted."""
        wanted = re.compile(rf"{re.escape(self.path.name)}\.damaged-\d+")
        return sorted(one for one in self.path.parent.glob("*.damaged-*") if wanted.fullmatch(one.name))

    def differences(self, whole: Mapping[str, Sequence[Version]]) -> list[Difference]:
        """Return where the file differs from the lake; reads all of it, so that DuckDB compares its own sums.

        Args:
            whole: versions of the lake whose files are known to be good, by table; other tables are not compared.

        Raises:
            DamagedDatabaseError: DuckDB cannot read the file.
            LockTimeoutError: another program writes in it.
        """
        with self.reading() as connection:
            shown, found = self._shown(connection), list[Difference]()
            due = self._due(shown)
            for name, versions in whole.items():
                keys, _ = due.get(name, ([], False))
                found += [self._not_shown(name, key, shown) for key in keys]
                # What was replaced and published since the lake was read is not what is shown.
                settled = [one for one in versions if shown.versions.get((name, one.partition)) == _identity(one)]
                settled = [one for one in settled if one.partition not in keys]
                if settled and shown.forms[name][0] == "table":
                    found += self._other_rows(connection, self._tables[name], settled)
                found += _other_sides(connection, settled)
            found += [
                Difference(f"view {view.name}", "none, or another one", "the one that tempkb declares", is_pending=True)
                for view, *_ in self._views_due(shown)
            ]
            for name in shown.others:
                place = ".".join(map(identifier, name.split(".")))
                connection.execute(f"SELECT {_HASH.format(columns='one')} FROM {place} AS one").fetchall()
            return found

    def _names(self) -> set[str]:
        return {*self._tables, *(view.name for view in self._views)}

    def _is_begun(self) -> bool:
        """Is there a file? An empty one does not count."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False

    def _nothing_published(self) -> NothingPublishedError:
        if self._is_begun() or any(self._lake.keys(name) for name in self._tables):
            said = "nothing is published yet; wait for the build that runs, or type: tempkb build, or after a build: "
            return NothingPublishedError(f"{self.path}: {said}tempkb publish")
        return NothingPublishedError(f"{self.path} does not exist yet; build something first: tempkb build")

    def _shown(self, connection: Connection) -> _Shown:
        """Return what an open file shows.

        Raises:
            DatabaseFileError: a user's table or view has the name of one of our books.
        """
        relations = _relations(connection)
        books = {*_BOOK_NAMES, *_OWNERS}
        ours = {name for schema, name, _, comment in relations if schema == "main" and comment and name in books}
        shown = _Shown()
        if set(_BOOK_NAMES) <= ours:
            rows = connection.execute("SELECT table_name, partition, version, sides FROM published").fetchall()
            shown.versions = {(table, key): (version, sides) for table, key, version, sides in rows}
            made = connection.execute("SELECT table_name, form, fingerprint FROM declared").fetchall()
            there = {name: (sql, comment) for schema, name, sql, comment in relations if schema == "main"}
            for name, form, told in made:
                # Of a file of an earlier version, whatever has a comment is ours, and is made again.
                fingerprint, _, marks = told.rpartition(_MARKS)
                sql, comment = there.get(name, ("", None))
                if comment and (not fingerprint or marks.startswith(_digest(comment))):
                    ours.add(name)
                    # What somebody has changed is as good as dropped.
                    if marks == _marks(comment, sql):
                        shown.forms[name] = form, fingerprint
        shown.others = sorted(
            name if schema == "main" else f"{schema}.{name}"
            for schema, name, *_ in relations
            if not (schema == "main" and name in ours)
        )
        if blocked := sorted(books & {name.lower() for name in shown.others}):
            raise DatabaseFileError(refusal(self.path, blocked))
        return shown

    def _in_the_way(self, shown: _Shown) -> list[str]:
        """Return the tables and views of others with the name of one of ours, which therefore cannot be published."""
        return [name for name in shown.others if name.lower() in self._names()]

    @cached_property
    def _guard(self) -> str:
        """A condition that holds only where the file lies that was published: a copy would show another home's rows."""
        places = ", ".join(map(literal, dict.fromkeys((str(self.path), os.path.realpath(self.path)))))
        said = f"this home was copied from {self.path.parent}; let its tables name their own files: tempkb publish"
        return (
            f"(SELECT CASE WHEN bool_or(path IN ({places})) THEN true ELSE error({literal(said)}) END "
            "FROM duckdb_databases())"
        )

    def _form(self, table: Table, versions: Iterable[Version]) -> Form:
        form = table.form(sum(version.rows for version in versions), self._max_rows)
        # A view names absolute paths, so the views of a home that was moved must be made again.
        return form, f"{table.fingerprint} {_BROUGHT_IN}{self._place if form == 'view' else ''}"

    @property
    def _place(self) -> str:
        """Where views are right."""
        return f" {self._lake.root} {self.path}"

    def _due(self, shown: _Shown) -> dict[str, tuple[list[str], bool]]:
        """Return by table the keys of what differs from the lake, and whether something of another is in the way."""
        blocked = {name.lower() for name in self._in_the_way(shown)}
        known: dict[str, dict[str, tuple[str, str]]] = {}
        for (name, key), identity in shown.versions.items():
            known.setdefault(name, {})[key] = identity
        due = {}
        for table in self._tables.values():
            versions = self._lake.versions(table.name)
            held = {version.partition: _identity(version) for version in versions}
            before = known.get(table.name, {})
            if versions and shown.forms.get(table.name) != self._form(table, versions):
                keys = sorted(held.keys() | before.keys())
            else:
                keys = sorted(key for key in held.keys() | before.keys() if held.get(key) != before.get(key))
            if keys:
                due[table.name] = keys, table.name in blocked
        return due

    @property
    def _draft(self) -> Path:
        return self.path.with_name(f"{self.path.name}.draft")

    def _publish(self, patience: Patience) -> Publication:
        """Publish to a copy, which takes the place of the file; the caller holds the lock."""
        if not self._is_begun():
            publication = self._change(_Shown(), patience)
            if self.path.exists():
                self.path.unlink()
            # Unlike a rename, a link never replaces a file that an analyst makes in this very moment.
            with contextlib.suppress(FileExistsError):
                self.path.hardlink_to(self._draft)
            return publication
        with attached(self.path, patience) as held:
            shown = self._shown(held)
            due, views = self._due(shown), any(self._views_due(shown))
            possible = any(not is_blocked for _, is_blocked in due.values())
            if not possible and not views and _has_books(held):
                return self._publication(shown, due, ())
            for name, (keys, _) in due.items():
                for key in keys:
                    if (name, key) in shown.versions:
                        self._lake.miss(name, key, shown.versions[name, key][0])
            self._copy()
            publication = self._change(shown, patience)
            self._put_in_place()
        return publication

    def _put_in_place(self) -> None:
        """Replace the file by the draft, which holds what the log of the file held."""
        logs = {log: log.with_name(f"{self.path.name}.replaced{self._ending(log)}") for log in _logs_of(self.path)}
        try:
            # The log first: beside it, the new file could not be opened.
            for log, place in logs.items():
                log.rename(place)
            self._draft.replace(self.path)
        except BaseException:
            for log, place in logs.items():
                if place.exists():
                    place.rename(log)
            raise
        for place in logs.values():
            place.unlink()

    def _copy(self) -> None:
        """Copy the file and its log to the draft."""
        for part in (self.path, *_logs_of(self.path)):
            target = self._draft.with_name(self._draft.name + self._ending(part))
            # By another process: if this one closes the file, it gives up its locks.
            done = subprocess.run(["cp", "-p", part, target], capture_output=True, text=True, check=False)  # noqa: S607
            if done.returncode:
                raise DatabaseFileError(
                    f"{self.path} could not be copied, so that it was not brought up to date: {done.stderr.strip()}; "
                    "then: tempkb publish"
                )

    def _finish(self) -> str:
        """Finish or take back what a publication that was killed has left; return where something is kept."""
        draft, logs = self._draft, _logs_of(self.path.with_name(f"{self.path.name}.replaced"))
        if logs and draft.exists():
            # The copy is whole, since the log was moved after it. It holds what is nowhere else.
            if _logs_of(self.path) or self.path.stat().st_mtime_ns > draft.stat().st_mtime_ns:
                kept = self._move_aside(draft)
                return (
                    f"{self.path}: somebody has written to it after a publication was killed; what its write-ahead log "
                    f"held then, perhaps of tables of your own, is in {kept}"
                )
            draft.replace(self.path)
        for log in logs:
            log.unlink()
        self._delete(draft)
        return ""

    def _move_aside(self, path: Path) -> Path:
        """Give a file and its log the first free name of a damaged one, and return it."""
        names = (self.path.with_name(f"{self.path.name}.damaged-{n}") for n in itertools.count(1))
        place = next(one for one in names if not one.exists())
        # The log first, or DuckDB would replay it into a new file.
        for log in _logs_of(path):
            log.rename(place.with_name(place.name + log.name.removeprefix(path.name)))
        return path.rename(place)

    def _ending(self, part: Path) -> str:
        """What the name of a log has more than that of the file."""
        return part.name.removeprefix(self.path.name)

    def _delete(self, path: Path) -> None:
        for one in (*_logs_of(path), path):
            one.unlink(missing_ok=True)

    def _change(self, shown: _Shown, patience: Patience) -> Publication:
        """Bring the draft up to date; nobody else can change it meanwhile."""
        damaged: list[str] = []
        due = self._due(shown)
        with attached(self._draft, patience, to_write=True) as connection, _transaction(connection):
            if sum(one.rows for name in due for one in self._lake.versions(name)) < _FEW_ROWS:
                connection.execute("SET threads = 1")
            _make_books(connection)
            for name, (keys, is_blocked) in due.items():
                if not is_blocked:
                    self._bring_in(connection, self._tables[name], keys, shown, damaged)
            for view, query, form in self._views_due(shown):
                connection.execute(f"CREATE OR REPLACE VIEW {identifier(view.name)} AS {query}")
                connection.execute(f"COMMENT ON VIEW {identifier(view.name)} IS {literal(view.meaning)}")
                shown.forms[view.name] = form
        # Opened again, since DuckDB says a view otherwise than when it was made.
        with attached(self._draft, patience, to_write=True) as connection, _transaction(connection):
            self._keep_forms(connection, shown)
        return self._publication(shown, due, damaged)

    def _publication(
        self, shown: _Shown, due: Mapping[str, tuple[list[str], bool]], damaged: Sequence[str]
    ) -> Publication:
        left = sum(len(keys) for keys, is_blocked in due.values() if is_blocked)
        blocked = self._in_the_way(shown)
        reason = refusal(self.path, blocked) if blocked else ""
        return Publication(sum(len(keys) for keys, _ in due.values()) - left, left, reason, tuple(damaged))

    def _bring_in(
        self, connection: Connection, table: Table, keys: Sequence[str], shown: _Shown, damaged: list[str]
    ) -> None:
        """Make a table, or the view that stands for it, and keep the books of the partitions that have changed.

        Args:
            damaged: gets partitions that are damaged in the lake, in words; they count as absent.
        """
        versions = list[Version]()
        for version in self._lake.versions(table.name):
            try:
                version.paths()
                versions.append(version)
            except StoredDamageError as error:
                damaged.append(str(error))
        form = self._form(table, versions)
        name = identifier(table.name)
        query = "SELECT table_type FROM information_schema.tables WHERE table_schema = 'main' AND table_name = ?"
        for (kind,) in connection.execute(query, [table.name]).fetchall():
            connection.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} {name}")
        guard = f" WHERE {self._guard}" if form[0] == "view" and versions else ""
        kind, tagged = form[0].upper(), form[0] == "table"
        connection.execute(f"CREATE {kind} {name} AS {_rows(connection, table, versions, tagged=tagged)}{guard}")
        _comment(connection, table, kind)
        shown.forms[table.name] = form
        self._keep_books(connection, table, keys, {one.partition: one for one in versions})

    def _keep_books(
        self, connection: Connection, table: Table, keys: Sequence[str], versions: Mapping[str, Version]
    ) -> None:
        for side in SIDE_TABLES:
            connection.execute(
                f"DELETE FROM {side.name} WHERE {_OWNERS[side.name]} = ? AND list_contains(?, partition)",
                [table.name, list(keys)],
            )
            rows = [row for key in keys if key in versions for row in versions[key].side_rows(side.name)]
            _insert(connection, side, rows)
        of_table = [table.name, list(keys)]
        connection.execute("DELETE FROM published WHERE table_name = ? AND list_contains(?, partition)", of_table)
        books = [(key, *_identity(versions[key]), versions[key].rows) for key in keys if key in versions]
        if books:
            names, identities, sides, n_rows = (list(column) for column in zip(*books, strict=True))
            connection.execute(
                "INSERT INTO published SELECT ?, unnest(?), unnest(?), unnest(?), now(), unnest(?)",
                [table.name, names, identities, n_rows, sides],
            )

    def _keep_forms(self, connection: Connection, shown: _Shown) -> None:
        """Write down how all tables and views of ours were made, and what DuckDB says of each, which shows changes."""
        relations = _relations(connection)
        said = {name: (comment or "", sql) for schema, name, sql, comment in relations if schema == "main"}
        connection.execute("DELETE FROM declared")
        for name, (form, fingerprint) in shown.forms.items():
            told = fingerprint + _MARKS + _marks(*said[name])
            connection.execute("INSERT INTO declared VALUES (?, ?, ?)", [name, form, told])

    def _views_due(self, shown: _Shown) -> Iterator[tuple[View, str, Form]]:
        """Yield each named view that is to be made, with its query and form; `shown.forms` may grow meanwhile."""
        blocked, forms = set(self._in_the_way(shown)), shown.forms
        for view in self._views:
            if view.name in blocked or not set(view.needs) <= forms.keys():
                continue
            absent: dict[str, str] = {}
            for name in view.optional:
                self._add_absent(name, forms, absent)
            used = [name for name in (*view.needs, *view.optional) if name in forms]
            query = view.query_without(absent)
            declared = "\n".join([view.meaning, query, *(" ".join(forms[name]) for name in used)])
            form = ("question", _digest(declared))
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

    def _count_pending(self) -> int:
        """Count the pending partitions; all that there are if the file cannot be read."""
        try:
            return len(self.pending(Patience(0))[0])
        except TempkbError:
            return sum(len(keys) for keys, _ in self._due(_Shown()).values())

    def _not_shown(self, name: str, key: str, shown: _Shown) -> Difference:
        version, before = self._lake.current(name, key), shown.versions.get((name, key), ("", ""))[0]
        if version is None:
            found = "rows of a partition that the lake does not have"
            if before and self._lake.miss(name, key, before):
                return Difference(f"{name} {key}", found, f"its version {before}", is_lost=True)
            return Difference(f"{name} {key}", found, "none", is_pending=True)
        found, expected = f"version {before}" if before else "no rows", f"version {version.version}"
        if found == expected:
            found = "the table as it was declared or located before, or changed by somebody, or an earlier manifest"
            expected = "the table as it is declared and located now, and the manifest that the lake has"
        return Difference(f"{name} {key}", found, expected, True)

    def _other_rows(self, connection: Connection, table: Table, versions: Sequence[Version]) -> Iterator[Difference]:
        """Compare counts and sums of hashes of the rows of each partition, in one pass over either side."""
        columns = ", ".join(f"CAST({identifier(one.name)} AS {one.sql_type})" for one in table.columns)
        query = f"SELECT lake_partition, {_HASH.format(columns=columns)} FROM ({{}}) GROUP BY lake_partition"
        shown, held = (
            {key: (n, hashes) for key, n, hashes in connection.execute(query.format(rows)).fetchall()}
            for rows in (f"FROM {identifier(table.name)}", _rows(connection, table, versions, tagged=True))
        )
        for version in versions:
            found, expected = (one.get(version.partition, (0, None)) for one in (shown, held))
            if found != expected:
                what = "rows that are not those of the lake" if found[0] == expected[0] else "rows"
                yield Difference(
                    f"{table.name} {version.partition}",
                    f"{found[0]:,} {what}",
                    f"the {expected[0]:,} rows of version {version.version}",
                )


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


def repair_of(path: Path, difference: Difference) -> str:
    """Return what to type about a difference."""
    return "Publish it: tempkb publish" if difference.is_pending else made_again_by(path)


def _identity(version: Version) -> tuple[str, str]:
    """What tells that a partition is shown as it is: equal rows that are written again keep their version."""
    return version.version, version.sum_of_sides()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _marks(comment: str, sql: str) -> str:
    """What DuckDB says of a table or view of ours; it differs once somebody has put another in its place."""
    # Some lists of a view have another order each time that the file is opened.
    return f"{_digest(comment)} {_digest(''.join(sorted(sql)))}"


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).splitlines()[0]


def _logs_of(path: Path) -> list[Path]:
    """Write-ahead logs: the usual one, and two others that a kill during a checkpoint leaves."""
    names = (path.with_name(path.name + ending) for ending in (".wal", ".wal.checkpoint", ".wal.recovery"))
    return [one for one in names if one.exists()]


def _relations(connection: Connection) -> list[tuple[str, str, str, str | None]]:
    """Return tables and views as (schema, name, SQL, comment). Each of ours gets a comment when it is made."""
    return connection.execute(
        "SELECT schema_name, table_name, sql, comment FROM duckdb_tables() "
        "WHERE database_name = current_database() AND NOT internal UNION ALL "
        "SELECT schema_name, view_name, sql, comment FROM duckdb_views() "
        "WHERE database_name = current_database() AND NOT internal"
    ).fetchall()


def _has_books(connection: Connection) -> bool:
    """Has an open file the tables that say what it shows?"""
    return set(_BOOK_NAMES) <= {
        name for schema, name, _, comment in _relations(connection) if schema == "main" and comment
    }


def _make_books(connection: Connection) -> None:
    connection.execute(_BOOKS)
    for side in SIDE_TABLES:
        columns = ", ".join(f"{identifier(one.name)} {one.sql_type}" for one in side.columns)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {side.name} ({columns})")
        _comment(connection, side, "TABLE")


def _rows(connection: Connection, table: Table, versions: Sequence[Version], *, tagged: bool) -> str:
    """Return SQL for the rows of versions; columns that files of an earlier declaration lack are null in these.

    Args:
        tagged: with the partition of each row, in a column `lake_partition`.
    """
    if not versions:
        return f"SELECT {'*, CAST(NULL AS VARCHAR) AS lake_partition' if tagged else '*'} FROM ({table.empty_query})"
    source = parquet([path for version in versions for path in version.places()], tagged=tagged)
    held = set(table.column_names())
    if any(version.schema != table.fingerprint for version in versions):
        held = {row[0] for row in connection.execute(f"DESCRIBE FROM {source}").fetchall()}
    columns = [
        identifier(one.name) if one.name in held else f"CAST(NULL AS {one.sql_type}) AS {identifier(one.name)}"
        for one in table.columns
    ]
    # The folder of a version lies in that of its partition.
    columns += ["string_split(lake_file, '/')[-3] AS lake_partition"] if tagged else []
    return f"SELECT {', '.join(columns)} FROM {source}"


def _comment(connection: Connection, table: Table, kind: str) -> None:
    name = identifier(table.name)
    meanings = {column.name: column.meaning for column in table.columns}
    if kind == "TABLE" and table not in SIDE_TABLES:
        meanings["lake_partition"] = "partition of the lake that the row comes from"
    comments = [f"COMMENT ON {kind} {name} IS {literal(table.meaning)}"]
    comments += [f"COMMENT ON COLUMN {name}.{identifier(one)} IS {literal(text)}" for one, text in meanings.items()]
    connection.execute("; ".join(comments))


def _insert(connection: Connection, side: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows from Arrow: with a statement for each, DuckDB takes ten times as long."""
    import pyarrow as pa

    if rows:
        connection.register("side_rows", pa.Table.from_pylist(rows, side.schema))
        connection.execute(f"INSERT INTO {side.name} BY NAME FROM side_rows")
        connection.unregister("side_rows")


def _other_sides(connection: Connection, versions: Sequence[Version]) -> Iterator[Difference]:
    """Compare the rows of `exclusions` and `manifest` that belong to versions of a table."""
    for side in SIDE_TABLES if versions else ():
        shown: dict[str, list[tuple[Any, ...]]] = {}
        columns = ", ".join(map(identifier, side.column_names()))
        query = f"SELECT partition, {columns} FROM {side.name} WHERE {_OWNERS[side.name]} = ?"
        for partition, *row in connection.execute(query, [versions[0].table]).fetchall():
            shown.setdefault(partition, []).append(tuple(row))
        for version in versions:
            found = sorted(shown.get(version.partition, []), key=repr)
            expected = sorted((tuple(row.values()) for row in version.side_rows(side.name)), key=repr)
            if found != expected:
                yield Difference(
                    f"{side.name} of {version.table} {version.partition}",
                    f"{len(found):,} rows that are not those of the lake",
                    f"the {len(expected):,} rows of version {version.version}",
                )


@contextlib.contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    """Commit what is done in the block, and move it from the write-ahead log into the file."""
    connection.execute("BEGIN")
    yield
    connection.execute(f"COMMIT; CHECKPOINT {ATTACHED}")
