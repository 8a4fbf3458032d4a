"""What can be learnt about the entities of the demo world from their articles, counted on a release of three snapshots."""

import pytest

from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS, LATER, copy_home, make_release

SUBSETS = {"train", "validation", "test"}


@pytest.fixture(scope="module")
def mentions(demo_home, tmp_path_factory):
    """All rows of the release."""
    with pytest.MonkeyPatch.context() as patched:
        copy_home(demo_home, tmp_path_factory.mktemp("entities"), patched)
        store, _, _ = make_release(cuts=(*CUTS, LATER))
        return store.read("tempel_mentions", release="r").to_pylist()


def test_ten_new_entities_at_each_snapshot_have_mentions_in_all_subsets(mentions):
    for cut in (*CUTS, LATER):
        subsets = {}
        for row in mentions:
            if row["cut"] == cut and row["category"] == "new":
                subsets.setdefault(row["target_title"], set()).add(row["subset"])
        assert sum(found == SUBSETS for found in subsets.values()) >= 10
