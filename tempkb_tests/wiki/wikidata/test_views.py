"""The truth table of membership, each cell written by hand, asked of DuckDB as the tables hold facts."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import tempkb.wiki.wikidata
from tempkb.wiki.wikidata.views import true_within
from tempkb_tests.wiki.wikidata.items import item, read_home, said

Q1, Q2 = "2019-01-01", "2019-04-01"
DUMP = "2020-01-01"

README = Path(tempkb.wiki.wikidata.__file__).with_name("README.md")

# start, end -> windows 2018-Q4, 2019-Q1, 2019-Q2, 2019-Q4: C certain, P possible only, - neither.
TABLE = [
    ("2019-02-10", "2019-05-10", "-CC-"),
    ("2019-02", "2019-05", "-CC-"),
    # By some reading it began in any quarter of 2019, and lasted into 2020.
    ("2019", "2020", "-PPC"),
    # It held in 2019, in one quarter at least, but in no certain one.
    ("2019", "2019", "-PPP"),
    ("2018-11-05", "2019", "CCPP"),
    ("2019-02-10", "", "-PPP"),
    ("2019-02-10", "novalue", "-CCC"),
    ("2019", "novalue", "-PPC"),
    ("2019-02-10", "somevalue", "-PPP"),
    ("", "2019-05-10", "PPP-"),
    ("somevalue", "2019-05-10", "PPP-"),
    ("novalue", "2019-05-10", "CCC-"),
    ("novalue", "novalue", "CCCC"),
    # The last day counts, and the day after does not.
    ("2018-10-01", "2019-01-01", "CC--"),
    ("2018-10-01", "2018-12-31", "C---"),
    ("2019-03-31", "2019-03-31", "-C--"),
    # Known ends of the future hold until the dump, as far as anybody can ask.
    ("2019-02-10", "2030", "-CCC"),
    # Begins after the dump.
    ("2021", "", "----"),
]
WINDOWS = [
    ("2018-10-01", "2019-01-01"),
    ("2019-01-01", "2019-04-01"),
    ("2019-04-01", "2019-07-01"),
    ("2019-10-01", "2020-01-01"),
]


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """A fact per row of the table, read from JSON as everything else."""
    statements = [said(f"Q1${at:04}", "Q2", start, end) for at, (start, end, _) in enumerate(TABLE)]
    with pytest.MonkeyPatch.context() as patch:
        store = read_home(tmp_path_factory.mktemp("truth"), patch, {DUMP: [item("Q1", "One", "One", P54=statements)]})
        return store.read("facts")


def holds(facts: pa.Table, condition: str) -> list[str]:
    with duckdb.connect() as connection:
        connection.register("facts", facts)
        return [
            row[0] for row in connection.execute(f"SELECT fact_id FROM facts WHERE {condition} ORDER BY 1").fetchall()
        ]


def of_the_readme(start: str, end: str) -> list[str]:
    """The conditions that the room's README shows, for a window [a, b)."""
    (text,) = re.findall(r"on a row of `facts`:\n\n((?:    .*\n)+)", README.read_text("utf-8"))
    possible, certain, rest = re.split(r"-- (?:possible|certain)\n", text)
    assert not rest
    return [re.sub(r"\b[ab]\b", lambda one: {"a": start, "b": end}[one[0]], said) for said in (possible, certain)]


@pytest.mark.parametrize("at", range(len(WINDOWS)), ids=lambda at: WINDOWS[at][0])
def test_the_truth_table(facts, at):
    start, end = (f"DATE '{day}'" for day in WINDOWS[at])
    possible, certain = (holds(facts, one) for one in of_the_readme(start, end))
    assert holds(facts, true_within(start, end)) == possible
    expected = [row[2][at] for row in TABLE]
    found = ["C" if f"Q1${n:04}" in certain else "P" if f"Q1${n:04}" in possible else "-" for n in range(len(TABLE))]
    assert dict(zip(map(str, TABLE), found, strict=True)) == dict(zip(map(str, TABLE), expected, strict=True))
    assert set(certain) <= set(possible)


def test_no_window_lies_beyond_the_dump(facts):
    window = ("DATE '2020-01-01'", "DATE '2020-04-01'")
    assert [holds(facts, one) for one in (*of_the_readme(*window), true_within(*window))] == [[], [], []]


def test_true_on_a_day(facts):
    days = ("2019-05-10", "2019-05-11")
    by_day = {day: holds(facts, true_within(f"DATE '{day}'", f"DATE '{day}' + 1")) for day in days}
    ended_that_day = {f"Q1${n:04}" for n, row in enumerate(TABLE) if row[1] == "2019-05-10"}
    assert set(by_day["2019-05-10"]) - set(by_day["2019-05-11"]) == ended_that_day
