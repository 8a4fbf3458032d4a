"""The DuckDB file that people query, kept equal to the lake: a copy of it is changed, and moved into its place.

    tempkb.duckdb        what people open; nothing is ever written into it
    tempkb.duckdb.draft  the copy while it is changed
    tempkb.duckdb.ready  the copy from then on: it holds what the file and its write-ahead log held, and replaces both

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
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import duckdb

from tempkb.core.errors import StoredDamageError
from tempkb.core.files import NO_ROOM
from tempkb.core.locks import LockTimeoutError, Patience, locked
from tempkb.store.columns import columns
from tempkb.store.lake import Lake
from tempkb.store.opening import (
    DamagedDatabaseError,
    DatabaseFileError,
    NothingPublishedError,
    attached,
    made_again_by,
)
from tempkb.store.questions import close_off
from tempkb.store.quoting import identifier, literal, parquet
from tempkb.store.tables import SIDE_TABLES, Family, Table, View
from tempkb.store.versions import Version

_book = partial(Table, key=(), family=Family.SIDE, partitioned_by="", partition_columns=())
_PUBLISHED = _book(
    "published",
    "The version of each partition that this file shows.",
    columns("""
        table_name VARCHAR: table to which the partition belongs
        partition VARCHAR: partition key
        version VARCHAR: content hash of the version shown
        rows BIGINT: rows of the partition
        published_at TIMESTAMPTZ: when the version was published
        sides VARCHAR: hash of the exclusions and the manifest of the version
    """),
)
_DECLARED = _book(
    "declared",
    "The declaration under which each table and view was made.",
    columns("""
        table_name VARCHAR: table or view
        form VARCHAR: table, view (over files of the lake), or question (a view over other tables)
        fingerprint VARCHAR: changes when the declaration changes
    """),
)
_BOOKS = (_PUBLISHED, _DECLARED, *SIDE_TABLES)
# The column that names the table with whose partition a row was recorded.
_OWNERS = {"exclusions": "recorded_in", "manifest": "table_name"}
# Raised when the same files are to be shown differently; all tables are then published again.
_BROUGHT_IN = "3"
# With fewer rows to copy, several threads take longer than one.
_FEW_ROWS = 1 << 20
_MARKS = "; as "
_NO_ROOM = re.compile("|".join(os.strerror(number) for number in NO_ROOM))

Connection = duckdb.DuckDBPyConnection
Form = tuple[str, str]


@dataclass(frozen=True)
class Publication:
    """Result of `publish`."""

    done: int  # partitions that were published or removed
    left: int  # partitions that may still be pending: none, or all that there are if nothing could be published
    reason: str = ""  # why nothing was published
    damaged: tuple[str, ...] = ()  # partitions that were found damaged in the lake, in words; they count as absent
    set_aside: str = ""  # message about a DuckDB file that was moved away
    no_room: bool = False  # was it prevented by a full disk?


@dataclass
class _Shown:
    """What a file shows."""

    # Version and hash of the side rows of each partition, by table; and microseconds since 1970 of its publication.
    versions: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    times: dict[tuple[str, ...], int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)  # `TABLE` or `VIEW`, for each of ours
    # How each table and view of ours was made, without those that were dropped or changed since.
    forms: dict[str, Form] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)  # not ours; outside the main schema with theirs in front


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
        self._views = {view.name: view for view in views}
        self._draft, self._ready = self._beside(".draft"), self._beside(".ready")

    @contextlib.contextmanager
    def reading(self, patience: Patience | None = None) -> Iterator[Connection]:
        """Open the file read-only; wait for somebody who writes in it.

        Raises:
            NothingPublishedError: nothing has been published yet.
            DatabaseFileError: the file is not a DuckDB file, or cannot be read.
            LockTimeoutError: a writer keeps the file for too long.
        """
        nothing = (
            f"{self.path}: nothing is published yet; build something: tempkb build, or after a build: tempkb publish"
        )
        if not self._is_begun():
            raise NothingPublishedError(nothing)
        with attached(self.path, patience or Patience()) as connection:
            if not _has_books(_relations(connection)):
                raise NothingPublishedError(nothing)
            yield connection

    @contextlib.contextmanager
    def asking(self) -> Iterator[Connection]:
        """Open the file for queries of users, which can reach only it and the lake's tables; see `reading`.

        Raises:
            DatabaseFileError: its views name files of another home, from which this one was copied.
        """
        with self.reading() as connection:
            query = "SELECT count(*) FROM declared WHERE form = 'view' AND NOT contains(fingerprint, ?)"
            if connection.execute(query, [self._place + _MARKS]).fetchall()[0][0]:
                raise DatabaseFileError(
                    f"{self.path}: this home was copied or moved, and its tables still name the files of the one from "
                    "which it came; let them name its own: tempkb publish"
                )
            close_off(connection, [self._lake.root / name for name in self._tables])
            yield connection

    def pending(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Compare the file with the lake; see `reading` for errors.

        Returns:
            the (table, partition) that the next publication brings in or removes, and tables and views of others.
        """
        shown = self._look()
        return [(name, key) for name, keys in self._due(shown, self._held()).items() for key in keys], shown.others

    def shown_versions(self) -> set[tuple[str, str, str]]:
        """Return (table, partition, version) of everything published; empty if nothing has been."""
        shown = self._look().versions
        return {(name, key, version) for name, keys in shown.items() for key, (version, _) in keys.items()}

    def note_missing(self, shown: "_Shown | None" = None) -> None:
        """Let the lake know that what the file shows is lost if nothing is left of it; see `reading` for errors."""
        for name, keys in (shown or self._look()).versions.items():
            for key, (version, _) in keys.items():
                if self._lake.current(name, key) is None:
                    self._lake.miss(name, key, version)

    def publish(self, patience: Patience) -> Publication:
        """Let the file show the lake as it is now; a damaged one is moved away, and a new one takes its place."""
        if not self._is_begun() and not any(self._held().values()):
            return Publication(0, 0)
        try:
            with locked(self._beside(".lock"), patience):
                aside = self._finish()
                try:
                    return replace(self._publish(patience), set_aside=aside)
                except DamagedDatabaseError:
                    aside = (
                        f"{self.path}: found a damaged file, which was set aside as {self._move_aside(self.path)}; the "
                        "tables were published again from the lake. Tables of your own, if you made any, are in that "
                        "file only"
                    )
                    return replace(self._publish(patience), set_aside=aside)
                finally:
                    # Under the lock: without it, the draft is that of another publication.
                    self._delete_draft()
        except (LockTimeoutError, DatabaseFileError) as error:
            reason = str(error)
        except (OSError, duckdb.Error) as error:
            said = getattr(error, "strerror", None) or str(error).splitlines()[0]
            reason = f"{self.path} could not be replaced ({said}); then: tempkb publish"
            if not isinstance(error, OSError | duckdb.IOException) and not _NO_ROOM.search(reason):
                raise
        if no_room := _NO_ROOM.search(reason) is not None:
            reason = "the disk is full; make room, then: tempkb publish"
        return Publication(0, sum(map(len, self._held().values())), reason, no_room=no_room)

    def set_aside_files(self) -> list[Path]:
        """Return the damaged files that were moved away, sorted."""
        wanted = re.compile(rf"{re.escape(self.path.name)}\.damaged-\d+")
        return sorted(one for one in self.path.parent.glob("*.damaged-*") if wanted.fullmatch(one.name))

    def differences(
        self, whole: Mapping[str, Sequence[Version]], passed: Collection[tuple[str, str]] = ()
    ) -> Iterator[str]:
        """Yield in words where the file differs from the lake; reads all of it, so that DuckDB compares its own sums.

        Args:
            whole: versions of the lake whose files are known to be good, by table; other tables are not compared.
            passed: (table, partition) whose absence is no difference.

        Raises:
            DatabaseFileError: see `reading`; DuckDB also finds damage in what nobody has read before.
        """
        other, publish = f"other rows than the lake has. {made_again_by(self.path)}", "Publish it: tempkb publish"
        with self.reading() as connection:
            shown, settled = self._shown(connection), list[Version]()
            due = self._due(shown, self._held())
            for name, versions in whole.items():
                pending = [key for key in due.get(name, ()) if (name, key) not in passed]
                if pending:
                    more = f" and {len(pending) - 1:,} more, to {pending[-1]}" if pending[1:] else ""
                    yield f"{name} {pending[0]}{more}: not shown as the lake has it now. {publish}"
                # What was replaced and published since the lake was read is not what is shown.
                known = {key: one for key, one in shown.versions.get(name, {}).items() if key not in due.get(name, ())}
                same = [one for one in versions if known.get(one.partition) == _identity(one)]
                settled += same
                if same and shown.forms[name][0] == "table":
                    held = _rows(self._tables[name], same, tagged=True)
                    found = _differing(connection, self._tables[name], "lake_partition", identifier(name), held)
                    yield from (f"{name} {one.partition}: {other}" for one in same if (one.partition,) in found)
            for side in SIDE_TABLES:
                _register(connection, side, [row for one in settled for row in one.side_rows(side.name)])
                found = _differing(connection, side, f"{_OWNERS[side.name]}, partition", side.name, "FROM new_rows")
                for one in settled:
                    if (one.table, one.partition) in found:
                        yield f"{side.name} of {one.table} {one.partition}: {other}"
            for view, *_ in self._views_due(shown):
                yield f"view {view.name}: not the one that tempkb declares. {publish}"
            for name in shown.others:
                place = ".".join(map(identifier, name.split(".")))
                connection.execute(f"SELECT sum(hash(one)) FROM {place} AS one").fetchall()

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def _is_begun(self) -> bool:
        """Is there a file? An empty one does not count."""
        return self.path.exists() and self.path.stat().st_size > 0

    def _held(self) -> dict[str, list[Version]]:
        """Return what the lake has, by table."""
        return {name: self._lake.versions(name) for name in self._tables}

    def _look(self) -> _Shown:
        """Return what the file shows; nothing if there is none."""
        if not self._is_begun():
            return _Shown()
        with attached(self.path, Patience()) as connection:
            return self._shown(connection)

    def _shown(self, connection: Connection) -> _Shown:
        """Return what an open file shows; raise a DatabaseFileError if something of others has a name of ours."""
        relations, shown = _relations(connection), _Shown()
        shown.kinds = {one.name: "TABLE" for one in _BOOKS if relations.get(("main", one.name), ("", ""))[1]}
        if _has_books(relations):
            query = "SELECT table_name, partition, version, sides, epoch_us(published_at) FROM published"
            for name, key, version, sides, at in connection.execute(query).fetchall():
                shown.versions.setdefault(name, {})[key] = version, sides
                shown.times[name, key, version, sides] = at
            for name, form, told in connection.execute("SELECT table_name, form, fingerprint FROM declared").fetchall():
                sql, comment = relations.get(("main", name), ("", ""))
                fingerprint, _, marks = told.rpartition(_MARKS)
                # What has another comment is somebody else's; what is otherwise changed is as good as dropped.
                if comment and marks.startswith(_digest(comment)):
                    shown.kinds[name] = sql.split()[1]
                    if marks == _marks(sql, comment):
                        shown.forms[name] = form, fingerprint
        shown.others = sorted(
            name if schema == "main" else f"{schema}.{name}"
            for schema, name in relations
            if schema != "main" or name not in shown.kinds
        )
        ours = {*(one.name for one in _BOOKS), *self._tables, *self._views}
        if in_the_way := [name for name in shown.others if name.lower() in ours]:
            raise DatabaseFileError(
                f"{self.path} holds {', '.join(in_the_way)}, which tempkb did not make and leaves as it is, though it "
                "publishes under the same name; rename or drop it, then: tempkb publish"
            )
        return shown

    @cached_property
    def _guard(self) -> str:
        """A condition that holds only where the file lies that was published: a copy would show another home's rows."""
        places = ", ".join(map(literal, dict.fromkeys((str(self.path), os.path.realpath(self.path)))))
        said = f"this home was copied from {self.path.parent}; let its tables name their own files: tempkb publish"
        return (
            f"(SELECT CASE WHEN bool_or(path IN ({places})) THEN true ELSE error({literal(said)}) END "
            "FROM duckdb_databases())"
        )

    @property
    def _place(self) -> str:
        """Where views are right, since they name absolute paths."""
        return f" {self._lake.root} {self.path}"

    def _form(self, table: Table, versions: Sequence[Version]) -> Form:
        form = table.form(sum(version.rows for version in versions), self._max_rows)
        return form, f"{table.fingerprint} {_BROUGHT_IN}{self._place if form == 'view' else ''}"

    def _due(self, shown: _Shown, held: Mapping[str, Sequence[Version]]) -> dict[str, list[str]]:
        """Return by table the keys of what differs from the lake."""
        due = {}
        for name, versions in held.items():
            now, before = {one.partition: _identity(one) for one in versions}, shown.versions.get(name, {})
            is_other = bool(versions) and shown.forms.get(name) != self._form(self._tables[name], versions)
            keys = [key for key in now.keys() | before.keys() if is_other or now.get(key) != before.get(key)]
            if keys:
                due[name] = sorted(keys)
        return due

    def _publish(self, patience: Patience) -> Publication:
        """Publish to a copy, which takes the place of the file; the caller holds the lock."""
        if not self._is_begun():
            publication = self._change(_Shown(), patience)
            self.path.unlink(missing_ok=True)
            # Unlike a rename, a link never replaces a file that an analyst makes in this very moment.
            with contextlib.suppress(FileExistsError):
                self.path.hardlink_to(self._draft)
            return publication
        with attached(self.path, patience) as held:
            shown = self._shown(held)
            if not self._due(shown, self._held()) and not any(self._views_due(shown)):
                return Publication(0, 0)
            self.note_missing(shown)
            self._copy()
            publication = self._change(shown, patience)
            self._draft.rename(self._ready)
            self._put_in_place()
        return publication

    def _copy(self) -> None:
        """Copy the file and its log to the draft."""
        for part in (self.path, *_logs_of(self.path)):
            target = self._draft.with_name(self._draft.name + part.name.removeprefix(self.path.name))
            # By another process: if this one closes the file, it gives up its locks.
            done = subprocess.run(["cp", "-p", part, target], capture_output=True, text=True, check=False)  # noqa: S607
            if done.returncode:
                raise DatabaseFileError(
                    f"{self.path} could not be copied, so that it was not brought up to date: {done.stderr.strip()}; "
                    "then: tempkb publish"
                )

    def _delete_draft(self) -> None:
        for one in (*_logs_of(self._draft), self._draft):
            one.unlink(missing_ok=True)

    def _put_in_place(self) -> None:
        # The log first: beside it, the new file could not be opened.
        for log in _logs_of(self.path):
            log.unlink()
        self._ready.replace(self.path)

    def _finish(self) -> str:
        """Finish what a publication that was killed has left of a whole copy; return where something is kept."""
        self._delete_draft()
        if not self._ready.exists():
            return ""
        written = max((one.stat().st_mtime_ns for one in (self.path, *_logs_of(self.path)) if one.exists()), default=0)
        if written <= self._ready.stat().st_mtime_ns:
            self._put_in_place()
            return ""
        return (
            f"{self.path}: somebody has written to it after a publication was killed; what its write-ahead log held "
            f"then, perhaps of tables of your own, is in {self._move_aside(self._ready)}"
        )

    def _move_aside(self, path: Path) -> Path:
        """Give a file and its log the first free name of a damaged one, and return it."""
        place = next(one for n in itertools.count(1) if not (one := self._beside(f".damaged-{n}")).exists())
        # The log first, or DuckDB would replay it into a new file.
        for log in _logs_of(path):
            log.rename(place.with_name(place.name + log.name.removeprefix(path.name)))
        return path.rename(place)

    def _change(self, shown: _Shown, patience: Patience) -> Publication:
        """Bring the draft up to date; nobody else can change it meanwhile."""
        damaged, held = list[str](), self._held()
        due = self._due(shown, held)
        with attached(self._draft, patience, to_write=True) as connection:
            if sum(one.rows for name in due for one in held[name]) < _FEW_ROWS:
                connection.execute("SET threads = 1")
            for name in due:
                held[name] = _readable(held[name], damaged)
                self._make_table(connection, shown, self._tables[name], held[name])
            for view, query, form in self._views_due(shown):
                _make(connection, shown, view, "VIEW", query)
                shown.forms[view.name] = form
            self._make_books(connection, shown, [one for versions in held.values() for one in versions])
        # Opened again, since DuckDB says a view otherwise than when it was made.
        with attached(self._draft, patience, to_write=True) as connection:
            relations = _relations(connection)
            told = {
                name: fingerprint + _MARKS + _marks(*relations["main", name])
                for name, (_, fingerprint) in shown.forms.items()
            }
            rows = [
                {"table_name": name, "form": form, "fingerprint": told[name]} for name, (form, _) in shown.forms.items()
            ]
            _make_book(connection, shown, _DECLARED, rows)
        return Publication(sum(map(len, due.values())), 0, "", tuple(damaged))

    def _make_table(self, connection: Connection, shown: _Shown, table: Table, versions: Sequence[Version]) -> None:
        """Make a table, or the view that stands for it."""
        form = shown.forms[table.name] = self._form(table, versions)
        tagged = form[0] == "table"
        guard = f" WHERE {self._guard}" if versions and not tagged else ""
        _make(connection, shown, table, form[0].upper(), f"{_rows(table, versions, tagged=tagged)}{guard}")

    def _make_books(self, connection: Connection, shown: _Shown, versions: Sequence[Version]) -> None:
        now, published = time.time_ns() // 1000, list[dict[str, Any]]()
        for one in versions:
            at = shown.times.get((one.table, one.partition, *_identity(one)), now)
            place = {"table_name": one.table, "partition": one.partition, "version": one.version}
            published.append(place | {"rows": one.rows, "published_at": at, "sides": one.sum_of_sides()})
        _make_book(connection, shown, _PUBLISHED, published)
        for side in SIDE_TABLES:
            _make_book(connection, shown, side, [row for one in versions for row in one.side_rows(side.name)])

    def _views_due(self, shown: _Shown) -> Iterator[tuple[View, str, Form]]:
        """Yield each named view that is to be made, with its query and form; `shown.forms` may grow meanwhile."""
        forms = shown.forms
        for view in self._views.values():
            if set(view.needs) <= forms.keys():
                absent = self._absent(view.optional, forms).items()
                empty = ", ".join(f"{identifier(name)} AS ({query})" for name, query in absent)
                query = f"WITH {empty} SELECT * FROM ({view.query})" if empty else view.query
                used = (" ".join(forms[name]) for name in (*view.needs, *view.optional) if name in forms)
                form = ("question", _digest("\n".join([view.meaning, query, *used])))
                if forms.get(view.name) != form:
                    yield view, query, form

    def _absent(self, names: Sequence[str], forms: Collection[str]) -> dict[str, str]:
        """Return what takes the place of tables and views that do not exist: SQL that returns no rows."""
        absent: dict[str, str] = {}
        for name in names:
            if name in forms:
                continue
            if name in self._tables:
                absent[name] = self._tables[name].empty_query
            else:
                # By its own query, over empty tables where its tables do not exist.
                view = self._views[name]
                absent |= self._absent((*view.needs, *view.optional), forms) | {name: view.query}
        return absent


