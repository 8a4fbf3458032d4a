"""From a small Wikidata dump to the tables of the room, rows by hand."""

import tomllib
import tracemalloc
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tempkb.core.errors import SettingsError, SourceError
from tempkb.platform.api import open_store
from tempkb.wiki.dumps.catalogue import Dump, DumpFile, name_dump, remember
from tempkb.wiki.wikidata import building
from tempkb.wiki.wikidata.building import Report
from tempkb.wiki.wikidata.reading import Tally
from tempkb.wiki.wikidata.scope import language_of_wiki
from tempkb.wiki.wikidata.steps import is_read
from tempkb_tests.wiki.revisions.builds import export, page, revision
from tempkb_tests.wiki.wikidata.items import item, item_value, read_home, said, time, write_lines

DAY = "2020-01-01"


def classes(*names):
    return [said(f"c{name}", name) for name in names]


WORLD = [
    item(
        "Q1",
        "Ada",
        "Ada Lane",
        aliases=("A. Lane", "Lady Ada"),
        links={"ywiki": {"title": "Ada"}},
        P31=classes("Q5"),
        P570=[said("Q1$d", time("2019-06"))],
        P54=[
            said("Q1$1", "Q2", "2018", "2019"),
            said("Q1$2", "Q3", "2019-02-01", rank="deprecated"),
            said("Q1$3", "Q3"),
            said("Q1$4", "Q2"),
            said("Q1$5", {"snaktype": "somevalue"}, "2018"),
        ],
        P69=[said("Q1$6", "Q2")],
    ),
    item(
        "Q2",
        {"mul": "Reed", "fr": "Roseau"},
        "Reed",
        P31=classes("Q11"),
        P571=[said("Q2$a", time("2015"), rank="normal"), said("Q2$b", time("2014-05-01"), rank="preferred")],
        P580=[said("Q2$c", time("2013"), rank="deprecated")],
        P577=[said("Q2$e", time("2012-01-01"))],
    ),
    item("Q3", "", "Nameless", P31=classes("Q5", "Q12"), P571=[said("Q3$a", time("+1900-00-00T00:00:00Z", 7))]),
    item("Q4", "No page", P31=classes("Q5"), P54=[said("Q4$1", "Q2", "2018")]),
    # Clubs are organisations; organisations and groups are above one another.
    item("Q11", "club", P279=classes("Q12")),
    item("Q12", "organisation", P279=classes("Q13")),
    item("Q13", "group", P279=classes("Q12", "Q14")),
    {"type": "property", "id": "P54", "labels": {}, "claims": []},
]


@pytest.fixture
def store(tmp_path, monkeypatch):
    return read_home(tmp_path, monkeypatch, {DAY: WORLD}, classes="Q5,Q12,Q14")


def rows(store, table, *columns):
    return [tuple(row[name] for name in columns) for row in store.read(table).to_pylist()]


def test_items_of_the_wiki(store):
    found = rows(
        store, "wikidata_entities", "entity_id", "label", "aliases", "site_title", "n_site_links", "n_statements"
    )
    assert found == [
        ("Q1", "Ada", ["A. Lane", "Lady Ada"], "Ada Lane", 2, 8),
        ("Q2", "Reed", [], "Reed", 1, 5),
        ("Q3", None, [], "Nameless", 1, 3),
    ]
    ends = rows(store, "wikidata_entities", "ended_from", "ended_to", "ended_precision", "ended_property")
    assert ends == [(date(2019, 6, 1), date(2019, 7, 1), "month", "P570"), (None,) * 4, (None,) * 4]


def test_facts_are_dated_statements_that_name_an_item(store):
    found = rows(store, "facts", "fact_id", "object_id", "valid_from", "valid_to", "end_kind", "rank")
    assert found == [
        ("Q1$1", "Q2", date(2018, 1, 1), date(2020, 1, 1), "value", "normal"),
        ("Q1$2", "Q3", date(2019, 2, 1), None, "absent", "deprecated"),
    ]


def test_undated_statements_are_told_beside_dated_ones(store):
    # That of P69 stands alone; Q3 is named by a deprecated statement only.
    found = rows(store, "undated_statements", "fact_id", "object_id", "contradicts")
    assert found == [("Q1$3", "Q3", True), ("Q1$4", "Q2", False)]


