"""Days before year 1 and after 9999 through every command: Rome, and a club that signs players for ten thousand years."""

import json

import pyarrow as pa
import pytest

import tempkb
from tempkb.store.plain import plain_rows
from tempkb_tests.benchmarks.fact_queries.worlds import players
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.wikidata.items import GREGORIAN, item, said, write_lines


def at(text, precision=11):
    value = {"time": text, "precision": precision, "calendarmodel": GREGORIAN, "timezone": 0, "before": 0, "after": 0}
    return {"snaktype": "value", "datavalue": {"type": "time", "value": value}}


def held(guid, name, start, end=None):
    statement = said(guid, name)
    statement["qualifiers"] = {"P580": [at(*start)], **({"P582": [at(*end)]} if end else {})}
    return statement


WORLD = [
    *players(Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")]),
    item(
        "Q220",
        "Rome",
        "Rome",
        P571=[said("Q220$o", at("-0753-04-21T00:00:00Z"))],
        P576=[said("Q220$z", at("+12000-01-01T00:00:00Z"))],
        P54=[
            held("Q220$1", "Q101", ("-0027-01-16T00:00:00Z",)),
            held("Q220$2", "Q102", ("-4000000-00-00T00:00:00Z", 9)),
            held("Q220$3", "Q103", ("+2019-00-00T00:00:00Z", 9), ("+12000-00-00T00:00:00Z", 9)),
            held("Q220$4", "Q103", ("-4000000-00-00T00:00:00Z", 9), ("-3999990-00-00T00:00:00Z", 9)),
        ],
    ),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dates")
    path = write_lines(folder / "wikidata-20210101-all.json", WORLD)
    home = folder / "home"
    run_tempkb(home, "build", "--dump", str(path), TEMPKB_WIKI="xwiki", TEMPKB_FIRST_WINDOW="2019-01-01")
    for preset in ("tempkb", "paper"):
        limit = ("--set", "max_open_years=none") if preset == "tempkb" else ()
        run_tempkb(
            home,
            "release",
            "templama",
            "2019-01-01..2021-01-01",
            "--preset",
            preset,
            "--name",
            f"years-{preset}",
            *limit,
        )
    run_tempkb(home, "release", "dynamic-templama", "2019-01-01..2020-01-01", "--name", "quarters")
    return home


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_sql_shows_any_day(home, form):
    """Nested days too: `members` of a spell are structs with days in a list."""
    query = "FROM fact_spells WHERE release = 'years-tempkb' AND subject_id = 'Q220' ORDER BY valid_from"
    told = run_tempkb(home, "sql", query, form).stdout
    for day in ("-3999999-01-01", "-0026-01-16", "12000-01-02"):
        assert day in told
    if form == "--json":
        first = json.loads(told.splitlines()[0])
        assert (first["valid_from"], first["members"][0]["certain_from"]) == ("-3999999-01-01", "-3999999-12-31")
    assert "-0752-04-21" in run_tempkb(home, "sql", "FROM entity_origins", form).stdout


def test_releases_are_exported_with_any_day(home, tmp_path):
    run_tempkb(home, "release", "export", "years-tempkb", str(tmp_path))
    lines = [
        json.loads(line)
        for split in ("train", "val", "test")
        for line in (tmp_path / "years-tempkb" / f"{split}.jsonl").open(encoding="utf-8")
    ]
    rome = {line["date"]: [one["name"] for one in line["answer"]] for line in lines if "Rome" in line["query"]}
    assert rome == {"2019": ["Salt", "Reed", "Moss"], "2020": ["Salt", "Reed", "Moss"]}


def test_answers_are_as_old_as_their_days_say(home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    (row,) = tempkb.open().read("templama_queries", release="years-tempkb", subject_id="Q220", date="2020").to_pylist()
    # 16 January 27 BCE is the year -26 of astronomers; counted in the proleptic Gregorian calendar.
    ages = {one["label"]: one["answer_age_days"] for one in row["answers"]}
    assert (ages["Reed"], ages["Moss"]) == (747_271, 365)
    assert ages["Salt"] == pytest.approx(4_002_018 * 365.2425, rel=1e-6)
    facts = plain_rows(tempkb.open().read("facts", valid_from="-0026-01-16"))
    assert [row["fact_id"] for row in facts] == ["Q220$1"]


def test_rows_hold_days_and_instants_at_any_depth():
    days = pa.array([-729_362, None, 0], pa.int32()).cast(pa.date32())
    instants = pa.array([-63_017_913_600_000_000, 0, None], pa.int64()).cast(pa.timestamp("us", "UTC"))
    lists = pa.ListArray.from_arrays(
        [0, 2, 2, 3], pa.StructArray.from_arrays([days], ["day"]), mask=pa.array([False, True, False])
    )
    rows = plain_rows(pa.table({"at": instants, "spells": lists}).slice(0, 3))
    assert rows == [
        {"at": "-0027-01-16 00:00:00+00:00", "spells": [{"day": "-0027-01-28"}, {"day": None}]},
        {"at": "1970-01-01 00:00:00+00:00", "spells": None},
        {"at": None, "spells": [{"day": "1970-01-01"}]},
    ]
