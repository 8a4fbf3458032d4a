"""Promises of large releases are judged on a part: none breaks by being cut out, and a fault within it is noticed."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from tempkb.benchmarks import samples
from tempkb.benchmarks.dynamic_templama.checking import OF_CHANGES
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.checking import promises_of_queries
from tempkb.benchmarks.promises import broken
from tempkb.store.drafts import Provenance
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, players, release_without_prompts
from tempkb_tests.wikidata.items import read_home

WINDOWS = ("2019-04-01", "2019-07-01", "2019-10-01")


@pytest.fixture(params=["sets", "handover"])
def built(tmp_path, monkeypatch, request):
    """Four quarters of 2019, of which the last three have changes: handovers within and at the ends of stretches."""
    told = {
        f"Player {number}": [
            ("Q101", "2018-01-01", ""),
            ("Q102", "2019-02-01", f"2019-{month:02}-15"),
            ("Q103", f"2019-{month:02}-20", "2019-11-01"),
            ("Q101", "2019-12-24", ""),
        ][: 2 + number % 3]
        for number, month in enumerate((3, 4, 6, 7, 9, 10))
    }
    store = read_home(tmp_path, monkeypatch, {DAY: players(**told)})
    return store, release_without_prompts(store, windows="2019-01-01..2020-01-01", changes=request.param).name


OF_QUERIES = promises_of_queries(DYNAMIC_TEMPLAMA_QUERIES)


def choose(monkeypatch, rows, chance):
    """Judge about so many rows, chosen by a number in place of the release's name."""
    monkeypatch.setattr(samples, "LARGE", rows)
    monkeypatch.setattr(samples, "_chance", lambda _release: chance)


def what_breaks(store, name):
    return {one.name: rows for one in (*OF_QUERIES, *OF_CHANGES) if (rows := broken(store, one, [name]))}


def of(promise_name):
    (found,) = (one for one in (*OF_QUERIES, *OF_CHANGES) if one.name == promise_name)
    return found


@pytest.mark.slow
def test_whatever_is_cut_out_of_a_sound_release_is_sound(built, monkeypatch):
    store, name = built
    assert all(one.sample_of(store, name) is None for one in (*OF_QUERIES, *OF_CHANGES))
    for rows in (1, 5, 12, 30):
        for chance in range(4):
            choose(monkeypatch, rows, chance)
            assert what_breaks(store, name) == {}


def test_windows_are_judged_from_the_answers_before_them(built, monkeypatch):
    store, name = built
    changes = of("changes_follow_from_the_answers")
    for chance, judged in ((0, WINDOWS[1]), (1, WINDOWS[2])):
        choose(monkeypatch, 1, chance)
        sample = changes.sample_of(store, name)
        assert sample.description == f"windows {WINDOWS[chance]} .. {judged} of 3, chosen by the release's name"
        for window in WINDOWS:
            key = f"{name}.{window}"
            kept = _spoil(store, DYNAMIC_TEMPLAMA_CHANGES, key, "object_id", lambda old: f"{old}9")
            assert {str(row[1]) for row in broken(store, changes, [name])} == ({judged} if window == judged else set())
            store.write(DYNAMIC_TEMPLAMA_CHANGES, key, [kept], Provenance())


def test_answers_of_the_chosen_windows_alone_are_judged(built, monkeypatch):
    store, name = built
    choose(monkeypatch, 1, 1)
    valid = of("answers_hold_in_their_windows")
    wrong = [{"entity_id": "Q999", "name": "Nobody"}]
    # The second of four, from whose answers another promise would judge the third, is judged as well.
    for window, is_judged in (("2019-01-01", False), (WINDOWS[0], True), (WINDOWS[1], True), (WINDOWS[2], False)):
        kept = _spoil(store, DYNAMIC_TEMPLAMA_QUERIES, f"{name}.{window}", "answers", lambda _old: wrong)
        assert bool(broken(store, valid, [name])) is is_judged
        store.write(DYNAMIC_TEMPLAMA_QUERIES, f"{name}.{window}", [kept], Provenance())


def test_each_subject_is_judged_by_one_choice(built, monkeypatch):
    store, name = built
    nearest = of("handovers_are_the_nearest")
    paired = {
        row["subject_id"]
        for window in WINDOWS
        for row in _read(store, DYNAMIC_TEMPLAMA_CHANGES, f"{name}.{window}").to_pylist()
        if row["role"]
    }
    n_rows = sum(version.rows for version in store.lake.versions(DYNAMIC_TEMPLAMA_CHANGES.name))
    for window in WINDOWS:
        _spoil(store, DYNAMIC_TEMPLAMA_CHANGES, f"{name}.{window}", "paired_object_id", lambda _old: "Q999")
    found = []
    for chance in range(3):
        choose(monkeypatch, n_rows // 3, chance)
        assert nearest.sample_of(store, name).description == "one subject in 3, chosen by hash"
        found.append({row[1] for row in broken(store, nearest, [name])})
    assert set().union(*found) == paired
    assert sum(map(len, found)) == len(paired)


def _read(store, table, key):
    (version,) = store.lake.versions(table.name, [key])
    return pa.concat_tables([pa.parquet.read_table(path) for path in version.paths()])


def _spoil(store, table, key, column, change):
    """Change the values of a column in all rows of a partition that have one there; return the rows as they were."""
    rows = _read(store, table, key)
    at = rows.schema.get_field_index(column)
    values = [None if old is None else change(old) for old in rows[column].to_pylist()]
    spoilt = rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))
    store.write(table, key, [spoilt], Provenance())
    return rows
