"""What came into the world of the demo: its truth by hand, its pages, its items, and its origins as they are built."""

import json
import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

from tempkb.demo.births import write_births
from tempkb.demo.facts import Facts
from tempkb.demo.pages import NAMESPACES, Clock, quarters
from tempkb.demo.stories import Pages
from tempkb.demo.wikidata import entities
from tempkb.demo.world import make_world
from tempkb.titles import Site
from tempkb.wikitext.article import read_article

SITE = Site("demowiki", NAMESPACES)
CATEGORIES = {
    "Sports",
    "Media",
    "Infrastructure",
    "Natural Risks",
    "Products",
    "Businesses",
    "Organizations",
    "Other Events",
    "Misc.",
}


@pytest.fixture(scope="module")
def births(world):
    return world.births


@pytest.fixture(scope="module")
def items(world):
    """Entities of the first dump, by number."""
    return {one["id"]: one for one in entities(world, world.dump_days[0])}


def last_text(birth):
    return max(birth.page.edits, key=lambda edit: edit.time).text


def prose(birth):
    """Paragraphs as a reader sees them."""
    article = read_article(last_text(birth), SITE)
    return [article.text[one.start : one.end] for one in article.paragraphs]


def links(page):
    return set(re.findall(r"\[\[([^]|]*)", max(page.edits, key=lambda edit: edit.time).text))


def told(birth):
    return [(one.text, one.mention, one.kept, one.since) for one in birth.sentences]


def test_five_of_each_category_by_day_month_and_year(births):
    ordinary = [one for one in births.all if not one.story]
    assert Counter(one.category for one in ordinary) == dict.fromkeys(CATEGORIES, 5)
    assert set(births.categories) == CATEGORIES
    assert Counter(one.origin[2] for one in ordinary) == {"day": 27, "month": 9, "year": 9}
    assert {one.origin[0].year for one in ordinary if one.origin[2] == "day"} == {2021, 2022, 2023}
    assert {one.origin[3] for one in ordinary} == {"P571", "P580", "P585", "P575", "P6949"}
    assert not any(one.left_out for one in ordinary)


@pytest.mark.parametrize("n_quarters", [8, 12])
def test_ordinary_pages_are_written_soon_after_their_origin_and_before_the_first_dump(n_quarters):
    world = make_world(n_quarters=n_quarters)
    dump = world.dump_days[0]
    for birth in (one for one in world.births.all if not one.story):
        first, after, precision, _ = birth.origin
        assert (after - first).days in {"day": {1}, "month": {28, 30, 31}, "year": {365}}[precision]
        saved = min(edit.time for edit in birth.page.edits)
        assert timedelta(0) < saved - datetime.combine(after, datetime.min.time(), UTC) < timedelta(182)
        assert saved < dump
        assert all(edit.time < dump for edit in birth.page.edits)
        assert date(2021, 1, 1) <= first


def test_articles_are_long_enough_and_name_what_they_are_about_early(births):
    for birth in (one for one in births.all if not one.story):
        paragraphs = prose(birth)
        assert 130 <= sum(len(one.split()) for one in paragraphs) <= 260, birth.title
        assert re.match(rf"{re.escape(birth.title)} is an? [a-z ]+ in Varland that ", paragraphs[0])
        kept = [one for one in birth.sentences if not one.kept]
        assert len(kept) == 10
        assert len(birth.sentences) - len(kept) >= 2
        assert {one.mention for one in kept} <= set(birth.names)
        for one in kept:
            before, behind = one.text.split(one.mention)
            assert len(before.split()) <= 6, one
            assert 8 <= len(behind.split()) <= 20, one


def test_sentences_stand_in_the_pages_as_told(births):
    for birth in births.all:
        text = "\n".join(prose(birth))
        assert all(one.text in text for one in birth.sentences), birth.title
        assert all(bool(one.mention) is not bool(one.kept) for one in birth.sentences)
        for one in birth.sentences:
            if one.kept == "none" and birth.title != "Tide++":
                assert not any(name in one.text for name in birth.names), one