def test_origins_are_the_earliest_of_the_best_rank(store):
    found = rows(
        store,
        "entity_origins",
        "entity_id",
        "origin_from",
        "origin_precision",
        "origin_property",
        "n_candidate_dates",
        "earliest_any_rank_from",
        "extended_from",
        "extended_property",
    )
    # The deprecated start never counts; the century is too coarse to tell an origin.
    assert found == [("Q2", date(2014, 5, 1), "day", "P571", 1, date(2014, 5, 1), date(2012, 1, 1), "P577")]


def test_classes_are_closed_upward_as_far_as_asked(store):
    found = rows(store, "entity_classes", "entity_id", "class_id", "depth")
    assert found == [
        ("Q1", "Q5", 0),
        ("Q2", "Q11", 0),
        ("Q2", "Q12", 1),
        ("Q2", "Q14", 3),
        ("Q3", "Q12", 0),
        ("Q3", "Q14", 2),
        ("Q3", "Q5", 0),
    ]


def test_what_is_left_out_is_counted(store):
    found = {row["reason"]: row["n"] for row in store.read("exclusions", recorded_in="facts").to_pylist()}
    assert found == {
        "dated statement without an object": 1,
        # The three classes are read for what lies above them; Q4 and the property are not even decoded.
        "has no page in the wiki": 3,
        "has no page in the wiki, not decoded": 2,
    }


def test_all_items_by_setting(tmp_path, monkeypatch):
    store = read_home(tmp_path, monkeypatch, {DAY: WORLD}, wikidata_items="all")
    assert [row[0] for row in rows(store, "wikidata_entities", "entity_id")] == [
        "Q1",
        "Q11",
        "Q12",
        "Q13",
        "Q2",
        "Q3",
        "Q4",
    ]
    assert "Q4$1" in store.read("facts")["fact_id"].to_pylist()


def read_of(folder, monkeypatch, wiki, language, **settings):
    """Read a dump with one item of a wiki that has two names; return its label, and the record of the home."""
    one = item("Q1", {language: "Lowby", "en": "Lowby (town)"}, links={wiki: {"title": "Lowby"}})
    store = read_home(folder, monkeypatch, {DAY: [one]}, wiki=wiki, **settings)
    return rows(store, "wikidata_entities", "label"), tomllib.loads((store.home.path / "home.toml").read_text())


@pytest.mark.parametrize(
    ("wiki", "language"), [("nowiki", "nb"), ("be_x_oldwiki", "be-tarask"), ("zh_yuewiki", "yue"), ("tlywiki", "tly")]
)
def test_names_are_in_the_language_that_wikidata_has_for_the_wiki(tmp_path, monkeypatch, wiki, language):
    label, record = read_of(tmp_path, monkeypatch, wiki, language)
    assert (label, record["languages"]) == ([("Lowby",)], [language])


def test_names_of_a_wiki_that_is_not_wikimedias_are_in_the_language_that_its_dump_states(tmp_path, monkeypatch):
    path = tmp_path / "ourwiki-20200101-pages-meta-history.xml"
    text = export(page(1, revision(1, "2018-01-01T00:00:00Z"))).decode()
    path.write_text(text.replace("testwiki", "ourwiki").replace('xml:lang="en"', 'xml:lang="de"'))
    remember(tmp_path / "home" / "dumps", name_dump([path]))
    label, record = read_of(tmp_path, monkeypatch, "ourwiki", "de")
    assert (label, record["languages"]) == ([("Lowby",)], ["de"])
    assert language_of_wiki(open_store().home.settings) == "de"


def test_a_language_without_names_is_said_before_the_home_keeps_it(tmp_path, monkeypatch):
    with pytest.raises(SettingsError, match="languages: no item has a name in 'nn', in which .* the names of nnwiki"):
        read_of(tmp_path, monkeypatch, "nnwiki", "xx")
    assert "languages" not in tomllib.loads((tmp_path / "home" / "home.toml").read_text())
    label, record = read_of(tmp_path, monkeypatch, "nnwiki", "xx", languages="xx")
    assert (label, record["languages"]) == ([("Lowby",)], ["xx"])


