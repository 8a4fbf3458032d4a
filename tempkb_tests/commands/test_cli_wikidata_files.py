"""The command line on named files of Wikidata: their day, the settings they are read with, files that come one by one."""

import bz2
import json
from datetime import date

import pytest

import tempkb
from tempkb_tests.benchmarks.fact_queries.worlds import players
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.wikidata.items import write_lines

WIKI = {"TEMPKB_WIKI": "xwiki", "TEMPKB_FIRST_WINDOW": "2020-01-01"}
WORLD = players(Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")])


def changed_on(*days):
    """The world as it was changed on these days, an item each; the last one's day is of an item without a page."""
    items = [{**one, "modified": f"{day}T12:00:00Z"} for one, day in zip(WORLD, days, strict=False)]
    return [*items, *WORLD[len(items) :]]


def days():
    """Dump and day of every table's rows."""
    return {
        (row["dump_id"], str(row["dump_date"]))
        for table in ("dump_files", "wikidata_entities", "facts", "late_edits")
        for row in tempkb.open().read(table).select(["dump_id", "dump_date"]).to_pylist()
    }


@pytest.fixture
def home(home_folder):
    return home_folder


def refused(home, *arguments, **variables):
    done = run_tempkb(home, *arguments, check=False, **{**WIKI, **variables})
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "Traceback" not in said
    return said


@pytest.mark.slow
def test_the_day_of_a_file_is_refused_questioned_and_corrected(tmp_path, home):
    file = write_lines(tmp_path / "some.json", changed_on("2020-11-10", "2020-11-13", "2020-11-11"))
    named = ("build", "--dump", str(file), "--day")
    assert "--day 2999-01-01: is in the future, today is 20" in refused(home, *named, "2999-01-01")
    said = refused(home, *named, "2020-11-12")
    assert "--day 2020-11-12: some.json contains a change of 2020-11-13" in said
    # Nothing of it is remembered, so that the next build does not fail of it again.
    assert list((home / "dumps" / "named").glob("*")) == []
    assert {one.read_text("utf-8")[:2] for one in (home / "lake").glob("*/*/CURRENT")} <= {"- "}, "all is removed"

    done = run_tempkb(home, *named, "2021-06-01", **WIKI)
    assert "the last change in some.json is of 2020-11-13, 200 days before" in done.stdout
    ((dump_id, day),) = days()
    assert day == "2021-06-01"
    done = run_tempkb(home, *named, "2021-02-11")
    assert "days before" not in done.stdout
    assert days() == {(dump_id, "2021-02-11")}
    # A correction that is refused changes nothing.
    assert "contains a change of 2020-11-13" in refused(home, *named, "2020-11-01")
    assert days() == {(dump_id, "2021-02-11")}
    run_tempkb(home, "build")
    assert days() == {(dump_id, "2021-02-11")}
    assert max(tempkb.open().read("late_edits")["window_end"].to_pylist()) == date(2021, 1, 1)


@pytest.mark.slow
def test_files_that_tell_of_no_change_may_be_of_any_day(tmp_path, home):
    file = write_lines(tmp_path / "some.json", WORLD)
    done = run_tempkb(home, "build", "--dump", str(file), "--day", "2021-01-01", **WIKI)
    assert "days before" not in done.stdout
    assert {day for _, day in days()} == {"2021-01-01"}


@pytest.mark.slow
def test_a_dated_file_may_hold_changes_of_the_days_that_it_took_to_write(tmp_path, home):
    file = write_lines(tmp_path / "wikidata-20201110-all.json", changed_on("2020-11-10", "2020-11-13"))
    run_tempkb(home, "build", "--dump", str(file), **WIKI)
    assert days() == {("wikidatawiki-20201110", "2020-11-10")}
    # The same file under a day of its own is another dump; then it is not two.
    run_tempkb(home, "build", "--dump", str(file), "--day", "2020-11-14")
    ((dump_id, day),) = days()
    assert day == "2020-11-14"
    done = run_tempkb(home, "build", "--dump", str(file))
    assert f"{dump_id}, the same files as of 2020-11-14, was withdrawn" in done.stdout
    assert days() == {("wikidatawiki-20201110", "2020-11-10")}


@pytest.mark.slow
def test_what_wikidata_is_read_with_belongs_to_the_home(tmp_path, home):
    first = write_lines(tmp_path / "wikidata-20200101-all.json", WORLD)
    later = write_lines(tmp_path / "wikidata-20200701-all.json", WORLD)
    run_tempkb(home, "build", "--dump", str(first), TEMPKB_LANGUAGES="en,de", **WIKI)
    for name, value, held in (
        ("languages", "de", "en,de"),
        ("wikidata_items", "all", "linked"),
        ("classes", "Q5", "Q5,Q4167410,Q13406463,Q4167836"),
    ):
        said = refused(home, "build", "--dump", str(later), **{f"TEMPKB_{name.upper()}": value})
        assert f"{name}: home {home} was made with {held}, but the settings have {value}." in said
        assert f"TEMPKB_HOME={home.with_name(f'xwiki-{value}')} TEMPKB_{name.upper()}={value} tempkb build" in said
    # What is not set is as it was.
    run_tempkb(home, "build", "--dump", str(later))
    made = [json.loads(row["settings"]) for row in tempkb.open().read("manifest", table_name="facts").to_pylist()]
    assert [one["languages"] for one in made if "languages" in one] == [["en", "de", "mul"]] * len(made)
    versions = tempkb.open().read("fact_versions").to_pylist()
    assert {(row["known_from"], row["known_to"]) for row in versions} == {(None, None)}
    edits = tempkb.open().read("late_edits").to_pylist()
    assert sum(row[name] or 0 for row in edits for name in ("n_added", "n_removed", "n_changed")) == 0


PAGES = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>X</sitename><dbname>xwiki</dbname><case>first-letter</case>
<namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>
<page><title>Ada (player)</title><ns>0</ns><id>1</id>
<revision><id>11</id><timestamp>2020-01-10T00:00:00Z</timestamp><contributor><username>A</username><id>5</id></contributor>
<text bytes="24" xml:space="preserve">Ada plays for [[Reed]].</text></revision></page>
<page><title>Reed</title><ns>0</ns><id>2</id>
<revision><id>12</id><timestamp>2020-08-10T00:00:00Z</timestamp><contributor><username>A</username><id>5</id></contributor>
<text bytes="22" xml:space="preserve">Reed is a small club.</text></revision></page>
</mediawiki>
"""


@pytest.mark.slow
@pytest.mark.parametrize("order", ["history first", "Wikidata first"])
def test_history_and_wikidata_are_named_one_after_the_other(tmp_path, home, order):
    history, items = tmp_path / "history.xml.bz2", write_lines(tmp_path / "items.json", WORLD)
    history.write_bytes(bz2.compress(PAGES.encode()))
    commands = [("build", "--dump", str(history)), ("build", "--dump", str(items), "--day", "2020-07-01")]
    variables = {**WIKI, "TEMPKB_WORKERS": "1"}
    for command in commands if order == "history first" else reversed(commands):
        run_tempkb(home, *command, **variables)
        variables = {"TEMPKB_WORKERS": "1"}
    snapshots = tempkb.open().read("stable_snapshots").to_pylist()
    assert [(str(row["cut"]), row["title"]) for row in snapshots] == [
        ("2020-04-01", "Ada (player)"),
        ("2020-07-01", "Ada (player)"),
    ]
    assert {str(day) for day in tempkb.open().read("facts")["dump_date"].to_pylist()} == {"2020-07-01"}
    done = run_tempkb(home, "build", **variables)
    assert "Wikidata is built from wikidatawiki-" in done.stdout
