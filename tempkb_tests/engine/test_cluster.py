"""Items on a Ray cluster: what local gives, whoever dies; machines that do not fit are named."""

import bz2
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from datetime import date
from pathlib import Path

import pytest

import tempkb
from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.locks import locked
from tempkb.core.settings import Settings
from tempkb.demo.export import export_xml
from tempkb.engine import choose, cluster
from tempkb.engine.cluster import Terms, map_items, misfit
from tempkb.wiki.dumps.catalogue import name_dump
from tempkb.wiki.dumps.pages import write_namespaces
from tempkb_tests.engine.test_local import is_alive
from tempkb_tests.wiki.mentions.windows_for_tests import clean
from tempkb_tests.wiki.revisions.builds import build_files

PATIENCE = 60.0


def wait_for(happened):
    """Wait until `happened()` is true, and return what it said."""
    deadline = time.monotonic() + PATIENCE
    while not (said := happened()):
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.05)
    return said


def node():
    import ray

    return ray.get_runtime_context().get_node_id()


def work(item, folder, report):
    """Do what the item says; each try leaves a trace beside its folder."""
    name, _, times = item.partition(" ")
    (folder / "mark").touch()
    (folder.parent / f"{name}-{os.getpid()}").touch()
    report(1.0)
    if name == "fails":
        raise SourceError("the dump is torn")
    if name == "breaks":
        return {}["missing"]
    if name == "dies" and len(list(folder.parent.glob("dies-*"))) <= int(times):
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "sleeps":
        time.sleep(600)
    report(2.0)
    return f"{folder.name} with {[path.name for path in folder.iterdir()]}"


def wait_on_node(item, folder, report):
    """End when the node is told to, and say which node it was."""
    report(1.0)
    (folder.parent / f"at-{node()}").touch()
    wait_for((folder.parent / f"go-{node()}").exists)
    return node()


def count_under_lock(item, folder, report):
    """Add one to a number under the store's lock, many times; two at once would lose some."""
    (folder.parent / f"begun-{item}").touch()
    wait_for(lambda: len(list(folder.parent.glob("begun-*"))) == 2)
    number = folder.parent / "number"
    for _ in range(200):
        with locked(folder.parent / "number.lock"):
            number.write_text(str(int(number.read_text()) + 1))
    return node()


@pytest.fixture(scope="module")
def nodes():
    """Two Ray nodes with one CPU each on this machine, and a connection to them."""
    import ray
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_TMPDIR", folder)  # of a path short enough for sockets
        patch.delenv("RAY_ADDRESS", raising=False)
        small = {"num_cpus": 1, "object_store_memory": 100 << 20}
        made = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
        made.add_node(**small)
        ray.init(made.address, logging_level="ERROR", log_to_driver=False)
        yield made
        ray.shutdown()
        made.shutdown()


def by_item(outcomes):
    return {outcome.item: outcome.result or outcome.failure for outcome in outcomes}


@pytest.mark.slow
def test_results_and_failures_are_named_and_the_rest_goes_on(nodes, tmp_path):
    reports = []
    told = by_item(map_items(work, ["a", "fails", "b", "breaks", "c"], tmp_path, 2, reports.append))
    assert told.pop("breaks").startswith("KeyError: 'missing' (at test_cluster.py:")
    assert told == {
        "a": "item-00000 with ['mark']",
        "b": "item-00002 with ['mark']",
        "c": "item-00004 with ['mark']",
        "fails": "the dump is torn",
    }
    assert reports[-1] == 8.0, "all that was done, also of items that failed half-way"
    assert len(list(tmp_path.glob("fails-*"))) == 1, "what fails by itself is not tried again"


@pytest.mark.slow
def test_an_item_whose_worker_is_killed_is_tried_again_and_given_up_in_the_end(nodes, tmp_path):
    told = by_item(map_items(work, ["dies 1", "a", "b"], tmp_path / "once", 2))
    assert told == {
        "dies 1": "item-00000-again-1 with ['mark']",
        "a": "item-00001 with ['mark']",
        "b": "item-00002 with ['mark']",
    }
    assert not (tmp_path / "once/item-00000").exists(), "nothing of the half-done try is left"
    told = by_item(map_items(work, ["dies 99", "c"], tmp_path / "always", 1))
    assert told == {
        "dies 99": "tried 3 times, and each time its worker died (perhaps for memory)",
        "c": "item-00001 with ['mark']",
    }
    assert len(list((tmp_path / "always").glob("dies-*"))) == 3


