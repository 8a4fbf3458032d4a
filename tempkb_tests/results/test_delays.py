"""How long facts of a window take to come, from dumps by hand."""

from datetime import date

import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.results.tables import FACT_DELAYS
from tempkb.store.plain import plain_rows
from tempkb_tests.results.making import make
from tempkb_tests.wiki.wikidata.items import item, read_home, said

DAYS = ("2020-01-01", "2020-04-01", "2022-07-01")


def people(numbers, relation="P54", **further):
    """Items with a tenure that began on 1 November 2019."""
    return [
        item(f"Q{n}", f"N{n}", f"N{n}", **{relation: [said(f"Q{n}$a", "Q9", "2019-11-01")]}, **further) for n in numbers
    ]


def others(numbers):
    """The same items before anybody has entered the tenure."""
    return [item(f"Q{n}", f"N{n}", f"N{n}", P39=[said(f"Q{n}$b", "Q8", "2001-01-01", "2002-01-01")]) for n in numbers]


def read(store):
    make(store, FACT_DELAYS)
    return {(row["facts"], row["relation"], row["share"]): row for row in plain_rows(store.read("fact_delays"))}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Of twenty tenures ten are in the first dump, six more in the second, and four in the third.

    The last quarter of 2019 ended on 1 January 2020, so that they had come after 0, 91 and 912 days.
    """
    dumps = {
        DAYS[0]: [*people(range(101, 111)), *others(range(111, 121))],
        DAYS[1]: [*people(range(101, 117)), *others(range(117, 121))],
        DAYS[2]: people(range(101, 121)),
    }
    return read_home(tmp_path, monkeypatch, dumps)


def test_a_share_is_there_when_the_dump_that_completes_it_was_made(store):
    rows = read(store)
    found = {share: rows["begun", "P54", share]["days"] for share in (0.5, 0.75, 0.9, 0.99)}
    assert found == {0.5: 0, 0.75: 91, 0.9: 912, 0.99: 912}
    half = rows["begun", "P54", 0.5]
    assert (half["n_facts"], half["n_subjects"], half["n_dumps"], half["reason"]) == (20, 20, 3, None)
    # After 90 days half was there for certain; what came by the 91st day may have been there, too.
    assert (half["least_at_90"], half["most_at_90"]) == (pytest.approx(0.5, abs=1e-4), pytest.approx(0.8, abs=1e-4))
    assert half["days_low"] <= 0 <= half["days_high"]
    assert rows["begun", "all", 0.9]["days"] == 912
    # Windows that ended by 1 July 2020; in the later ones the tenures hold, and none begins.
    assert half["n_windows"] == 10
    assert rows["holding", "all", 0.5]["n_facts"] == 20 * 3


def test_a_dump_that_lacks_the_subject_says_nothing_of_when_a_fact_came(tmp_path, monkeypatch):
    """The second dump lacks all of them: what the third has may have come on any day since the first."""
    dumps = {
        DAYS[0]: others(range(101, 121)),
        DAYS[1]: people(range(301, 302), "P39"),
        DAYS[2]: people(range(101, 121)),
    }
    rows = read(read_home(tmp_path, monkeypatch, dumps))
    one = rows["begun", "P54", 0.5]
    assert (one["days"], one["least_at_90"], one["most_at_90"]) == (912, 0.0, 1.0)


def test_a_fact_of_a_subject_that_no_earlier_dump_describes_is_not_late(tmp_path, monkeypatch):
    """Ten of twenty items are in the second dump for the first time: their tenures may have come on any day before."""
    dumps = {DAYS[0]: people(range(101, 111)), **dict.fromkeys(DAYS[1:], people(range(101, 121)))}
    one = read(read_home(tmp_path, monkeypatch, dumps))["begun", "P54", 0.99]
    assert (one["days"], one["n_facts"]) == (0, 20)
    assert (one["least_at_90"], one["most_at_90"]) == (pytest.approx(1, abs=1e-4), pytest.approx(1, abs=1e-4))


def test_another_date_is_no_other_fact(tmp_path, monkeypatch):
    other = [item(f"Q{n}", f"N{n}", f"N{n}", P54=[said(f"Q{n}$a", "Q9", "2019-12-01")]) for n in range(101, 113)]
    dumps = {DAYS[0]: other, DAYS[1]: other, DAYS[2]: people(range(101, 113))}
    assert read(read_home(tmp_path, monkeypatch, dumps))["begun", "P54", 0.99]["days"] == 0


@pytest.mark.parametrize(
    ("days", "reason"),
    [
        (DAYS[:2], "2 of at least 3 dumps of Wikidata were read"),
        (("2018-03-01", "2018-06-01", "2018-09-01"), "no window ended 2 years before the newest dump"),
    ],
)
def test_what_cannot_be_said_is_said(tmp_path, monkeypatch, days, reason):
    store = read_home(tmp_path, monkeypatch, {day: people(range(101, 104)) for day in days})
    rows = read(store)
    assert {(row["days"], row["least_at_90"], row["reason"]) for row in rows.values()} == {(None, None, reason)}
    said = CliRunner().invoke(main, ["late"])
    assert f"The reporting lag is not known: {reason}." in said.output


def test_the_command_prints_a_table_and_writes_all_rows(store, tmp_path):
    none = CliRunner().invoke(main, ["late"])
    assert none.exit_code == 1
    make(store, FACT_DELAYS)
    printed = CliRunner().invoke(main, ["late", "--csv", str(tmp_path / "late.csv")], env={"COLUMNS": "200"})
    assert printed.exit_code == 0, printed.output
    assert "50 to 80" in printed.output
    assert "95 % of the facts that begin in a window are there 912 [" in printed.output
    assert "of 10 windows that ended at least two years before it" in printed.output
    lines = (tmp_path / "late.csv").read_text().splitlines()
    assert lines[0].startswith("facts,relation,share,days")
    assert len(lines) > 10
    assert date(2022, 7, 1).isoformat() in lines[1]