def test_stories_and_why_some_are_left_out(births):
    stories = {one.story: (one.left_out, one.origin) for one in births.all if one.story}
    february = (date(2021, 2, 9), date(2021, 2, 10), "day", "P571")
    assert stories == {
        "announced": ("", (date(2021, 3, 4), date(2021, 3, 5), "day", "P6949")),
        "late page": ("outside", (date(1911, 1, 1), date(1912, 1, 1), "year", "P571")),
        "early page": ("", (date(2022, 5, 17), date(2022, 5, 18), "day", "P571")),
        "person": ("human", february),
        "list": ("list", february),
        "ambiguous": ("disambiguation", february),
        "stub": ("too short", (date(2021, 6, 3), date(2021, 6, 4), "day", "P571")),
        "unknown date": ("no origin", None),
        "deprecated date": ("no origin", None),
        "decade": ("no origin", None),
        "two dates": ("", (date(2022, 6, 1), date(2022, 6, 2), "day", "P580")),
        "year before day": ("", (date(2021, 1, 1), date(2022, 1, 1), "year", "P571")),
        "best rank": ("", (date(2022, 2, 2), date(2022, 2, 3), "day", "P571")),
        "popular 1": ("no origin", None),
        "popular 2": ("no origin", None),
        "popular 3": ("no origin", None),
        "society": ("", (date(2021, 4, 19), date(2021, 4, 20), "day", "P571")),
        "quoted": ("", (date(2021, 5, 12), date(2021, 5, 13), "day", "P571")),
        "odd title": ("", (date(2021, 8, 1), date(2021, 9, 1), "month", "P571")),
        "written later": ("", (date(2021, 2, 10), date(2021, 2, 11), "day", "P571")),
    }
    words = {one.story: sum(len(paragraph.split()) for paragraph in prose(one)) for one in births.all}
    assert words["stub"] == 20
    assert all(n >= 130 for story, n in words.items() if story not in {"stub", "ambiguous"})
    assert births.story("early page").page.edits[0].time == datetime(2021, 1, 1, tzinfo=UTC) - timedelta(900)
    assert births.story("late page").page.edits[0].time == datetime(2022, 4, 9, tzinfo=UTC)


def test_popular_pages_have_most_contributors_and_links(births, world):
    linked = Counter(title for page in world.pages for title in links(page))
    users = {one.title: len({edit.user for edit in one.page.edits}) for one in births.all}
    popular = [births.story(f"popular {number}").title for number in (1, 2, 3)]
    assert [(users.pop(title), linked[title]) for title in popular] == [(6, 30), (5, 20), (4, 10)]
    assert max(users.values()) < 4
    assert max(linked[title] for title in users) < 10


def test_ordinary_pages_do_not_link_to_what_came_into_the_world(births, world):
    own = {one.title for one in births.all}
    assert not any(links(page) & own for page in world.pages[: -len(births.all)])
    assert [page.page_id for page in world.pages[-len(births.all) :]] == [one.page.page_id for one in births.all]


def test_a_film_in_all_sorts_of_quotation_marks(births):
    assert births.story("quoted").names == ("Lantern (2021 film)", "Lantern", "The Lantern of Varl")
    assert told(births.story("quoted")) == [
        ('A tired critic wrote that "Lantern is the slowest boat in the harbour" and went home.', "", "in quotes", 1),
        (
            "Her rival answered that “Lantern will outlive the harbour” in a letter to the same paper.",
            "",
            "in quotes",
            1,
        ),
        ("In the southern towns the posters said «Lantern burns all night» above a painted wave.", "", "in quotes", 1),
        ("An old usher said “they whispered ‘Lantern’ in every street” on the first evening.", "", "in quotes", 1),
        ("On Fridays the Lantern Society meets in a cold hall behind the fish market.", "", "other name", 1),
        ("For its first guests Lantern began where Lantern ends, with a slow boat on grey water.", "", "twice", 1),
        ("In March the Lantern reached thirty cinemas and a floating stage on the canal.", "Lantern", "", 1),
        ('At the winter fair Lantern won the "Golden Oar" and a basket of smoked eels.', "Lantern", "", 1),
        ("On the last day the crew's Lantern showed four hundred guests the new breakwater.", "Lantern", "", 1),
        ("Lantern runs ninety minutes.", "", "short", 1),
        ("In its best scene Lantern shows a lighthouse keeper with a broken oar and no matches.", "Lantern", "", 1),
        ("Over one summer Lantern's music grew from a short whistle into a long dance for strings.", "Lantern", "", 1),
        (
            "For the outer islands The Lantern of Varl received a new title and a shorter ending.",
            "The Lantern of Varl",
            "",
            1,
        ),
        ("The rain machine broke twice and the money was gone before the spring.", "", "none", 1),
    ]
    paragraphs = prose(births.story("quoted"))
    assert "a lighthouse keeper" in paragraphs[0]
    assert paragraphs[1:] == [one.text for one in births.story("quoted").sentences]
    assert births.story("society").title in links(births.story("quoted").page)


def test_a_title_with_signs(births):
    birth = births.story("odd title")
    assert (birth.title, birth.names) == ("Tide++", ("Tide++", "T+"))
    assert [(one.mention, one.kept) for one in birth.sentences[:4]] == [
        ("Tide++", ""),
        ("T+", ""),
        ("", "none"),
        ("", "none"),
    ]
    assert "Tide+ as" in birth.sentences[2].text
    assert "Tide+++ into" in birth.sentences[3].text


def test_a_sentence_that_was_written_later_and_one_that_was_gone_for_a_while(births):
    birth = births.story("written later")
    assert [one.since for one in birth.sentences] == [0] * (len(birth.sentences) - 1) + [6]
    restored, added = birth.sentences[-2:]
    assert [restored.text in edit.text for edit in birth.page.edits] == [True, False, True, True]
    assert [added.text in edit.text for edit in birth.page.edits] == [False, False, False, True]


