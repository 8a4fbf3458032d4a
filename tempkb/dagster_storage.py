"""Dagster's SQLite storage, the same files as its own storage writes, for a fraction of the processor time.

Dagster makes a new SQLAlchemy engine for each statement, so that each is compiled
anew, and it loads all of Alembic's migrations for each storage that it opens and
each run that begins. Here an engine is kept for each file, and a run's file is made
from the tables that Dagster declares. `instance.py` opens homes by this class once
their storage is whole; the web server and the daemon use Dagster's own.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import sqlalchemy
from alembic.script import ScriptDirectory
from dagster import DagsterInstance
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage import sqlite_storage
from dagster._core.storage.base_storage import DagsterStorage
from dagster._core.storage.event_log.schema import SqlEventLogStorageMetadata
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sql import get_alembic_config
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS, create_db_conn_string
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from dagster_shared.yaml_utils import load_yaml_from_path
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import QueuePool

# As Alembic makes it.
_STAMPS = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def open_instance(folder: str) -> DagsterInstance:
    """Open the Dagster instance of a folder whose `dagster.yaml` names SQLite and whose three storages are whole."""
    # Dagster itself takes the path of this file for a pattern, and does not find it where the path has a bracket.
    settings: Any = load_yaml_from_path(f"{folder}/dagster.yaml")
    ref = InstanceRef.from_dir(folder, overrides=settings)
    assert ref.storage_data is not None  # noqa: S101 - our own dagster.yaml has it
    kept = ConfigurableClassData(__name__, KeptStorage.__name__, ref.storage_data.config_yaml)
    return DagsterInstance.from_ref(ref._replace(storage_data=kept))


class _Engines:
    """An engine for each SQLite file, made at its first use; it keeps one connection open until it is disposed of.

    Closing the last connection to a file writes its log back and waits for the disk, which took as long as all
    statements. For the same reason commits do not wait for the disk where SQLite keeps a log: a power cut may lose
    the last events, but leaves the file whole, and what was built is in the lake, not here.
    """

    def __init__(self) -> None:
        self._made: dict[str, Engine] = {}
        self._lock = threading.Lock()

    def of(self, url: str) -> Engine:
        with self._lock:
            if url not in self._made:
                how = {"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False}
                engine = sqlalchemy.create_engine(url, poolclass=QueuePool, pool_size=1, connect_args=how)
                sqlalchemy.event.listen(engine, "connect", _leave_the_disk_to_the_system)
                self._made[url] = engine
            return self._made[url]

    def dispose(self) -> None:
        with self._lock:
            for engine in self._made.values():
                engine.dispose()
            self._made.clear()


def _leave_the_disk_to_the_system(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")


class _Connected:
    """A storage in one file, whose connections come from one engine."""

    _conn_string: str

    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines = _Engines()
        super().__init__(conn_string, inst_data)  # type: ignore[call-arg]  # Dagster's own class comes next

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Give a connection with a transaction that ends with the block."""
        with self._engines.of(self._conn_string).begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close what is open."""
        self._engines.dispose()


class KeptRuns(_Connected, SqliteRunStorage):
    """Runs."""


class KeptSchedules(_Connected, SqliteScheduleStorage):
    """Schedules, sensors and their ticks."""


class KeptEvents(sqlite_event_log.SqliteEventLogStorage):
    """Events: a file for each run, and an index of them all."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines = _Engines()
        super().__init__(base_dir, inst_data)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engines.of(self.conn_string_for_shard(shard))
            if shard not in self._initialized_dbs:
                self._initdb(engine, for_index_shard=shard == sqlite_event_log.INDEX_SHARD_NAME)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def dispose(self) -> None:
        """Close what is open."""
        self._engines.dispose()
        super().dispose()

    def _initdb(self, engine: Engine, for_index_shard: bool = False) -> None:
        # What is half made, or made by another process at this moment, is for Dagster to sort out.
        if not (_is_made(engine) or (not for_index_shard and _make(engine))):
            super()._initdb(engine, for_index_shard)


class KeptStorage(DagsterSqliteStorage):
    """All three. Nothing is made or migrated here: they are whole, as `instance.py` has seen to."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self.base_dir = base_dir
        runs, schedules = sqlite_storage._runs_directory(base_dir), sqlite_storage._schedule_directory(base_dir)
        self._run_storage = KeptRuns(create_db_conn_string(runs, "runs"))
        self._event_log_storage = KeptEvents(sqlite_storage._event_logs_directory(base_dir))
        self._schedule_storage = KeptSchedules(create_db_conn_string(schedules, "schedules"))
        self._inst_data = inst_data
        DagsterStorage.__init__(self)  # type: ignore[arg-type, no-untyped-call]  # past the one that makes all three

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> "KeptStorage":
        """Make one from what `dagster.yaml` says of SQLite."""
        return cls(config_value["base_dir"], inst_data)


def _is_made(engine: Engine) -> bool:
    """Has a file of events its tables? Dagster stamps them, once, when all are made."""
    try:
        with engine.connect() as connection:
            stamps = "SELECT count(*) FROM alembic_version"
            return "alembic_version" in _tables(connection) and connection.exec_driver_sql(stamps).scalar() == 1
    except DatabaseError:
        return False


def _make(engine: Engine) -> bool:
    """Make the tables of a run's events in one transaction; False: the file holds something else already."""
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            is_empty = not _tables(connection)
            if is_empty:
                SqlEventLogStorageMetadata.create_all(connection)
                connection.exec_driver_sql(_STAMPS)
                connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (_newest_revision(),))
            connection.exec_driver_sql("COMMIT")
            return is_empty
    except DatabaseError:
        return False


def _tables(connection: Connection) -> set[str]:
    found = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in found}


@cache
def _newest_revision() -> str:
    """The revision of Dagster's schema that its declared tables have; loads all migrations, so once in a process."""
    scripts = ScriptDirectory.from_config(get_alembic_config(sqlite_event_log.__file__))
    return str(scripts.as_revision_number("head"))
