"""What can be learnt about the entities of the demo world from their articles, counted on a release of three snapshots."""

import re
from collections import Counter

import pytest

from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS, LATER, copy_home, make_release

SUBSETS = {"train", "validation", "test"}
# They were articles for other reasons before they were mentioned often enough.
UNDESCRIBED = {"Harbour Clock", "Twin Mills"}


@pytest.fixture(scope="module")
def mentions(demo_home, tmp_path_factory):
    """All rows of the release."""
    with pytest.MonkeyPatch.context() as patched:
        copy_home(demo_home, tmp_path_factory.mktemp("entities"), patched)
        store, _, _ = make_release(cuts=(*CUTS, LATER))
        return store.read("tempel_mentions", release="r").to_pylist()


def words(text):
    return set(re.findall(r"[a-z]+", text.lower()))


def test_ten_new_entities_at_each_snapshot_have_mentions_in_all_subsets(mentions):
    for cut in (*CUTS, LATER):
        subsets = {}
        for row in mentions:
            if row["cut"] == cut and row["category"] == "new":
                subsets.setdefault(row["target_title"], set()).add(row["subset"])
        assert sum(found == SUBSETS for found in subsets.values()) >= 10


def test_a_context_has_words_of_its_entity_that_no_other_entity_has(mentions):
    described = {row["target_title"]: words(row["target"]) for row in mentions}
    n_articles = Counter(word for found in described.values() for word in found)
    assert len(described) > 40
    # A page that is merged into another brings mentions of its own with it.
    for row in (row for row in mentions if row["via_redirect"] == "no"):
        # The sentence of the mention is a paragraph of its own.
        left, right = row["context_left"].split("\n")[-1], row["context_right"].split("\n")[0]
        peculiar = {word for word in described[row["target_title"]] if n_articles[word] == 1} - words(
            row["target_title"]
        )
        shared = peculiar & words(f"{left} {right}")
        assert shared or row["target_title"] in UNDESCRIBED, row["target_title"]


def test_surfaces_of_new_entities_are_shared_so_that_the_likeliest_entity_is_often_wrong(mentions):
    new = [row for row in mentions if row["category"] == "new"]
    for cut in (*CUTS, LATER):
        targets = {}
        for row in new:
            if row["cut"] == cut:
                targets.setdefault(row["mention"].lower(), set()).add(row["target_title"])
        assert sum(len(found) >= 3 for found in targets.values()) >= 8
    tested = [row for row in new if row["subset"] == "test"]
    assert 0.2 < sum(row["rank_in_surface"] == 1 for row in tested) / len(tested) < 0.8


def test_surfaces_of_continual_entities_are_shared_as_well(mentions):
    continual = [row for row in mentions if row["category"] == "continual"]
    for cut in (*CUTS, LATER):
        targets = {}
        for row in continual:
            if row["cut"] == cut:
                targets.setdefault(row["mention"].lower(), set()).add(row["target_title"])
        assert sum(len(found) >= 2 for found in targets.values()) >= 4
    tested = [row for row in continual if row["subset"] == "test"]
    share = sum(row["rank_in_surface"] == 1 for row in tested) / len(tested)
    assert 0.2 < share < 0.8, share
