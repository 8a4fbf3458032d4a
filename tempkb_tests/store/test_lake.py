"""The lake: whole or absent, equal bytes for equal rows, validated before anybody sees it."""

import errno
import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from tempkb.core.errors import ContractError, SettingsError, StoredDamageError
from tempkb.core.settings import load_home
from tempkb.store import lake
from tempkb.store.columns import Column
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.lake import POINTER, Lake
from tempkb.store.store import Store
from tempkb.store.types import STRING
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.tables_for_tests import TOWNS, towns

NOTHING = Provenance()


def write(store, region, *tables, exclusions=()):
    return store.write(TOWNS, region, tables, NOTHING, exclusions)


def test_a_partition_is_read_back_and_replaced(store):
    write(store, "north", towns("north", 3))
    assert store.read("towns").num_rows == 3
    write(store, "north", towns("north", 5, people=7))
    assert store.read("towns")["n_people"].to_pylist() == [7] * 5
    write(store, "south", towns("south", 2))
    assert store.read("towns", region="south").num_rows == 2
    assert store.lake.partitions("towns") == ["north", "south"]


def test_equal_rows_give_equal_bytes_however_they_are_batched(store):
    rows = towns("north", 357)
    once = write(store, "north", rows)
    again = write(store, "north", *(rows.slice(at, 10) for at in range(0, 357, 10)))
    assert again == once
    other = write(store, "north", rows.slice(0, 356))
    assert other.version != once.version
    assert once.folder.exists(), "the previous version stays until it is collected"
    assert write(store, "north", rows) == once


def test_an_empty_partition_is_a_partition(store):
    version = write(store, "north")
    assert (version.rows, len(version.files)) == (0, 1)
    assert store.read("towns").schema == TOWNS.schema


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([towns("north", 3).drop_columns(["name"])], r"missing columns \['name'\]"),
        ([towns("north", 3).append_column("mayor", pa.array(["x"] * 3))], r"unknown columns \['mayor'\]"),
        ([towns("north", 3).set_column(1, "town_id", pa.array(["x"] * 3))], "town_id|parse|cast"),
        ([towns("north", 3), towns("north", 3)], "rows are not in key order"),
        ([towns("north", 3), towns("north", 1, start=2)], r"rows repeat the key .*'town_id': 2"),
        (
            [towns("north", 3).set_column(1, "town_id", pa.array([1, None, 3], pa.int64()))],
            "1 of 3 rows have no 'town_id'",
        ),
        (
            [towns("north", 3, people=-1)],
            "3 of 3 rows break the rule 'peopled' .nobody lives in no town., as town_id 0",
        ),
    ],
)
def test_rows_that_break_a_promise_are_refused_and_the_old_version_stays(store, tables, words):
    before = write(store, "north", towns("north", 2))
    with pytest.raises(ContractError, match=words):
        write(store, "north", *tables)
    assert store.lake.current("towns", "north") == before
    assert store.read("towns").num_rows == 2


def test_the_full_disk_leaves_the_old_version(store, monkeypatch):
    before = write(store, "north", towns("north", 2))
    real = os.fsync

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(store, "north", towns("north", 50))
    monkeypatch.setattr(os, "fsync", real)
    assert store.lake.current("towns", "north") == before
    assert list((store.lake.root / "_staging").iterdir()) == []


def test_a_version_fits_a_declaration_with_the_same_columns_whatever_they_are_said_to_mean(store):
    version = write(store, "north", towns("north", 3))
    *others, last = TOWNS.columns
    reworded = [replace(column, meaning=f"{column.meaning}, in other words") for column in TOWNS.columns]
    assert version.fits(TOWNS)
    assert version.fits(replace(TOWNS, meaning="Settlements.", columns=tuple(reworded)))
    assert not version.fits(replace(TOWNS, columns=tuple(others)))
    assert not version.fits(replace(TOWNS, columns=(*TOWNS.columns, Column("river", STRING, "its river"))))
    assert not version.fits(replace(TOWNS, columns=(*others, replace(last, type=STRING))))
    assert not version.fits(replace(TOWNS, columns=(*others, replace(last, name="people"))))


def test_a_damaged_file_does_not_show_its_columns(store):
    version = write(store, "north", towns("north", 4))
    path = version.places()[0]
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(0, 0))
    with pytest.raises(StoredDamageError, match="towns north, part-00000.parquet: found sha256"):
        version.fits(replace(TOWNS, meaning="Places with people, some of them damaged."))


def test_garbage_is_old_versions_and_drafts_of_dead_runs(store):
    old = write(store, "north", towns("north", 2))
    new = write(store, "north", towns("north", 3))
    gone = write(store, "south", towns("south", 3))
    store.lake.remove("towns", "south")
    dead = store.lake.root / "_staging" / "dead"
    dead.mkdir()
    (dead / ".alive").touch()
    with store.lake.staging("living") as living:
        removed, n_young = store.collect_garbage()
        assert living.exists()
    assert ([path.name for path in removed], n_young) == (["dead"], 2)
    let_a_day_go_by(store.lake.root)
    removed, n_young = store.collect_garbage()
    assert ({path.name for path in removed}, n_young) == ({old.version, gone.version}, 0)
    assert new.folder.exists()
    assert store.read("towns").num_rows == 3


def test_drafts_that_are_collected_before_they_are_held_get_a_folder_again(store, monkeypatch):
    real, removed = lake.try_lock, []

    def collect_first(descriptor):
        monkeypatch.setattr(lake, "try_lock", real)
        removed.extend(store.collect_garbage()[0])
        return real(descriptor)

    monkeypatch.setattr(lake, "try_lock", collect_first)
    with store.lake.staging() as drafts:
        assert removed == [drafts]
        assert drafts.is_dir()
        assert store.collect_garbage() == ([], 0)
    assert not drafts.exists()


