"""A release is built whole or stays as its list says; one of another's rows is no affair of a run."""

import threading
from dataclasses import replace
from unittest import mock

import duckdb
import pyarrow as pa
import pytest

from tempkb.benchmarks.methods import Made, Methods, Step, begin, build_step, is_whole, measure
from tempkb.benchmarks.promises import broken
from tempkb.benchmarks.register import (
    Release,
    alone,
    as_listed,
    entry_of,
    is_at_work,
    lost_places,
    release_names,
    release_versions,
    require_whole,
    strike,
    unfinished_releases,
    write_entry,
)
from tempkb.benchmarks.tasks import _none_half_built
from tempkb.benchmarks.work import working
from tempkb.core.errors import ContractError, DesignError
from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.engine.tasks import Order
from tempkb.store.columns import Column
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.types import DATE, INT64, STRING
from tempkb_tests.damage import cut_off, flip
from tempkb_tests.killed import KilledError

_COLUMNS = (Column("wiki", STRING, "wiki"), Column("release", STRING, "name"), Column("n", INT64, "n"))
TOLD, COUNTED = (
    Table(name, "One row a release.", _COLUMNS, ("release",), Family.RELEASE, "release", ("release",))
    for name in ("told", "answer_tokens")
)
CUT = Column("cut", DATE, "cut")
ROWS = Table(
    "rows",
    "Rows of releases.",
    (*_COLUMNS, CUT),
    ("release", "n"),
    Family.RELEASE,
    "release and cut",
    ("release", "cut"),
)
PROMISE = Promise(
    "rows_are_positive",
    "No row is below zero.",
    ROWS,
    "SELECT release, rows.n FROM rows JOIN told USING (release) WHERE rows.n < 0",
    (TOLD,),
)


def rows_of(release, *numbers, cut="2022-01-01"):
    import datetime

    day = datetime.date.fromisoformat(cut)
    return pa.Table.from_pylist([{"wiki": "w", "release": release, "n": n, "cut": day} for n in numbers], ROWS.schema)


def own_row(release, n):
    return pa.Table.from_pylist([{"wiki": "w", "release": release, "n": n}], TOLD.schema)


class Design:
    """Rows by cut, each a number; a number below zero breaks the promise."""

    def __init__(self, numbers):
        self.numbers = numbers

    def to_json(self):
        return {cut: list(numbers) for cut, numbers in self.numbers.items()}


def write_rows(work):
    """What is missing, and then the release's own row, of which any may be the last before a kill."""
    name, numbers = work.release.name, work.release.design.numbers
    for cut, own in numbers.items():
        if not work.stands(ROWS, f"{name}.{cut}"):
            work.write(ROWS, f"{name}.{cut}", rows_of(name, *own, cut=cut))
    work.write(TOLD, name, own_row(name, len(numbers)))


def count(work):
    work.write(COUNTED, work.release.name, own_row(work.release.name, work.options["n"]))
    if work.options["n"] < 0:
        raise ContractError("a negative count")


STEP = Step("toy", (Made(ROWS, ()), Made(TOLD, ())), write_rows, (PROMISE,))
COUNTING = Step("count", (Made(COUNTED, ()),), count)
METHODS = Methods(
    design=None,
    read_entry=None,
    partitions=lambda release: {
        "rows": [f"{release.name}.{cut}" for cut in release.design.numbers],
        "told": [release.name],
    },
    steps=(STEP,),
    files=None,
    card=None,
    closing=None,
)


@pytest.fixture
def store(home_folder):
    return Store(load_home(), (TOLD, COUNTED, ROWS))


def release_of(name, **numbers):
    """A release with numbers by the year of their cut, such as `y2022=(1, 2)`."""
    return Release(name, "toy", "", Design({f"{year[1:]}-01-01": own for year, own in numbers.items()}))


def build(store, name, **numbers):
    release = release_of(name, **numbers)
    begin(store, release)
    build_step(store, METHODS, STEP, release, print)
    return release


def killed(store, release):
    """A run that dies behind all that it writes, before anything is listed."""
    begin(store, release)
    with working(store, release) as work:
        write_rows(work)


def state(store):
    """Entries and pointers of a home, by their paths."""
    home = store.home.path
    return {path: path.read_bytes() for path in (*home.glob("releases/*.json"), *home.glob("lake/*/*/CURRENT"))}


def in_duckdb(store, table):
    # As the command does, or the run, at its end.
    store.publish()
    with duckdb.connect(str(store.home.database), read_only=True) as connection:
        return connection.execute(f"SELECT release, n FROM {table} ORDER BY ALL").fetchall()


