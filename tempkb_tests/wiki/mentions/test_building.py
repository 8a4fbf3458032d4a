"""The law for mentions, what is cleaned again and what is not, and what is refused."""

from datetime import date
from threading import Thread

import pyarrow as pa
import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.core.errors import ContractError, SourceError
from tempkb.core.windows import Granularity, Window
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb.wiki.dumps.catalogue import name_dump
from tempkb.wiki.dumps.pages import read_site, write_namespaces
from tempkb.wiki.mentions import reading, steps
from tempkb.wiki.mentions.steps import look
from tempkb.wiki.mentions.tables import INVERTED_INDEX, PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS
from tempkb_tests.wiki.mentions.windows_for_tests import clean, stale_quarters, write_window
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

QUARTERS = {"granularity": "quarter", "first_window": date(2020, 1, 1)}
TABLES = ("mentions", "inverted_index", "mention_priors", "entity_popularity")


def wiki(*, later: bool):
    """A small wiki; with its later history when asked for."""
    one = [revision(11, "2020-01-05T00:00:00Z", "See [[Two|the other]] and [[Three]]. {{odd|x}}")]
    two = [revision(21, "2020-01-06T00:00:00Z", "Back to [[one]] and [[Page 4|the fourth]].")]
    three = [revision(31, "2020-02-01T00:00:00Z", "#REDIRECT [[Two]]")]
    if later:
        one.append(revision(12, "2020-08-01T00:00:00Z", "Now of [[Page 4]] alone."))
        three.append(revision(32, "2020-09-01T00:00:00Z", "'''Three''' is an article with [[Two]]."))
    pages = [page(1, *one, title="One"), page(2, *two, title="Two"), page(3, *three, title="Three")]
    if later:
        pages.append(page(4, revision(41, "2020-07-15T00:00:00Z", "Of [[One]].")))
    return export(*pages)


@pytest.fixture
def late(tmp_path):
    """A file with all of that wiki's history."""
    file = tmp_path / "late.xml"
    file.write_bytes(wiki(later=True))
    return file


def is_current(store, table, window):
    """Is a table of a window as it would be made now?"""
    return look(store).is_current(table, window.key)


def build_all(file, until, **settings):
    """Build snapshots, texts and mentions of all quarters up to a day."""
    store, report, windows = build_files(file, until=until, **{**QUARTERS, **settings})
    assert not report.bad
    write_namespaces(store, name_dump([file], None))
    clean(store)
    for window in windows:
        write_window(store, window)
    return store, windows


def rows(store, table, cut):
    kept = store.read(table, cut=cut).to_pylist()
    return [{key: value for key, value in row.items() if key != "dump_id"} for row in kept]


@pytest.mark.slow
def test_later_history_never_changes_what_was_mentioned_at_an_earlier_cut(home_folder, late, tmp_path, monkeypatch):
    early = tmp_path / "early.xml"
    early.write_bytes(wiki(later=False))
    before, _ = build_all(early, date(2020, 7, 1))
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "other"))
    after, _ = build_all(late, date(2021, 1, 1))
    for cut in ("2020-04-01", "2020-07-01"):
        for table in TABLES:
            assert rows(before, table, cut) == rows(after, table, cut) != []


@pytest.mark.slow
def test_mentions_of_each_cut_are_those_of_its_texts_and_redirects(home_folder, late):
    store, _ = build_all(late, date(2021, 1, 1))

    def told(cut):
        found = store.read("mentions", cut=cut).to_pylist()
        return [(row["source_page_id"], row["surface"], row["target_page_id"], row["via_redirect"]) for row in found]

    assert told("2020-04-01") == [(1, "the other", 2, "no"), (1, "Three", 2, "page"), (2, "one", 1, "no")]
    assert told("2021-01-01") == [
        (1, "Page 4", 4, "no"),
        (2, "one", 1, "no"),
        (2, "the fourth", 4, "no"),
        (3, "Two", 2, "no"),
        (4, "One", 1, "no"),
    ]
    (left_out,) = store.read("exclusions", table_name="mentions", partition="2020-01-01").to_pylist()
    assert (left_out["reason"], left_out["n"], left_out["example"]) == (
        "red link",
        1,
        "2020-04-01 in Two: the fourth -> Page 4",
    )
    # Page 4 was begun on 2020-07-15.
    red = open_store().read("red_links").to_pylist()
    assert sorted((str(row["cut"]), row["source_page_id"], row["surface"], row["target_title"]) for row in red) == [
        ("2020-04-01", 2, "the fourth", "Page 4"),
        ("2020-07-01", 2, "the fourth", "Page 4"),
    ]
    assert {row["became_article_at"] for row in red} == {date(2020, 10, 1)}


