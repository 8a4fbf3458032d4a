"""The rule `tempel`: stories told by hand, and numbers that TempEL's own reader gave on generated histories."""

import csv
import hashlib
import random
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from tempkb.wiki.revisions.stable import DAY, ENOUGH_DAYS, describe, select_tempel
from tempkb_tests.bench.history import write_history
from tempkb_tests.peer.stress_history import write_stress
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

PEER = Path(__file__).parents[2] / "peer"
# The fixture holds for these bytes only (README.md beside it).
SUMS = {
    "bench": "68f6894cdb04c96bd190f5685a851d91ab9849710a3d8db2088382205ff3b64b",
    "stress": "b26f136f7ce465f4832398259af01c8a84e53330fdc84f13e303ab06a65f9a0e",
}


def day(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def chosen(days, cuts=("2021-01-01", "2022-01-01"), empty=()):
    """Which of the days is chosen at the first cut; the second cut lets the reader look ahead."""
    at = select_tempel([day(one) for one in days], [one in empty for one in days], [day(cut) for cut in cuts], 30)[0]
    return None if at is None else days[at]


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param(["2019-05-01"], "2019-05-01", id="a quiet page keeps its only revision"),
        pytest.param(["2021-02-01"], None, id="a page first saved after the cut is not there"),
        pytest.param(
            ["2020-12-01", "2020-12-19", "2020-12-29T12:00"],
            "2020-12-19",
            id="ten days and a half beat eighteen that came before",
        ),
        pytest.param(["2019-12-20", "2020-12-20"], "2020-12-20", id="twelve days at the end beat a year before"),
        pytest.param(["2019-12-20", "2020-12-25"], "2019-12-20", id="seven days at the end do not"),
        pytest.param(
            ["2020-12-05", "2020-12-28", "2021-03-01"],
            "2020-12-28",
            id="what stood long after the cut wins: the rule looks ahead",
        ),
        pytest.param(
            ["2020-06-01", "2021-01-01", "2021-03-01"], "2021-01-01", id="a revision exactly at the cut may win"
        ),
        pytest.param(
            ["2020-12-02", "2020-12-08", "2020-12-08T01:00", "2020-12-14", "2020-12-20"],
            "2020-12-20",
            id="restored texts do not add up",
        ),
    ],
)
def test_chooses_as_the_released_code_does(days, expected):
    assert chosen(days) == expected


def test_at_the_last_cut_nothing_later_is_read():
    days = ["2020-12-05", "2020-12-28", "2021-03-01"]
    assert chosen(days, cuts=("2021-01-01",)) == "2020-12-05"


def test_blank_texts_and_earlier_times_are_passed_over():
    days = ["2020-11-01", "2020-12-10", "2020-12-01", "2020-12-25"]
    assert chosen(days) == "2020-12-10"
    assert chosen(days, empty=("2020-12-10",)) == "2020-12-01"


def plain(times, is_empty, cuts, lookback_days):
    """The rule as the released code goes about it: for each cut it reads the history from the beginning."""
    end = next((cut for cut in reversed(cuts) if cut > cuts[0]), cuts[0])
    for cut in cuts:
        kept = []
        for at, time in enumerate(times):
            if is_empty[at] or time > end or (time <= times[kept[-1]] if kept else time > cut):
                continue
            kept.append(at)
            if time > cut:
                break
        chosen, longest = kept[0] if kept else None, 0
        for before, at in pairwise(kept):
            if (cut - times[at]) // DAY > lookback_days:
                chosen = at
                continue
            lasted = times[at] - times[before]
            if lasted > longest or lasted >= ENOUGH_DAYS * DAY:
                chosen = before
            longest = max(longest, lasted)
        if kept and (cut - times[kept[-1]] >= longest or cut - times[kept[-1]] >= ENOUGH_DAYS * DAY):
            chosen = kept[-1]
        yield chosen


def test_equals_reading_from_the_beginning_for_each_cut_whatever_the_order_of_revisions_and_cuts():
    chance = random.Random(24)
    for _ in range(3000):
        step = chance.choice([DAY // 2, DAY, 5 * DAY])
        times = [step * chance.randrange(60) + chance.choice([-1, 0, 0, 1]) for _ in range(chance.randrange(1, 25))]
        cuts = [step * chance.randrange(60) for _ in range(chance.randrange(1, 7))]
        if chance.random() < 0.7:
            times.sort()
        if chance.random() < 0.7:
            cuts.sort()
        is_empty = [chance.random() < 0.2 for _ in times]
        days = chance.randrange(1, 40)
        assert select_tempel(times, is_empty, cuts, days) == list(plain(times, is_empty, cuts, days))


def test_standing_time_of_its_choice_is_told_for_the_interval():
    times, cut = [day("2020-01-01"), day("2020-12-22")], day("2021-01-01")
    told = describe(times, [1, 2], 0, cut, 30 * DAY)
    assert (told.standing_seconds, told.last_stood_at, told.n_before, told.n_inside) == (20 * DAY, times[1], 2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("history", ["bench", "stress"])
def test_equals_the_peers_own_reader_on_every_page_and_cut(home_folder, tmp_path, history):
    file = tmp_path / f"{history}.xml"
    with file.open("w", encoding="utf-8") as out:
        if history == "bench":
            write_history(out, 60, 60, 11)
        else:
            write_stress(out, 80, 5)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == SUMS[history]
    store, report, _ = build_files(
        file, until=date(2022, 1, 1), granularity="year", first_window=date(2012, 1, 1), stability_rule="tempel"
    )
    assert not report.bad
    rows = store.read("stable_snapshots").to_pylist()
    ours = {
        (row["page_id"], row["cut"].isoformat()): (
            str(row["revision_id"]),
            f"{row['page_created_at']:%Y-%m-%dT%H:%M:%SZ}",
        )
        for row in rows
        if row["namespace"] == 0
    }
    with (PEER / "stable.csv").open(encoding="utf-8") as lines:
        theirs = [row for row in csv.DictReader(lines) if row["history"] == history]
    there = {
        (int(row["page_id"]), row["cut"][:10]): (row["revision_id"], row["created"])
        for row in theirs
        if row["revision_id"]
    }
    assert len(there) == {"bench": 526, "stress": 586}[history]
    assert ours == there


def test_the_list_of_cuts_is_recorded_with_the_result(home_folder, tmp_path):
    file = tmp_path / "history.xml"
    file.write_bytes(export(page(1, revision(1, "2020-12-05T00:00:00Z"), revision(2, "2020-12-28T00:00:00Z", "other"))))
    store, _, _ = build_files(
        file, until=date(2021, 1, 1), granularity="year", first_window=date(2020, 1, 1), stability_rule="tempel"
    )
    (settings,) = {row["settings"] for row in store.read("manifest", table_name="stable_snapshots").to_pylist()}
    assert '"cuts": ["2021-01-01"]' in settings
    assert store.read("stable_snapshots").to_pylist()[0]["stability_rule"] == "tempel"