def test_items_without_any_name_hide_none(tmp_path, monkeypatch):
    store = read_home(tmp_path, monkeypatch, {DAY: [item("Q1", "", "Ada")]}, languages="fr")
    assert rows(store, "wikidata_entities", "label") == [(None,)]


def test_names_in_several_languages(tmp_path, monkeypatch):
    store = read_home(tmp_path, monkeypatch, {DAY: WORLD}, languages="fr,en")
    found = rows(store, "wikidata_entities", "entity_id", "label", "labels")
    assert [(name, label) for name, label, _ in found] == [("Q1", None), ("Q2", "Roseau"), ("Q3", None)]
    assert found[1][2] == [
        {"language": "fr", "label": "Roseau", "aliases": []},
        {"language": "mul", "label": "Reed", "aliases": []},
    ]


def test_an_item_that_comes_twice_counts_once(tmp_path, monkeypatch):
    store = read_home(tmp_path, monkeypatch, {DAY: [*WORLD, item("Q1", "Other", "Ada Lane")]})
    assert rows(store, "wikidata_entities", "entity_id", "label")[0] == ("Q1", "Ada")
    found = {row["reason"]: row["n"] for row in store.read("exclusions", recorded_in="facts").to_pylist()}
    assert found["item that came a second time"] == 1


def test_damaged_lines_are_kept_in_the_books(tmp_path, monkeypatch):
    store = read_home(tmp_path, monkeypatch, {DAY: [*WORLD, '{"id":"Q9", "xwiki":']})
    (file,) = store.read("dump_files").to_pylist()
    assert (file["kind"], file["status"], file["reason"]) == ("entities", "damaged", "1 damaged lines (10)")
    found = {row["reason"]: row["example"] for row in store.read("exclusions", recorded_in="facts").to_pylist()}
    assert found["damaged line"].startswith("wikidata-20200101-all.json, line 10: ")


def test_strict_homes_refuse_damage_and_write_nothing(tmp_path, monkeypatch):
    with pytest.raises(SourceError, match=r"wikidata-20200101-all\.json: damaged \(line 10"):
        read_home(tmp_path, monkeypatch, {DAY: [*WORLD, '{"id":"Q9", "xwiki":']}, strict="true")
    assert not list((tmp_path / "home" / "lake").glob("facts/*/CURRENT"))


def test_a_home_without_a_wiki_says_how_to_name_one(tmp_path, monkeypatch):
    from tempkb.platform.api import open_store
    from tempkb.wiki.dumps.entities import name_entities
    from tempkb.wiki.wikidata.building import read_dump

    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "home"))
    path = write_lines(tmp_path / "wikidata-20200101-all.json", WORLD)
    with pytest.raises(SettingsError, match="TEMPKB_WIKI=enwiki"):
        read_dump(open_store(), name_entities([path]), print)


def test_equal_dumps_give_equal_bytes(tmp_path, monkeypatch):
    versions = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        store = read_home(tmp_path / name, monkeypatch, {DAY: WORLD if name == "a" else WORLD[::-1]})
        tables = ("wikidata_entities", "facts", "undated_statements", "entity_origins", "entity_classes")
        versions.append([[file.sha256 for one in store.lake.versions(table) for file in one.files] for table in tables])
    assert versions[0] == versions[1]


# What two dumps say of one statement after another, a quarter apart.
FIRST = [
    said("Q1$stays", "Q2", "2019-01-01"),
    said("Q1$moves", "Q3", "2019-02-01"),
    said("Q1$goes", "Q4", "2018-02-01"),
]
SECOND = [
    said("Q1$stays", "Q2", "2019-01-01"),
    said("Q1$moves", "Q3", "2019-03-01"),
    said("Q1$comes", "Q5", "2019-11-01"),
]


@pytest.fixture
def twice(tmp_path, monkeypatch):
    dumps = {"2020-01-01": [item("Q1", "One", "One", P54=FIRST)], "2020-04-01": [item("Q1", "One", "One", P54=SECOND)]}
    return read_home(tmp_path, monkeypatch, dumps)