def _identity(version: Version) -> tuple[str, str]:
    """What tells that a partition is shown as it is: equal rows that are written again keep their version."""
    return version.version, version.sum_of_sides()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _marks(sql: str, comment: str) -> str:
    """What DuckDB says of a table or view of ours; it differs once somebody has put another in its place."""
    # Some lists of a view have another order each time that the file is opened.
    return f"{_digest(comment)} {_digest(''.join(sorted(sql)))}"


def _logs_of(path: Path) -> list[Path]:
    """Write-ahead logs: the usual one, and two others that a kill during a checkpoint leaves."""
    names = (path.with_name(path.name + ending) for ending in (".wal", ".wal.checkpoint", ".wal.recovery"))
    return [one for one in names if one.exists()]


def _relations(connection: Connection) -> dict[tuple[str, str], tuple[str, str]]:
    """Return SQL and comment of tables and views by schema and name. Each of ours gets a comment when it is made."""
    query = " UNION ALL ".join(
        f"SELECT schema_name, {kind}_name, sql, coalesce(comment, '') FROM duckdb_{kind}s() "
        "WHERE database_name = current_database() AND NOT internal"
        for kind in ("table", "view")
    )
    return {(schema, name): (sql, comment) for schema, name, sql, comment in connection.execute(query).fetchall()}


