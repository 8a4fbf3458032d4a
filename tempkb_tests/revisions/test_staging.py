"""Rows between worker and lake: batches that follow one another are one run, whatever the order of pages in a file."""

import random
from datetime import date
from unittest import mock

import numpy as np
import pytest

from tempkb.revisions import building, staging
from tempkb.revisions.reading import Receipt
from tempkb.revisions.resuming import decode_receipt, encode_receipt
from tempkb.revisions.staging import Staging
from tempkb.windows import Granularity, windows_between
from tempkb_tests.revisions.builds import build_files, export, page, revision

QUARTERS = tuple(windows_between(date(2020, 1, 1), date(2021, 1, 1), Granularity.QUARTER))
NOTHING = np.array([], np.int64)


@pytest.fixture
def worker(tmp_path):
    asked = frozenset(window.key for window in QUARTERS)
    return Staging(tmp_path, "testwiki", "testwiki-20210101", ["testwiki-20210101"], QUARTERS, asked)


def gather(worker, pages):
    """Texts of pages in two quarters, flushed after each page."""
    for number in pages:
        for quarter, moment in enumerate((1_580_000_000, 1_588_000_000)):
            worker.add_text(number, 10 * number + quarter, moment, 0, f"text {number}")
        worker.flush()
    return worker.runs()


def pages_of(run, without=NOTHING):
    return [number for table in run.read(without) for number in table["page_id"].to_pylist()]


def test_pages_in_rising_order_are_one_run_a_partition(worker):
    runs = gather(worker, range(1, 6))
    assert [(run.partition, run.first, pages_of(run)) for run in runs] == [
        ("2020-01-01", (1, 10), [1, 2, 3, 4, 5]),
        ("2020-04-01", (1, 11), [1, 2, 3, 4, 5]),
    ]


def test_pages_in_any_order_are_as_few_sorted_runs_as_they_come(worker):
    runs = [run for run in gather(worker, [3, 4, 1, 6, 2, 5]) if run.partition == "2020-01-01"]
    assert [pages_of(run) for run in runs] == [[3, 4, 6], [1, 2, 5]]
    assert [run.first for run in runs] == [(3, 30), (1, 10)]


def test_pages_that_are_left_out_are_left_out_of_every_batch(worker):
    run = gather(worker, range(1, 8))[0]
    assert pages_of(run, np.array([1, 4, 7, 9])) == [2, 3, 5, 6]
    assert pages_of(run, np.arange(8)) == []


def test_a_receipt_tells_the_same_runs_when_it_is_read_back(worker):
    receipt = Receipt(runs=[(run, number % 2 == 0) for number, run in enumerate(gather(worker, [3, 1, 2]))])
    assert decode_receipt(encode_receipt(receipt)) == receipt


def test_a_receipt_grows_by_a_few_bytes_with_each_batch(worker):
    """Half a million batches of an item of enwiki must be written, sent and read back at once."""
    few, many = (
        len(encode_receipt(Receipt(runs=[(run, True) for run in gather(worker, pages)])))
        for pages in (range(1, 3), range(3, 203))
    )
    # A file's name with its sum, and in each of two quarters the numbers of a file and of a batch.
    a_file = len(str(worker.folder)) + len('"/page_wikitexts-00000.arrow":"",') + 64
    assert many - few < 200 * (a_file + 2 * len("123,12,"))


@pytest.mark.parametrize("order", ["rising", "falling", "any"])
def test_a_build_gives_the_same_whatever_the_order_of_the_pages(home_folder, tmp_path, monkeypatch, order):
    """Flushed after every few revisions, read back by hand: page p is edited in January and in July."""
    numbers = list(range(1, 21))
    if order == "falling":
        numbers.reverse()
    elif order == "any":
        random.Random(3).shuffle(numbers)
    pages = [
        page(number, revision(100 * number, "2020-01-10T00:00:00Z"), revision(100 * number + 1, "2020-07-10T00:00:00Z"))
        for number in numbers
    ]
    path = tmp_path / "testwiki-20210101-history.xml"
    path.write_bytes(export(*pages))
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2020-01-01")
    small = {"_LOG_ROWS": 3, "_SNAPSHOT_ROWS": 5, "_TEXT_BYTES": 10, "_PAGE_ROWS": 2}
    with (
        mock.patch.multiple(staging, **small),
        mock.patch.object(building, "merge_sorted", wraps=building.merge_sorted) as merged,
    ):
        store, report, _ = build_files(path)
    assert report.bad == {}
    log = store.read("revision_log")
    assert list(zip(log["page_id"].to_pylist(), log["revision_id"].to_pylist(), strict=True)) == [
        *((number, 100 * number) for number in range(1, 21)),
        *((number, 100 * number + 1) for number in range(1, 21)),
    ]
    assert store.read("pages")["page_id"].to_pylist() == list(range(1, 21))
    winners = store.read("stable_snapshots", window_start="2020-10-01")["revision_id"].to_pylist()
    assert winners == [100 * number + 1 for number in range(1, 21)]
    assert store.read("page_wikitexts").num_rows == 40
    if order == "rising":
        assert {len(call.args[0]) for call in merged.call_args_list} <= {0, 1}
