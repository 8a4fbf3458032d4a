"""What came into the world of the demo: its truth by hand, its pages, its items, and its origins as they are built."""

import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

from tempkb.demo.world import make_world

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


def links(page):
    return set(re.findall(r"\[\[([^]|]*)", max(page.edits, key=lambda edit: edit.time).text))


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


def test_ordinary_pages_do_not_link_to_what_came_into_the_world(births, world):
    own = {one.title for one in births.all}
    assert not any(links(page) & own for page in world.pages[: -len(births.all)])
    assert [page.page_id for page in world.pages[-len(births.all) :]] == [one.page.page_id for one in births.all]


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
