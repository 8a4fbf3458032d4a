"""Queries of people: what reads runs, what writes or looks elsewhere is refused, and nothing on disk changes.

Rows of a statement as DuckDB hands them over: whole, exact, and text where Python has no value for them.
"""

import dataclasses
import tracemalloc
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import duckdb
import pytest

from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.memory import in_memory
from tempkb.store.questions import BATCH_ROWS, Answer, RefusedError, check
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


@pytest.fixture
def answer():
    with in_memory() as connection:
        yield lambda statement: Answer(connection, statement)


def one(answer, value):
    ((rows,),) = (answer(f"SELECT {value} AS value").batches(),)
    ((found,),) = rows
    return found


# Each value as SQL writes it, and as people get it.
VALUES = {
    "NULL": None,
    "true": True,
    "sum(1)": 1,
    "12.50::DECIMAL(9, 2)": Decimal("12.50"),
    "'é'": "é",
    "'x'::BLOB": b"x",
    "TIME '01:02:03'": time(1, 2, 3),
    "'5b35b3ba-1f9c-4e2e-9d3c-1d4c8c0b4b1f'::UUID": UUID("5b35b3ba-1f9c-4e2e-9d3c-1d4c8c0b4b1f"),
    "DATE '2021-03-04'": date(2021, 3, 4),
    "DATE '0001-01-01'": date(1, 1, 1),
    "DATE '9999-12-31'": date(9999, 12, 31),
    "DATE '10000-01-01'": "10000-01-01",
    # The day before year 1 is of year 0 to astronomers; 27 BCE is their -26.
    "DATE '0001-12-31 (BC)'": "0000-12-31",
    "DATE '0027-01-16 (BC)'": "-0026-01-16",
    "TIMESTAMP '2021-03-04 05:06:07.000008'": datetime.fromisoformat("2021-03-04 05:06:07.000008"),
    "TIMESTAMP '0027-01-16 (BC) 01:02:03'": "-0026-01-16 01:02:03",
    "TIMESTAMPTZ '12000-01-01 01:02:03.05+00'": "12000-01-01 01:02:03.050000+00:00",
    "INTERVAL 1 MONTH": "1 month",
    "TIMESTAMP '2021-01-03' - TIMESTAMP '2021-01-01 12:00:00'": "1 day 12:00:00",
    "TIMESTAMP_NS '2021-01-01 00:00:00.123456789'": "2021-01-01 00:00:00.123456789",
    "[DATE '12000-01-01', NULL, DATE '2021-01-01']": ["12000-01-01", None, date(2021, 1, 1)],
    "[{'on': DATE '0001-12-31 (BC)', 'n': 1}]": [{"on": "0000-12-31", "n": 1}],
    "{'l': [DATE '12000-01-01'], 'm': NULL::DATE[]}": {"l": ["12000-01-01"], "m": None},
    "MAP {'a': DATE '12000-01-01', 'b': NULL}": [("a", "12000-01-01"), ("b", None)],
    "MAP {['a']: 1}": [(["a"], 1)],
    "MAP {}": [],
    "[INTERVAL 1 MONTH, NULL]": "[1 month, NULL]",
}


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_what_people_read(value, answer):
    found = one(answer, value)
    assert found == VALUES[value]
    assert type(found) is type(VALUES[value])


def test_an_instant_is_in_utc(answer):
    found = one(answer, "TIMESTAMPTZ '2021-03-04 05:06:07+02'")
    assert (found, str(found)) == (datetime(2021, 3, 4, 3, 6, 7, tzinfo=UTC), "2021-03-04 03:06:07+00:00")


def test_columns_of_one_name_and_in_any_order_stay_as_they_are(answer):
    found = answer("SELECT INTERVAL (i) DAY AS a, i AS a FROM range(3) AS r(i) ORDER BY i DESC; -- the newest first")
    assert found.names == ["a", "a"]
    assert list(found.batches()) == [[("2 days", 2), ("1 day", 1), ("00:00:00", 0)]]


@pytest.mark.parametrize("n", [0, 3, BATCH_ROWS, BATCH_ROWS + 1, 5 * BATCH_ROWS])
def test_the_head_of_an_answer_comes_with_the_number_of_its_rows(n, answer):
    first, n_rows = answer(f"SELECT i FROM range({n}) AS r(i) -- all").head(2)
    assert (first, n_rows) == ([(i,) for i in range(min(n, 2))], n)


@pytest.mark.slow
def test_rows_are_never_whole_in_memory(answer):
    statement = f"SELECT repeat('x', 1000) || i AS text FROM range({8 * BATCH_ROWS}) AS r(i)"
    tracemalloc.start()
    try:
        assert sum(len(rows) for rows in answer(statement).batches()) == 8 * BATCH_ROWS
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A batch has 17 MB of text, the whole answer 136.
    assert peak < 60_000_000


def test_what_fails_late_is_duckdbs_own_error(answer):
    failing = f"SELECT CASE WHEN i = {3 * BATCH_ROWS} THEN error('late') ELSE i END FROM range(100_000) AS r(i)"
    with pytest.raises(duckdb.InvalidInputException, match="late"):
        list(answer(failing).batches())
