"""Queries of people: what reads runs, what writes or looks elsewhere is refused, and nothing on disk changes."""

import dataclasses

import duckdb
import pytest

from tempkb.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.locks import Patience
from tempkb.store.questions import RefusedError, check
from tempkb.store.store import Store
from tempkb_tests.store.tables_for_tests import TOWNS, towns

VIEWED = dataclasses.replace(TOWNS, name="villages", persist="view")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A published home, with a table and a view over the lake's files, and a file beside it that is none of its own."""
    folder = tmp_path_factory.mktemp("asked") / "it's [h]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEMPKB_HOME", str(folder))
        store = Store(load_home().claim("testwiki"), [TOWNS, VIEWED], Patience(1.0))
    for table in (TOWNS, VIEWED):
        store.write(table, "north", [towns("north", 3)], Provenance({"x": "1"}))
    store.publish()
    (folder.parent / "secret.csv").write_text("word\nopen sesame\n")
    (folder / "lake" / "villages" / "link").symlink_to(folder.parent)
    return store


@pytest.fixture(scope="module")
def asked(published):
    """A connection as `tempkb sql` opens it, for all tests."""
    with published.database.asking() as connection:
        yield published, connection


def ask(asked, query):
    store, connection = asked
    lake = str(store.home.lake).replace("'", "''")
    outside = str(store.home.path.parent).replace("'", "''")
    query = query.replace("<nested lake>", lake.replace("'", "''")).replace("<lake>", lake)
    return connection.sql(check(connection, query.replace("<outside>", outside))).fetchall()


def on_disk(store):
    files = (path for path in store.home.path.parent.rglob("*") if path.is_file())
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("SELECT name FROM towns ORDER BY 1 DESC", ("Town 2",)),
        ("FROM villages SELECT name ORDER BY town_id;", ("Town 0",)),
        ("WITH big AS (FROM towns) SELECT count(*) FROM big -- all; of them", (3,)),
        ("/* how many */ SELECT ';' AS semicolon; -- done", (";",)),
        ("(SELECT 1)", (1,)),
        ("VALUES (7)", (7,)),
        ("TABLE towns", ("north", 0, "Town 0", 1, "north")),
        ("SHOW TABLES", ("declared",)),
        ("DESCRIBE villages", ("region", "VARCHAR", "YES", None, None, None)),
        ("PIVOT towns ON town_id USING count(*) GROUP BY region", ("north", 1, 1, 1)),
        ("UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b", ("a", 1)),
        ("SELECT 1 AS twice, 2 AS twice", (1, 2)),
        ("FROM query('SELECT 42')", (42,)),
        ("SELECT 'copy (' AS copy FROM (PIVOT towns ON town_id IN (0) USING count(*))", ("copy (",)),
    ],
)
def test_what_reads_runs(asked, query, first):
    assert ask(asked, query)[0] == first


@pytest.mark.parametrize(
    "query",
    [
        "EXPLAIN FROM villages",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (FORMAT JSON) (FROM towns)",
        "EXPLAIN PIVOT towns ON town_id USING count(*)",
        "SUMMARIZE towns",
    ],
)
def test_what_explains_runs(asked, query):
    assert ask(asked, query)


