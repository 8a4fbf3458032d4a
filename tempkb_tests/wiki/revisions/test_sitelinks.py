"""Wikidata items by site links, where no page_props tells them: rows by hand, whichever was read first."""

from datetime import UTC, date, datetime

import dagster as dg
import pyarrow.compute as pc
import pytest

from tempkb.benchmarks.sources import with_files
from tempkb.core.windows import windows_until
from tempkb.platform.api import open_store
from tempkb.wiki.dumps.catalogue import name_dump
from tempkb.wiki.dumps.entities import name_entities
from tempkb.wiki.dumps.pages import write_namespaces
from tempkb.wiki.revisions.building import Plan, build
from tempkb.wiki.revisions.sitelinks import link_windows, unlinked_windows
from tempkb.wiki.wikidata.building import read_dump
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.dumps.test_damage import table
from tempkb_tests.wiki.revisions.builds import HEAD, page, revision
from tempkb_tests.wiki.wikidata.items import item, said, write_lines

MOVE = "Ada moved page [[Old mill]] to [[New mill]]"
REDIRECT = "#REDIRECT [[New mill]]"
# The head names the talk and category namespaces in the wiki's own language.
SITE_HEAD = HEAD.replace(
    '<namespace key="118">Draft', '<namespace key="14">Kategorie</namespace><namespace key="118">Draft'
)
PAGES = (
    page(1, revision(1, "2020-01-05T00:00:00Z", "Water."), title="Ébène"),
    page(
        2,
        revision(2, "2020-01-06T00:00:00Z", "A mill. [[Ébène]]."),
        revision(3, "2021-02-01T00:00:00Z", "A new mill. [[Ébène]].", MOVE),
        title="New mill",
    ),
    page(3, revision(4, "2020-01-07T00:00:00Z", REDIRECT), title="Mill (redirect)").replace(
        "<id>3</id>", '<id>3</id><redirect title="New mill" />', 1
    ),
    page(4, revision(5, "2020-01-08T00:00:00Z", "A category."), title="Kategorie:Mills", ns=14),
    page(5, revision(6, "2020-01-09T00:00:00Z", "Nobody links this."), title="Lonely"),
)


def link(name, title):
    return item(name, name, links={"testwiki": {"title": title}}, P31=[said(f"{name}$1", "Q5")])


# Of Ébène two items say that it is theirs, which cannot be in a whole file: the smaller number counts, not the first.
ITEMS = [
    link("Q100", "ébène"),
    link("Q20", "Ébène"),
    link("Q3", "New_mill"),
    link("Q4", "Mill (redirect)"),
    link("Q5", "Category:Mills"),
    link("Q6", "Old mill"),
]
OLD_ITEMS = [link("Q6", "New mill")]
# page -> item on the day of the dump; the redirect's item is its own, and does not become the target's.
EXPECTED = {1: "Q20", 2: "Q3", 3: "Q4", 4: "Q5", 5: None}
CREATE_PROPS = (
    "DROP TABLE IF EXISTS `page_props`;\nCREATE TABLE `page_props` (\n  `pp_page` int(8) NOT NULL,\n"
    "  `pp_propname` varbinary(60) NOT NULL,\n  `pp_value` blob NOT NULL,\n  `pp_sortkey` float DEFAULT NULL\n"
    ") ENGINE=InnoDB DEFAULT CHARSET=binary;\n\n"
)


@pytest.fixture
def world(tmp_path, home_folder, monkeypatch, configure):
    """Reads a history, or a day of Wikidata, into one of several homes."""
    history = tmp_path / "testwiki-20220101-history.xml"
    history.write_text(SITE_HEAD + "".join(PAGES) + "</mediawiki>\n", "utf-8")
    configure(wiki="testwiki", granularity="year", first_window="2020-01-01", namespaces="all", workers="1")
    return _World(tmp_path, history, monkeypatch)


