"""A release that was killed while it was built: what a later run finds of it, and what it ends as."""

from unittest import mock

import pytest

from tempkb.benchmarks import building as steps
from tempkb.benchmarks.tempel import building
from tempkb.benchmarks.tempel.tables import TABLES, TEMPEL_FILTERS
from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS, make_release
from tempkb_tests.killed import KilledError


def without_undoing():
    """No run takes back what it has written, as none does that is killed."""
    return mock.patch.object(steps, "as_listed", return_value="")


def build_and_kill(name, build):
    """Build a release that dies at a function of its builder."""
    with (
        without_undoing(),
        mock.patch.object(building._Builder, name, mock.Mock(side_effect=KilledError)),
        pytest.raises(KilledError),
    ):
        build()


def rows_of(store, release):
    """All rows of a release by table, under no name, so that they can be compared with another's."""
    return {
        table.name: [{**row, "release": ""} for row in store.read(table.name, release=release).to_pylist()]
        for table in TABLES
    }


@pytest.mark.slow
def test_a_release_killed_when_its_cuts_stand_tells_all_figures_in_the_end(released):
    store, _ = released
    build_and_kill("write_release", lambda: make_release(name="killed"))
    # All rows stand, and nothing that the run knew of them.
    assert store.lake.partitions(TEMPEL_FILTERS.name) == [f"{name}.{cut}" for name in ("killed", "r") for cut in CUTS]
    make_release(name="killed")
    assert rows_of(store, "killed") == rows_of(store, "r")
    figures = {row["figure"] for row in store.read("tempel_statistics", release="killed").to_pylist()}
    assert "figure_6" in figures
