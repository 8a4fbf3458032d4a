"""How much of a window is entered late: stories by hand, and random pairs of dumps against an oracle over days."""

import random
from datetime import date, timedelta

import pytest

from tempkb.benchmarks.sources import newest_wikidata
from tempkb.core.windows import Granularity, windows_between
from tempkb.platform.planning.due import look_out
from tempkb.wiki.wikidata.scope import dump_dates
from tempkb_tests.wiki.wikidata.items import item, read_home, said, time

FIRST, LATER = "2020-01-01", "2021-07-01"


@pytest.fixture
def late(tmp_path, monkeypatch):
    """Late edits by window of two dumps that say this of one subject: (then, now, added, removed, changed)."""

    def of(before, now, days=(FIRST, LATER), **settings):
        dumps = {
            day: [item("Q1", "One", "One", P39=statements)] for day, statements in zip(days, (before, now), strict=True)
        }
        store = read_home(tmp_path, monkeypatch, dumps, **settings)
        rows = store.read("late_edits", dump_id=f"wikidatawiki-{days[-1].replace('-', '')}").to_pylist()
        return {
            str(row["window_start"]): tuple(
                row[name]
                for name in ("n_facts_then", "n_facts_now", "n_added", "n_removed", "n_changed", "late_edit_rate")
            )
            for row in rows
            if row["relation"] == "all"
        }

    return of


def edited(windows):
    """Windows of which anything was entered late."""
    return [start for start, row in windows.items() if any(row[2:])]


def test_an_end_inside_a_window_that_was_entered_later_is_one(late):
    """At the first dump the tenure of somebody who had left on 15 November 2019 was still open."""
    windows = late([said("Q1$1", "Q2", "2018-02-01")], [said("Q1$1", "Q2", "2018-02-01", "2019-11-15")])
    assert edited(windows) == ["2019-10-01"]
    assert windows["2019-10-01"] == (1, 1, 0, 0, 1, 1.0)
    assert windows["2019-07-01"] == (1, 1, 0, 0, 0, 0.0)


@pytest.mark.slow
def test_the_same_under_another_number_is_no_change_and_another_object_is_one(late):
    """Statements are removed and entered anew; a stretch that is added before others numbers those anew."""
    first = [said("Q1$1", "Q2", "2018-01-01", "2018-12-31"), said("Q1$2", "Q3", ("2019-02-01",), ("2019-03-01",))]
    again = [
        said("Q1$9", "Q2", "2018-01-01", "2018-12-31"),
        said("Q1$2", "Q3", ("2017-01-01", "2019-02-01"), ("2017-02-01", "2019-03-01")),
    ]
    windows = late(first, again)
    assert edited(windows) == []
    assert windows["2018-01-01"] == (1, 1, 0, 0, 0, 0.0)
    # Q2 was merged into Q4: the answer is another item from now on.
    merged = [said("Q1$1", "Q4", "2018-01-01", "2018-12-31"), first[1]]
    assert edited(late(first, merged)) == ["2018-01-01", "2018-04-01", "2018-07-01", "2018-10-01"]


def test_the_newest_window_is_as_the_newest_dump_has_it(late):
    windows = late([said("Q1$1", "Q2", "2018-01-01")], [said("Q1$1", "Q2", "2018-01-01", "2021-06-20")])
    assert windows["2021-04-01"] == (None, 1, None, None, None, None)


DAYS = [date(2019, 12, 2) + timedelta(n) for n in range(70)]


def drawn(chance, guid):
    """A statement of days, or of days and a month, with its readings: the first and the last days it may have held."""
    kind = chance.choice(["both", "both", "open", "somevalue", "month", "novalue", "no start"])
    begin, end = sorted(chance.sample(range(len(DAYS)), 2))
    start, stop = DAYS[begin], DAYS[end]
    starts, ends = [start], [stop + timedelta(1)]
    start_text, end_text = start.isoformat(), stop.isoformat()
    if kind in ("open", "somevalue", "novalue"):
        end_text, ends = {"open": "", "somevalue": "somevalue", "novalue": "novalue"}[kind], [date.max]
    if kind == "month":
        month = date(2020, 2, 1)
        start_text, starts = "2020-02", [month + timedelta(n) for n in range(29)]
        end_text, ends = "", [date.max]
    if kind == "no start":
        start_text, starts = "", [date.min, *DAYS, date.max]
    rank = chance.choice(["normal", "normal", "preferred", "deprecated"])
    name = chance.choice(["Q2", "Q3"])
    return said(guid, name, start_text, end_text, rank=rank), (name, rank, starts, ends)


