"""Items on processes: results and failures by name, deaths survived, cancelling ends all."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from tempkb.core.errors import SourceError
from tempkb.engine.local import map_items
from tempkb.engine.progress import Meter


def work(item, folder, report):
    """Do what the item says."""
    report(1.0)
    (folder / "mark").write_text(str(os.getpid()))
    if item == "fails":
        raise SourceError("the dump is torn")
    if item == "breaks":
        return {}["missing"]
    if item == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "exits":
        os._exit(3)
    if item == "dies sending":
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return "more than a pipe holds" * 100_000
    if item == "sleeps":
        time.sleep(600)
    return item.upper()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_results_and_failures_are_named_and_the_rest_goes_on(tmp_path, workers):
    reports = []
    outcomes = list(map_items(work, ["a", "fails", "b", "breaks", "c"], tmp_path, workers, reports.append))
    told = {outcome.item: outcome.result or outcome.failure for outcome in outcomes}
    assert told.pop("breaks").startswith("KeyError: 'missing' (at test_local.py:")
    assert told == {"a": "A", "b": "B", "c": "C", "fails": "the dump is torn"}
    assert max(reports) == 5.0
    assert len(list(tmp_path.glob("item-*/mark"))) == 5, "each item has a folder of its own"


def test_a_worker_that_dies_is_named_and_the_rest_goes_on(tmp_path):
    outcomes = map_items(work, ["a", "dies", "b", "exits", "c"], tmp_path, 2)
    told = {outcome.item: outcome.result or outcome.failure for outcome in outcomes}
    assert told == {
        "a": "A",
        "b": "B",
        "c": "C",
        "dies": "its worker died (killed by SIGKILL, perhaps for memory)",
        "exits": "its worker died (exit code 3)",
    }


def test_a_worker_that_dies_while_it_sends_its_result_is_named(tmp_path):
    mark = tmp_path / "item-00000" / "mark"

    def wait_for_death(done):
        while not (mark.exists() and mark.read_text() and not is_alive(mark.read_text())):
            time.sleep(0.01)

    (outcome,) = map_items(work, ["dies sending"], tmp_path, 2, wait_for_death)
    assert outcome.failure == "its worker died (killed by SIGKILL, perhaps for memory)"


def children():
    return {process.pid for process in multiprocessing.active_children()}


def test_cancelling_ends_the_workers(tmp_path):
    before = children()
    outcomes = map_items(work, ["a", "sleeps", "sleeps"], tmp_path, 2)
    assert next(outcomes).item == "a"
    assert children() > before, "the sleepers sleep"
    outcomes.close()
    assert children() == before


PARENT = """
import sys, time
from pathlib import Path
from tempkb.engine.local import map_items
from tempkb_tests.engine.test_local import work
print("begun", flush=True)
for _ in map_items(work, ["sleeps", "sleeps"], Path(sys.argv[1]), 2):
    pass
"""


@pytest.mark.slow
def test_workers_die_with_a_parent_that_is_killed(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout.readline() == "begun\n"
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("item-*/mark"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    workers = [int(mark.read_text()) for mark in tmp_path.glob("item-*/mark")]
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(workers) == 2
    assert not any(map(is_alive, workers))


def is_alive(pid):
    """Does the process still run? One that is dead and not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_meter_says_rate_and_time_left_in_lines():
    lines = []
    with Meter("reading", 2_000_000, lines.append) as meter:
        meter.at(500_000)
        assert lines == [], "not more often than every fifteen seconds"
        meter._logged_at -= 20
        meter.at(1_000_000)
    assert lines[0].startswith("reading: 50% of 2.0 MB, ")
    assert lines[0].endswith("s left")


def test_a_meter_counts_other_things_than_bytes():
    with Meter("training", 300, print, "steps") as meter:
        meter.at(75)
        assert re.fullmatch(r"training: 25% of 300 steps, [\d,]+ steps/s, about \d+ s left", meter.line())