def _has_books(relations: Mapping[tuple[str, str], tuple[str, str]]) -> bool:
    """Has an open file the tables that say what it shows?"""
    return all(relations.get(("main", name), ("", ""))[1] for name in ("published", "declared"))


def _readable(versions: Sequence[Version], damaged: list[str]) -> list[Version]:
    """Return the versions whose bytes are right; the others, which count as absent, are added to `damaged` in words."""
    found = []
    for version in versions:
        try:
            version.paths()
            found.append(version)
        except StoredDamageError as error:
            damaged.append(str(error))
    return found


def _make(connection: Connection, shown: _Shown, thing: Table | View, kind: str, query: str) -> None:
    """Make a table or view of ours in place of the one that is there, and say what it means."""
    name, meanings = identifier(thing.name), dict[str, str]()
    if thing.name in shown.kinds:
        connection.execute(f"DROP {shown.kinds[thing.name]} {name}")
    shown.kinds[thing.name] = kind
    if isinstance(thing, Table):
        meanings = {one.name: one.meaning for one in thing.columns}
        if kind == "TABLE" and thing not in _BOOKS:
            meanings["lake_partition"] = "partition of the lake that the row comes from"
    said = [f"CREATE {kind} {name} AS {query}", f"COMMENT ON {kind} {name} IS {literal(thing.meaning)}"]
    said += [f"COMMENT ON COLUMN {name}.{identifier(one)} IS {literal(text)}" for one, text in meanings.items()]
    connection.execute("; ".join(said))


