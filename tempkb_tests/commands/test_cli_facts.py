"""The command line on Wikidata and releases of facts: what it does, and one clear message when it cannot."""

import json

import pytest

from tempkb_tests.benchmarks.fact_queries.worlds import players
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.wikidata.items import write_lines


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home that knows a Wikidata of three people only, with a release of it."""
    folder = tmp_path_factory.mktemp("cli")
    path = write_lines(folder / "some.json", [*WORLD, '{"id":"Q9", "xwiki":'])
    done = run_tempkb(
        folder / "home",
        "build",
        "--dump",
        str(path),
        "--day",
        "2021-01-01",
        TEMPKB_WIKI="xwiki",
        TEMPKB_FIRST_WINDOW="2019-01-01",
    )
    assert (
        "some.json is damaged: 1 damaged lines (8). Every complete entity that could be read was kept." in done.stdout
    )
    assert "Wikidata is built from wikidatawiki-" in done.stdout
    assert "FROM facts" in done.stdout
    run_tempkb(folder / "home", "release", "dynamic-templama", "2019-01-01..2021-01-01", "--name", "quarters")
    return folder / "home"


WORLD = players(
    Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")],
    Ben=[("Q101", "2018", "2019"), ("Q103", "2020-01-01", "")],
    Cem=[("Q103", "2019-05-01", "2020-05-01"), ("Q102", "2019", "")],
)


def rows(home, query):
    return [json.loads(line) for line in run_tempkb(home, "sql", query, "--json").stdout.splitlines()]


def stale(home, **settings):
    """Stale partitions by table, where there are any, as `tempkb status` prints them."""
    cells = [line.split("│") for line in run_tempkb(home, "status", **settings).stdout.splitlines() if "│" in line]
    return {row[1].strip(): int(row[5]) for row in cells if len(row) == 8 and row[5].strip() not in ("", "0")}


def test_what_is_read_is_not_read_again(home):
    done = run_tempkb(home, "build")
    assert "Wikidata is built from" in done.stdout
    (runs,) = rows(home, "SELECT count(*) AS n FROM published WHERE table_name = 'facts'")
    assert runs == {"n": 1}
    assert stale(home) == {}
    # What it was read with belongs to the home.
    refused = run_tempkb(home, "build", check=False, TEMPKB_CLASSES="Q5")
    assert refused.returncode == 1
    assert "classes: home" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["release", "templama", "2019-01-01..2020-01-01", "--dump-id", "wikidatawiki-19990101"],
            "facts of wikidatawiki-19990101 is not built, was lost to damage, or is older than its sources; build it first: ",
        ),
        (["release", "extend", "quarters", "2022-01-01"], "is one of DynamicTempLAMA; expected one of TempEL"),
        (["build", "--day", "2021-01-01"], "tells the day of files of Wikidata's entities; name them with --dump"),
        (["build", "--dump", "any.json", "--day", "soon"], "day 'soon': expected YYYY-MM-DD"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_get_one_clear_message_and_leave_nothing(home, arguments, words):
    before = sorted((home / "releases").glob("*.json"))
    done = run_tempkb(home, *arguments, check=False)
    assert done.returncode == 1
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    assert sorted((home / "releases").glob("*.json")) == before


def test_without_wikidata_there_are_no_releases_of_facts(tmp_path):
    done = run_tempkb(tmp_path / "home", "release", "templama", "2019-01-01..2020-01-01", check=False)
    assert done.returncode == 1
    assert "no Wikidata dump was read yet; put one into the home's dumps" in done.stderr


@pytest.mark.slow
def test_a_home_that_does_not_know_its_wiki_asks_for_it(tmp_path):
    path = write_lines(tmp_path / "some.json", WORLD)
    done = run_tempkb(tmp_path / "home", "build", "--dump", str(path), "--day", "2021-01-01", check=False)
    assert done.returncode == 1
    assert "TEMPKB_WIKI=enwiki" in done.stderr + done.stdout
    silent = run_tempkb(tmp_path / "home", "build", "--dump", str(path), check=False)
    assert "add it: --day YYYY-MM-DD" in silent.stderr