def test_exclusions_and_manifest_are_tables(store):
    lost = [Exclusion("too_small", 3, "Town 9"), Exclusion("none", 0, "")]
    store.write(TOWNS, "north", [towns("north", 2)], Provenance({"towns.xml": "ab12"}, {"region": "north"}), lost)
    assert store.read("exclusions").to_pylist() == [
        {
            "table_name": "towns",
            "partition": "north",
            "reason": "too_small",
            "n": 3,
            "example": "Town 9",
            "recorded_in": "towns",
        },
    ]
    manifest = store.read("manifest").to_pylist()
    assert [(row["role"], row["name"]) for row in manifest] == [
        ("input", "towns.xml"),
        ("output", "part-00000.parquet"),
    ]
    assert manifest[0]["sha256"] == "ab12"
    assert manifest[0]["settings"] == '{"region": "north"}'


@pytest.mark.parametrize("inside", ["\u2028", "\u0085"])
def test_an_example_may_hold_what_unicode_calls_the_end_of_a_line(store, inside):
    lost = [Exclusion("too_small", 3, f"Town{inside}9")]
    store.write(TOWNS, "north", [towns("north", 2)], Provenance({}), lost)
    assert [row["example"] for row in store.read("exclusions").to_pylist()] == [f"Town{inside}9"]


def test_adding_is_a_union_by_key(store):
    store.add(TOWNS, "north", iter([towns("north", 3, people=1)]), NOTHING)
    store.add(TOWNS, "north", iter([towns("north", 4, people=9, start=1)]), NOTHING)
    assert store.read("towns")["n_people"].to_pylist() == [1, 1, 1, 9, 9]
    store.add(TOWNS, "north", iter([towns("north", 2, people=5)]), NOTHING, prefer="new")
    assert store.read("towns")["n_people"].to_pylist() == [5, 5, 1, 9, 9]


def test_an_unknown_table_or_column_is_named(store):
    with pytest.raises(SettingsError, match="no table 'cities'; known: exclusions, manifest, towns"):
        store.read("cities")
    with pytest.raises(SettingsError, match="table 'towns' has no column 'mayor'; known: region"):
        store.read("towns", mayor="x")


@pytest.mark.parametrize("key", ["../evil", "a/b", "", ".hidden", "Übel"])
def test_a_partition_key_cannot_leave_its_folder(store, key):
    with pytest.raises(ContractError, match="cannot name a table or partition"):
        write(store, key, towns("x", 1))


def test_a_partition_that_was_removed_and_built_again_has_an_equal_version_of_another_time(store):
    assert store.lake.written_at("towns", "north") is None
    version = write(store, "north", towns("north", 3))
    os.utime(version.folder.parent / POINTER, ns=(5, 5))
    assert store.lake.written_at("towns", "north") == 5
    store.lake.remove("towns", "north")
    assert store.lake.written_at("towns", "north") is None
    assert write(store, "north", towns("north", 3)) == version
    assert store.lake.written_at("towns", "north") > 5


def test_a_version_says_how_it_was_made(store):
    made = Provenance({"towns.xml": "ab12"}, {"first": date(2021, 1, 1)}, {"roads": {"b", "a"}}, ["2", "1"])
    store.write(TOWNS, "north", [towns("north", 2)], made)
    version = Lake(store.lake.root).current("towns", "north")
    assert (version.inputs, version.settings) == ({"towns.xml": "ab12"}, {"first": "2021-01-01"})
    assert (version.fills, version.filled_by) == ({"roads": ["a", "b"]}, ("1", "2"))
    assert version.is_of_present_code(TOWNS)
    assert not version.is_of_present_code(replace(TOWNS, code_version="later"))
    assert len({version, replace(version, inputs={})}) == 2
    store.add(TOWNS, "north", iter([towns("north", 3)]), Provenance({"more.xml": "c"}, filled_by=["3"]))
    version = store.lake.current("towns", "north")
    assert (version.inputs, version.filled_by) == ({"towns.xml": "ab12", "more.xml": "c"}, ("1", "2", "3"))
    assert store.lake.version("towns", "north", version.version) == version
    assert store.lake.version("towns", "north", "0" * 16) is None


def test_one_look_shows_a_partition_as_it_was_at_the_first_and_the_next_sees_what_came_since(store):
    old = write(store, "north", towns("north", 2))
    with store.lake.one_look():
        assert store.lake.current("towns", "north") == old
        new = write(Store(load_home(), [TOWNS]), "north", towns("north", 3))
        assert store.lake.versions("towns") == [old]
    assert store.lake.versions("towns") == [new]


def test_a_full_disk_has_room_for_a_removal(store, monkeypatch):
    version = write(store, "north", towns("north", 2))
    real, pointer = Path.write_bytes, version.folder.parent / POINTER

    def full(path, data):
        if pointer.exists():
            real(path, b"")
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    store.lake.remove("towns", "north")
    assert store.lake.partitions("towns") == store.lake.keys("towns") == []
    store.lake.miss("towns", "north", version.version)
    assert store.lake.keys("towns") == []
    assert sorted(path.name for path in pointer.parent.iterdir()) == sorted([POINTER, version.version])


def test_a_value_that_does_not_fit_its_column_is_named(store):
    write(store, "north", towns("north", 1))
    with pytest.raises(SettingsError, match="table 'towns': a value does not fit its column"):
        store.read("towns", town_id="many")