def within(told, window):
    """What a statement says of a window: for every reading the days of it on which it held; None if it never may."""
    name, rank, starts, ends = told
    days = [window.start + timedelta(n) for n in range((window.end - window.start).days)]
    readings = {tuple(day for day in days if start <= day < end) for start in starts for end in ends}
    return (name, frozenset(readings)) if rank != "deprecated" and any(readings) else None


def expected(before, now, window):
    pairs = [
        (within(before[guid], window) if guid in before else None, within(now[guid], window) if guid in now else None)
        for guid in sorted({*before, *now})
    ]
    added = [new for old, new in pairs if new and not old]
    removed = [old for old, new in pairs if old and not new]
    for one in list(added):
        if one in removed:
            added.remove(one)
            removed.remove(one)
    changed = sum(1 for old, new in pairs if old and new and old != new)
    both = sum(1 for old, new in pairs if old and new)
    replaced = sum(1 for old, new in pairs if old) - both - len(removed)
    n = both + len(added) + len(removed) + replaced
    rate = (len(added) + len(removed) + changed) / n if n else None
    then, later = (sum(1 for pair in pairs if pair[at]) for at in (0, 1))
    return then, later, len(added), len(removed), changed, pytest.approx(rate) if n else None


@pytest.mark.parametrize("seed", range(4))
def test_random_statements_against_an_oracle_over_days(late, seed):
    chance = random.Random(seed)
    before = {f"Q1${n}": drawn(chance, f"Q1${n}") for n in range(40)}
    now = {guid: told if chance.random() < 0.5 else drawn(chance, guid) for guid, told in before.items()}
    for guid in chance.sample(sorted(now), 8):
        # Some go, some of these come back under another number.
        statement, told = now.pop(guid)
        if chance.random() < 0.5:
            now[guid + "x"] = ({**statement, "id": guid + "x"}, told)
    days = ("2020-02-17", "2020-03-16")
    found = late(
        [one for one, _ in before.values()],
        [one for one, _ in now.values()],
        days,
        granularity="week",
        first_window="2019-12-02",
    )
    windows = list(windows_between(date(2019, 12, 2), date(2020, 2, 17), Granularity.WEEK))
    assert len(windows) == 11
    for window in windows:
        truth = expected({g: t for g, (_, t) in before.items()}, {g: t for g, (_, t) in now.items()}, window)
        assert found[str(window.start)] == truth, window.label
    assert sum(row[4] or 0 for row in found.values()) > 10


@pytest.mark.slow
def test_a_dump_without_a_single_dated_statement_was_read_as_well(tmp_path, monkeypatch):
    """The older dump says since when the club exists, and of nobody when he played for it; the newer one does."""
    of_club = item("Q2", "Reed", "Reed", P571=[said("Q2$a", time("1901"))])
    dumps = {
        LATER: [of_club, item("Q1", "One", "One", P54=[said("Q1$1", "Q2", "2018-02-01")])],
        FIRST: [of_club, item("Q1", "One", "One", P54=[said("Q1$1", "Q2")])],
    }
    store = read_home(tmp_path, monkeypatch, {FIRST: dumps[FIRST]})
    assert newest_wikidata(store) == "wikidatawiki-20200101"
    store = read_home(tmp_path, monkeypatch, dumps)
    assert dump_dates(store.lake) == {
        "wikidatawiki-20200101": date(2020, 1, 1),
        "wikidatawiki-20210701": date(2021, 7, 1),
    }
    rows = store.read("late_edits", dump_id="wikidatawiki-20210701").to_pylist()
    told = {
        str(row["window_start"]): (str(row["earlier_dump_date"]), row["n_facts_now"], row["n_added"])
        for row in rows
        if row["relation"] == "all"
    }
    # The tenure was entered after the dump that was the first to cover the year 2019.
    assert told["2019-10-01"] == (FIRST, 1, 1)
    assert told["2020-01-01"] == (LATER, 1, None)