@pytest.mark.parametrize(
    "query",
    [
        "COPY towns TO '<lake>/gift.csv'",
        "COPY (PIVOT towns ON town_id USING count(*)) TO '<lake>/gift.csv'",
        "EXPLAIN ANALYZE COPY towns TO '<lake>/gift.csv'",
        "explain /* only */ (analyze, format json) copy towns to '<lake>/gift.csv'",
        "EXPLAIN ANALYZE COPY (PIVOT towns ON town_id USING count(*)) TO '<lake>/gift.csv'",
        # SELECT statements, if one asks DuckDB.
        "WITH gift AS (COPY towns TO '<lake>/gift.csv') FROM gift",
        "WITH gift AS (COPY towns TO '<lake>/gift' (PARTITION_BY (town_id))) SELECT 1",
        "EXPLAIN ANALYZE WITH gift AS (COPY towns TO '<lake>/gift.csv') FROM gift",
        "WITH gift AS (COPY towns TO '<lake>/gift.csv') PIVOT gift ON count USING count(*)",
        "WITH gift AS (/**/copy/**/ towns TO '<lake>/gift.csv') FROM (PIVOT towns ON town_id USING count(*)), gift",
        "FROM query('WITH gift AS (COPY towns TO ''<nested lake>/gift.csv'') FROM gift')",
        "PIVOT (FROM query('WITH gift AS (COPY towns TO ''<nested lake>/gift.csv'') FROM gift')) ON count USING count(*)",
        "WITH gone AS (DELETE FROM towns RETURNING *) FROM gone",
        "EXPORT DATABASE '<lake>/gift'",
        "ATTACH '<lake>/gift.duckdb'",
        "DETACH tempkb",
        "CREATE TABLE gift AS SELECT 1",
        "CREATE TEMP TABLE gift AS PIVOT towns ON town_id USING count(*)",
        "CREATE MACRO gift() AS 1",
        "INSERT INTO towns SELECT * FROM towns",
        "UPDATE towns SET n_people = 2",
        "DROP TABLE towns",
        "ALTER TABLE towns DROP name",
        "COMMENT ON TABLE towns IS 'mine'",
        "SET threads = 1",
        "RESET allowed_directories",
        "USE memory",
        # Of kinds that DuckDB's package for Python has no name for.
        "UPDATE EXTENSIONS",
        "UPDATE EXTENSIONS (json, httpfs)",
        "CONNECT gift",
        "PRAGMA enable_profiling",
        "CALL force_checkpoint()",
        "CHECKPOINT",
        "VACUUM",
        "LOAD json",
        "INSTALL httpfs",
        "BEGIN",
        "PREPARE gift AS SELECT 1",
        "EXECUTE gift",
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY towns TO '<lake>/gift.csv'",
        "-- nothing",
        "",
    ],
)
def test_what_writes_is_refused_and_leaves_no_trace(asked, query):
    before = on_disk(asked[0])
    with pytest.raises(RefusedError, match="does not only read|expected one|the query is empty"):
        ask(asked, query)
    assert on_disk(asked[0]) == before


@pytest.mark.parametrize(
    "query",
    [
        "FROM '/etc/passwd'",
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('<outside>/secret.csv')",
        "FROM read_text('file://<outside>/secret.csv')",
        "FROM read_text('<lake>/../../secret.csv')",
        "FROM read_text('<lake>/villages/link/secret.csv')",
        # Of the lake, what belongs to no table: the copy of the home's record, with its salt, and drafts.
        "FROM read_text('<lake>/home.toml')",
        "FROM read_blob('<lake>/home.toml')",
        "FROM read_csv('<lake>/home.toml')",
        "FROM '<lake>/home.toml'",
        "FROM read_text('<lake>/h*')",
        "FROM read_text(['<lake>/home.toml'])",
        "FROM read_text('<lake>/villages/../home.toml')",
        "FROM read_text('<lake>/villages/*/../../home.toml')",
        "FROM read_text('<lake>/villages_of_another/file')",
        "FROM read_text('<lake>/_staging/run/villages/north')",
        "FROM glob('<lake>/*')",
        "FROM glob('<lake>/villages/../*')",
        "FROM glob('<lake>/_staging/**')",
        "FROM read_text('~/.bashrc')",
        "FROM read_blob('<outside>/secret.csv')",
        "FROM sniff_csv('<outside>/secret.csv')",
        "FROM glob('<outside>/*')",
        "FROM glob('/etc/*')",
        "FROM read_json('http://localhost/x.json')",
        "EXPLAIN ANALYZE FROM read_text('<outside>/secret.csv')",
        "FROM query('FROM ''/etc/passwd''')",
        "SELECT getenv('HOME')",
        "SELECT nextval('gift')",
        "FROM published_store",
    ],
)
def test_nothing_outside_can_be_read(asked, query):
    published_store = asked  # noqa: F841 - a variable of Python is no table either
    with pytest.raises(duckdb.Error) as raised:
        ask(asked, query)
    assert "sesame" not in str(raised.value)


def test_errors_point_at_the_line_that_the_person_wrote(asked):
    with pytest.raises(duckdb.BinderException, match="LINE 2: nothing FROM towns"):
        ask(asked, "SELECT name,\nnothing FROM towns")


def test_a_plain_shell_still_opens_the_views(published):
    with duckdb.connect(str(published.home.database), read_only=True) as shell:
        assert shell.sql("SELECT count(*) FROM villages").fetchall() == [(3,)]
