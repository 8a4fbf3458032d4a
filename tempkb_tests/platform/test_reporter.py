"""What stands in the lake, whoever made it, is what Dagster shows: partitions, rows, verdicts, and what is stale."""

import shutil
from collections import Counter

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest

from tempkb.core.settings import load_home
from tempkb.engine.steps import Look
from tempkb.platform.api import open_store
from tempkb.platform.definitions import defs
from tempkb.platform.instance import dagster_at
from tempkb.platform.reporter import report
from tempkb.platform.rooms import steps
from tempkb.wiki.mentions.tables import INVERTED_INDEX, MENTIONS

pytestmark = pytest.mark.slow
OF_WINDOWS = ("mentions", "inverted_index", "mention_priors", "entity_popularity")


@pytest.fixture(scope="module")
def told(demo_home, tmp_path_factory):
    """The demo home, all of which was made by commands, and a Dagster that was told of it."""
    home = tmp_path_factory.mktemp("told") / "home"
    shutil.copytree(demo_home, home, ignore=shutil.ignore_patterns("dagster"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEMPKB_HOME", str(home))
        for name in ("DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", "MPLCONFIGDIR"):
            patched.setenv(name, "")
        with dagster_at(load_home()) as instance:
            assert report(instance, open_store()) > 150
            yield instance


def shown(instance):
    """(asset, partition) -> is it fresh, of all that Dagster shows as made."""
    graph = defs.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    found = {}
    for key in graph.get_all_asset_keys():
        if graph.get(key).partitions_def is not None:
            parts = sorted(instance.get_materialized_partitions(key))
        else:
            parts = [None] if instance.get_latest_materialization_event(key) else []
        found |= {(key.to_user_string(), part): resolver.get_status(key, part).value == "FRESH" for part in parts}
    return found


def owners(store):
    """(table, window, dump, model, linker or None) of all that stands and is not of a quarter or a release."""
    return {
        (table.name, table.owner_of(version.partition))
        for table in store.tables.values()
        if table.family.value != "release" and not table.partitioned_by.startswith("quarter")
        for version in store.lake.versions(table.name)
    }


def test_all_that_commands_made_stands_there_and_is_fresh(told):
    store, there = open_store(), shown(told)
    assert Counter(there.values()) == {True: len(there)}
    assert owners(store) <= there.keys()
    windows = store.lake.partitions("stable_snapshots")
    assert {part for name, part in there if name == "page_texts"} == {*windows}
    assert {part for name, part in there if name == "dynamic_templama/fact_spells"} == {"demo-quarters"}
    made = told.fetch_materializations(dg.AssetKey("mentions"), limit=100).records
    rows = {one.partition_key: one.asset_materialization.metadata["dagster/row_count"].value for one in made}
    assert rows == {one.partition: one.rows for one in store.lake.versions("mentions")}
    assert report(told, store) == 0


def test_the_verdicts_of_commands_are_those_of_its_checks(told):
    key = dg.AssetCheckKey(dg.AssetKey("stable_snapshots"), "winners_are_in_the_log")
    known = told.event_log_storage.get_latest_asset_check_execution_by_key([key])
    assert known[key].status.value == "SUCCEEDED"


def test_other_code_makes_exactly_what_depends_on_it_stale_in_both(told, monkeypatch):
    monkeypatch.setitem(INVERTED_INDEX.__dict__, "code_version", "later")
    report(told, open_store())
    stale = {place for place, is_fresh in shown(told).items() if not is_fresh}
    windows = open_store().lake.partitions("stable_snapshots")
    assert stale == {(name, window) for name in OF_WINDOWS[1:] for window in windows}
    look = Look(open_store(), steps())
    assert {(name, key) for name in open_store().tables for key in look.stale(name)} == stale
    monkeypatch.undo()
    monkeypatch.setenv("TEMPKB_HOME", str(told.root_directory).removesuffix("/dagster"))
    report(told, open_store())
    assert all(shown(told).values())


def test_what_was_removed_is_gone_and_what_is_made_again_is_there_again(told):
    store = open_store()
    held = {name: store.lake.current(name, "2021-07-01") for name in OF_WINDOWS}
    for name in OF_WINDOWS:
        store.lake.remove(name, "2021-07-01")
    report(told, store)
    there = shown(told)
    assert not {(name, "2021-07-01") for name in OF_WINDOWS} & there.keys()
    assert ("mentions", "2021-04-01") in there
    assert all(there.values())
    for version in held.values():
        store.lake.restore(version)
    report(told, store)
    assert {(name, "2021-07-01") for name in OF_WINDOWS} <= {
        place for place, is_fresh in shown(told).items() if is_fresh
    }


def test_what_a_run_of_dagster_made_is_told_again_with_our_versions(told):
    done = defs.resolve_job_def("build_windows").execute_in_process(
        instance=told,
        asset_selection=[dg.AssetKey(MENTIONS.name)],
        tags={
            "dagster/asset_partition_range_start": "2021-04-01",
            "dagster/asset_partition_range_end": "2021-07-01",
        },
    )
    assert done.success
    assert report(told, open_store()) >= 12
    assert all(shown(told).values())
