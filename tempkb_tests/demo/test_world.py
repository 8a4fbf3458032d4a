"""The demo world's traps, built through Dagster: each story with the row written by hand."""

import re
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

import tempkb
from tempkb.demo.export import write_dump
from tempkb.demo.world import make_world
from tempkb.errors import SettingsError
from tempkb_tests.conftest import run_tempkb


@pytest.fixture
def at(read, world):
    """The snapshot row of a story's page at the cut of a quarter, counted from 0."""

    def row(story, quarter):
        page = world.story(story)
        found = read("stable_snapshots", cut=world.clock.cut(quarter).date(), page_id=page.page_id).to_pylist()
        return found[0] if found else None

    return row


def number(world, story, index):
    """Number of the story's edit, in the order in which the story tells it."""
    return world.story(story).edits[index].revision_id


def test_restored_text_adds_up(at, world):
    row = at("restored", 2)
    assert (row["revision_id"], row["standing_seconds"]) == (number(world, "restored", 2), 12 * 86_400)
    assert row["last_stood_at"] == world.clock.before(2, 8)
    assert (row["n_revisions"], row["n_revisions_in_interval"], row["n_contributors"]) == (4, 3, 4)


def test_the_winner_of_an_edit_war_hardly_stood(at, world):
    row = at("war", 3)
    assert row["revision_id"] == number(world, "war", 18)
    assert row["standing_share"] == pytest.approx(34 / 720)
    assert row["standing_share"] < 0.05


def test_an_edit_at_the_cut_is_not_in_the_snapshot(at, world):
    row = at("at_the_cut", 2)
    assert (row["revision_id"], row["standing_share"], row["n_revisions"]) == (number(world, "at_the_cut", 0), 1.0, 1)
    assert at("at_the_cut", 3)["revision_id"] == number(world, "at_the_cut", 1)


def test_of_two_edits_in_one_second_the_later_number_stands(at, world):
    row = at("one_second", 2)
    assert (row["revision_id"], row["standing_seconds"]) == (number(world, "one_second", 2), 20 * 86_400)


def test_imported_revisions_are_put_where_they_belong_in_time(at, world):
    page = world.story("imported")
    row = at("imported", 0)
    assert row["revision_id"] == number(world, "imported", 3)
    assert row["page_created_at"] == page.edits[1].time
    assert row["n_revisions"] == 3
    assert page.edits[1].revision_id > page.edits[0].revision_id


def test_a_page_in_two_elements_is_one_page(at, read, world):
    row = at("two_elements", 7)
    assert (row["n_revisions"], row["revision_id"]) == (6, number(world, "two_elements", 5))
    assert read("revision_log", page_id=row["page_id"]).num_rows == 6


def test_a_redirect_becomes_an_article(at, world):
    before, after = at("redirect_first", 3), at("redirect_first", 4)
    assert (before["redirect_title"], before["article_since"]) == ("Harbour Clock", None)
    assert (after["redirect_title"], after["article_since"]) == (None, world.clock.start(4) + timedelta(days=10))


def test_an_article_that_was_a_redirect_for_a_while_stays_an_article_since_its_first_text(at, world):
    between = at("redirect_between", 3)
    assert (between["redirect_title"], between["redirect_section"]) == ("Border Stone", "History")
    row = at("redirect_between", 5)
    assert (row["redirect_title"], row["article_since"]) == (None, world.clock.start(0))
    assert row["revision_id"] == number(world, "redirect_between", 2)


def test_a_draft_is_an_article_since_its_move(at, world):
    before, after = at("draft_in", 2), at("draft_in", 3)
    assert (before["namespace"], before["title"], before["article_since"]) == (118, "Peat Railway", None)
    assert (after["namespace"], after["title_source"]) == (0, "move_comment")
    assert after["article_since"] == world.clock.start(3) + timedelta(days=7)


def test_a_page_moved_out_lies_in_its_old_namespace_before(at):
    assert [at("moved_out", quarter)["namespace"] for quarter in (3, 4)] == [0, 118]


def test_a_disambiguation_is_one_only_later(at):
    assert [at("disambiguation", quarter)["is_disambiguation"] for quarter in (4, 5)] == [False, True]


