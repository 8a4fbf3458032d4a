"""What came into the world of the demo: its truth by hand, and its pages; a release of ECBD is compared with it."""

import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

from tempkb.benchmarks.ecbd.categories import category_names
from tempkb.demo.world import make_world


@pytest.fixture(scope="module")
def births(world):
    return world.births


def links(page):
    return set(re.findall(r"\[\[([^]|]*)", max(page.edits, key=lambda edit: edit.time).text))


def test_five_of_each_category_by_day_month_and_year(births):
    ordinary = [one for one in births.all if not one.story]
    assert Counter(one.category for one in ordinary) == dict.fromkeys(category_names(), 5)
    assert set(births.categories) == set(category_names())
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
