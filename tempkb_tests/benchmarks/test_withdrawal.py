"""A release that breaks its own promises is withdrawn whole; one of another's rows is no affair of a run."""

import json
import shutil
import threading
import time
from unittest import mock

import duckdb
import pyarrow as pa
import pytest

from tempkb.api import open_store
from tempkb.benchmarks.assets import forgetting_withdrawn
from tempkb.benchmarks.promises import Promise, broken, require
from tempkb.benchmarks.register import (
    COMMAND,
    absent_of_release,
    alone,
    is_at_work,
    is_registered,
    read_entry,
    release_names,
    require_built,
    strike,
    unfinished_releases,
    write_entry,
)
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.withdrawal import finish, whole_or_nothing, withdraw_unbuilt
from tempkb.errors import ContractError, DesignError
from tempkb.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.locks import Patience
from tempkb.store.store import Store
from tempkb.store.tables import Column, Family, Table
from tempkb.store.types import DATE, INT64, STRING
from tempkb_tests.conftest import run_module, run_tempkb
from tempkb_tests.damage import cut_off

_COLUMNS = (Column("wiki", STRING, "wiki"), Column("release", STRING, "name"), Column("n", INT64, "n"))
TOLD = Table("told", "One row a release.", _COLUMNS, ("release",), Family.RELEASE, "release", ("release",))
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
    {"rows": ROWS, "told": TOLD},
)


def rows_of(release, *numbers, cut="2022-01-01"):
    import datetime

    day = datetime.date.fromisoformat(cut)
    return pa.Table.from_pylist([{"wiki": "w", "release": release, "n": n, "cut": day} for n in numbers], ROWS.schema)


def own_row(release, n):
    return pa.Table.from_pylist([{"wiki": "w", "release": release, "n": n}], TOLD.schema)


@pytest.fixture
def store(home_folder):
    return Store(load_home(), (TOLD, ROWS))


def build(store, release, *numbers, cut="2022-01-01"):
    """A release as a benchmark builds one: rows, promises, its own row, the mark."""
    held = read_entry(store.home, "toy", release).get("cuts", []) if is_registered(store.home, release) else []
    write_entry(store.home, "toy", release, {"cuts": [*held, cut]})
    with whole_or_nothing(store, release):
        store.write(ROWS, f"{release}.{cut}", [rows_of(release, *numbers, cut=cut)], Provenance())
        told = own_row(release, len(held) + 1)
        store.write(TOLD, release, [told], Provenance())
        require(store, [PROMISE], release)
        finish(store, release)
    store.publish()


def in_duckdb(store, table):
    # As the command does, or the run, at its end.
    store.publish()
    with duckdb.connect(str(store.home.database), read_only=True) as connection:
        return connection.execute(f"SELECT release, n FROM {table} ORDER BY ALL").fetchall()


def test_a_new_release_that_breaks_a_promise_leaves_nothing(store):
    build(store, "good", 1, 2)
    with pytest.raises(ContractError) as refused:
        build(store, "bad", -5, -4, 3)
    said = "release 'bad': fails its own check rows.rows_are_positive (No row is below zero); rows that break it: 2, the first: bad, -"
    assert str(refused.value).startswith(said)
    assert str(refused.value).endswith("Nothing was kept of release 'bad'")
    assert release_names(store.home) == ["good"]
    assert store.lake.partitions("rows") == ["good.2022-01-01"]
    assert store.lake.partitions("told") == ["good"]
    assert in_duckdb(store, "rows") == [("good", 1), ("good", 2)]


def test_an_extension_that_fails_leaves_the_release_exactly_as_it_was(store):
    build(store, "good", 1, 2)
    entry = (store.home.path / "releases" / "good.json").read_bytes()
    pointers = {path: path.read_bytes() for path in store.home.lake.glob("*/*/CURRENT")}
    with pytest.raises(ContractError, match="Release 'good' stays exactly as it was$"):
        build(store, "good", -1, cut="2023-01-01")
    assert (store.home.path / "releases" / "good.json").read_bytes() == entry
    assert {path: path.read_bytes() for path in store.home.lake.glob("*/*/CURRENT")} == pointers
    assert in_duckdb(store, "told") == [("good", 1)]