class _World:
    def __init__(self, folder, history, monkeypatch):
        self.folder, self.history, self._monkeypatch = folder, history, monkeypatch

    def home(self, name):
        self._monkeypatch.setenv("TEMPKB_HOME", str(self.folder / name))

    def read_history(self, *tables):
        store, dump = open_store(), name_dump([self.history, *tables])
        store.claim(dump.wiki)
        write_namespaces(store, dump)
        windows = tuple(windows_until(date(2020, 1, 1), date(2022, 1, 1), store.home.settings.granularity))
        plan = Plan(dump, None, windows, dump if tables else None)
        report = build(store, [plan], windows, lambda _line: None)
        assert report.bad == {}
        return store

    def read_wikidata(self, items, day, *, link=True):
        path = write_lines(self.folder / f"wikidata-{day:%Y%m%d}-all.json", items)
        read_dump(open_store(), name_entities([path]), lambda _line: None)
        store = open_store()
        if link:
            link_windows(store, unlinked_windows(store))
        return store


def items_of(store, cut):
    rows = store.read("stable_snapshots", cut=cut).to_pylist()
    return {row["page_id"]: (row["entity_id"], row["entity_id_source"]) for row in rows}


def told_by(source, expected=EXPECTED):
    return {number: (name, source if name else None) for number, name in expected.items()}


def versions(store):
    return {
        (one.table, one.partition): one.version
        for name in ("pages", "stable_snapshots")
        for one in store.lake.versions(name)
    }


@pytest.mark.slow
def test_items_come_from_site_links_whichever_was_read_first(world):
    world.home("history-first")
    store = world.read_history()
    assert items_of(store, "2022-01-01") == told_by(None, dict.fromkeys(EXPECTED))
    first = world.read_wikidata(ITEMS, date(2022, 1, 3))
    world.home("wikidata-first")
    world.read_wikidata(ITEMS, date(2022, 1, 3))
    second = world.read_history()
    for store in (first, second):
        assert items_of(store, "2022-01-01") == told_by("sitelink")
        # At the older cut the mill bore its old title; its item is that of the page, by the title of the dump's day.
        assert items_of(store, "2021-01-01") == told_by("sitelink")
        (pages,) = store.lake.versions("pages")
        assert [(row["reason"], row["n"]) for row in pages.side_rows("exclusions")] == [
            ("site link that a second item has", 1)
        ]
        assert unlinked_windows(store) == []
    assert versions(first) == versions(second)


def test_what_is_made_from_a_snapshot_names_the_wikidata_dump_of_its_items(world):
    world.home("home")
    world.read_history()
    store = world.read_wikidata(ITEMS, date(2022, 1, 3))
    snapshot = store.lake.current("stable_snapshots", "2021-01-01")
    made_from = with_files(store, [snapshot])
    (items,) = name_entities([world.folder / "wikidata-20220103-all.json"]).entities
    (history,) = name_dump([world.history]).files
    assert made_from == {
        "stable_snapshots 2021-01-01": snapshot.version,
        "testwiki-20220101/testwiki-20220101-history.xml": history.sha256,
        "wikidatawiki-20220103/wikidata-20220103-all.json": items.sha256,
    }
    # Without the tables of that dump it is not known any more which of its files was read.
    store.lake.remove("wikidata_entities", "wikidatawiki-20220103")
    assert set(with_files(store, [snapshot])) - set(made_from) == {"wikidatawiki-20220103/"}


@pytest.mark.slow
def test_the_wikidata_dump_nearest_in_time_counts_and_nothing_else_changes(world):
    world.home("home")
    world.read_wikidata(OLD_ITEMS, date(2019, 1, 1))
    store = world.read_history()
    assert items_of(store, "2022-01-01") == told_by("sitelink", {**dict.fromkeys(EXPECTED), 2: "Q6"})
    before = store.read("stable_snapshots").drop_columns(["entity_id", "entity_id_source"])
    store = world.read_wikidata(ITEMS, date(2022, 2, 1))
    assert items_of(store, "2022-01-01") == told_by("sitelink")
    assert store.read("stable_snapshots").drop_columns(["entity_id", "entity_id_source"]) == before
    standing = versions(store)
    store = world.read_wikidata(OLD_ITEMS, date(2023, 1, 1))
    assert versions(store) == standing, "a dump further away changes nothing"


