"""Districts of large demo worlds: who shares surfaces, and which words belong to one entity alone."""

import re
from collections import Counter

import pytest

from tempkb.demo.world import make_world

PAGES = 1_320
DISTRICTS = ("Vaskery", "Olmery", "Trellery")


@pytest.fixture(scope="module")
def large():
    """A world with three districts."""
    return make_world(pages=PAGES)


def texts(world, story):
    return {page.names[0].title: page.edits[-1].text for page in world.pages if page.story.startswith(story)}


def three_words(text):
    return re.search(r"famous for its (\w+), its (\w+) and its (\w+)\.", text).groups()


def mentions(world):
    """(title, surface, words of the verse) of each mention of an entity of a district."""
    found = []
    for text in texts(world, "told in ").values():
        for verse in text.split("\n\n"):
            link = re.search(r"\[\[(.*?)\|(.*?)\]\]", verse)
            if link and any(name in link[1] for name in DISTRICTS):
                found.append((link[1], link[2], set(re.findall(r"\w+", verse))))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("pages", "n"), [(627, 0), (1_239, 0), (1_240, 1), (PAGES, 3)])
def test_worlds_of_more_than_1200_pages_have_a_district_for_each_forty(pages, n):
    world = make_world(pages=pages)
    assert len(world.pages) == pages
    # Four old entities, and eight new ones in each of three years.
    assert len(texts(world, "district ")) == 28 * n
    assert sum(any(name in title for name in DISTRICTS) for title in texts(world, "told in ")) == 8 * n


def test_each_entity_is_mentioned_often_enough_for_three_subsets(large):
    surfaces = {}
    for title, surface, _ in mentions(large):
        surfaces.setdefault(title, Counter())[surface] += 1
    assert set(surfaces) == set(texts(large, "district "))
    assert all(len(found) >= 3 and min(found.values()) >= 2 for found in surfaces.values())


def test_each_surface_of_an_old_entity_means_three_and_one_of_them_most_often(large):
    meant = {}
    for title, surface, _ in mentions(large):
        if title.endswith((" Quay", " Court", " Mound", " Arcade")):
            meant.setdefault(surface, Counter())[title] += 1
    assert len(meant) == 4 * len(DISTRICTS)
    assert all(sorted(found.values()) == [3, 3, 4] for found in meant.values())


def test_each_mention_stands_beside_words_that_only_its_entity_has(large):
    words = {title: three_words(text) for title, text in texts(large, "district ").items()}
    owners = Counter(word for three in words.values() for word in set(three))
    for title, surface, verse in mentions(large):
        assert any(owners[word] == 1 for word in set(words[title]) & verse), (title, surface)