def test_of_a_silent_move_only_todays_title_is_known(at):
    row = at("silent_move", 0)
    assert (row["title"], row["title_source"]) == ("Emerald Gate", "today")


def test_two_pages_that_swap_titles(at):
    titles = [(at("swap_left", quarter)["title"], at("swap_right", quarter)["title"]) for quarter in (3, 4)]
    assert titles == [("Upper Lock", "Lower Lock"), ("Lower Lock", "Upper Lock")]


def test_titles_are_those_that_the_world_bore_wherever_a_comment_tells(read, world):
    checked = 0
    pages = {page.page_id: page for page in world.pages}
    for row in read("stable_snapshots", title_source="move_comment").to_pylist():
        cut = datetime.combine(row["cut"], datetime.min.time(), UTC)
        name = pages[row["page_id"]].name_at(cut - timedelta(seconds=1))
        assert (row["namespace"], row["title"]) == (name.namespace, name.title)
        checked += 1
    assert checked > 20


def test_blank_for_a_week_and_for_an_interval(at, world):
    assert at("blank_week", 3)["revision_id"] == number(world, "blank_week", 2)
    assert at("blank_week", 3)["standing_seconds"] == 23 * 86_400
    blank = at("blank_interval", 3)
    assert (blank["is_blank"], blank["has_text"], blank["standing_share"]) == (True, True, 1.0)
    assert at("blank_interval", 4)["is_blank"] is False


def test_hidden_authors_and_texts(at, read, world):
    row = at("hidden", 2)
    assert row["revision_id"] == number(world, "hidden", 2)
    # Two days before it was replaced and five after: the suppressed text stood longer, but cannot be read.
    assert row["standing_seconds"] == 7 * 86_400
    assert (row["n_revisions"], row["n_contributors"]) == (3, 2)
    log = read("revision_log", revision_id=number(world, "hidden", 1)).to_pylist()[0]
    assert (log["contributor"], log["is_suppressed"], log["text_sha1"], log["text_bytes"]) == (None, True, None, None)


def test_a_second_slot_does_not_make_a_new_text(at, world):
    row = at("slots", 2)
    assert row["text_sha1"] == world.story("slots").edits[0].sha1
    assert row["standing_share"] == 1.0


def test_most_pages_are_unchanged_over_most_windows(read):
    rows = read("stable_snapshots").to_pylist()
    quiet = sum(row["n_revisions_in_interval"] == 0 for row in rows)
    assert quiet / len(rows) > 0.8


def test_every_winning_text_is_kept_once_and_is_the_worlds(read, world):
    texts = {edit.revision_id: edit.text for page in world.pages for edit in page.edits}
    kept = read("page_wikitexts").to_pylist()
    assert all(row["wikitext"] == texts[row["revision_id"]] for row in kept)
    ids = [row["revision_id"] for row in kept]
    assert len(ids) == len(set(ids))
    winners = {row["revision_id"] for row in read("stable_snapshots").to_pylist() if row["has_text"]}
    assert set(ids) == winners


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path, world):
    day = world.dump_days[0]
    first = {path.name: path.read_bytes() for path in write_dump(make_world(), day, tmp_path / "a")}
    again = {path.name: path.read_bytes() for path in write_dump(make_world(), day, tmp_path / "b")}
    other = {path.name: path.read_bytes() for path in write_dump(make_world(seed=8), day, tmp_path / "c")}
    assert again == first
    assert other != first


def test_a_world_too_small_for_its_traps_is_refused():
    with pytest.raises(SettingsError, match="at least 250 pages and 8 quarters are needed"):
        make_world(pages=10)