def _make_book(connection: Connection, shown: _Shown, book: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    _register(connection, book, rows)
    _make(connection, shown, book, "TABLE", "FROM new_rows")


def _rows(table: Table, versions: Sequence[Version], *, tagged: bool) -> str:
    """Return SQL for the rows of versions; `tagged` with the partition of each row, in a column `lake_partition`."""
    if not versions:
        return f"SELECT *{', CAST(NULL AS VARCHAR) AS lake_partition' * tagged} FROM ({table.empty_query})"
    source = parquet([path for version in versions for path in version.places()], tagged=tagged)
    if any(version.schema != table.fingerprint for version in versions):
        # Columns that files of an earlier declaration lack are null in these.
        source = f"(FROM {source} UNION ALL BY NAME ({table.empty_query}))"
    # The folder of a version lies in that of its partition.
    columns = [*map(identifier, table.column_names()), *["string_split(lake_file, '/')[-3] AS lake_partition"] * tagged]
    return f"SELECT {', '.join(columns)} FROM {source}"


def _differing(connection: Connection, table: Table, keys: str, shown: str, held: str) -> set[tuple[str, ...]]:
    """Return the keys of which two sources have other rows, by counts and sums of hashes, whatever their order."""
    columns = ", ".join(f"CAST({identifier(one.name)} AS {one.sql_type})" for one in table.columns)
    query = f"SELECT {keys}, count(*), sum(CAST(hash({columns}) AS HUGEINT)) FROM ({{}}) GROUP BY {keys}"
    found, expected = (set(connection.execute(query.format(one)).fetchall()) for one in (f"FROM {shown}", held))
    return {row[:-2] for row in found ^ expected}


def _register(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Let `new_rows` stand for rows, from Arrow: with a statement for each, DuckDB takes ten times as long."""
    import pyarrow as pa

    connection.register("new_rows", pa.Table.from_pylist(rows, table.schema))
