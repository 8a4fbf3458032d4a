"""A release that was killed while it was built: what a later run finds of it, and what it ends as."""

from dataclasses import replace
from unittest import mock

import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks import withdrawal
from tempkb.benchmarks.building import build_release
from tempkb.benchmarks.releases import keep, load
from tempkb.benchmarks.tempel import building
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.building import write_release
from tempkb.benchmarks.tempel.releases import balanced, extended
from tempkb.benchmarks.tempel.tables import TABLES, TEMPEL_FILTERS, TEMPEL_MENTIONS
from tempkb.errors import ContractError
from tempkb.store.drafts import Provenance
from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS, LATER, copy_home, make_release


@pytest.fixture
def home(demo_home, tmp_path, monkeypatch):
    return copy_home(demo_home, tmp_path, monkeypatch)


class KilledError(BaseException):
    """Stands for the end of a process: nothing of it cleans up behind itself."""


def without_undoing():
    """No run takes back what it has written, as none does that is killed."""
    return mock.patch.object(withdrawal, "_undo", return_value="")


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
def test_a_release_killed_when_its_cuts_stand_tells_all_figures_in_the_end(home):
    store, release, _ = make_release(name="whole")
    build_and_kill("write_release", lambda: make_release(name="killed"))
    # All rows stand, and nothing that the run knew of them.
    assert store.lake.partitions(TEMPEL_FILTERS.name) == [
        f"{name}.{cut}" for name in ("killed", "whole") for cut in CUTS
    ]
    make_release(name="killed")
    assert rows_of(store, "killed") == rows_of(store, "whole")
    figures = {row["figure"] for row in store.read("tempel_statistics", release="killed").to_pylist()}
    assert "figure_6" in figures


@pytest.mark.slow
def test_a_cut_whose_counts_were_not_written_is_built_again(home):
    store, _, _ = make_release(name="whole")
    write = building._Builder._write

    def die_behind_filters(self, table, *told):
        write(self, table, *told)
        if table is TEMPEL_FILTERS:
            raise KilledError

    dying = mock.patch.object(building._Builder, "_write", die_behind_filters)
    with dying, without_undoing(), pytest.raises(KilledError):
        make_release(name="killed")
    make_release(name="killed")
    assert rows_of(store, "killed") == rows_of(store, "whole")


@pytest.mark.slow
def test_an_extension_killed_before_its_statistics_tells_the_filters_of_the_added_cut(home):
    changes = {"max_shortfall": "0.5"}
    store, release, _ = make_release(name="r", **changes)
    make_release(name="whole", **changes)

    def extend(name):
        grown = extended(load(store.home, TEMPEL, name), [LATER])
        keep(store.home, grown)
        return build_release(store, TEMPEL, grown, lambda line: None)

    extend("whole")
    build_and_kill("write_release", lambda: extend("r"))
    extend("r")
    assert rows_of(store, "r") == rows_of(store, "whole")
    told = store.read("tempel_statistics", release="r", figure="figure_6", cut=LATER).to_pylist()
    assert {row["series"] for row in told} >= {"all, offered", "all, kept"}


@pytest.mark.slow
def test_an_extended_release_of_an_earlier_version_is_not_balanced_but_told(home):
    store, release, _ = make_release(name="r", max_shortfall="0.5")
    grown = extended(load(store.home, TEMPEL, "r"), [LATER])
    keep(store.home, grown)
    build_release(store, TEMPEL, grown, lambda line: None)
    later = ("n_holes", "via_redirect")
    former = replace(TEMPEL_MENTIONS, columns=tuple(one for one in TEMPEL_MENTIONS.columns if one.name not in later))
    for cut in CUTS:
        (version,) = store.lake.versions(TEMPEL_MENTIONS.name, [f"r.{cut}"])
        rows = pq.read_table(version.paths()).select(former.column_names())
        store.write(former, version.partition, [rows], Provenance())
    view = balanced(load(store.home, TEMPEL, "r"))
    keep(store.home, view)
    with pytest.raises(ContractError) as refused:
        build_release(store, TEMPEL, view, lambda line: None)
    assert str(refused.value).startswith(
        "release 'r': was built by an earlier version of tempkb, and its tempel_mentions has no column n_holes, "
        "via_redirect, so it cannot be balanced"
    )


def test_a_release_of_an_earlier_version_keeps_the_counts_that_only_its_statistics_have(released):
    store, release = released
    before = rows_of(store, "r")
    for key in store.lake.partitions(TEMPEL_FILTERS.name):
        store.lake.remove(TEMPEL_FILTERS.name, key)
    written = write_release(store, release, lambda line: None)
    assert written.filters == {}, "its cuts stand, and were not written again"
    assert rows_of(store, "r")["tempel_statistics"] == before["tempel_statistics"]