@pytest.mark.slow
def test_a_new_window_cleans_only_what_is_new(home_folder, late):
    store, _ = build_all(late, date(2020, 7, 1))
    first = {one.partition: one.version for one in store.lake.versions("page_texts")}
    assert list(first) == ["2020-01-01"]
    store, _ = build_all(late, date(2021, 1, 1))
    second = {one.partition: one.version for one in store.lake.versions("page_texts")}
    assert list(second) == ["2020-01-01", "2020-07-01"]
    assert second["2020-01-01"] == first["2020-01-01"]
    assert stale_quarters(store) == []
    dropped = store.read("exclusions", table_name="page_texts").to_pylist()
    assert [(row["partition"], row["reason"], row["n"]) for row in dropped] == [("2020-01-01", "template: odd", 1)]


def test_holes_are_kept_and_ranked_by_the_lines_that_they_damage(home_folder, tmp_path):
    lead = "{{odd name}} is a [[two|town]] of {{odd|5}} and {{odd|6}} people.\n\nIt is old."
    listed = "Of it:\n* a &lt;math&gt;\\sum&lt;/math&gt; b\n* c\n* {{odd}}\n* d {{odd|7}} e"
    file = tmp_path / "holes.xml"
    file.write_bytes(
        export(
            page(1, revision(11, "2020-01-05T00:00:00Z", lead), title="One"),
            page(2, revision(21, "2020-01-06T00:00:00Z", listed), title="Two"),
            page(3, revision(31, "2020-01-07T00:00:00Z", "#REDIRECT [[Two]]"), title="Three"),
        )
    )
    build_all(file, date(2020, 7, 1))
    store = open_store()
    texts = {row["page_id"]: row for row in store.read("page_texts").to_pylist()}
    assert texts[1]["text"] == "is a town of and people.\nIt is old."
    holes = [(one["offset_char"], one["kind"], one["name"]) for one in texts[1]["holes"]]
    assert holes == [(0, "template", "odd name"), (13, "template", "odd"), (17, "template", "odd")]
    assert texts[3]["holes"] == []
    columns = ("kind", "name", "n_holes", "n_lines", "n_pages", "example_page_id")
    ranked = [tuple(row[name] for name in columns) for row in store.read("hole_sources").to_pylist()]
    assert ranked == [
        ("template", "odd", 3, 2, 2, 1),
        ("formula", "math", 1, 1, 1, 2),
        ("template", "odd name", 1, 1, 1, 1),
    ]
    (shares,) = store.read("hole_shares").to_pylist()
    # The lead, "It is old.", "Of it:", "a b", "c" and "d e".
    assert (shares["n_texts"], shares["n_lines"], shares["n_damaged"], shares["damaged_share"]) == (2, 6, 3, 0.5)


def test_another_cleaner_makes_texts_and_mentions_stale(home_folder, late, monkeypatch):
    store, windows = build_all(late, date(2020, 7, 1))
    assert all(is_current(store, table, window) for table in TABLES for window in windows)
    monkeypatch.setattr(steps, "CLEANER_VERSION", steps.CLEANER_VERSION + 1)
    assert stale_quarters(store) == ["2020-01-01"]
    assert not is_current(store, "mentions", windows[0])
    said = CliRunner().invoke(main, ["status"]).output
    (line,) = [one for one in said.splitlines() if "renew: " in one]
    assert f"mentions ({len(windows)} partitions), page_links (1 partition), page_texts (1 partition); renew: " in line
    assert line.endswith("tempkb build")


