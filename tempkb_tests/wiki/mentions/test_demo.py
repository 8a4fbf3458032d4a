"""Entries 10 to 12 of the demo world, built through Dagster: mentions, priors and texts, each written by hand."""

from collections import Counter
from datetime import date

import pytest


@pytest.fixture
def told(read, world):
    """What a story's page mentions at the cut of a quarter: (surface, title of the target there, via a redirect)."""

    def rows(story, quarter):
        cut = world.clock.cut(quarter).date()
        titles = {row["page_id"]: row["title"] for row in read("stable_snapshots", cut=cut).to_pylist()}
        found = read("mentions", cut=cut, source_page_id=world.story(story).page_id).to_pylist()
        return [(row["surface"], titles[row["target_page_id"]], row["via_redirect"]) for row in found]

    return rows


def test_every_way_to_write_a_link(told):
    assert told("crossroads", 2) == [
        ("Chain One", "Twin Mills", "page"),
        ("harbour_Clock", "Harbour Clock", "no"),
        ("clockwork", "Harbour Clock", "no"),
        ("Anvils", "Anvil", "no"),
        ("a long way", "Long Causeway", "no"),
        ("chimes", "Harbour Clock", "no"),
        ("Long Causeway", "Long Causeway", "no"),
    ]


def test_links_that_are_no_mentions_are_counted_by_reason(read, world):
    page = world.story("crossroads").page_id
    links = read("page_links", page_id=page).to_pylist()
    kinds = [(row["surface"], row["kind"], row["target_namespace"], row["target_title"]) for row in links]
    assert ("bells", "section", 0, "Harbour Clock") in kinds
    assert ("#Signs", "section", 0, "") in kinds
    assert ("the French one", "interwiki", 0, "fr:Carrefour") in kinds
    assert ("talk", "page", 1, "Harbour Clock") in kinds
    assert not {"Twin Mills", "stone"} & {row["surface"] for row in links}  # they stand in a caption
    cut = world.clock.cut(2).date()
    left_out = {
        row["reason"]: row["n"] for row in read("exclusions", table_name="mentions", partition="2021-07-01").to_pylist()
    }
    assert cut == date(2021, 10, 1)
    assert set(left_out) == {
        "leads out of the articles",
        "leads to another wiki",
        "leads to its own page",
        "names a section",
        "red link",
        "redirect that leads nowhere",
    }
    assert left_out["leads to another wiki"] == 2
    # The one to "Signs" and the one to "Bells"; nobody else links to sections.
    assert left_out["names a section"] == 2


def test_red_links_are_those_that_are_counted_at_each_cut(read):
    counted = {
        row["partition"]: row["n"]
        for row in read("exclusions", table_name="mentions").to_pylist()
        if row["reason"] == "red link"
    }
    found = read("red_links").to_pylist()
    assert Counter(str(row["window_start"]) for row in found) == counted
    assert sum(counted.values()) > 1000
    assert all(row["became_article_at"] is None or row["became_article_at"] > row["cut"] for row in found)


def test_what_most_people_mean_changes_over_time(read, world):
    def priors(quarter):
        rows = read("mention_priors", cut=world.clock.cut(quarter).date(), surface="the mill").to_pylist()
        paper = world.story("mill Paper Mill").page_id
        return {
            "Paper Mill" if row["target_page_id"] == paper else "Spice Mill": (
                row["n_links"],
                row["prior"],
                row["rank_in_surface"],
            )
            for row in rows
        }

    assert priors(4) == {"Paper Mill": (3, 0.75, 1), "Spice Mill": (1, 0.25, 2)}
    assert priors(6) == {"Paper Mill": (3, 0.375, 2), "Spice Mill": (5, 0.625, 1)}


def test_each_revision_is_cleaned_once(read):
    texts, wikitexts = read("page_texts").to_pylist(), read("page_wikitexts").to_pylist()
    keys = [(row["page_id"], row["revision_id"]) for row in texts]
    assert len(keys) == len(set(keys))
    assert set(keys) == {(row["page_id"], row["revision_id"]) for row in wikitexts}
    for row in texts:
        assert (row["n_words"], row["n_chars"]) == (len(row["text"].split()), len(row["text"]))


def test_every_surface_stands_in_its_text(read):
    texts = {(row["page_id"], row["revision_id"]): row["text"] for row in read("page_texts").to_pylist()}
    links = read("page_links").to_pylist()
    assert len(links) > 1000
    for row in links:
        assert texts[row["page_id"], row["revision_id"]][row["start_char"] : row["end_char"]] == row["surface"]


def test_every_mention_agrees_with_the_worlds_own_truth(read, world):
    """An independent reading: of each mention the target is the article that bears the title, through today's redirects."""
    checked = 0
    for quarter in (0, 5, 11):
        cut = world.clock.cut(quarter)
        rows = {row["page_id"]: row for row in read("stable_snapshots", cut=cut.date(), namespace=0).to_pylist()}
        by_title = {}
        for row in sorted(rows.values(), key=lambda row: (row["redirect_title"] is None, -row["page_id"])):
            by_title[row["title"]] = row
        for mention in read("mentions", cut=cut.date()).to_pylist():
            row = by_title[mention["target_title"]]
            hops, to_section = 0, False
            while row["redirect_title"] is not None and hops < 9:
                to_section |= row["redirect_section"] is not None
                row, hops = by_title[row["redirect_title"]], hops + 1
            assert row["page_id"] == mention["target_page_id"]
            assert mention["via_redirect"] == ("section" if to_section else "page" if hops else "no")
            checked += 1
    assert checked > 1000