def test_versions_tell_since_when_and_until_when_a_fact_was_known(twice):
    found = [
        (row["fact_id"], str(row["valid_from"]), row["known_from"], row["start_known_from"], row["known_to"])
        for row in twice.read("fact_versions").to_pylist()
    ]
    april = date(2020, 4, 1)
    # What the first dump says may have been said long before: nobody knows since when.
    assert sorted(found, key=lambda row: (row[0], row[1])) == [
        ("Q1$comes", "2019-11-01", april, april, None),
        ("Q1$goes", "2018-02-01", None, None, april),
        ("Q1$moves", "2019-02-01", None, None, april),
        # Another start is no other fact: only the start is new.
        ("Q1$moves", "2019-03-01", None, april, None),
        ("Q1$stays", "2019-01-01", None, None, None),
    ]


def test_late_edits_compare_with_the_first_dump_after_a_window(twice):
    found = {
        row["window_start"]: (
            row["earlier_dump_date"].isoformat(),
            row["n_facts_then"],
            row["n_facts_now"],
            row["n_added"],
            row["n_removed"],
            row["n_changed"],
            row["is_provisional"],
        )
        for row in twice.read("late_edits", dump_id="wikidatawiki-20200401", relation="all").to_pylist()
    }
    # Early in 2018 nobody's fact holds but the one that goes; at the end of 2019 one came and one went.
    assert found[date(2018, 1, 1)] == ("2020-01-01", 1, 0, 0, 1, 0, False)
    assert found[date(2019, 10, 1)] == ("2020-01-01", 3, 3, 1, 1, 0, False)
    # What was moved from February to March was so in the first quarter, and makes no difference later.
    assert found[date(2019, 1, 1)] == ("2020-01-01", 3, 2, 0, 1, 1, False)
    # The newest window is as the newest dump has it, and provisional.
    assert found[date(2020, 1, 1)] == ("2020-04-01", None, 3, None, None, None, True)
    rates = {row["window_start"]: row["late_edit_rate"] for row in twice.read("late_edits").to_pylist()}
    assert rates[date(2019, 10, 1)] == pytest.approx(2 / 4)
    # A dump that is compared with none has no rate, which is not a rate of nought.
    alone = twice.read("late_edits", dump_id="wikidatawiki-20200101").to_pylist()
    assert {(row["late_edit_rate"], row["n_added"], row["reason"]) for row in alone} == {
        (None, None, "no earlier dump covers the window")
    }


def test_an_older_dump_read_later_counts_for_the_newer_one(tmp_path, monkeypatch, twice):
    (tmp_path / "late").mkdir()
    dumps = {"2020-04-01": [item("Q1", "One", "One", P54=SECOND)], "2020-01-01": [item("Q1", "One", "One", P54=FIRST)]}
    later = read_home(tmp_path / "late", monkeypatch, dumps)
    assert later.read("late_edits").equals(twice.read("late_edits"))


def test_statements_that_share_an_id_do_not_stop_the_pass(tmp_path, monkeypatch):
    twice = [said("Q1$x", "Q2", "2018"), said("Q1$x", "Q3", "2019"), said("Q1$y", "Q2", "2018")]
    store = read_home(tmp_path, monkeypatch, {DAY: [item("Q1", "One", "One", P54=twice)]})
    assert rows(store, "facts", "fact_id", "object_id") == [("Q1$x", "Q2"), ("Q1$y", "Q2")]
    found = {row["reason"]: row["n"] for row in store.read("exclusions", recorded_in="facts").to_pylist()}
    assert found["row of facts whose key came before"] == 1


HOSTILE = {
    "deep": '{"id":"Q1","xwiki":"","x":' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}",
    "deep value": '{"id":"Q1","xwiki":"","claims":{"P1":[{"mainsnak":{"snaktype":"value","datavalue":'
    + "[" * 100_000
    + "]" * 100_000
    + "}}]}}",
    "lone surrogate": '{"id":"Q1","labels":{"en":{"value":"\\ud800"}},"xwiki":""}',
    "no object": '["xwiki"]',
    "no id": '{"xwiki":1}',
    "number of no item": '{"id":"Q99999999999999","sitelinks":{"xwiki":{"title":"Far"}}}',
    "odd types": '{"id":"Q1","claims":{"P1":{"a":1}},"xwiki":""}',
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_hostile_lines_are_counted_and_the_others_kept(tmp_path, monkeypatch, line):
    store = read_home(tmp_path, monkeypatch, {DAY: [line, *WORLD[1:]]})
    assert [row[0] for row in rows(store, "wikidata_entities", "entity_id")] == ["Q2", "Q3"]
    (file,) = store.read("dump_files").to_pylist()
    seen = {row["reason"]: row["n"] for row in store.read("exclusions", recorded_in="facts").to_pylist()}
    assert file["status"] == "damaged" or seen["has no page in the wiki, not decoded"] == 3


