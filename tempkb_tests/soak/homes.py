"""What a home holds, as text that can be compared, and copies of homes."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

Told = dict[str, str]
"""what -> what there is of it; equal homes tell the same."""


def describe(home: Path) -> Told:
    """Tell all that a home holds, but for instants and Dagster's own history."""
    return {**dict(_of_lake(home)), **dict(_of_files(home)), **dict(_of_duckdb(home))}


def half(home: Path) -> list[str]:
    """Name what is neither there nor absent: pointers to nothing, rows of DuckDB that are not those of their version."""
    found = []
    for folder, said in versions(home):
        for file in said["files"]:
            path = folder / file["name"]
            if not path.is_file() or _sha256(path) != file["sha256"]:
                found.append(f"{said['table']} of {said['partition']}: {file['name']}")
    for path in home.glob("releases/*.json"):
        json.loads(path.read_text("utf-8"))
    if (home / "tempkb.duckdb").exists():
        with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
            found += _half_tables(connection)
    return found


def partitions(home: Path) -> set[str]:
    """Partitions that stand, as `table/partition`."""
    return {f"{one['table']}/{one['partition']}" for _, one in versions(home)}


def versions(home: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the folder and the description of the version that each pointer names, by table and partition.

    What a pointer names and is not there is lost, which counts as absent.
    """
    for pointer in sorted(home.glob("lake/*/*/CURRENT")):
        described = pointer.parent / pointer.read_text("utf-8").partition(" ")[0] / "version.json"
        if described.exists():
            yield described.parent, json.loads(described.read_text("utf-8"))


def copy(source: Path, target: Path) -> None:
    """Put a copy of a home into place; what nobody writes into is linked."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=_linked)


def leftovers(home: Path) -> list[str]:
    """Name what only a run that is dead can have left."""
    parts = (path for path in home.glob("dumps/_*/**/*") if path.is_file() and not path.name.endswith(".lock"))
    return sorted(str(path.relative_to(home)) for path in (*home.glob("lake/_staging/*"), *parts))


def _linked(source: str, target: str) -> str:
    # Versions and dumps are only ever replaced or removed.
    if "/lake/" in source and "/_staging/" not in source and not source.endswith((".lock", ".swap")):
        os.link(source, target)
        return target
    return shutil.copy2(source, target)


def _of_lake(home: Path) -> Iterator[tuple[str, str]]:
    for folder, said in versions(home):
        key = f"{said['table']} {said['partition']}"
        yield f"lake {key}", json.dumps([(one["name"], _sha256(folder / one["name"])) for one in said["files"]])
        for side in ("exclusions", "inputs", "settings", "code", "fills", "filled_by", "stamp"):
            yield f"{side} {key}", json.dumps(said[side])


def _of_files(home: Path) -> Iterator[tuple[str, str]]:
    for path in [home / "home.toml", *home.glob("releases/*.json"), *home.glob("dumps/named/*.json")]:
        if path.exists():
            yield f"file {path.relative_to(home)}", path.read_text("utf-8")
    for path in sorted((home / "dumps").rglob("*")):
        if path.is_file() and path.relative_to(home).parts[1] not in ("named", "sums", "_arriving"):
            yield f"file {path.relative_to(home)}", _sha256(path)


def _of_duckdb(home: Path) -> Iterator[tuple[str, str]]:
    if not (home / "tempkb.duckdb").exists():
        return
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        for name, columns in _tables(connection).items():
            shown = ", ".join(f'"{one}"' for one in columns if (name, one) != ("published", "published_at"))
            rows = connection.execute(
                f'SELECT count(*), coalesce(sum(hash({shown})), 0) FROM "{name}"'  # noqa: S608 - our own names
            ).fetchall()
            yield f"duckdb {name}", str(rows)
        for name, sql in connection.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall():
            yield f"view {name}", sql


def _half_tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    wanted: dict[str, dict[str, int]] = {}
    for table, partition, rows in connection.execute("SELECT table_name, partition, rows FROM published").fetchall():
        wanted.setdefault(table, {})[partition] = rows
    found = []
    for name, columns in _tables(connection).items():
        if "lake_partition" in columns:
            query = f'SELECT lake_partition, count(*) FROM "{name}" GROUP BY ALL'
            held = dict(connection.execute(query).fetchall())
            told = {key: n for key, n in wanted.get(name, {}).items() if n}
            if held != told:
                found.append(f"DuckDB's {name}")
    return found


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, column in connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() JOIN duckdb_tables() USING (table_name) "
        "WHERE NOT duckdb_tables.internal ORDER BY table_name, column_index"
    ).fetchall():
        found.setdefault(name, []).append(column)
    return found


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