@pytest.mark.slow
def test_closing_ends_what_runs_and_no_more_is_handed_out_than_asked_for(nodes, tmp_path):
    outcomes = map_items(work, ["a", "sleeps 1", "sleeps 2", "sleeps 3"], tmp_path, 2)
    assert next(outcomes).item == "a"
    wait_for(lambda: list(tmp_path.glob("sleeps-*")))
    outcomes.close()
    begun = list(tmp_path.glob("sleeps-*"))
    assert 1 <= len(begun) <= 2
    wait_for(lambda: not any(is_alive(int(trace.name.partition("-")[2])) for trace in begun))


@pytest.mark.slow
def test_the_lake_has_the_same_bytes_as_with_local_workers(nodes, home_folder, tmp_path, world, monkeypatch):
    day = world.dump_days[0]
    pages = list(world.pages_at(day))
    parts = []
    for begin, end in ((0, 30), (30, 90), (90, len(pages))):
        some = pages[begin:end]
        path = tmp_path / f"demowiki-20240101-pages-meta-history.xml-p{some[0].page_id}p{some[-1].page_id}.bz2"
        path.write_bytes(bz2.compress(export_xml(some, day).encode()))
        parts.append(path)
    local = build_and_clean(parts, engine="local", workers=1)
    other = home_folder.with_name("other")
    other.mkdir()
    shutil.copy(home_folder / "home.toml", other / "home.toml")
    monkeypatch.setenv("TEMPKB_HOME", str(other))
    assert build_and_clean(parts, engine="ray", workers=2) == local
    assert {path.parts[0] for path in local} >= {"revision_log", "stable_snapshots", "page_wikitexts", "page_links"}


def build_and_clean(parts, **settings):
    """The data files of a home's lake, by name."""
    years = {"granularity": "year", "first_window": date(2021, 1, 1)}
    store, report, _ = build_files(*parts, until=date(2024, 1, 1), **years, **settings)
    assert not report.bad
    write_namespaces(store, name_dump(parts, None))
    clean(store)
    root = store.lake.root
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("part-*.parquet")}


@pytest.mark.slow
def test_locks_hold_between_workers_on_two_nodes(nodes, tmp_path):
    (tmp_path / "number").write_text("0")
    told = by_item(map_items(count_under_lock, ["a", "b"], tmp_path, 2))
    assert set(told.values()) == {one.node_id for one in nodes.list_all_nodes()}
    assert (tmp_path / "number").read_text() == "400"