def test_a_number_far_from_the_others_takes_no_memory_for_those_between(tmp_path, monkeypatch):
    # The largest number that Wikibase gives. One bit for each number below it takes 256 MiB.
    far = "Q2147483647"
    tracemalloc.start()
    try:
        store = read_home(tmp_path, monkeypatch, {DAY: [*WORLD, item(far, "Far", "Far"), item(far, "Again", "Again")]})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (far, "Far") in rows(store, "wikidata_entities", "entity_id", "label")
    assert (far, "Again") not in rows(store, "wikidata_entities", "entity_id", "label")
    assert peak < 1 << 26


def test_nonsense_in_a_value_is_no_value(tmp_path, monkeypatch):
    nonsense = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"id": "Qx"}}}
    odd = {"snaktype": "value", "datavalue": {"type": 7}}
    long = item_value("Q" + "9" * 20)
    statements = [said("Q1$a", nonsense, "2018"), said("Q1$b", odd, "2018"), said("Q1$c", "Q2", "2018")]
    statements.append(said("Q1$d", long, "2018"))
    statements[2]["qualifiers"]["P582"] = [odd, {"snaktype": "value", "datavalue": {"type": "time", "value": "soon"}}]
    store = read_home(tmp_path, monkeypatch, {DAY: [item("Q1", "One", "One", P54=statements)]})
    assert rows(store, "facts", "fact_id", "end_kind") == [("Q1$c", "unreadable")]
    found = {row["reason"]: row["n"] for row in store.read("exclusions", recorded_in="facts").to_pylist()}
    assert found == {"dated statement whose value is no item": 3, "time of a statement that cannot be read": 2}


def test_a_later_dump_changes_nothing_of_an_earlier_one(tmp_path, monkeypatch):
    """The law: what was built for a dump stays, byte for byte, whatever comes after."""
    first = [item("Q1", "One", "One", P54=FIRST)]
    store = read_home(tmp_path, monkeypatch, {"2020-01-01": first})
    tables = ("wikidata_entities", "facts", "undated_statements", "entity_origins", "entity_classes", "late_edits")
    before = {name: store.lake.current(name, "wikidatawiki-20200101").version for name in tables}
    store = read_home(tmp_path, monkeypatch, {"2020-04-01": [item("Q1", "One", "One", P54=SECOND)]})
    assert {name: store.lake.current(name, "wikidatawiki-20200101").version for name in tables} == before
    assert store.lake.partitions("facts") == ["wikidatawiki-20200101", "wikidatawiki-20200401"]


def test_another_file_of_one_name_and_day_is_another_dumps(tmp_path, store):
    from tempkb.wiki.dumps.entities import name_entities

    path = tmp_path / "wikidata-20200101-all.json"
    assert is_read(store, name_entities([path]))
    write_lines(path, [*WORLD, item("Q8", "Eight", "Eight")])
    assert not is_read(store, name_entities([path]))


@pytest.mark.parametrize(("days_ago", "advice"), [(0, "leave out --day"), (1, "--day {today}")])
def test_no_day_is_advised_that_has_not_come_yet(days_ago, advice):
    """A file with a change of today could only be of tomorrow, which --day refuses."""
    today = datetime.now(UTC).date()
    changed = today - timedelta(days=days_ago)
    day = changed - timedelta(days=3)
    file = DumpFile(Path("some.json"), "entities")
    dump = Dump("wikidatawiki-0a1b2c3d", "wikidatawiki", day, (file,), 0, is_named=True, is_day_given=True)
    report = Report(tallies={"some.json": Tally(modified=f"{changed}T10:00:00Z")})
    with pytest.raises(SourceError, match=f"what follows: {advice.format(today=today)}$"):
        building._doubt_of_day(dump, report)
