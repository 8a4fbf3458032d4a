"""Figures of homes, of what a person types and of what Dagster shows: equal figures, nothing that users have is changed.

A figure is a value by a key of several words.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import click
import duckdb

from tempkb.core.options import options_of
from tempkb.core.settings import Settings
from tempkb.platform.api import open_store
from tempkb_tests.unchanged import homes
from tempkb_tests.unchanged.homes import CARRIED, DEMO
from tempkb_tests.unchanged.prepared import states
from tempkb_tests.unchanged.screens import printed

Figures = dict[tuple[str, ...], str]
Found = Iterator[tuple[tuple[str, ...], str]]

NOT_COMPARED = {
    "lake models": "files and manifest have the path of a checkpoint; the columns of models are compared",
    "models.checkpoint": "a path",
    "manifest.version": "compared in the lake, and so are sha256 and settings, from which it follows",
    "manifest.sha256": "see version; those of models follow from a path",
    "manifest.settings": "see version; those of models have a path",
    "published.version": "compared in the lake",
    "published.sides": "compared in the lake, since the version follows from it",
    "published.published_at": "when a row came",
    "declared.fingerprint": "follows from the paths of files and from meanings",
}
"""What is left out of the figures, and why."""

# With nine digits the order in which numbers were added does not matter; of a difference that is zero all digits are chance.
_DIGITS, _ZERO = "{:.8e}", 1e-12
_WIDTH = 80
_COLUMNS = """
    SELECT table_name, column_name, data_type FROM duckdb_columns()
    WHERE NOT internal AND database_name = current_database() ORDER BY table_name, column_index
"""
_MEANINGS = """
    SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal
    UNION ALL SELECT table_name, '', comment FROM duckdb_tables() WHERE NOT internal
    UNION ALL SELECT view_name, '', comment FROM duckdb_views() WHERE NOT internal
"""
_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"


def collect(made: dict[str, Path]) -> dict[str, Figures]:
    """Return all figures by the name of their file.

    Args:
        made: homes by name, with their exports.
    """
    of_homes = {"lake": _lake, "columns": sums_of_columns, "exports": _exports}
    of_demo = {"types": _types, "meanings": _meanings, "names": _names, "checkpoints": of_checkpoints}
    # Last: these copy the demo home.
    of_demo |= {"screens": printed, "states": states}
    return {
        **{
            kind: {(name, *key): value for name, home in made.items() for key, value in find(home)}
            for kind, find in of_homes.items()
        },
        **{kind: dict(find(made[DEMO])) for kind, find in of_demo.items()},
        "help": dict(_help()),
    }


def of_checkpoints(folder: Path) -> Found:
    """Yield the digest of each checkpoint in a home, or in the folder of those that are carried."""
    for name, value in homes.sums_of_checkpoints(folder).items():
        yield (name,), value


def resting_on_checkpoints(home: Path) -> set[str]:
    """Return the tables and views of a home that follow from checkpoints of models and linkers."""
    from tempkb.platform.definitions import defs

    graph = defs.resolve_asset_graph()
    found, new = set(), {key for key in graph.get_all_asset_keys() if key.path[-1] in CARRIED}
    while new:
        found |= new
        new = {child for key in new for child in graph.get(key).child_keys} - found
    names = {key.path[-1] for key in found}
    views = dict(_asked(home, _VIEWS))
    while more := {view for view, sql in views.items() if names & set(re.findall(r"\w+", sql))} - names:
        names |= more
    return names


def _lake(home: Path) -> Found:
    with mock.patch.dict(os.environ, TEMPKB_HOME=str(home)):
        store = open_store()
    for table in store.tables:
        for version in store.lake.versions(table):
            told = "-" if f"lake {table}" in NOT_COMPARED else version.version
            yield (table, version.partition), f"{told} {version.rows}"


def _exports(home: Path) -> Found:
    for name, value in homes.exported(home).items():
        yield (name,), value


def sums_of_columns(home: Path) -> Found:
    """For each column a sum over the rows in any order; as `*` their number, and the sum over them as a whole."""
    with _opened(home) as connection:
        for relation, columns in _columns(home).items():
            shown = {name: kind for name, kind in columns.items() if f"{relation}.{name}" not in NOT_COMPARED}
            texts = ", ".join(f'coalesce({_text(name, kind)}, chr(0)) AS "{name}"' for name, kind in shown.items())
            named = [f'"{name}"' for name in shown]
            sums = ", ".join(
                f"sum(md5_number_lower({one}))" for one in (f"concat_ws(chr(31), {', '.join(named)})", *named)
            )
            asked = f'SELECT count(*), {sums} FROM (SELECT {texts} FROM "{relation}")'
            n, *found = connection.execute(asked).fetchone()
            short = [f"{(total or 0) % 2**64:016x}" for total in found]
            yield (relation, "*"), f"{n} {short[0]}"
            for name, value in zip(shown, short[1:], strict=True):
                yield (relation, name), value


def _text(name: str, kind: str) -> str:
    """A column as text."""
    if kind != "DOUBLE":
        return f'"{name}"::VARCHAR'
    return f"""if(abs("{name}") < {_ZERO}, '0', format('{_DIGITS}', "{name}"))"""


def _types(home: Path) -> Found:
    for relation, columns in _columns(home).items():
        for place, (column, kind) in enumerate(columns.items(), 1):
            yield (relation, column), f"{place} {kind}"


def _meanings(home: Path) -> Found:
    """What DuckDB's comments say of each relation and of each of its columns."""
    for relation, column, comment in _asked(home, _MEANINGS):
        yield (relation, column), " ".join((comment or "").split())


def _names(home: Path) -> Found:
    """Settings; assets with the versions of their code; fields that a run of them takes; checks, jobs and what starts them."""
    with mock.patch.dict(os.environ, TEMPKB_HOME=str(home)):
        from tempkb.platform.definitions import defs
    for name, setting in options_of(Settings).items():
        yield ("setting", name), str(setting.default)
    graph = defs.resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        yield ("asset", key.to_user_string()), str(graph.get(key).code_version)
    for key in graph.asset_check_keys:
        yield ("check", key.to_user_string()), ""
    kinds = {"job": defs.resolve_all_job_defs(), "schedule": defs.schedules, "sensor": defs.sensors}
    yield from (((kind, one.name), "") for kind, found in kinds.items() for one in found)
    for op in (one.op for one in defs.assets):
        for name, field in getattr(op.config_field.config_type, "fields", {}).items():
            kind = field.config_type.given_name or field.config_type.kind.value
            yield ("field", op.name, name), f"{kind} {field.default_value if field.default_provided else 'is required'}"


def _help() -> Found:
    from tempkb.commands.cli import main

    yield from _help_of(main, click.Context(main, info_name="tempkb", terminal_width=_WIDTH))


def _help_of(command: click.Command, context: click.Context) -> Found:
    yield (f"{context.command_path} --help",), command.get_help(context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        below = command.get_command(context, name)
        yield from _help_of(below, click.Context(below, parent=context, info_name=name))


def _columns(home: Path) -> dict[str, dict[str, str]]:
    """Types of columns by relation."""
    found: dict[str, dict[str, str]] = {}
    for relation, column, kind in _asked(home, _COLUMNS):
        found.setdefault(relation, {})[column] = kind
    return found


def _asked(home: Path, query: str) -> list[Any]:
    with _opened(home) as connection:
        return connection.execute(query).fetchall()


def _opened(home: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB's file of a home, where instants are shown in UTC."""
    connection = duckdb.connect(str(home / "tempkb.duckdb"), read_only=True)
    connection.execute("SET TimeZone = 'UTC'")
    return connection
