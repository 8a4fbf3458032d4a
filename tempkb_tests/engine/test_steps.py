"""What is made again and what is not, on three small tables: towns, their roads, and counts of these."""

from dataclasses import replace
from threading import Thread

import pyarrow as pa
import pytest

from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.engine.steps import Look, Source, Standing, Step, bring
from tempkb.store.columns import Column
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.types import INT64, STRING


def table(name, *columns):
    return Table(
        name=name,
        meaning=f"{name} of a region.",
        columns=(Column("region", STRING, "where"), *(Column(one, INT64, "a number") for one in columns)),
        key=("region", *columns[:1]),
        family=Family.WINDOW,
        partitioned_by="region",
        partition_columns=("region",),
    )


TOWNS, ROADS, COUNTS = table("towns", "town_id"), table("roads", "road_id"), table("counts", "n")
ROADS_SQL = "SELECT region, town_id + 1 AS road_id FROM towns WHERE town_id % 2 = 0 ORDER BY road_id"
COUNTS_SQL = "SELECT any_value(region) AS region, count(*) AS n FROM roads"
MADE: list[str] = []


def query(name, sql):
    def run(work):
        MADE.append(f"{name} {work.key}")
        work.left_out.add("odd", "1", 1)
        return work.rows(sql)

    return run


READ = Standing((TOWNS,))
BUILT = Step((ROADS,), (Source(TOWNS),), query("roads", ROADS_SQL))
COUNTED = Step((COUNTS,), (Source(ROADS),), query("counts", COUNTS_SQL))
STEPS = (READ, BUILT, COUNTED)


@pytest.fixture
def store(home_folder):
    MADE.clear()
    store = Store(load_home(), [TOWNS, ROADS, COUNTS], Patience(1.0))
    write_towns(store, range(4))
    return store


def write_towns(store, ids, region="north"):
    rows = pa.table({"region": [region] * len(ids), "town_id": list(ids)}, TOWNS.schema)
    store.write(TOWNS, region, [rows], Provenance())


def brought(store, *keys, steps=STEPS):
    """Bring roads and counts of some regions; return what was made, and why what was not."""
    MADE.clear()
    done = [bring(store, steps, step, keys or ("north",), lambda line: None) for step in steps[1:]]
    return list(MADE), [why for one in done for why in one.bad.values()]


def current(store, steps=STEPS):
    look = Look(store, steps)
    return {name for name in ("towns", "roads", "counts") if look.is_current(name, "north")}


def numbers(store, name):
    return store.read(name)[store.tables[name].column_names()[1]].to_pylist()


def test_what_is_missing_is_made_once_in_order(store):
    assert current(store) == {"towns"}
    assert brought(store) == (["roads north", "counts north"], [])
    assert (numbers(store, "roads"), numbers(store, "counts")) == ([1, 3], [2])
    assert current(store) == {"towns", "roads", "counts"}
    assert brought(store) == ([], [])
    version = store.lake.current("roads", "north")
    assert version.inputs == {"towns north": store.lake.current("towns", "north").version}
    assert [(one["reason"], one["n"]) for one in version.exclusions] == [("odd", 1)]


def test_other_rows_make_what_follows_stale_and_equal_rows_end_the_chain(store):
    brought(store)
    write_towns(store, range(6))
    assert current(store) == {"towns"}
    assert brought(store) == (["roads north", "counts north"], [])
    # A town without a road changes the towns alone.
    write_towns(store, (0, 1, 2, 3, 4, 5, 7))
    assert brought(store) == (["roads north"], [])
    assert current(store) == {"towns", "roads", "counts"}
    before = store.lake.current("roads", "north")
    write_towns(store, (0, 1, 2, 3, 4, 5, 7))
    assert current(store) == {"towns", "roads", "counts"}
    assert store.lake.current("roads", "north") == before


def test_later_code_makes_a_derived_table_and_a_setting_makes_it_stale_but_not_one_that_stands(store):
    brought(store)
    later = {name: replace(one, code_version=f"{one.code_version}+") for name, one in store.tables.items()}
    whole = store.tables
    store.tables = {**whole, "towns": later["towns"]}
    assert current(store) == {"towns", "roads", "counts"}
    assert Look(store, STEPS).is_of_earlier_rules(store.lake.current("towns", "north"))
    store.tables = {**whole, "roads": later["roads"]}
    assert current(store) == {"towns"}
    assert brought(store) == (["roads north"], []), "equal rows: what follows is current without a run"
    store.tables = whole
    narrow = replace(BUILT, settings=lambda _store: {"lanes": 1})
    assert current(store, (READ, narrow, COUNTED)) == {"towns"}


def test_lost_and_removed_are_made_again_as_they_were(store):
    brought(store)
    before = {name: store.lake.current(name, "north") for name in ("roads", "counts")}
    before["roads"].places()[0].unlink()
    assert current(store) == {"towns"}, "what follows waits"
    assert brought(store) == (["roads north"], [])
    store.lake.remove("counts", "north")
    assert brought(store) == (["counts north"], [])
    assert {name: store.lake.current(name, "north") for name in before} == before


def test_nothing_is_made_from_what_is_absent_lost_or_older_than_its_sources(store):
    assert brought(store, "south") == (
        [],
        [
            "roads south: towns of south is not built, was lost to damage, or is older than its sources; build it first: "
            "tempkb build",
            "counts south: roads of south is not built, was lost to damage, or is older than its sources; build it first: "
            "tempkb build",
        ],
    )
    brought(store)
    write_towns(store, range(8))
    MADE.clear()
    assert bring(store, STEPS, COUNTED, ["north"], lambda line: None).bad.keys() == {"north"}
    assert MADE == []


def test_one_that_fails_leaves_its_old_version_and_the_others_are_made(store):
    brought(store)
    write_towns(store, range(4), "south")
    write_towns(store, range(5))
    broken = replace(BUILT, run=lambda work: [pa.table({"x": [1]})] if work.key == "north" else work.rows(ROADS_SQL))
    old = store.lake.current("roads", "north")
    done = bring(store, (READ, broken, COUNTED), broken, ["north", "south"], lambda line: None)
    assert list(done.bad) == ["north"]
    assert "missing columns" in done.bad["north"]
    assert list(done.made) == [("roads", "south")]
    assert store.lake.current("roads", "north") == old


def test_what_grows_changes_nothing_for_what_was_made_from_it(store):
    counted = replace(COUNTED, sources=(Source(ROADS, stamped=lambda version: version.rules, grows=True),))
    steps = (READ, BUILT, counted)
    brought(store, steps=steps)
    write_towns(store, range(6))
    assert current(store, steps) == {"towns", "counts"}
    store.lake.remove("counts", "north")
    assert bring(store, steps, counted, ["north"], lambda line: None).bad.keys() == {"north"}, "but nothing new is made"
    assert brought(store, steps=steps) == (["roads north", "counts north"], [])


def test_two_at_once_make_it_once(store):
    def slowly(work):
        if not others:
            others.append(Thread(target=bring, args=(store, STEPS, BUILT, ["north"], lambda line: None)))
            others[0].start()
            others[0].join(0.5)
        return query("roads", ROADS_SQL)(work)

    others: list[Thread] = []
    slow = replace(BUILT, run=slowly)
    bring(store, (READ, slow, COUNTED), slow, ["north"], lambda line: None)
    others[0].join(60)
    assert MADE == ["roads north"]
    assert store.lake.current("roads", "north").serial == 1