@pytest.mark.slow
def test_a_file_system_whose_locks_do_not_hold_is_refused_before_any_work(nodes, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def not_held(path):
        path.touch()
        yield

    monkeypatch.setattr(cluster, "locked", not_held)
    with pytest.raises(SettingsError, match=r"given a lock in .* that another machine holds.*local_lock.*engine local"):
        list(map_items(work, ["a"], tmp_path, 1))
    assert not list(tmp_path.glob("item-*"))


def test_a_node_that_does_not_see_the_folder_is_named(nodes, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def elsewhere(path):
        yield

    monkeypatch.setattr(cluster, "locked", elsewhere)
    with pytest.raises(SettingsError, match=f"^engine ray: node .* does not see {tmp_path}; the home must be on"):
        list(map_items(work, ["a"], tmp_path, 1))


def test_a_node_with_another_tempkb_is_named_with_both_versions(nodes, tmp_path, monkeypatch):
    has = tempkb.__version__
    monkeypatch.setattr(tempkb, "__version__", "99.1")
    with pytest.raises(
        SettingsError, match=rf"has tempkb {has}, but this run has 99\.1; install tempkb==99\.1 on every"
    ):
        list(map_items(work, ["a"], tmp_path, 1))


@pytest.mark.slow
def test_a_node_that_joins_later_is_asked_before_each_item(nodes, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_check_nodes", lambda ray, terms: None)
    monkeypatch.setattr(tempkb, "__version__", "99.1")
    (outcome,) = map_items(work, ["a"], tmp_path, 1)
    assert "but this run has 99.1" in outcome.failure


def test_a_machine_that_fits_is_not_a_misfit(tmp_path):
    with locked(tmp_path / "probe"):
        assert misfit(Terms(tempkb.__version__, tmp_path / "probe")) == ""


def test_a_worker_that_cannot_load_the_work_is_explained(nodes, tmp_path, monkeypatch):
    module = tmp_path / "only_here.py"
    module.write_text("def work(item, folder, report): return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here

    (outcome,) = map_items(only_here.work, ["a"], tmp_path, 1)
    assert "ModuleNotFoundError: No module named 'only_here'" in outcome.failure
    assert f"is tempkb=={tempkb.__version__} installed on every node?" in outcome.failure


@pytest.mark.slow
def test_items_of_a_lost_node_are_done_on_another(nodes, tmp_path):
    # The last of those that share nodes: for ten seconds Ray does not know that the node is gone.
    doomed = nodes.add_node(num_cpus=1, object_store_memory=100 << 20)
    removed = []

    def lose_the_node(done):
        """Called with progress; ends the node once an item is on it, then lets the others go on."""
        if not removed and (tmp_path / f"at-{doomed.node_id}").exists():
            removed.append(done)
            nodes.remove_node(doomed, allow_graceful=False)
            for one in nodes.list_all_nodes():
                (tmp_path / f"go-{one.node_id}").touch()

    told = by_item(map_items(wait_on_node, ["a", "b", "c"], tmp_path, None, lose_the_node))
    assert removed
    assert set(told) == {"a", "b", "c"}
    assert set(told.values()) == {one.node_id for one in nodes.list_all_nodes()}
    assert list(tmp_path.glob("item-*-again-1"))


def test_without_ray_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        SettingsError,
        match=r'^engine: "ray" needs the package ray; install the extra ray: pip install "tempkb\[ray\]"$',
    ):
        list(map_items(work, ["a"], tmp_path, 1))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"workers": 3}, (3, "")),
        ({"ray_address": "auto"}, (None, "auto")),
        ({"ray_address": "ray://head:10001", "workers": 64}, (64, "ray://head:10001")),
    ],
)
def test_workers_of_a_cluster_are_its_own_unless_asked_for(home_folder, tmp_path, monkeypatch, settings, expected):
    seen = []
    monkeypatch.setattr(
        cluster, "map_items", lambda work, items, folder, *rest: seen.append((rest[0], rest[2])) or iter(())
    )
    list(choose.map_items(Settings.of({"engine": "ray", **settings}), work, ["a"], tmp_path))
    assert seen == [expected]


ALONE = """
import os, signal, sys
from pathlib import Path
from tempkb.engine.cluster import map_items
from tempkb.core.errors import SettingsError
from tempkb_tests.engine.test_cluster import wait_for, work
folder = Path(sys.argv[1])
try:
    next(map_items(work, ["a"], folder / "lost", 1, address="127.0.0.1:1"))
except SettingsError as error:
    print(error)
signal.signal(signal.SIGTERM, signal.default_int_handler)
for outcome in map_items(work, ["a", "sleeps"], folder, 2):
    print(outcome.result or outcome.failure, flush=True)
    assert "RAY_AUTH_TOKEN" in os.environ
    wait_for(lambda: list(folder.glob("sleeps-*")))
    os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.slow
def test_ray_of_our_own_is_begun_and_ended_and_leaves_nothing(tmp_path):
    (tmp_path / "home").mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as short:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(ALONE), str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**environment, "TMPDIR": short, "HOME": str(tmp_path / "home")},
        )
        assert not list(Path(short).iterdir())
    assert not list((tmp_path / "home").iterdir())
    refused, first = done.stdout.splitlines()[0], done.stdout.splitlines()[-1]
    assert refused.startswith("ray_address: no usable Ray cluster answers at '127.0.0.1:1' (")
    assert first == "item-00000 with ['mark']"
    assert done.stderr.rstrip().endswith("KeyboardInterrupt"), "who had SIGTERM keeps it"
    (trace,) = tmp_path.glob("sleeps-*")
    assert not is_alive(int(trace.name.partition("-")[2]))