def test_a_newest_dump_without_a_dated_statement_is_the_newest_that_was_read(tmp_path, monkeypatch):
    club = {"P571": [said("Q2$a", time("1901"))]}
    player = item("Q1", "One", "One", P54=[said("Q1$1", "Q2", "2018-02-01")])
    dumps = {FIRST: [item("Q2", "Reed", "Reed", **club), player], LATER: [item("Q2", "Reed", "Reed", **club)]}
    store = read_home(tmp_path, monkeypatch, dumps, wikidata_days="365")
    assert store.read("facts", dump_id="wikidatawiki-20210701").num_rows == 0
    assert newest_wikidata(store) == "wikidatawiki-20210701"
    (fact,) = store.read("fact_versions").to_pylist()
    # The newest dump lacks the player altogether, which says nothing of his facts.
    assert (fact["known_from"], fact["known_to"]) == (None, None)
    # The mirror's dump of the year before would be older than the one that was read last.
    folder = tmp_path / "home" / "dumps" / "wikidatawiki" / "entities" / "20210101"
    folder.mkdir(parents=True)
    (folder / "wikidata-20210101-all.json").write_text("[\n{}\n]\n")
    assert look_out(store, date(2021, 9, 1), from_mirror=False, only_listed=False).due == []


def test_pairs_of_dumps_by_relation_with_an_item_that_one_dump_lacks(tmp_path, monkeypatch):
    """Of 2019: Q1's post is entered late, Q2's is dated anew; Q3 is lacked by the second dump, Q4 deprecated, Q5 merged."""
    dumps = {
        "2020-01-01": {
            "Q1": {"P54": [said("Q1$a", "Q9", "2018-01-01")]},
            "Q2": {"P39": [said("Q2$a", "Q8", "2019-02-01")]},
            "Q3": {"P39": [said("Q3$a", "Q8", "2018-02-01")]},
            "Q4": {"P39": [said("Q4$a", "Q8", "2018-02-01")]},
            "Q5": {"P54": [said("Q5$a", "Q9", "2018-02-01")]},
        },
        "2020-07-01": {
            "Q1": {"P54": [said("Q1$a", "Q9", "2018-01-01")], "P39": [said("Q1$b", "Q8", "2019-02-01")]},
            "Q2": {"P39": [said("Q2$a", "Q8", "2019-03-01")]},
            "Q4": {"P39": [said("Q4$a", "Q8", "2018-02-01")]},
            "Q5": {"P54": [said("Q5$a", "Q9", "2018-02-01")]},
        },
        "2021-01-01": {
            "Q1": {"P54": [said("Q1$a", "Q9", "2018-01-01")], "P39": [said("Q1$b", "Q8", "2019-02-01")]},
            "Q2": {"P39": [said("Q2$a", "Q8", "2019-03-01")]},
            "Q3": {"P39": [said("Q3$a", "Q8", "2018-02-01")]},
            "Q4": {"P39": [said("Q4$a", "Q8", "2018-02-01", rank="deprecated")]},
            "Q5": {"P54": [said("Q5$a", "Q7", "2018-02-01")]},
        },
    }
    told = {day: [item(name, name, name, **of) for name, of in items.items()] for day, items in dumps.items()}
    store = read_home(tmp_path, monkeypatch, told)
    names = ("n_facts_then", "n_facts_now", "n_added", "n_removed", "n_changed", "n_absent_then", "n_absent_now")
    found = {
        (str(row["dump_date"]), str(row["earlier_dump_date"]), row["relation"]): tuple(row[name] for name in names)
        for row in store.read("late_edits", window_start=date(2019, 1, 1)).to_pylist()
    }
    first, second, third = dumps
    assert found == {
        (first, first, "all"): (None, 5, None, None, None, None, None),
        (second, first, "all"): (5, 5, 1, 0, 1, 0, 1),
        (second, first, "P39"): (3, 3, 1, 0, 1, 0, 1),
        (second, first, "P54"): (2, 2, 0, 0, 0, 0, 0),
        (third, first, "all"): (5, 5, 1, 1, 2, 0, 0),
        (third, first, "P39"): (3, 3, 1, 1, 1, 0, 0),
        (third, first, "P54"): (2, 2, 0, 0, 1, 0, 0),
        (third, second, "all"): (5, 5, 0, 1, 1, 1, 0),
        (third, second, "P39"): (3, 3, 0, 1, 0, 1, 0),
        (third, second, "P54"): (2, 2, 0, 0, 1, 0, 0),
    }
    versions = {
        row["fact_id"]: (row["known_from"], row["known_to"])
        for row in store.read("fact_versions", subject_id="Q3").to_pylist()
    }
    # The dump that lacks the item says nothing of its facts.
    assert versions == {"Q3$a": (None, None)}