def test_items_tell_origins_as_values_with_precision_and_rank(births, items):
    def claims(story):
        found = items[births.story(story).entity_id]["claims"]
        return [
            (
                name,
                one["rank"],
                one["mainsnak"]["snaktype"],
                *(one["mainsnak"].get("datavalue", {}).get("value", {}).get(key) for key in ("time", "precision")),
            )
            for name, said in found.items()
            if name != "P31"
            for one in said
        ]

    assert claims("announced") == [
        ("P6949", "normal", "value", "+2021-03-04T00:00:00Z", 11),
        ("P571", "normal", "value", "+2022-04-11T00:00:00Z", 11),
    ]
    assert claims("odd title") == [("P571", "normal", "value", "+2021-08-00T00:00:00Z", 10)]
    assert claims("unknown date") == [("P571", "normal", "somevalue", None, None)]
    assert claims("deprecated date") == [("P571", "deprecated", "value", "+2021-05-05T00:00:00Z", 11)]
    assert claims("decade") == [("P571", "normal", "value", "+2020-00-00T00:00:00Z", 8)]
    assert claims("best rank") == [
        ("P571", "normal", "value", "+2021-02-02T00:00:00Z", 11),
        ("P571", "preferred", "value", "+2022-02-02T00:00:00Z", 11),
    ]
    assert claims("popular 1") == []
    said = [
        one["id"]
        for item in items.values()
        for claims in (item["claims"] or {}).values()
        for one in claims
        if item["type"] == "item"
    ]
    assert len(said) == len(set(said))
    film = items[births.story("quoted").entity_id]
    assert film["labels"]["en"]["value"] == "Lantern"
    assert [one["value"] for one in film["aliases"]["en"]] == ["The Lantern of Varl"]
    assert film["sitelinks"]["demowiki"]["title"] == "Lantern (2021 film)"


def test_classes_have_names_and_some_are_known_only_by_those_above(births, items):
    def above(class_id):
        said = (items[class_id]["claims"] or {}).get("P279", [])
        return [one["mainsnak"]["datavalue"]["value"]["id"] for one in said]

    for birth in births.all:
        (is_a,) = items[birth.entity_id]["claims"]["P31"]
        class_id = is_a["mainsnak"]["datavalue"]["value"]["id"]
        assert class_id in births.categories[birth.category]
        assert items[class_id]["labels"]["en"]["value"]
    assert (above("Q990002"), above("Q990003"), above("Q990001")) == (["Q990003"], ["Q12280"], [])
    assert (above("Q3157041"), above("Q8092"), above("Q46970")) == (["Q8092"], ["Q81054"], ["Q4830453"])
    # Those of the facts, with their loop.
    assert (above("Q43229"), above("Q35120"), above("Q7278")) == (["Q35120"], ["Q43229"], ["Q43229"])


def test_one_seed_gives_one_world_and_another_seed_others():
    def made(seed):
        clock = Clock(quarters(9))
        pages, facts = Pages(clock, 1), Facts()
        births = write_births(pages, facts, seed)
        return json.dumps([births, pages.made, facts], default=repr)

    assert made(7) == made(7)
    assert made(7) != made(8)


# Against the demo world as it is built.


def test_built_origins_are_those_of_the_truth(read, births):
    rows = {row["entity_id"]: row for row in read("entity_origins", dump_id="wikidatawiki-20240101").to_pylist()}
    found = {
        birth.title: tuple(
            rows[birth.entity_id][name] for name in ("origin_from", "origin_to", "origin_precision", "origin_property")
        )
        if birth.entity_id in rows
        else None
        for birth in births.all
    }
    assert found == {birth.title: birth.origin for birth in births.all}
    assert set(rows) == {birth.entity_id for birth in births.all if birth.origin}


def test_sentences_stand_in_snapshots_from_the_quarter_that_is_told(read, births, world):
    texts = {row["revision_id"]: row["text"] for row in read("page_texts").to_pylist()}
    held = {}
    for row in read("stable_snapshots").to_pylist():
        held.setdefault(row["page_id"], {})[row["cut"]] = texts.get(row["revision_id"], "")
    cuts = [window.cut for window in world.clock.windows[:-1]]
    for birth in births.all:
        for one in birth.sentences:
            with_it = [at for at, cut in enumerate(cuts) if one.text in held[birth.page.page_id].get(cut, "")]
            assert with_it[0] == one.since, one
            assert with_it[-1] == len(cuts) - 1, one
    later = births.story("written later")
    restored = [at for at, cut in enumerate(cuts) if later.sentences[-2].text in held[later.page.page_id].get(cut, "")]
    assert restored == [0, 1, 2, *range(5, 12)]


def test_the_disambiguation_page_is_one(read, births, world):
    (row,) = read(
        "stable_snapshots", cut=world.clock.cut(11).date(), page_id=births.story("ambiguous").page.page_id
    ).to_pylist()
    assert row["is_disambiguation"]
