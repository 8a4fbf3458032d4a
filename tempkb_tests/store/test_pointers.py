"""A pointer that is gone: named unless the partition was removed, written again from its copy, never collected."""

import shutil
from datetime import date
from unittest import mock

import pytest
from tempkb.store.verification import verify_lake

from tempkb.settings import load_home
from tempkb.store import damage
from tempkb.store.drafts import Provenance
from tempkb.store.locks import Patience
from tempkb.store.store import Store
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.tables_for_tests import TOWNS, towns


def write(store, region="north", people=1):
    return store.write(TOWNS, region, [towns(region, 300, people)], Provenance({"x": "1"}))


def pointer(store, region="north"):
    return store.lake.root / "towns" / region / "CURRENT"


def copy(store, region="north"):
    return store.lake.root / "_notes" / "held" / "towns" / region


def again():
    """The store as a new process sees it, which knows no sums yet."""
    damage._SUMS.clear()
    return Store(load_home(), [TOWNS], Patience(1.0))


def people(store):
    return sorted(set(store.read("towns")["n_people"].to_pylist()))


def test_a_pointer_that_is_gone_is_named_and_written_again(store):
    write(store, people=1)
    version = write(store, people=2)
    written = pointer(store).read_bytes()
    pointer(store).unlink()
    assert store.lake.current("towns", "north") is None
    assert store.lake.lost("towns") == ["north"]
    assert store.lake.lost_version("towns", "north") == version.version
    (fault,) = verify_lake(again().lake, ["towns"], None).faults
    said = f"towns north, CURRENT: found no such file; expected the pointer to version {version.version}"
    assert str(fault) == said
    (done,) = again().set_aside_damaged()
    assert str(done) == (
        f"put right: {said}. It was written again, since all files of version {version.version} are whole"
    )
    assert pointer(store).read_bytes() == written
    assert people(again()) == [2], "the version that counted, and not the one before it, which lies there as well"
    assert again().set_aside_damaged() == []
    assert store.lake.lost("towns") == store.lake.set_aside_folders() == []


def test_a_pointer_that_cannot_be_read_is_written_again(store):
    version = write(store)
    pointer(store).write_text("{")
    (done,) = again().set_aside_damaged()
    assert done.is_pointed
    assert store.lake.current("towns", "north") == version


@pytest.mark.parametrize("harm", ["flipped", "copy cut", "folder gone", "table gone"])
def test_what_is_not_whole_is_not_pointed_to_again(store, harm):
    version = write(store)
    path = version.folder / "part-00000.parquet"
    if harm == "flipped":
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    elif harm == "copy cut":
        copy(store).write_bytes(copy(store).read_bytes()[:-30])
    elif harm == "folder gone":
        shutil.rmtree(version.folder.parent)
    else:
        shutil.rmtree(store.lake.root / "towns")
    pointer(store).unlink(missing_ok=True)
    (fault,) = verify_lake(again().lake, ["towns"], None).faults
    assert fault.expected == f"the pointer to version {version.version if harm != 'copy cut' else 'unknown'}"
    (done,) = again().set_aside_damaged()
    assert str(done).startswith("damaged, and set aside: towns north, CURRENT: found no such file")
    assert store.lake.lost("towns") == ["north"], "and waits to be built again"
    assert again().set_aside_damaged() == []
    is_there = harm in ("flipped", "copy cut")
    assert [one.name for folder in store.lake.set_aside_folders() for one in folder.glob("*/")] == (
        [version.version] if is_there else []
    )
    assert write(store).version == version.version
    assert store.lake.lost("towns") == []


def test_nothing_of_a_partition_that_nobody_removed_is_collected(store):
    old, version = write(store, people=1), write(store, people=2)
    removed = write(store, "south")
    store.lake.remove("towns", "south")
    pointer(store).unlink()
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([removed.folder], 0)
    assert old.folder.exists()
    assert version.folder.exists()
    assert store.lake.lost("towns") == ["north"]
    assert verify_lake(store.lake, ["towns"], None).faults == store.faults()


def test_a_lost_partition_that_is_removed_is_gone(store):
    version = write(store)
    pointer(store).unlink()
    store.lake.remove("towns", "north")
    assert (store.faults(), store.lake.lost("towns"), again().set_aside_damaged()) == ([], [], [])
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([version.folder], 0)


def test_a_partition_that_was_never_pointed_to_does_not_become_current(store):
    with (
        mock.patch("tempkb.store.lake._replace_pointer", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        write(store)
    (folder,) = (store.lake.root / "towns" / "north").glob("*/")
    assert (verify_lake(store.lake, ["towns"], None).faults, again().set_aside_damaged()) == ([], [])
    assert store.lake.partitions("towns") == []
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([folder], 0)


@pytest.mark.parametrize("n_before", [0, 1])
def test_killed_before_the_pointer_is_copied(store, n_before):
    for _ in range(n_before):
        write(store, people=1)
    with (
        mock.patch("tempkb.store.lake.Lake._copy_pointer", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        write(store, people=2)
    assert not copy(store).exists(), "an old copy must not bring an old version back"
    assert verify_lake(store.lake, ["towns"], None).faults == []
    assert people(store) == [2]
    # The next command that writes copies it.
    assert again().set_aside_damaged() == []
    pointer(store).unlink()
    assert [done.is_pointed for done in again().set_aside_damaged()] == [True]
    assert people(store) == [2]


def test_what_takes_a_partition_away_on_purpose_takes_its_copy(store):
    version = write(store)
    store.lake.lose_again("towns", "north", version.version)
    assert (store.faults(), store.lake.lost("towns")) == ([], ["north"])
    write(store)
    path = version.folder / "part-00000.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    assert [done.is_pointed for done in again().set_aside_damaged()] == [False]
    assert not copy(store).exists()


def test_a_partition_that_is_written_while_its_pointer_is_lost_stands(store):
    write(store, people=1)
    pointer(store).unlink()
    version = write(store, people=2)
    assert store.lake.current("towns", "north") == version
    assert copy(store).read_bytes() == pointer(store).read_bytes()
    assert (store.faults(), store.lake.lost("towns")) == ([], [])


def test_since_goes_by_the_copy_of_a_lost_pointer(store):
    write(store)
    pointer(store).unlink()
    assert len(verify_lake(store.lake, ["towns"], date(2000, 1, 1)).faults) == 1
    assert verify_lake(store.lake, ["towns"], date(2100, 1, 1)).faults == []


def test_one_look_shows_a_partition_as_it_was_at_the_first_and_the_next_sees_what_came_since(home_folder):
    store = again()
    write(store, people=1)
    with store.lake.one_look():
        seen = store.lake.current("towns", "north")
        write(again(), people=2)
        assert store.lake.current("towns", "north") == seen
        assert store.lake.versions("towns") == [seen]
    assert store.lake.current("towns", "north") == again().lake.current("towns", "north") != seen