def test_what_fails_behind_the_own_row_is_undone_as_well(store):
    build(store, "good", 1, 2)
    write_entry(store.home, "toy", "good", {"cuts": ["2022-01-01", "2023-01-01"]})

    def fail_late():
        with whole_or_nothing(store, "good"):
            store.write(ROWS, "good.2023-01-01", [rows_of("good", 3, cut="2023-01-01")], Provenance())
            store.write(TOLD, "good", [own_row("good", 2)], Provenance())
            store.publish()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_late()
    assert in_duckdb(store, "told") == [("good", 1)]
    assert in_duckdb(store, "rows") == [("good", 1), ("good", 2)]
    assert read_entry(store.home, "toy", "good")["cuts"] == ["2022-01-01"]


def killed_extension(store):
    """An extension of a built release, killed when one of its tables was written."""
    build(store, "good", 1, 2)
    write_entry(store.home, "toy", "good", {"cuts": ["2022-01-01", "2023-01-01"]})
    store.write(ROWS, "good.2023-01-01", [rows_of("good", 3, cut="2023-01-01")], Provenance())
    store.publish()


def test_of_an_extension_that_was_killed_and_fails_when_it_goes_on_nothing_stays(store):
    killed_extension(store)
    assert unfinished_releases(store.home) == ["good"]
    with pytest.raises(DesignError, match="is not finished, .*; finish it: tempkb release finish good$"):
        require_built(store.home, "good")
    with pytest.raises(ContractError, match="Release 'good' stays exactly as it was$"):
        build(store, "good", -1, cut="2024-01-01")
    assert store.lake.partitions("rows") == ["good.2022-01-01"]
    assert in_duckdb(store, "rows") == [("good", 1), ("good", 2)]
    assert read_entry(store.home, "toy", "good")["cuts"] == ["2022-01-01"]
    assert unfinished_releases(store.home) == []


def test_an_extension_that_was_killed_can_be_taken_back(store):
    killed_extension(store)
    assert withdraw_unbuilt(store, "good")
    assert store.lake.partitions("rows") == ["good.2022-01-01"]
    # What is built is not taken back.
    assert not withdraw_unbuilt(store, "good")
    assert release_names(store.home) == ["good"]


def fail_behind(store, release, *written):
    """A run over a release that writes rows (cut, number) and fails; what it says."""

    def run():
        with whole_or_nothing(store, release):
            for cut, n in written:
                store.write(ROWS, f"{release}.{cut}", [rows_of(release, n, cut=cut)], Provenance())
            raise ContractError("a fault")

    with pytest.raises(ContractError) as failed:
        run()
    return str(failed.value)


def test_a_repair_that_fails_leaves_known_what_is_damaged(store):
    build(store, "good", 1, 2)
    version = store.lake.current("rows", "good.2022-01-01")
    cut_off(version.places()[0])
    store.set_aside_damaged()
    assert fail_behind(store, "good", ("2022-01-01", 7)) == (
        "a fault. Release 'good' stays as it was, without rows good.2022-01-01, lost to damage; build that again: "
        "tempkb release finish good"
    )
    assert store.lake.partitions("rows") == []
    assert store.lake.lost("rows") == ["good.2022-01-01"]
    assert store.lake.lost_version("rows", "good.2022-01-01") == version.version
    # Built at last, it is not lost any more.
    store.write(ROWS, "good.2022-01-01", [rows_of("good", 1, 2)], Provenance())
    assert store.lake.lost("rows") == []
    assert absent_of_release(store.home, store.lake, "good") == []


def test_what_a_release_lacks_is_known_though_nothing_of_the_damage_was_noted(store):
    build(store, "good", 1, 2)
    version = store.lake.current("rows", "good.2022-01-01").version
    (store.lake.root / "rows" / "good.2022-01-01" / "CURRENT").unlink()
    assert absent_of_release(store.home, store.lake, "good") == [("rows", "good.2022-01-01", version)]


