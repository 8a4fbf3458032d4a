"""Killed at random moments, and many at once: nothing lost, nothing half, pending recovers."""

import contextlib
import itertools
import shutil
import threading
import time
from pathlib import Path
from unittest import mock

import pytest

from tempkb.core.locks import LockTimeoutError, Patience
from tempkb.core.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb_tests.damage import cut_off
from tempkb_tests.killed import KilledError
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.crashes import writers
from tempkb_tests.store.tables_for_tests import TOWNS, towns

ROWS = 20_000


@pytest.fixture(scope="module")
def starting(tmp_path_factory):
    with writers(tmp_path_factory.mktemp("writers")) as start:
        yield start


@pytest.fixture
def writer(starting, store):
    """Starts a writer of the test's own store: writer(region, rounds, point)."""
    return lambda region, rounds, *point: starting(store.home.path, region, ROWS, rounds, *point)


def is_whole(people):
    """Are these the rows of exactly one round?"""
    return len(people) == ROWS and len(set(people)) == 1


@pytest.mark.slow
def test_four_writers_of_different_partitions_while_a_reader_polls(store, writer):
    store.write(TOWNS, "south", [towns("south", 5)], Provenance())
    store.publish()
    processes = [writer(f"region-{number}", 3) for number in range(4)]
    reads, refused, broken = 0, 0, []
    stop = threading.Event()

    def poll():
        nonlocal reads, refused
        while not stop.is_set():
            try:
                with store.database.reading(Patience(0.5)) as connection:
                    for region, n, kinds in connection.execute(
                        "SELECT region, count(*), count(DISTINCT n_people) FROM towns WHERE region <> 'south' GROUP BY region"
                    ).fetchall():
                        if (n, kinds) != (ROWS, 1):
                            broken.append((region, n, kinds))
                reads += 1
            except LockTimeoutError:
                refused += 1
            time.sleep(0.05)

    poller = threading.Thread(target=poll)
    poller.start()
    ended = [process.wait() for process in processes]
    stop.set()
    poller.join()
    assert ended == [0] * 4
    assert broken == []
    assert reads > 0
    Store(load_home(), [TOWNS], Patience(5)).publish()
    with store.database.reading() as connection:
        found = connection.execute(
            "SELECT region, count(*), min(n_people), max(n_people) FROM towns GROUP BY 1 ORDER BY 1"
        )
        assert found.fetchall() == [*((f"region-{number}", ROWS, 2, 2) for number in range(4)), ("south", 5, 1, 1)]


@contextlib.contextmanager
def killed_at(step):
    """Stand for a kill before the n-th change of a file or folder, which is one behind the change before it; gives whether
    there was one."""
    steps, kills, names = itertools.count(), [], ("rename", "replace", "unlink", "write_bytes")

    def dying(work):
        def wrapped(*arguments, **named):
            if not kills and next(steps) == step:
                kills.append(work)
                raise KilledError
            return work(*arguments, **named)

        return wrapped

    places = [*((Path, name) for name in names), (shutil, "rmtree")]
    with contextlib.ExitStack() as patched:
        for owner, name in places:
            patched.enter_context(mock.patch.object(owner, name, dying(getattr(owner, name))))
        with contextlib.suppress(KilledError):
            yield kills


def write(store, region, people, source="x"):
    return store.write(TOWNS, region, [towns(region, 3, people)], Provenance({source: "1"}))


def replaced(store, region):
    write(store, region, 1)
    return lambda: write(store, region, 2), {1, 2}, {2}


def new(store, region):
    return lambda: write(store, region, 2), {None, 2}, {2}


def damaged(store, region):
    cut_off(write(store, region, 1).places()[0])
    return lambda: write(store, region, 1), {None, 1}, {1}


def equal(store, region):
    write(store, region, 1)
    return lambda: write(store, region, 1, "y"), {1}, {1}


def restored(store, region):
    old, _ = write(store, region, 1), write(store, region, 2)
    return lambda: store.lake.restore(old), {1, 2}, {1}


def removed(store, region):
    write(store, region, 1)
    return lambda: store.lake.remove("towns", region), {None, 1}, {None}


def collected(store, region):
    write(store, region, 1)
    write(store, region, 2)
    return store.collect_garbage, {2}, {2}


def collected_after_removal(store, region):
    write(store, region, 1)
    store.lake.remove("towns", region)
    return store.collect_garbage, {None}, {None}


@pytest.mark.slow
@pytest.mark.parametrize(
    "prepare", [new, replaced, damaged, equal, restored, removed, collected, collected_after_removal]
)
def test_killed_before_each_change_of_a_file_a_partition_is_as_it_was_or_as_it_will_be(store, prepare):
    store.publish()
    for step in itertools.count():
        region = f"r{step}"
        work, may_be, will_be = prepare(store, region)
        store.publish()
        let_a_day_go_by(store.lake.root)
        with killed_at(step) as kills:
            work()
        assert shown(store, region) in may_be, f"{step}: {kills}"
        work()
        assert {shown(store, region)} == will_be
        let_a_day_go_by(store.lake.root)
        store.collect_garbage()
        assert {shown(store, region)} == will_be
        assert (store.faults(), store.lake.strangers()) == ([], [])
        assert list((store.lake.root / "_staging").iterdir()) == []
        folders = list((store.lake.root / "towns" / region).glob("*/"))
        assert len(folders) == (will_be != {None}), folders
        if not kills:
            break
    assert step > 1


def shown(store, region):
    """How many live in each town of a region; None if it is not there."""
    store.lake.verify("towns", region)
    version = store.lake.current("towns", region)
    return None if version is None else set(store.read("towns", region=region)["n_people"].to_pylist()).pop()
