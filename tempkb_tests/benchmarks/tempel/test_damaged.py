"""A release of which something is damaged: what a later run makes of it, and what is said."""

from dataclasses import replace
from unittest import mock

import pytest
from click.testing import CliRunner

from tempkb.benchmarks import methods
from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.register import _write, entry_of, entry_path, is_built, require_whole
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import extended
from tempkb.benchmarks.tempel.methods import OF_TEXTS, PROMISES
from tempkb.commands.cli import main
from tempkb.commands.runs.releases import build
from tempkb.core import files
from tempkb.core.errors import ContractError, DesignError
from tempkb_tests.benchmarks.building import build_release
from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS, LATER, build_kept, make_release
from tempkb_tests.damage import cut_off, flip


@pytest.fixture(autouse=True)
def without_known_sums():
    files._SUMS.clear()


def file_of(store, table, partition):
    (version,) = store.lake.versions(table, [partition])
    return version.places()[0]


@pytest.mark.slow
def test_no_release_is_frozen_or_exported_from_texts_of_which_some_are_lost(released, tmp_path):
    store, release = released
    entry = entry_path(store.home, "r").read_bytes()
    cut_off(file_of(store, "page_texts", "2021-04-01"))
    expected = (
        "page_texts 2021-04-01: lost to damage; expected it to be complete, since it has texts of articles at snapshot "
        "2022-01-01; build it again"
    )
    with pytest.raises(ContractError, match=f"^{expected}.*tempkb build. Nothing was kept of release 'other'$"):
        make_release(name="other")
    with pytest.raises(ContractError, match=f"^{expected}.*Release 'r' stays exactly as it was$"):
        build_kept(store, extended(release, [LATER]))
    with pytest.raises(ContractError, match=f"^{expected}"):
        export_release(store, TEMPEL, release, tmp_path)
    assert entry_path(store.home, "r").read_bytes() == entry
    # What is built needs no texts any more.
    build_release(store, TEMPEL, release)
    # What cannot hold texts of its snapshots is no affair of a release.
    store.lake.remove("page_texts", "2021-04-01")
    cut_off(file_of(store, "page_texts", "2023-04-01"))
    make_release(name="other")


def test_a_release_of_which_something_is_lost_is_not_exported_but_told(released, tmp_path):
    store, release = released
    cut_off(file_of(store, "tempel_statistics", "r"))
    cut_off(file_of(store, "ecbd_cloze", "demo-cloze"))
    lost = {"r": "tempel_statistics r", "demo-cloze": "ecbd_cloze demo-cloze"}
    for name, what in lost.items():
        said = CliRunner().invoke(main, ["release", "export", name, str(tmp_path / "out")])
        assert (said.exit_code, said.output.count("\n")) == (1, 1)
        assert f"release '{name}': found no {what}, which belonged to it when it was built" in said.output
        assert said.output.endswith(f"tempkb release finish {name}\n")
    with pytest.raises(DesignError, match="found no tempel_statistics r"):
        export_release(store, TEMPEL, release, tmp_path)


@pytest.mark.slow
def test_all_that_a_repair_has_changed_is_named_and_held_to_its_promises(released):
    store, release = released
    # What was frozen of a lost partition is not what its sources give now.
    entry, version = entry_of(store.home, "r"), store.lake.current("tempel_mentions", f"r.{CUTS[0]}")
    listed = {**entry.versions, ("tempel_mentions", f"r.{CUTS[0]}"): "0123456789abcdef"}
    _write(store.home, replace(entry, versions=listed))
    flip(file_of(store, "tempel_plans", f"r.{CUTS[1]}"))
    with mock.patch.object(methods, "require") as require:
        summary = build(TEMPEL, release)
    assert summary.failures == []
    damaged, told = summary.notes
    assert damaged.startswith(f"damaged, and made again: tempel_plans r.{CUTS[1]}"), "met in the first round"
    assert told.startswith(
        f"built again, but not as it was: tempel_mentions r.{CUTS[0]} was version 0123456789abcdef and is "
        f"{version.version} now."
    )
    assert is_built(store.home, "r")
    require_whole(store, "r")
    checked = [call.args[1] for call in require.call_args_list]
    assert PROMISES in checked
    assert OF_TEXTS in checked