def test_a_flipped_file_does_not_keep_the_others_from_being_put_back(store):
    build(store, "good", 1)
    build(store, "good", 2, cut="2023-01-01")
    first, second = store.lake.versions("rows")
    path = first.places()[0]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    said = fail_behind(store, "good", ("2022-01-01", 7), ("2023-01-01", 8), ("2024-01-01", 9))
    assert said.startswith("a fault. Release 'good' stays as it was, without rows good.2022-01-01, lost to damage; ")
    assert "rows good.2022-01-01, part-00000.parquet: found sha256 " in said
    assert store.lake.versions("rows") == [second]
    assert store.lake.lost("rows") == ["good.2022-01-01"]
    assert store.lake.lost_version("rows", "good.2022-01-01") == first.version
    assert in_duckdb(store, "rows") == [("good", 2)]


def test_undoing_does_not_read_what_was_never_replaced(store):
    build(store, "good", 1)
    version = store.lake.current("rows", "good.2022-01-01")
    with mock.patch.object(type(version), "first_fault", side_effect=AssertionError("read")):
        assert fail_behind(store, "good") == "a fault. Release 'good' stays exactly as it was"


def test_two_runs_of_a_release_take_turns(store):
    write_entry(store.home, "toy", "good", {"cuts": ["2022-01-01"]})
    order = []

    def second():
        with whole_or_nothing(store, "good"):
            order.append("second")

    with whole_or_nothing(store, "good"):
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(0.2)
        assert is_at_work(store.home, "good")
        order.append("first")
    waiting.join(5)
    assert order == ["first", "second"]
    assert not is_at_work(store.home, "good")


def test_a_second_command_on_a_release_that_is_being_built_is_refused(store):
    write_entry(store.home, "toy", "good", {"cuts": []})
    with (
        alone(store.home, "good", COMMAND),
        pytest.raises(DesignError) as refused,
        alone(store.home, "good", COMMAND, Patience(0)),
    ):
        pytest.fail("two commands at once")
    assert str(refused.value) == (
        "release 'good': is being built by another program; wait for it, then type the same again"
    )


def test_a_release_that_was_removed_while_it_was_built_leaves_nothing(store):
    write_entry(store.home, "toy", "good", {"cuts": ["2022-01-01"]})

    def build_while_others_remove():
        with whole_or_nothing(store, "good"):
            store.write(ROWS, "good.2022-01-01", [rows_of("good", 1)], Provenance())
            strike(store.home, "good")
            finish(store, "good")

    with pytest.raises(DesignError, match="release 'good': was removed while it was being built"):
        build_while_others_remove()
    assert store.lake.partitions("rows") == []
    with pytest.raises(DesignError, match="release 'good': is not in the register"), whole_or_nothing(store, "good"):
        pytest.fail("a release that nobody asked for")


def test_of_a_run_over_several_releases_that_fails_none_is_left_half_built(store):
    build(store, "stands", 1)
    for name in ("fails", "begun"):
        write_entry(store.home, "toy", name, {"cuts": ["2022-01-01"]})
        store.write(ROWS, f"{name}.2022-01-01", [rows_of(name, 1)], Provenance())
    context = mock.Mock(partition_keys=["stands", "fails", "begun"])

    def step():
        with forgetting_withdrawn(context, store, TEMPEL, "fails"), whole_or_nothing(store, "fails"):
            raise ContractError("a fault")

    with pytest.raises(ContractError) as failed:
        step()
    assert str(failed.value) == (
        "a fault. Nothing was kept of release 'fails'. Not built either, since the run ended here: begun"
    )
    assert release_names(store.home) == ["stands"]
    assert store.lake.partitions("rows") == ["stands.2022-01-01"]
    assert [call.args[1] for call in context.instance.delete_dynamic_partition.mock_calls] == ["fails", "begun"]


