"""Rows between worker and lake: batches that follow one another are one run, whatever the order of pages in a file."""

import random
from datetime import date
from functools import partial
from unittest import mock

import numpy as np
import pytest

from tempkb.core.titles import Site
from tempkb.core.windows import Granularity, epoch_seconds, instant, window_of, windows_between
from tempkb.store.merge import SortedRun, merge_sorted
from tempkb.wiki.dumps.elements import Revision, TextState
from tempkb.wiki.revisions import building, staging
from tempkb.wiki.revisions.accounts import decode_receipt, encode_receipt
from tempkb.wiki.revisions.history import Cuts, PageHistory, TextStore, Who
from tempkb.wiki.revisions.reading import Receipt
from tempkb.wiki.revisions.staging import SNAPSHOT_COLUMNS, Staging
from tempkb.wiki.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

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


WEEKS = tuple(windows_between(date(2020, 1, 6), date(2022, 1, 3), Granularity.WEEK))
DUMPS = ["testwiki-20220101", "testwiki-20211201"]


def random_page(number, texts, chance):
    """The history of a page with up to sixty revisions, among them some before and after all windows."""
    page = PageHistory(number, Cuts([], 0), texts, Site(), Who(b"salt"))
    first, end = epoch_seconds(date(2019, 12, 1)), epoch_seconds(date(2022, 2, 1))
    for time in sorted(chance.sample(range(first, end), chance.randrange(1, 60))):
        name = chance.choice([None, b"Anna", b"Bert"])
        state = chance.choice([TextState.PRESENT, TextState.SUPPRESSED, TextState.BLANK])
        told = Revision(
            revision_id=chance.randrange(1, 1 << 40),
            parent_id=chance.choice([None, 5]),
            timestamp=time,
            user_id=chance.choice([None, 7]),
            user_name=name,
            is_minor=chance.random() < 0.5,
            comment=b"",
            sha1=chance.choice([b"", b"%031d" % time]),
            text_bytes=chance.choice([-1, 10]),
            state=state,
            text=b"text" if state is TextState.PRESENT else b"",
        )
        page.add(told, chance.randrange(2))
    page.settle()
    return page


def read_back(worker, table):
    """The rows of a table, each partition's merged from its runs, as the step merges them."""
    runs = {}
    for run in worker.runs():
        if run.table == table.name:
            runs.setdefault(run.partition, []).append(SortedRun(run.first, partial(run.read, NOTHING)))
    return {
        key: [row for rows in merge_sorted(own, table.key) for row in rows.to_pylist()] for key, own in runs.items()
    }


@pytest.fixture(params=[1, 40, 1 << 20])
def weekly(request, tmp_path, monkeypatch):
    """A worker for seventy of a hundred weeks, which writes after so many rows, and a chance that is always the same."""
    for name in ("_LOG_ROWS", "_SNAPSHOT_ROWS"):
        monkeypatch.setattr(staging, name, request.param)
    monkeypatch.setattr(staging, "_ROWS_OF_WINDOW", 0)
    chance = random.Random(24)
    built = frozenset(week.key for week in chance.sample(WEEKS, 70))
    return Staging(tmp_path, "testwiki", DUMPS[0], DUMPS, WEEKS, built), chance


def test_revisions_are_in_the_log_of_their_week_in_order_or_counted_as_outside(weekly):
    worker, chance = weekly
    expected, n_outside = {}, 0
    for number in chance.sample(range(1, 1000), 8):
        told = random_page(number, TextStore(worker.folder), chance)
        worker.add_log(told)
        for at, time in enumerate(told.times):
            week = window_of(max(instant(time).date(), WEEKS[0].start), Granularity.WEEK)
            if week.key in worker.to_build:
                row = (number, told.ids[at], week.start, time, DUMPS[told.sources[at]], told.sha1_at(at))
                expected.setdefault(week.key, []).append(row)
            else:
                n_outside += 1
    worker.flush()
    names = ("page_id", "revision_id", "window_start", "revision_timestamp", "dump_id", "text_sha1")
    found = {
        key: [tuple(row[name] for name in names) for row in rows]
        for key, rows in read_back(worker, REVISION_LOG).items()
    }
    assert found == {
        key: [(*row[:3], instant(row[3]), *row[4:]) for row in sorted(rows)] for key, rows in expected.items()
    }
    assert worker.n_outside() == n_outside > 0


def snapshot_row(page_id, chance):
    row = {
        "page_id": page_id,
        "namespace": 0,
        "title": f"Page {page_id}",
        "title_source": "today",
        "revision_id": chance.randrange(1 << 40),
        "revision_timestamp": 1_577_000_000,
        "page_created_at": 1_576_000_000,
        "article_since": chance.choice([None, 1_576_500_000]),
        "standing_seconds": 5,
        "standing_share": 0.5,
        "last_stood_at": 1_579_000_000,
        "n_revisions_in_interval": 1,
        "n_revisions": 2,
        "n_contributors": 1,
        "text_sha1": None,
        "has_text": True,
        "is_blank": False,
        "redirect_namespace": None,
        "redirect_title": chance.choice([None, "Other"]),
        "redirect_section": None,
        "is_disambiguation": False,
        "source": chance.randrange(2),
    }
    assert tuple(row) == SNAPSHOT_COLUMNS
    return row


def test_rows_of_snapshots_are_in_their_week_in_the_order_of_pages(weekly):
    worker, chance = weekly
    expected = {}
    for number in chance.sample(range(1, 1000), 8):
        for key in sorted(chance.sample(sorted(worker.to_build), 40)):
            row = snapshot_row(number, chance)
            worker.add_snapshot(key, tuple(row.values()))
            week = window_of(date.fromisoformat(key), Granularity.WEEK)
            since = row["article_since"] and instant(row["article_since"])
            told = (week.start, week.cut, number, row["revision_id"], since, row["redirect_title"])
            expected.setdefault(key, []).append((*told, DUMPS[row["source"]]))
    worker.flush()
    names = ("window_start", "cut", "page_id", "revision_id", "article_since", "redirect_title", "dump_id")
    found = read_back(worker, STABLE_SNAPSHOTS)
    assert {key: [tuple(row[name] for name in names) for row in rows] for key, rows in found.items()} == {
        key: sorted(rows, key=lambda row: row[2]) for key, rows in expected.items()
    }


def test_the_more_windows_the_more_rows_are_collected_so_that_batches_stay_of_a_size(tmp_path, monkeypatch):
    """Twenty pages in each of 104 weeks, ten rows for each week: two batches, not twenty of one row."""
    monkeypatch.setattr(staging, "_SNAPSHOT_ROWS", 104)
    monkeypatch.setattr(staging, "_ROWS_OF_WINDOW", 10)
    worker = Staging(tmp_path, "testwiki", DUMPS[0], DUMPS, WEEKS, frozenset(week.key for week in WEEKS))
    for number in range(1, 21):
        for week in WEEKS:
            worker.add_snapshot(week.key, tuple(snapshot_row(number, random.Random(number)).values()))
    worker.flush()
    assert [(len(run.batches), pages_of(run)) for run in worker.runs()] == [(2, list(range(1, 21)))] * len(WEEKS)
