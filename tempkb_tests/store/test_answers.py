"""Rows of a statement as DuckDB hands them over: whole, exact, and text where Python has no value for them."""

import tracemalloc
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import duckdb
import pytest

from tempkb.store.answers import BATCH_ROWS, Answer
from tempkb.store.memory import in_memory


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