@pytest.mark.slow
def test_a_second_dump_adds_its_window_and_leaves_the_earlier_ones_alone(demo_home, tmp_path, world, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(demo_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    before = {path: path.read_bytes() for path in (home / "lake").rglob("stable_snapshots/*/CURRENT")}
    write_dump(world, world.dump_days[1], home / "dumps")
    run_tempkb(home, "build")
    added = {path: path.read_bytes() for path in (home / "lake").rglob("stable_snapshots/*/CURRENT")}
    assert {path: added[path] for path in before} == before
    assert {path.parent.name for path in added.keys() - before.keys()} == {"2024-01-01"}
    newest = tempkb.read("stable_snapshots", cut="2024-04-01").to_pylist()
    by_page = {row["page_id"]: row for row in newest}
    assert world.story("deleted").page_id not in by_page
    assert by_page[world.story("merged_item").page_id]["entity_id"] == "Q9001"
    assert {row["dump_id"] for row in newest} == {"demowiki-20240401"}

    # What was built from the first dump stays, deletion and suppression notwithstanding, until it is rebuilt on purpose.
    hidden = world.story("suppressed")
    frozen = tempkb.read("stable_snapshots", cut="2022-04-01", page_id=hidden.page_id).to_pylist()[0]
    assert (frozen["revision_id"], frozen["has_text"]) == (hidden.edits[1].revision_id, True)
    window = ["--windows", "2022-01-01..2022-04-01"]
    newer = [
        str(path)
        for path in sorted((home / "dumps").rglob("*20240401*"))
        if path.is_file() and path.parent.name != "sums"
    ]
    said = run_tempkb(home, "build", *window, "--dump", *newer).stdout
    assert "window 2022-01-01 stays as it is: built before from another dump; --rebuild would replace it" in said
    again = tempkb.read("stable_snapshots", cut="2022-04-01", page_id=hidden.page_id).to_pylist()[0]
    assert again == frozen

    said = run_tempkb(home, "build", *window, "--rebuild", "--dump", *newer).stdout
    assert "window 2022-01-01 was rebuilt; pages by what changed: 1 deleted, 1 item_changed, 1 suppressed" in said
    changes = {row["page_id"]: row for row in tempkb.read("rebuild_changes").to_pylist()}
    assert {page: row["change"] for page, row in changes.items()} == {
        world.story("deleted").page_id: "deleted",
        hidden.page_id: "suppressed",
        world.story("merged_item").page_id: "item_changed",
    }
    item = changes[world.story("merged_item").page_id]
    assert (item["entity_id"], item["previous_dump_id"], item["dump_id"]) == (
        "Q9001",
        "demowiki-20240101",
        "demowiki-20240401",
    )
    rebuilt = tempkb.read("stable_snapshots", cut="2022-04-01").to_pylist()
    assert world.story("deleted").page_id not in {row["page_id"] for row in rebuilt}
    changed = next(row for row in rebuilt if row["page_id"] == hidden.page_id)
    # Nothing else stood in those thirty days, so the hidden text wins; it just cannot be read any more.
    assert (changed["revision_id"], changed["has_text"]) == (hidden.edits[1].revision_id, False)
    assert tempkb.read("page_wikitexts", revision_id=hidden.edits[1].revision_id).num_rows == 0
    assert tempkb.read("page_wikitexts", revision_id=hidden.edits[0].revision_id).num_rows == 1


def test_old_books_mention_the_last_newcomers_and_the_new_book_old_entities(world):
    old = [world.story(f"book {number}").edits[-1] for number in range(1, 9)]
    new = [world.story(f"told in Travels of 2023, part {number}").edits[-1] for number in range(1, 5)]
    assert {edit.time for edit in (*old, *new)} == {datetime(2023, 10, 11, tzinfo=UTC)}
    in_old, in_new = ([re.findall(r"\[\[(.+?)\|", edit.text) for edit in edits] for edits in (old, new))
    newcomers = re.compile(r"(Ulgham|Veryan|Wadhurst|Yealand|Zeal|Ampleby|Bickton|Castleby|Dalston|Edwick) ")
    # The new book has 88 verses, of which each second one, six or five for each old book, has changed places.
    assert [sum(bool(newcomers.match(one)) for one in links) for links in in_old] == [6, 6, 6, 6, 5, 5, 5, 5]
    assert [sum(not newcomers.match(one) for one in links) for links in in_new] == [11, 11, 11, 11]
    every = Counter(one for links in (*in_old, *in_new) for one in links)
    # As many as the tables of mentions say: 9 from the beginning and 5 later; 2 of each surface, and one more.
    assert (every["Grand Harbour"], every["Ten Bells House"], every["Ulgham Coaching Inn"]) == (14, 10, 9)
