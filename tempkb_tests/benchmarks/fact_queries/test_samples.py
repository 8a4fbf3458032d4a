"""Promises of large releases are judged on a part: none breaks by being cut out, and a fault within it is noticed."""

import random

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
from tempkb_tests.wikidata.items import item, read_home, said, time

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


@pytest.mark.parametrize("is_whole", [True, False], ids=["all windows", "two of them"])
def test_an_answer_and_a_query_that_are_lost_are_missed(built, monkeypatch, is_whole):
    store, name = built
    if not is_whole:
        choose(monkeypatch, 1, 1)
    missing = of("no_answer_is_missing")
    assert broken(store, missing, [name]) == []
    key = f"{name}.{WINDOWS[1]}"
    rows = _read(store, DYNAMIC_TEMPLAMA_QUERIES, key)
    (at,) = (at for at, one in enumerate(rows["answers"].to_pylist()) if len(one) == 3)
    whole = rows.to_pylist()
    lost = whole[at]["answers"][1]["entity_id"]
    place = f"{whole[at]['subject_id']}_P54 in the window of {WINDOWS[1]}"
    cut = [{**row, "answers": row["answers"][::2]} if row is whole[at] else row for row in whole]
    store.write(DYNAMIC_TEMPLAMA_QUERIES, key, [pa.Table.from_pylist(cut, rows.schema)], Provenance())
    assert broken(store, missing, [name]) == [(name, place, lost)]
    store.write(DYNAMIC_TEMPLAMA_QUERIES, key, [rows.slice(0, at), rows.slice(at + 1)], Provenance())
    assert sorted(broken(store, missing, [name])) == sorted(
        (name, place, one["entity_id"]) for one in whole[at]["answers"]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        {},
        {"answers": "certain"},
        {"ranks": "best"},
        {"ranks": "all"},
        {"points_in_time": "true"},
        {"close_at_death": "false"},
        {"max_open_years": "P54:2,60"},
        {"max_open_years": "1"},
        {"max_open_years": "none", "linked_objects": "false"},
        {"answers": "certain", "ranks": "best", "points_in_time": "true", "granularity": "month"},
        {"granularity": "week", "windows": "2019-12-02..2020-02-03"},
    ],
    ids=str,
)
def test_no_answer_is_missing_whatever_the_design(tmp_path, monkeypatch, design):
    """Random statements of all kinds; each step of a build requires that its promises hold."""
    chance = random.Random(3)

    def day():
        year, month, number = chance.randrange(2014, 2021), chance.randrange(1, 13), chance.randrange(1, 29)
        return chance.choice([f"{year}", f"{year}-{month:02}", *[f"{year}-{month:02}-{number:02}"] * 2])

    def statement(guid):
        ends = chance.choice([day(), day(), "", "somevalue", "novalue"])
        start, point = chance.choice([(day(), ()), (day(), ()), ("", ()), ("somevalue", ()), ((), day())])
        rank = chance.choice(["normal", "normal", "preferred", "deprecated"])
        return said(guid, f"Q10{chance.randint(1, 4)}", start, () if point else ends, point, rank)

    entities = [item(f"Q10{n}", label, label) for n, label in enumerate(("Reed", "Salt", "Moss"), 1)]
    entities.append(item("Q104", "Fern"))
    for number in range(1, 60):
        died = {"P570": [said(f"Q{number}$died", time(day()))]} if chance.random() < 0.3 else {}
        told = [statement(f"Q{number}${at}") for at in range(chance.randint(2, 6))]
        entities.append(item(f"Q{number}", f"Player {number}", f"Player {number}", P54=told, **died))
    store = read_home(tmp_path, monkeypatch, {DAY: entities})
    made = release_without_prompts(store, min_objects="1", **design)
    assert store.read("dynamic_templama_queries", release=made.name).num_rows > 30


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