@pytest.mark.slow
def test_the_sensor_asks_for_the_items_of_windows_that_stand_and_the_status_counts_them(world, capsys, monkeypatch):
    from tempkb.commands.screens.status import print_status
    from tempkb.platform import automation

    monkeypatch.setattr(automation, "now", lambda: datetime(2022, 1, 5, tzinfo=UTC))
    world.home("home")
    world.read_history()
    store = world.read_wikidata(ITEMS, date(2022, 1, 3), link=False)
    with dg.DagsterInstance.ephemeral() as instance:
        (request,) = (one for one in automation.requests(store, instance)[0] if "items" in one.run_key)
    assert (request.job_name, [key.to_user_string() for key in request.asset_selection], request.run_config) == (
        "build_windows",
        ["stable_snapshots"],
        {"ops": {"revisions": {"config": {"only_items": True}}}},
    )
    assert request.tags["dagster/asset_partition_range_start"] == "2020-01-01"
    assert request.tags["dagster/asset_partition_range_end"] == "2021-01-01"

    def stale():
        print_status()
        (line,) = (line for line in capsys.readouterr().out.splitlines() if "stable_snapshots" in line)
        return [cell.strip() for cell in line.split("│")[1:-1]][4]

    assert stale() == "2"
    link_windows(store, unlinked_windows(store))
    assert stale() == "0"
    with dg.DagsterInstance.ephemeral() as instance:
        assert not [one for one in automation.requests(store, instance)[0] if "items" in one.run_key]


def props(folder, *rows):
    path = folder / "testwiki-20220101-page_props.sql"
    path.write_bytes(table(CREATE_PROPS, "page_props", list(rows)))
    return path


def test_page_props_without_a_page_table_tell_the_items_of_headers(world):
    world.home("home")
    world.read_wikidata(ITEMS, date(2022, 1, 3))
    told = props(
        world.folder, "(1,'wikibase_item','Q777',NULL)", "(2,'disambiguation','',NULL)", "(9,'wikibase_item','Q9',NULL)"
    )
    store = world.read_history(told)
    assert items_of(store, "2022-01-01") == told_by("page_props", {**dict.fromkeys(EXPECTED), 1: "Q777"})
    pages = store.read("pages")
    assert pages.filter(pc.field("is_disambiguation"))["page_id"].to_pylist() == [2]
    assert pages["title"].to_pylist() == ["Ébène", "New mill", "Mill (redirect)", "Mills", "Lonely"]
    assert unlinked_windows(store) == []


@pytest.mark.slow
def test_the_command_gives_windows_that_stand_their_items_and_their_mentions_too(world, tmp_path):
    """A home of named files: the history first, Wikidata in a later command."""
    home = tmp_path / "command"
    wanted = {"TEMPKB_GRANULARITY": "year", "TEMPKB_FIRST_WINDOW": "2020-01-01", "TEMPKB_NAMESPACES": "all"}
    run_tempkb(home, "build", "--all", "--dump", str(world.history), **wanted)
    mentions = "SELECT cut, source_page_id, target_page_id, target_entity_id AS item FROM mentions ORDER BY cut"
    links = [f"{cut},2,1" for cut in ("2021-01-01", "2022-01-01")]
    assert run_tempkb(home, "sql", mentions, "--csv").stdout.split()[1:] == [f"{one}," for one in links]
    items = write_lines(tmp_path / "wikidata-20220103-all.json", ITEMS)
    run_tempkb(home, "build", "--dump", str(items), *_wikidata())
    done = run_tempkb(home, "build")
    assert "failed" not in done.stdout
    assert "2 built windows were given the Wikidata items" in done.stdout
    assert run_tempkb(home, "sql", mentions, "--csv").stdout.split()[1:] == [f"{one},Q20" for one in links]
    told = "SELECT page_id, entity_id, entity_id_source FROM stable_snapshots WHERE cut = '2022-01-01' ORDER BY page_id"
    assert run_tempkb(home, "sql", told, "--csv").stdout.split()[1:] == [
        f"{number},{name or ''},{'sitelink' if name else ''}" for number, name in EXPECTED.items()
    ]


def _wikidata():
    """Only the tables of Wikidata."""
    from tempkb.wiki.wikidata.tables import TABLES

    return [argument for one in TABLES for argument in ("--select", one.name)]