def test_a_new_release_that_breaks_a_promise_leaves_nothing(store):
    build(store, "good", y2022=(1, 2))
    with pytest.raises(ContractError) as refused:
        build(store, "bad", y2022=(-5, -4, 3))
    said = "release 'bad': fails its own check rows.rows_are_positive (No row is below zero); rows that break it: 2, the first: bad, -"
    assert str(refused.value).startswith(said)
    assert str(refused.value).endswith("Nothing was kept of release 'bad'")
    assert release_names(store.home) == ["good"]
    assert store.lake.partitions("rows") == ["good.2022-01-01"]
    assert store.lake.partitions("told") == ["good"]
    assert in_duckdb(store, "rows") == [("good", 1), ("good", 2)]


def test_an_extension_that_is_refused_leaves_the_release_exactly_as_it_was(store):
    build(store, "good", y2022=(1, 2))
    before = state(store)
    with pytest.raises(ContractError, match="Release 'good' stays exactly as it was$"):
        build(store, "good", y2022=(1, 2), y2023=(-1,))
    after = state(store)
    (added,) = after.keys() - before.keys()
    assert {path: after[path] for path in before} == before
    assert added.read_bytes().startswith(b"- "), "the pointer of a removed partition"
    assert in_duckdb(store, "told") == [("good", 1)]
    assert unfinished_releases(store) == []


def test_what_is_listed_is_read_while_another_program_extends_the_release(store):
    build(store, "good", y2022=(1, 2))
    killed(store, release_of("good", y2022=(1, 2), y2023=(3,)))
    (listed,) = release_versions(store, TOLD, "good")
    assert pa.parquet.read_table(listed.paths())["n"].to_pylist() == [1]
    assert [one.partition for one in release_versions(store, ROWS, "good")] == ["good.2022-01-01"]
    with alone(store.home, "good"):
        assert len(release_versions(store, ROWS, "good")) == 2, "who builds it reads what there is"


def test_an_extension_that_was_killed_is_said_finished_or_left(store):
    build(store, "good", y2022=(1, 2))
    before = state(store)
    extended = release_of("good", y2022=(1, 2), y2023=(3,))
    killed(store, extended)
    assert unfinished_releases(store) == ["good"]
    with pytest.raises(DesignError, match="is not finished, .*; finish it: tempkb release finish good$"):
        require_whole(store, "good")
    assert as_listed(store, "good") == "Release 'good' stays exactly as it was"
    assert {path: state(store)[path] for path in before} == before
    killed(store, extended)
    build_step(store, METHODS, STEP, extended, print)
    assert unfinished_releases(store) == []
    assert in_duckdb(store, "rows") == [("good", 1), ("good", 2), ("good", 3)]
    assert len(entry_of(store.home, "good").versions) == 3


def test_of_a_release_that_is_whole_nothing_is_built(store):
    """Neither what it was made from nor the code is asked: it is frozen."""
    release = build(store, "good", y2022=(1,))
    assert build_step(store, METHODS, replace(STEP, run=mock.Mock(side_effect=AssertionError)), release, print) == []


def test_what_a_kill_has_left_in_a_whole_release_goes(store):
    release = build(store, "good", y2022=(1,))
    before = state(store)
    store.write(TOLD, "good", [own_row("good", 7)], Provenance())
    store.write(COUNTED, "good", [own_row("good", 7)], Provenance())
    assert unfinished_releases(store) == ["good"]
    build_step(store, METHODS, STEP, release, print)
    assert {path: state(store)[path] for path in before} == before
    assert store.lake.partitions("answer_tokens") == []
    assert unfinished_releases(store) == []


def test_what_is_lost_is_made_again_and_all_else_stays(store):
    release = build(store, "good", y2022=(1,), y2023=(2,))
    versions = dict(entry_of(store.home, "good").versions)
    cut_off(store.lake.current("rows", "good.2022-01-01").places()[0])
    assert lost_places(store, "good") == [("rows", "good.2022-01-01")]
    assert unfinished_releases(store) == [], "it is lost, and not half built"
    with pytest.raises(DesignError, match="found no rows good.2022-01-01, which belonged to it"):
        require_whole(store, "good")
    assert not is_whole(store, METHODS, release)
    build_step(store, METHODS, STEP, release, print)
    assert entry_of(store.home, "good").versions == versions
    require_whole(store, "good")


def test_a_repair_that_fails_leaves_known_what_is_lost(store):
    build(store, "good", y2022=(1,), y2023=(2,))
    first, second = store.lake.versions("rows")
    cut_off(first.places()[0])
    with pytest.raises(ContractError) as refused:
        # Its sources have changed since.
        build(store, "good", y2022=(-1,), y2023=(2,))
    assert str(refused.value).endswith(
        "Release 'good' stays as it was, without rows good.2022-01-01, lost to damage; build that again: tempkb "
        "release finish good"
    )
    assert lost_places(store, "good") == [("rows", "good.2022-01-01")]
    assert store.lake.versions("rows") == [second]