def test_the_rows_of_one_release_are_no_affair_of_another(store):
    build(store, "good", 1)
    store.write(ROWS, "good.2022-01-01", [rows_of("good", -1)], Provenance())
    build(store, "other", 1)
    # A name that another begins with is another release.
    build(store, "goo", 1)
    assert {name: broken(store, PROMISE, [name]) for name in ("good", "other", "goo")} == {
        "good": [("good", -1)],
        "other": [],
        "goo": [],
    }


@pytest.fixture(scope="module")
def spoiled(demo_home, tmp_path_factory):
    """The demo's home, in which a release of each family was spoiled after it was built."""
    home = tmp_path_factory.mktemp("spoiled") / "home"
    shutil.copytree(demo_home, home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEMPKB_HOME", str(home))
        store = open_store()
        for table, column in (("ecbd_cloze", "masked_sentence"), ("dynamic_templama_changes", "change")):
            (version, *_) = store.lake.versions(table)
            rows = pa.parquet.read_table(version.paths()[0])
            spoilt = pa.array(["deleted"] * rows.num_rows)
            rows = rows.set_column(rows.schema.get_field_index(column), column, spoilt)
            # Rows without a pair, so that only the release's own checks can find the fault.
            for paired in {"role", "paired_object_id", "paired_window_start"} & set(rows.schema.names):
                at = rows.schema.get_field_index(paired)
                rows = rows.set_column(at, paired, pa.nulls(rows.num_rows, rows.schema.field(at).type))
            store.write(store.tables[table], version.partition, [rows], Provenance())
    return home


def runs_of(home, kind):
    done = run_module("tempkb_tests.benchmarks.faults", kind, TEMPKB_HOME=str(home))
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_spoiled_rows_of_other_releases_fail_no_run(spoiled):
    told = runs_of(spoiled, "good")
    partitions = told.pop("partitions")
    assert {name: (run["success"], run["error"]) for name, run in told.items()} == dict.fromkeys(told, (True, ""))
    assert set(partitions) == {*told, "demo-cloze", "demo-quarters"}
    warnings = {"chunker_is_spacy"}
    for name, run in told.items():
        assert run["checks"], name
        assert {check for check, passed in run["checks"].items() if not passed} <= warnings, name


CAUGHT = {
    "faulty-tempel": "tempel_mentions.snapshots_are_equal",
    "faulty-ecbd": "ecbd_cloze.spans_are_in_place",
    "faulty-templama": "future_relation_queries.table_9_is_whole",
    "faulty-dynamic-templama": "dynamic_templama_changes.changes_follow_from_the_answers",
}


@pytest.mark.slow
def test_a_faulty_release_of_any_benchmark_leaves_no_trace_whoever_started_the_run(spoiled):
    told = runs_of(spoiled, "faulty")
    assert not [name for name in told.pop("partitions") if name.startswith("faulty")]
    assert set(told) == set(CAUGHT)
    for name, check in CAUGHT.items():
        assert not told[name]["success"]
        assert f"release {name!r}: fails its own check {check} (" in told[name]["error"]
        assert told[name]["error"].endswith(f"please report it. Nothing was kept of release {name!r}"), told[name]
        refused = run_tempkb(spoiled, "release", "export", name, str(spoiled / "exports"), check=False)
        assert refused.returncode == 1
        assert f"release {name!r}: no such release" in refused.stderr
    assert not list((spoiled / "releases").glob("faulty*"))
    assert not list((spoiled / "lake").glob("*/faulty*/CURRENT"))
    with duckdb.connect(str(spoiled / "tempkb.duckdb"), read_only=True) as connection:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_columns() WHERE column_name = 'release' AND NOT internal"
        ).fetchall()
        for (table,) in tables:
            query = f"SELECT count(*) FROM {table} WHERE release LIKE 'faulty%'"
            assert connection.execute(query).fetchone() == (0,), table
    assert not list((spoiled / "exports").glob("*"))