def test_a_run_killed_between_texts_and_links_loses_no_link(home_folder, late, monkeypatch):
    store, _ = build_all(late, date(2020, 7, 1))
    whole = {name: store.read(name).to_pylist() for name in ("page_texts", "page_links")}
    # As before the second revision was known: both tables hold the others only.
    for table in (PAGE_TEXTS, PAGE_LINKS):
        store.forget(
            table,
            "2020-01-01",
            "revision_id",
            pa.array([21]),
            Provenance({"page_wikitexts 2020-01-01": "old"}, steps.cleaner_settings(store)),
        )
    real, written = type(store).add, []

    def killed_at_the_second(self, table, *arguments, **more):
        written.append(table.name)
        if len(written) == 2:
            raise KeyboardInterrupt
        return real(self, table, *arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "add", killed_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            clean(store)
    assert written == ["page_texts", "page_links"]
    assert stale_quarters(store) == ["2020-01-01"]
    clean(store)
    assert {name: store.read(name).to_pylist() for name in ("page_texts", "page_links")} == whole
    assert stale_quarters(store) == []


def test_two_who_clean_the_same_quarter_at_once_count_what_one_counts(home_folder, late, tmp_path, monkeypatch):
    """The second one begins while the first is at work on a revision that came later, and adds nothing."""
    texts = "2020-01-01"

    def with_a_later_revision(home):
        monkeypatch.setenv("TEMPKB_HOME", str(home))
        store, _ = build_all(late, date(2020, 7, 1))
        for table in (PAGE_TEXTS, PAGE_LINKS):
            provenance = Provenance({"page_wikitexts 2020-01-01": "old"}, steps.cleaner_settings(store))
            store.forget(table, texts, "revision_id", pa.array([11]), provenance)
        return store

    def excluded(store):
        return [(one["reason"], one["n"]) for one in store.lake.current(PAGE_TEXTS.name, texts).side_rows("exclusions")]

    alone = with_a_later_revision(tmp_path / "alone")
    clean(alone)
    store, real, others = with_a_later_revision(tmp_path / "both"), reading.map_items, []

    def joined(*arguments):
        if not others:
            others.append(Thread(target=clean, args=(open_store(),)))
            others[0].start()
            others[0].join(1.0)
        yield from real(*arguments)

    monkeypatch.setattr(reading, "map_items", joined)
    clean(store)
    others[0].join(60)
    assert excluded(store) == excluded(alone) == [("template: odd", 2)]
    assert store.lake.current(PAGE_TEXTS.name, texts).version == alone.lake.current(PAGE_TEXTS.name, texts).version


def test_a_text_that_was_taken_back_is_taken_back_here(home_folder, late):
    store, _ = build_all(late, date(2020, 7, 1))
    store.forget(PAGE_WIKITEXTS, "2020-01-01", "revision_id", pa.array([21]), Provenance())
    clean(store)
    assert store.read("page_texts")["revision_id"].to_pylist() == [11, 31]
    assert set(store.read("page_links")["revision_id"].to_pylist()) == {11}


def test_dropped_sections_are_a_setting_of_the_home(home_folder, tmp_path):
    file = tmp_path / "sections.xml"
    text = "Lead.\n== See also ==\n* [[Two]]\n== Joys ==\nMany."
    file.write_bytes(export(page(1, revision(1, "2020-01-05T00:00:00Z", text), title="One")))
    store, _ = build_all(file, date(2020, 4, 1), dropped_sections=("joys",))
    assert store.read("page_texts").to_pylist()[0]["text"] == "Lead.\nSee also\nTwo"


def test_what_is_missing_is_named_with_what_to_do(home_folder, late):
    store, _, windows = build_files(late, until=date(2020, 4, 1), **QUARTERS)
    with pytest.raises(SourceError, match="tempkb build --select namespaces"):
        read_site(store, "testwiki-1")
    words = "mentions 2020-01-01: page_links of 2020-01-01 is not built, .*; build it first: tempkb build$"
    with pytest.raises(ContractError, match=words):
        write_window(store, windows[0])
    later = Window(date(2020, 4, 1), Granularity.QUARTER)
    with pytest.raises(ContractError, match="inverted_index 2020-04-01: mentions of 2020-04-01 is not built"):
        write_window(store, later, [one for one in steps.BY_WINDOW if one.makes == (INVERTED_INDEX,)])


def test_redirects_to_sections_are_marked_and_counted_nowhere(home_folder, tmp_path):
    """`Delta` redirects to a section of Gamma, `Delta wing` to Delta, and `Third` to Gamma as a whole."""
    file = tmp_path / "sections.xml"
    stood, links = (
        "2020-01-05T00:00:00Z",
        "[[Gamma]], [[Third|it]], [[Delta|it]], [[Delta wing|a wing]], [[Gamma#S|a part]]",
    )
    pages = [
        page(1, revision(11, stood, f"Of {links}."), title="One"),
        page(2, revision(21, stood, "'''Gamma''' is a letter."), title="Gamma"),
        page(3, revision(31, stood, "#REDIRECT [[Gamma#The_fourth]]"), title="Delta"),
        page(4, revision(41, stood, "#REDIRECT [[Delta]]"), title="Delta wing"),
        page(5, revision(51, stood, "#REDIRECT [[Gamma]]"), title="Third"),
    ]
    file.write_bytes(export(*pages))
    store, _ = build_all(file, date(2020, 4, 1))
    sections = {row["title"]: row["redirect_section"] for row in store.read("stable_snapshots").to_pylist()}
    assert sections == {"One": None, "Gamma": None, "Delta": "The fourth", "Delta wing": None, "Third": None}
    told = [(row["surface"], row["target_page_id"], row["via_redirect"]) for row in store.read("mentions").to_pylist()]
    assert told == [("Gamma", 2, "no"), ("it", 2, "page"), ("it", 2, "section"), ("a wing", 2, "section")]
    index = [(row["surface"], row["n_mentions"], row["n_direct"]) for row in store.read("inverted_index").to_pylist()]
    assert index == [("gamma", 1, 1), ("it", 1, 0)]
    priors = [(row["surface"], row["n_links"], row["prior"]) for row in store.read("mention_priors").to_pylist()]
    assert priors == [("gamma", 1, 1.0), ("it", 1, 1.0)]
    gamma = next(row for row in store.read("entity_popularity").to_pylist() if row["page_id"] == 2)
    assert (gamma["n_inlinks"], gamma["n_surfaces"], gamma["entity_prior"]) == (2, 2, 1.0)