def test_a_flipped_file_does_not_keep_the_others_from_being_put_back(store):
    build(store, "good", y2022=(1,), y2023=(2,))
    first, second = store.lake.versions("rows")
    flip(first.places()[0])
    for version in (first, second):
        store.write(ROWS, version.partition, [rows_of("good", 7, cut=version.partition[5:])], Provenance())
    assert as_listed(store, "good").startswith("Release 'good' stays as it was, without rows good.2022-01-01, lost")
    assert store.lake.versions("rows") == [second]
    assert lost_places(store, "good") == [("rows", "good.2022-01-01")]
    assert in_duckdb(store, "rows") == [("good", 2)]


def test_what_is_added_later_is_listed_or_undone(store):
    release = build(store, "good", y2022=(1,))
    measure(store, COUNTING, release, print, {"n": 3})
    listed = entry_of(store.home, "good").versions["answer_tokens", "good"]
    with pytest.raises(ContractError, match=r"a negative count. Release 'good' stays exactly as it was"):
        measure(store, COUNTING, release, print, {"n": -3})
    assert store.lake.current("answer_tokens", "good").version == listed
    # What cannot be made again without a file stays listed, and is missed.
    cut_off(store.lake.current("answer_tokens", "good").places()[0])
    build_step(store, METHODS, STEP, release, print)
    assert lost_places(store, "good") == [("answer_tokens", "good")]
    require_whole(store, "good")
    measure(store, COUNTING, release, print, {"n": 3})
    assert lost_places(store, "good") == []


def test_a_release_of_which_the_entry_is_gone_is_made_anew(store):
    """Its tables may be of another design than the one that is asked for now."""
    build(store, "good", y2022=(1,), y2023=(2,))
    strike(store.home, "good")
    build(store, "good", y2022=(8,))
    assert in_duckdb(store, "rows") == [("good", 8)]
    assert unfinished_releases(store) == []


def test_a_second_command_on_a_release_that_is_being_built_is_refused(store):
    write_entry(store.home, "toy", "good", {})
    said = []

    def second():
        with pytest.raises(DesignError) as refused, alone(store.home, "good", Patience(0)):
            pytest.fail("two commands at once")
        said.extend([str(refused.value), is_at_work(store.home, "good")])

    with alone(store.home, "good"):
        (other := threading.Thread(target=second)).start()
        other.join(5)
    assert said == ["release 'good': is being built by another program; wait for it, then type the same again", True]


def test_of_a_run_over_several_releases_that_fails_none_is_left_half_built(store):
    build(store, "stands", y2022=(1,))
    begun, fails = release_of("begun", y2022=(1,)), release_of("fails", y2022=(-1,))
    killed(store, begun)
    begin(store, fails)
    order = Order(store, ["stands", "fails", "begun"], print)
    with pytest.raises(ContractError) as failed, _none_half_built(order, "fails"):
        build_step(store, METHODS, STEP, fails, print)
    assert str(failed.value).endswith(
        "Nothing was kept of release 'fails'. Not built either, since the run ended here: begun"
    )
    assert release_names(store.home) == ["stands"]
    assert store.lake.partitions("rows") == ["stands.2022-01-01"]


@pytest.mark.parametrize("at", range(8))
def test_a_kill_at_any_write_leaves_what_is_listed_and_can_be_finished(store, at):
    """Of an extension: before its entry, each of its partitions, and its list."""
    build(store, "good", y2022=(1, 2))
    extended = release_of("good", y2022=(1, 2), y2023=(3,))
    from tempkb.core import files

    real, left = files.replace_whole, [at]

    def dying(*told):
        if not left[0]:
            raise KilledError
        left[0] -= 1
        real(*told)

    places = ("tempkb.core.files", "tempkb.store.lake")
    with pytest.MonkeyPatch.context() as patch:
        for place in places:
            patch.setattr(f"{place}.replace_whole", dying)
        patch.setattr("tempkb.benchmarks.methods.as_listed", lambda *_: "")
        try:
            begin(store, extended)
            build_step(store, METHODS, STEP, extended, print)
        except KilledError:
            assert [one.partition for one in release_versions(store, ROWS, "good")] == ["good.2022-01-01"]
    asked = entry_of(store.home, "good").asked["design"]
    build_step(store, METHODS, STEP, release_of("good", **{f"y{cut[:4]}": n for cut, n in asked.items()}), print)
    assert unfinished_releases(store) == []
    require_whole(store, "good")
    assert len(store.lake.partitions("rows")) == len(asked)


def test_the_rows_of_one_release_are_no_affair_of_another(store):
    build(store, "good", y2022=(1,))
    with alone(store.home, "good"):
        store.write(ROWS, "good.2022-01-01", [rows_of("good", -1)], Provenance())
        build(store, "other", y2022=(1,))
        # A name that another begins with is another release.
        build(store, "goo", y2022=(1,))
        assert {name: broken(store, PROMISE, [name]) for name in ("good", "other", "goo")} == {
            "good": [("good", -1)],
            "other": [],
            "goo": [],
        }
