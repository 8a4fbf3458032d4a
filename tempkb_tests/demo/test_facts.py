"""The facts of the demo world: each story with its rows by hand, and all queries and changes against its truth."""

from datetime import date, timedelta

import pytest

from tempkb.api import open_store
from tempkb.demo.facts import When
from tempkb.demo.wikidata import write_entities
from tempkb.dumps.catalogue import find_dumps
from tempkb.store.plain import plain_rows
from tempkb.wikidata.building import read_dump
from tempkb.windows import Granularity, windows_between
from tempkb_tests.benchmarks.dynamic_templama.days import brute_force
from tempkb_tests.benchmarks.fact_queries.worlds import release_without_prompts

STUDY = "2021-01-01..2024-01-01"


@pytest.fixture(scope="module")
def store(tmp_path_factory, world):
    """Both Wikidata dumps of the demo world, and releases of the first at three granularities."""
    home = tmp_path_factory.mktemp("facts") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEMPKB_HOME", str(home))
        patch.setenv("TEMPKB_WIKI", "demowiki")
        patch.setenv("TEMPKB_FIRST_WINDOW", "2021-01-01")
        for day in world.dump_days:
            write_entities(world, day, home / "dumps")
        for dump in find_dumps(home / "dumps"):
            read_dump(open_store(), dump, print)
        made = open_store()
        for granularity in ("quarter", "month", "year"):
            release_without_prompts(
                made, granularity=granularity, windows=STUDY, dump_id="wikidatawiki-20240101", max_subjects="500"
            )
        yield made


def test_23_what_was_heard_late_and_what_was_corrected(store, world):
    rows = plain_rows(store.read("fact_versions"))
    times = ("known_from", "start_known_from", "known_to")
    known = {(row["fact_id"], str(row["valid_from"])): tuple(row[name] for name in times) for row in rows}
    second = date(2024, 4, 1)
    late = next(one for one in world.facts.statements if one.story == "late" and one.entered)
    wrong, right = [one for one in world.facts.statements if one.story == "corrected"][1:]
    assert wrong.guid == right.guid
    assert known[late.guid, "2023-07-12"] == (second, second, None)
    assert known[wrong.guid, "2021-10-07"] == (None, None, second)
    # That she holds the office was known before; of her first day it was heard late.
    assert known[right.guid, "2022-01-07"] == (None, second, None)
    edits = {
        str(row["window_start"]): row
        for row in store.read("late_edits", dump_id="wikidatawiki-20240401", relation="all").to_pylist()
    }
    # Lateham's new head came two quarters late (that its old one lost the better rank is none of the window's facts);
    # Wrongton's is no longer one in the last quarter of 2021.
    assert [edits["2023-07-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [1, 0, 0]
    assert [edits["2021-10-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [0, 1, 0]
    assert [edits["2021-01-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [0, 0, 0]


# The oracle: what a statement's truth says of every single day, and nothing else.


def bounds(statement, world, last):
    """Starts and ends as they are told: a date, or nothing."""
    died = world.facts.items[statement.subject].died
    for start, end in zip(statement.starts or [None], statement.ends or [None], strict=False):
        yield (
            start if isinstance(start, When) and not start.years_back else None,
            end if isinstance(end, When) else died if died and died.last <= last else None,
        )


def possible_days(statement, world, last):
    for start, end in bounds(statement, world, last):
        yield start.day if start else date(1, 1, 1), end.last if end else last


def counts(statement, world, dump_day):
    """Is it a dated fact of the dump, about and of somebody with a page and a name?"""
    item = world.facts.items.get(statement.object)
    return (
        statement.is_known(dump_day)
        and statement.rank != "deprecated"
        and not statement.point
        and item is not None
        and bool(item.title and item.label)
        and any(isinstance(bound, When) for bound in (*statement.starts, *statement.ends))
    )


def true_objects(world, dump_day, window):
    """(subject, relation) -> objects that hold on some day of a window, by the statements' own truth."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in world.facts.statements:
        if not counts(one, world, dump_day):
            continue
        for begin, stop in possible_days(one, world, dump_day.date() - timedelta(days=1)):
            day = window.start
            while day < window.end:
                if begin <= day <= stop:
                    found.setdefault((one.subject, one.relation), set()).add(one.object)
                    break
                day += timedelta(days=1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("granularity", ["year", "quarter", "month"])
def test_all_answers_and_all_changes_are_those_of_the_truth(store, world, granularity):
    dump_day = world.dump_days[0]
    windows = list(windows_between(date(2021, 1, 1), date(2024, 1, 1), Granularity(granularity)))
    truth = {window.label: true_objects(world, dump_day, window) for window in windows}
    asked_about = {
        key
        for key in {key for held in truth.values() for key in held}
        if len(set().union(*(held.get(key, set()) for held in truth.values()))) > 1
    }
    rows = store.read("dynamic_templama_queries", granularity=granularity).to_pylist()
    found: dict[str, dict] = {window.label: {} for window in windows}
    for row in rows:
        found[row["date"]][row["subject_id"], row["relation"]] = {one["entity_id"] for one in row["answers"]}
    assert found == {when: {key: held[key] for key in held if key in asked_about} for when, held in truth.items()}
    told: dict[tuple, dict] = {key: {} for key in asked_about}
    for row in store.read("dynamic_templama_changes", granularity=granularity).to_pylist():
        told[row["subject_id"], row["relation"]][row["window_start"], row["object_id"]] = (
            row["change"],
            row["role"],
            row["paired_object_id"],
            row["paired_window_start"],
            row["previous_object_ids"],
        )
    within = {window.start for window in windows[1:]}
    for key in asked_about:
        dated = [
            (one.object, days_of(start), days_of(end))
            for one in world.facts.statements
            if (one.subject, one.relation) == key and counts(one, world, dump_day)
            for start, end in bounds(one, world, dump_day.date() - timedelta(days=1))
        ]
        assert told[key] == brute_force(dated, granularity, lambda name: int(name[1:]), within), key
    roles = [said[1] for rows in told.values() for said in rows.values()]
    assert min(roles.count("arriving"), roles.count("leaving")) > 10


def days_of(when):
    """All days that a date may be, and how fine it is, as the brute force wants them."""
    if when is None:
        return [], ""
    days = [when.day + timedelta(days=n) for n in range((when.last - when.day).days + 1)]
    return days, {11: "day", 10: "month", 9: "year", 8: "decade"}[when.precision]
