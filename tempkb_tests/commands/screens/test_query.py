"""`tempkb sql` on the demo world, whose home lies in a folder with an apostrophe, quotes, brackets and blanks."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.commands.screens.query import run_query
from tempkb.core.errors import SettingsError
from tempkb.core.settings import load_home
from tempkb.platform.api import open_store


@pytest.fixture
def sql(demo_home, monkeypatch):
    """Run `tempkb sql` in this process: (exit code, standard output, standard error)."""
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))

    def run(*arguments, width=80):
        done = CliRunner().invoke(main, ["sql", *map(str, arguments)], env={"COLUMNS": str(width)})
        return done.exit_code, done.stdout, done.stderr

    return run


def test_every_table_and_view_answers_under_the_restrictions_and_in_a_plain_shell(demo_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    query = "SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal ORDER BY 1"
    with duckdb.connect(str(demo_home / "tempkb.duckdb"), read_only=True) as shell:
        names = [name for (name,) in shell.sql(query).fetchall()]
        counted = {name: shell.sql(f'SELECT count(*) FROM "{name}"').fetchall() for name in names}
    assert {"published", "page_wikitexts", "mentions", "fact_versions", "ecbd_balance", "exclusions"} <= set(names)
    with open_store().database.asking() as connection:
        assert {name: connection.sql(f'SELECT count(*) FROM "{name}"').fetchall() for name in names} == counted


def test_what_a_closing_screen_recommends_is_readable(sql):
    query = "SELECT masked_sentence, answer, origin_window FROM ecbd_cloze WHERE release = 'demo-cloze' LIMIT 5"
    for width in (80, 120):
        code, said, _ = sql(query, width=width)
        lines = said.splitlines()
        assert (code, lines[-1]) == (0, "5 rows")
        assert max(map(len, lines)) <= width
        assert len(lines) < 40
        heads = [line.split()[0] for line in lines if line[0].isalpha()]
        assert heads == ["record", "masked_sentence", "answer", "origin_window"] * 5


def test_what_fits_is_a_table_and_numbers_are_those_that_are_stored(sql):
    _, said, _ = sql("SELECT 1234567 AS id, 'postgres:x:1' AS line, '[bold]' AS \"[b]\", NULL AS none, true AS yes")
    assert [cell.strip() for cell in said.splitlines()[1].split("┃")[1:-1]] == ["id", "line", "[b]", "none", "yes"]
    assert [cell.strip() for cell in said.splitlines()[3].split("│")[1:-1]] == [
        "1234567",
        "postgres:x:1",
        "[bold]",
        "NULL",
        "true",
    ]
    assert said.splitlines()[-1] == "1 row"


def test_structs_and_instants_are_whole(sql):
    _, said, _ = sql(
        "SELECT [{'a': DATE '2024-01-02', 'b': NULL}] AS l, TIMESTAMPTZ '2024-01-02 03:04:05.000006+00' AS t"
    )
    assert '[{"a": "2024-01-02", "b": null}]' in said
    assert "2024-01-02 03:04:05.000006+00:00" in said


def test_more_rows_than_are_shown_are_counted(sql):
    _, said, _ = sql("SELECT i FROM range(100_001) AS r(i)")
    assert said.splitlines()[-1] == "100,001 rows, the first 100 are shown; --csv, --json or --parquet give all"


def test_json_has_no_numbers_that_json_does_not_know_and_a_query_may_begin_with_a_comment(sql):
    code, said, _ = sql("-- of floats\nSELECT 'nan'::DOUBLE AS f, [1.5, '-inf'::DOUBLE] AS l", "--json")
    assert (code, json.loads(said, parse_constant=pytest.fail)) == (0, {"f": None, "l": [1.5, None]})


def test_csv_and_json_hold_lists_as_json_and_large_results_whole(sql):
    query = "SELECT i, sum(i) OVER () AS total, [{'k': 'é'}] AS l FROM range(17_000) AS r(i)"
    rows = list(csv.DictReader(io.StringIO(sql(query, "--csv")[1])))
    lines = [json.loads(line) for line in sql(query, "--json")[1].splitlines()]
    assert len(rows) == len(lines) == 17_000
    assert json.loads(rows[-1]["l"]) == lines[-1]["l"] == [{"k": "é"}]
    assert lines[-1]["total"] == 144_491_500
    assert lines[-1]["i"] == 16_999


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("COPY facts TO '/tmp/x.csv'", "does not only read. tempkb sql runs one statement that reads"),
        ("SELECT 1; SELECT 2", "the query has 2 statements; expected one"),
        (" -- nothing", "the query is empty. tempkb sql runs one statement that reads"),
        ("FROM read_csv('/etc/passwd')", 'Cannot access file "/etc/passwd"'),
        (
            "FROM sqlite_scan('/tmp/x.db', 't')",
            "it needs DuckDB's extension sqlite_scanner, and no extension is loaded here. tempkb sql reads the published "
            "tables of the home and no other files (list them: TEMPKB_HOME=",
        ),
        ("FROM '/etc/passwd'", "'/etc/passwd' is not a table of the home. tempkb sql reads the published tables"),
        ("FROM 'rows.xlsx'", "'rows.xlsx' is not a table of the home. tempkb sql reads the published tables"),
        ("FROM postgres_scan('a', 'b', 'c')", "there is no table function postgres_scan here. tempkb sql reads"),
    ],
)
def test_a_refusal_says_how_to_open_the_file_oneself(sql, demo_home, query, words):
    code, said, error = sql(query)
    assert (code, said) == (1, "")
    assert len(error.splitlines()) == 1
    assert words in error
    line = error[error.index("duckdb -readonly ") : error.index("; or in Python: ")]
    quoted = subprocess.run(
        ["sh", "-c", f"printf %s {line.removeprefix('duckdb -readonly ')}"], capture_output=True, text=True, check=True
    )
    assert quoted.stdout == str(demo_home / "tempkb.duckdb")
    python = error.split("Python: ")[1].strip()
    with eval(python, {"duckdb": duckdb}) as shell:  # noqa: S307 - the line that a person is told to type
        assert shell.sql("SELECT count(*) > 0 FROM published").fetchall() == [(True,)]


def test_a_mistyped_table_is_refused_with_the_nearest_and_where_to_see_all(sql):
    code, _, error = sql("FROM stable_snapshot")
    assert code == 1
    assert 'Did you mean "stable_snapshots"?' in error
    assert re.fullmatch(r"List the tables: TEMPKB_HOME=\S.* tempkb tables", error.splitlines()[-1])


def test_one_form_at_a_time(sql, tmp_path):
    target = tmp_path / "x.parquet"
    for options, words in (
        (["--csv", "--json"], "--csv and --json exclude one another"),
        (["--json", "--parquet", target], "--json and --parquet exclude one another"),
        (["--csv", "--json", "--parquet", target], "--csv and --json and --parquet exclude one another"),
    ):
        code, said, error = sql("SELECT 1", *options)
        assert (code, said, f"Error: {words}; give one of them" in error) == (2, "", True)
    assert not target.exists()


def test_without_a_terminal_each_row_is_a_line_however_long(demo_home, monkeypatch):
    """As `tempkb sql ... | less -S` needs it; a width that is asked for is kept."""
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    monkeypatch.delenv("COLUMNS", raising=False)
    query = "SELECT repeat('long ', 200) AS sentence, i FROM range(3) AS r(i)"
    said = CliRunner().invoke(main, ["sql", query]).stdout.splitlines()
    rows = [line for line in said if line.startswith("│")]
    assert [row.count("long ") for row in rows] == [200, 200, 200]
    assert "…" not in "".join(said)
    # The list of tables is an overview, whose lines are cut; `tempkb tables NAME` has the whole meaning.
    for table in list(open_store().tables.values())[::10]:
        assert f"{table.name}: {table.meaning}\n" in CliRunner().invoke(main, ["tables", table.name]).stdout
    for command in (["sql", query], ["sql", "FROM published"], ["tables"]):
        narrow = CliRunner().invoke(main, command, env={"COLUMNS": "70"}).stdout.splitlines()
        assert max(map(len, narrow)) <= 70


def test_a_parquet_file_is_written_whole_or_not_at_all(sql, demo_home, tmp_path):
    target = tmp_path / "it's [a] file.parquet"
    code, _, error = sql("SELECT i FROM range(70_000) AS r(i)", "--parquet", target)
    assert (code, error) == (0, f"70,000 rows written to {target}\n")
    assert pq.read_table(target)["i"].to_pylist() == list(range(70_000))
    before = target.read_bytes()
    one = tmp_path / "one.parquet"
    assert sql("SELECT 1 AS i", "--parquet", one)[2] == f"1 row written to {one}\n"
    one.unlink()
    failing = "SELECT CASE WHEN i = 69_999 THEN error('late') ELSE i END AS i FROM range(70_000) AS r(i)"
    code, _, error = sql(failing, "--parquet", target)
    assert (code, "late" in error) == (1, True)
    assert target.read_bytes() == before
    inside = demo_home / "lake" / "x.parquet"
    for where, words in (
        (tmp_path / "no" / "x.parquet", "there is no folder"),
        (tmp_path, "is a folder; name a file in it"),
        (inside, "is among the home's own files"),
        (demo_home / "tempkb.duckdb", "is among the home's own files"),
    ):
        code, _, error = sql("SELECT 1", "--parquet", where)
        assert (code, words in error, len(error.splitlines())) == (1, True, 1)
    code, _, error = sql("SELECT 1 AS a, 2 AS a", "--parquet", target)
    assert (code, "several columns are named 'a'" in error) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_result_is_written_over_none_of_the_homes_own_files(home_folder, tmp_path):
    load_home().claim("simplewiki")
    elsewhere = tmp_path / "shared.toml"
    elsewhere.touch()
    (home_folder / "tempkb.toml").symlink_to(elsewhere)
    own = ["home.toml", "tempkb.toml", "tempkb.duckdb", "tempkb.duckdb.wal"]
    own += [f"{folder}/x" for folder in ("lake", "dumps", "dagster", "models", "linkers", "page_lists", "releases")]
    for name in own:
        target = home_folder / name
        target.parent.mkdir(exist_ok=True)
        with pytest.raises(SettingsError, match=f"--parquet .*{name}: is among the home's own files in .*/home; name"):
            run_query("SELECT 1", None, target)
    assert not load_home().owns(home_folder / "rows.parquet")
    assert not load_home().owns(elsewhere)


def test_a_reader_that_has_enough_ends_the_command_quietly(demo_home):
    command = [sys.executable, "-m", "tempkb.commands.cli", "sql", "FROM range(300_000)", "--csv"]
    environment = {"TEMPKB_HOME": str(demo_home), "PYTHONPATH": str(Path(__file__).parents[3]), "PATH": "/usr/bin"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"range\n"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141
