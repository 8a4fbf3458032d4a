"""The README does not lie: every command, setting, table, column, target and query in it exists and works."""

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import duckdb
import pyarrow as pa
import pytest

from tempkb.benchmarks.ecbd.design import Design as ClozeDesign
from tempkb.benchmarks.fact_queries.design import Design as FactDesign
from tempkb.benchmarks.tempel.design import Design
from tempkb.cli import main
from tempkb.record import IDENTITY
from tempkb.rooms import TABLES, VIEWS
from tempkb.settings import Settings
from tempkb.store.tables import SIDE_TABLES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
DOCUMENTS = [
    "tempkb/benchmarks/fact_queries/README.md",
    "tempkb/benchmarks/tempel/README.md",
    "tempkb/wikidata/README.md",
    "tempkb/wikitext/README.md",
    "README.md",
    "docs/decisions.md",
    "docs/benchmarks.md",
    "docs/errata.md",
    "docs/scaling.md",
    "docs/operations.md",
    "CHANGELOG.md",
    "data/README.md",
]


def queries():
    return re.findall(r"```sql\n(.*?)```", README, re.DOTALL)


def test_there_are_ten_queries():
    assert len(queries()) == 11


@pytest.mark.parametrize("query", queries(), ids=lambda query: query.splitlines()[0].removeprefix("-- "))
def test_every_query_runs_on_the_demo_and_finds_something(demo_home, tmp_path, query):
    database = tmp_path / "copy.duckdb"
    shutil.copy(demo_home / "tempkb.duckdb", database)
    with duckdb.connect(str(database), read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    assert rows or "exclusions" in query


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_and_their_options_exist(name):
    text = (ROOT / name).read_text("utf-8")
    for command, rest in re.findall(r"(?<![\w./-])(?:\.venv/bin/)?tempkb ([a-z]+)\b([^\n`]*)", text):
        if command in {"turns", "is", "decides", "derives", "writes", "command", "builds", "tables", "does"} - set(
            main.commands
        ):
            continue
        assert command in main.commands, f"{name}: tempkb {command}"
        found = main.commands[command]
        below = rest.split()[:1]
        if isinstance(found, click.Group) and below:
            assert below[0] in found.commands, f"{name}: tempkb {command} {below[0]}"
            found = found.commands[below[0]]
        options = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
            "--help"
        }
        for option in re.findall(r"(?<!\S)--[a-z-]+", rest):
            assert option in options, f"{name}: tempkb {command} {option}"
    for target in re.findall(r"\bmake ([a-z]+)\b", text):
        if target in {"s", "up"}:
            continue
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"{name}: make {target}"


def test_every_command_is_named_in_the_readme():
    missing = [
        command for command in main.commands if f"tempkb {command}" not in README and command not in {"ui", "demo"}
    ]
    assert missing == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_names_in_backticks_that_look_like_tables_columns_or_settings_exist(name):
    columns = {column.name for table in (*TABLES, *SIDE_TABLES) for column in table.columns}
    kinds = [column.type for table in TABLES for column in table.columns if pa.types.is_list(column.type)]
    columns |= {one.name for kind in kinds if pa.types.is_struct(kind.value_type) for one in kind.value_type}
    tables = {table.name for table in (*TABLES, *SIDE_TABLES)}
    known = (
        columns
        | tables
        | set(Settings.model_fields)
        | {"lake_partition", "page_props", "published", "declared"}
        | {one.name for one in (*fields(Design), *fields(FactDesign), *fields(ClozeDesign))}
        | {view.name for view in VIEWS}
        # Columns of views, fields of the released files, benchmarks.
        | {"known_from", "known_to", "most_recent_answer", "most_frequent_answer", "dynamic_templama"}
    )
    for word in re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)(?: = [^`]*)?`", (ROOT / name).read_text("utf-8")):
        assert word in known, f"{name}: {word}"


def test_the_tables_of_the_readme_are_all_tables():
    assert set(re.findall(r"^\| `(\w+)` \|", README.split("## Two commands")[0], re.MULTILINE)) == {
        t.name for t in TABLES
    }


def test_the_settings_of_the_readme_are_all_settings_with_their_defaults(home_folder):
    from tempkb.settings import load_home

    told = dict(
        re.findall(
            r"^\| `(\w+)` \| ([^|]+?) \|", README.split("## A real wiki")[1].split("## The web UI")[0], re.MULTILINE
        )
    )
    assert list(told) == list(Settings.model_fields)
    assert tuple(list(told)[: len(IDENTITY)]) == IDENTITY
    settings = load_home().settings
    for name, default in told.items():
        if default.startswith("`"):
            value = getattr(settings, name)
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
            assert default == f"`{shown}`", name


def test_links_between_files_lead_somewhere():
    for name in DOCUMENTS:
        for target in re.findall(r"\]\((?!http)([^)#]+)", (ROOT / name).read_text("utf-8")):
            assert ((ROOT / name).parent / target).exists(), f"{name}: {target}"


def test_what_the_readme_says_the_demo_prints_is_what_it_prints(demo_home):
    from tempkb_tests.conftest import run_tempkb

    said = run_tempkb(demo_home, "show", "Harbour Clock", "--cut", "2021-10-01").stdout
    line = "Revision 1357 won: its text stood 12 d of the 30 days before the cut (40%), longer than any other."
    assert line in README
    assert line in said


def test_versions_agree():
    version = re.search(r'__version__ = "(.+)"', (ROOT / "tempkb/__init__.py").read_text())[1]
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_dagster_yaml_and_the_one_tempkb_writes_say_the_same():
    import yaml

    from tempkb.instance import settings_for

    committed = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    written = yaml.safe_load(settings_for("data/demo/dagster"))
    assert committed == written


def test_make_help_lists_every_target():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "check", "audit", "ui", "bench", "real"):
        assert re.search(rf"^{target} ", done.stdout, re.MULTILINE)
    assert sys.version_info >= (3, 11)
