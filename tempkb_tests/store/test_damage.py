"""What is not whole is found, named, absent, and whole again by what is written next, as it was."""

import contextlib
import dataclasses
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from unittest import mock

import duckdb
import pyarrow.parquet as pq
import pytest

from tempkb.core import files
from tempkb.core.errors import StoredDamageError
from tempkb.core.files import open_parquet, read_parquet, write_summed
from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.store import versions
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.opening import DamagedDatabaseError, DatabaseFileError
from tempkb.store.store import Store
from tempkb.store.tables import Family, View
from tempkb.store.versions import DESCRIPTION
from tempkb_tests.damage import cut_off, flip
from tempkb_tests.killed import KilledError
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.tables_for_tests import TOWNS, towns

PART = "part-00000.parquet"


def write(store, region="north", people=1, source="x", n=300):
    left_out = [Exclusion("nobody lives there", 2, "Ghost Town")]
    return store.write(TOWNS, region, [towns(region, n, people)], Provenance({source: "1"}), left_out)


def file_of(version, name):
    return version.folder.parent / name if name == "CURRENT" else version.folder / name


def again(*tables):
    """The store as a new process sees it, which knows no sums yet."""
    files._SUMS.clear()
    return Store(load_home(), tables or [TOWNS], Patience(1.0))


def found(store):
    """Partition and file of all faults, as a verification finds them."""
    lake = store.lake
    faults = [lake.verify("towns", key)[1] or lake.pointer_fault("towns", key) for key in lake.keys("towns")]
    return [(one.partition, one.file.rpartition("/")[2]) for one in faults if one is not None]


def state(store):
    return {one.partition: (one, one.side_rows("exclusions")) for one in store.lake.versions("towns")}


def whole(store):
    return {"towns": store.lake.versions("towns")}


def differences(store):
    return list(store.database.differences(whole(store)))


def people(store):
    return sorted(set(store.read("towns")["n_people"].to_pylist()))


@pytest.mark.slow
def test_every_flipped_bit_of_a_pointer_and_every_flipped_byte_of_a_version_is_noticed(store):
    version = write(store, n=3)
    for name in ("CURRENT", DESCRIPTION, PART):
        path = file_of(version, name)
        for at in range(path.stat().st_size):
            for bit in range(8) if name == "CURRENT" else [at % 8]:
                flip(path, at, bit)
                # Two changes within a tick of the clock have one date.
                versions._READ.clear()
                assert found(store) == [("north", name)], f"bit {bit} of byte {at} of {name}"
                flip(path, at, bit)
                versions._READ.clear()
    assert found(again()) == [], "what was put right by hand counts again"


HARMS = {
    "flipped": flip,
    "cut": cut_off,
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", ["CURRENT", DESCRIPTION, PART])
def test_each_file_is_named_and_whole_again_by_what_is_written_next(store, name, harm):
    write(store, "south")
    write(store, people=1)
    version = write(store, people=2)
    store.publish()
    before = state(store)
    HARMS[harm](file_of(version, name))
    assert found(again()) == [("north", name)]
    if name == "CURRENT":
        assert state(again()) == before, "the newest version counts meanwhile"
        assert store.lake.lost("towns") == []
        store.collect_garbage()
    else:
        assert (store.lake.lost("towns"), store.lake.partitions("towns")) == (["north"], ["south"])
        assert [one.partition for one in store.faults()] == ["north"]
        assert people(store) == [1], "of the south, and not the version before"
        store.publish()
        assert write(again(), people=2) == version
    assert (found(again()), store.lake.lost("towns"), state(again())) == ([], [], before)
    store.publish()
    assert differences(store) == []


@pytest.mark.parametrize("how", ["pointed to", "looked for", "published"])
def test_a_version_without_its_folder_is_lost_if_its_pointer_or_the_duckdb_file_tells_of_it(store, how):
    version = write(store)
    store.publish()
    shutil.rmtree(version.folder if how == "pointed to" else version.folder.parent)
    if how == "looked for":
        assert found(store) == []
        store.database.note_missing()
    elif how == "published":
        store.publish()
    assert found(store) == [("north", DESCRIPTION)]
    assert store.lake.lost("towns") == ["north"]
    assert write(store) == version
    assert found(store) == []


def test_what_was_removed_stays_so_whatever_bit_of_its_pointer_flips_and_is_no_loss(store):
    version = write(store)
    store.publish()
    store.lake.remove("towns", "north")
    pointer = file_of(version, "CURRENT")
    for at in range(8 * pointer.stat().st_size):
        flip(pointer, at // 8, at % 8)
        assert (store.lake.current("towns", "north"), store.lake.keys("towns"), found(store)) == (None, [], [])
        store.lake.miss("towns", "north", version.version)
        flip(pointer, at // 8, at % 8)
    store.database.note_missing()
    said = "towns north: not shown as the lake has it now. Publish it: tempkb publish"
    assert differences(store) == [said]
    assert found(store) == []


@pytest.mark.parametrize("written", [b"{", b"0123456789abcdef", b"../../secret 0123456789abcdef\n", b"\xff\xfe"])
def test_a_pointer_that_tempkb_did_not_write_is_no_pointer(store, written):
    version = write(store)
    file_of(version, "CURRENT").write_bytes(written)
    assert store.lake.current("towns", "north") == version
    assert found(store) == [("north", "CURRENT")]


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "a/b", "..", ""])
def test_a_description_names_files_of_its_own_folder_only(store, name):
    version = write(store)
    said = json.loads(file_of(version, DESCRIPTION).read_text())
    # Its checksum is right, so that only the names tell.
    del said["sum"]
    said["files"][0]["name"] = name
    write_summed(file_of(version, DESCRIPTION), said)
    assert found(store) == [("north", DESCRIPTION)]
    assert store.lake.files("towns") == []


def test_a_description_of_another_version_is_none(store):
    version, other = write(store, people=1), write(store, people=2)
    shutil.copy(file_of(version, DESCRIPTION), file_of(other, DESCRIPTION))
    assert found(again()) == [("north", DESCRIPTION)]


def test_without_a_pointer_the_newest_whole_version_counts_the_restored_one_before_later_ones(store):
    old = write(store, people=1)
    new = write(store, people=2)
    file_of(new, "CURRENT").unlink()
    cut_off(file_of(new, PART))
    assert store.lake.current("towns", "north") == old
    new = write(store, people=2)
    store.lake.restore(old)
    file_of(new, "CURRENT").unlink()
    assert store.lake.current("towns", "north") == old
    newest = write(store, people=3)
    assert store.lake.current("towns", "north") == newest
    for version in (old, new, newest):
        file_of(version, PART).unlink()
    file_of(new, "CURRENT").unlink()
    assert store.lake.lost("towns") == ["north"]


def test_no_reader_gets_rows_of_a_file_with_a_flipped_bit(store):
    version = write(store)
    flip(file_of(version, PART), 2000)
    with pytest.raises(StoredDamageError, match="towns north, part-00000.parquet: found sha256 .*; expected sha256"):
        again().read("towns")
    assert again().lake.current("towns", "north") is None, "whoever looks next knows of it"
    assert again().lake.lost("towns") == ["north"]
    flip(file_of(version, PART), 2000)
    assert again().lake.lost("towns") == ["north"]
    assert found(again()) == []
    assert again().lake.lost("towns") == []


def test_who_may_not_note_damage_is_told_of_it(store):
    flip(file_of(write(store), PART))
    with (
        mock.patch("tempkb.store.versions.locked", side_effect=PermissionError("read-only")),
        pytest.raises(StoredDamageError, match="found sha256"),
    ):
        again().read("towns")
    assert store.lake.lost("towns") == []


def test_a_reader_notes_no_damage_of_a_version_that_was_written_again_meanwhile(store):
    held = write(store)
    fault = dataclasses.replace(held, files=()).fault(sums=True)
    flip(file_of(held, PART))
    assert (fault, write(again())) == (None, held)
    held.note_damage()
    assert store.lake.lost("towns") == []
    shutil.rmtree(held.folder)
    with pytest.raises(StoredDamageError, match="found no such file"):
        held.paths()
    assert not held.folder.exists()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.ESTALE, errno.ENOMEM])
def test_a_file_that_the_system_does_not_let_us_read_is_not_damaged(store, number):
    write(store)
    refused = OSError(number, os.strerror(number))
    with mock.patch("hashlib.file_digest", side_effect=refused), pytest.raises(OSError, match=refused.strerror):
        found(again())
    assert store.lake.partitions("towns") == ["north"]


@pytest.mark.parametrize("is_lasting", [False, True])
def test_a_block_that_the_disk_cannot_read_twice_is_damage_until_it_can(store, is_lasting):
    version = write(store)
    errors = [OSError(errno.EIO, "Input/output error")] * (2 if is_lasting else 1)
    digests = [*errors, *(files.hashlib.file_digest(open(file_of(version, PART), "rb"), "sha256") for _ in range(3))]  # noqa: PTH123, SIM115
    with mock.patch("hashlib.file_digest", side_effect=digests):
        with pytest.raises(StoredDamageError, match="cannot be read .Input/output error"):
            again().read("towns")
        assert store.lake.lost("towns") == ["north"] * is_lasting
        assert file_of(version, PART).exists()
        assert found(again()) == []
    assert store.lake.lost("towns") == []


def test_sums_are_compared_once_a_process(store):
    version = write(store)
    files._SUMS.clear()
    with mock.patch("hashlib.file_digest", side_effect=files.hashlib.file_digest) as hashed:
        for _ in range(3):
            version.paths()
    assert hashed.call_count == 1


def test_looking_up_many_partitions_stays_cheap(store):
    # The cost is that of opening a pointer, and asking for the state of a description and the size of a file.
    version = write(store)
    assert store.lake.current("towns", "north") == version
    with mock.patch("hashlib.file_digest") as hashed, mock.patch("os.stat", side_effect=os.stat) as asked:
        files._SUMS.clear()
        assert store.lake.current("towns", "north") is not None
    assert hashed.call_count == 0
    assert len([one for one in asked.call_args_list if str(version.folder) in str(one.args[0])]) <= 2


def test_an_equal_draft_takes_the_place_of_a_damaged_version_that_nobody_has_noticed(store):
    version = write(store)
    flip(file_of(version, PART), 1000)
    files._SUMS.clear()
    assert write(store).version == version.version
    assert found(again()) == []
    assert store.read("towns").num_rows == 300
    assert len(store.lake.damaged_folders("towns")) == 1


def test_an_equal_draft_brings_its_inputs(store):
    write(store, source="x")
    with mock.patch("tempkb.store.lake._point", side_effect=KilledError), contextlib.suppress(KilledError):
        write(store, source="y")
    assert found(again()) == []
    version = write(store, source="z")
    assert (found(again()), store.lake.current("towns", "north").inputs) == ([], {"z": "1"})
    assert sorted(path.name for path in version.folder.iterdir()) == [PART, DESCRIPTION]


def test_a_damaged_version_is_not_put_back(store):
    old = write(store, people=1)
    write(store, people=2)
    flip(file_of(old, PART), 1000)
    files._SUMS.clear()
    with pytest.raises(StoredDamageError, match="cannot be restored"):
        store.lake.restore(old)
    assert people(store) == [2]


def test_garbage_is_collected_around_a_lost_partition_and_damaged_versions_of_what_costs_most_stay(store):
    first, north = write(store, "north", people=1), write(store, "north", people=2)
    south = write(store, "south", people=1)
    write(store, "south", people=2)
    cut_off(file_of(north, PART))
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([south.folder], 0)
    assert first.folder.exists()
    assert write(store, "north", people=2) == north
    (damaged,) = store.lake.damaged_folders("towns")
    assert damaged.name.startswith(f"{north.version}.damaged-")
    let_a_day_go_by(store.lake.root)
    assert again(dataclasses.replace(TOWNS, family=Family.MODEL)).collect_garbage() == ([first.folder], 0)
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([damaged], 0)


def test_what_told_of_a_run_is_waited_for_by_nobody(store):
    cut_off(file_of(write(store), PART))
    assert store.lake.lost("towns") == ["north"]
    again(dataclasses.replace(TOWNS, tells_of_a_run=True)).collect_garbage()
    assert (store.lake.lost("towns"), found(again())) == ([], [])


@pytest.mark.parametrize("name", ["CURRENT", PART])
def test_a_lost_partition_that_is_removed_is_gone(store, name):
    version = write(store)
    file_of(version, name).unlink()
    store.lake.remove("towns", "north")
    assert (store.faults(), store.lake.keys("towns"), found(again())) == ([], [], [])
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([version.folder], 0)


def test_what_is_read_by_day_goes_by_the_pointer_or_its_folder(store):
    version = write(store)
    os.utime(version.folder.parent, ns=(7, 7))
    os.utime(file_of(version, "CURRENT"), ns=(5, 5))
    assert store.lake.written_at("towns", "north") == 5
    file_of(version, "CURRENT").unlink()
    os.utime(version.folder.parent, ns=(7, 7))
    assert store.lake.written_at("towns", "north") == 7


def test_publication_leaves_a_damaged_partition_out_and_names_it(store):
    write(store, "south")
    version = write(store, "north")
    flip(version.folder / "part-00000.parquet", 1500)
    publication = again().publish()
    assert publication.left == 0
    assert [said.split(":")[0] for said in publication.damaged] == ["towns north, part-00000.parquet"]
    with store.database.reading() as connection:
        assert connection.execute("SELECT region, count(*) FROM towns GROUP BY 1").fetchall() == [("south", 300)]


def test_pages_carry_sums_and_our_readers_compare_them(store):
    version = write(store)
    path = version.places()[0]
    assert read_parquet(path).num_rows > 0
    place = pq.ParquetFile(path).metadata.row_group(0).column(2)
    flip(path, place.dictionary_page_offset + place.total_compressed_size - 3)
    with pytest.raises(OSError, match="CRC"):
        read_parquet([path])
    with pytest.raises(OSError, match="CRC"), open_parquet(path) as file:
        file.read_row_group(0)


def test_the_duckdb_file_is_compared_row_by_row(store):
    for region in ("north", "south", "west"):
        write(store, region)
    store.publish()
    with duckdb.connect(str(store.database.path)) as connection:
        connection.execute("UPDATE towns SET n_people = 9 WHERE region = 'south' AND town_id = 17")
        connection.execute("DELETE FROM towns WHERE region = 'west' AND town_id = 3")
        connection.execute("UPDATE exclusions SET n = 3 WHERE partition = 'north'")
    found = differences(store)
    assert [one.split(":")[0] for one in found] == ["towns south", "towns west", "exclusions of towns north"]
    assert all(re.search("Make it again from the lake: mv .* && tempkb publish; ", one) for one in found)
    write(store, "north", people=4)
    assert any("towns north" in one and one.endswith(". Publish it: tempkb publish") for one in differences(store))


def test_what_a_build_replaces_while_the_duckdb_file_is_compared_is_no_difference(store):
    write(store, people=1)
    store.publish()
    read = whole(store)
    write(store, people=2)
    store.publish()
    assert list(store.database.differences(read)) == [], "replaced and published since the lake was read"
    write(store, people=2, source="y")
    store.publish()
    write(store, people=2, source="z")
    read = whole(store)
    store.publish()
    write(store, people=2, source="w")
    store.publish()
    assert list(store.database.differences(read)) == [], "equal rows with another manifest"


@pytest.mark.parametrize("said", ["", "COMMENT ON VIEW {} IS 'Mine.'", "COMMENT ON VIEW {} IS '{}'"])
def test_a_view_of_ours_that_somebody_has_replaced_is_noticed(home_folder, said):
    large = View("large_towns", "Towns of many.", "SELECT region FROM towns WHERE n_people > 5", ("towns",))
    store = Store(load_home().claim("testwiki"), [dataclasses.replace(TOWNS, persist="view")], Patience(1.0), [large])
    write(store)
    store.publish()
    for name, meaning in ((large.name, large.meaning), (TOWNS.name, TOWNS.meaning.replace("'", "''"))):
        with duckdb.connect(str(store.database.path)) as connection:
            connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT 'north' AS region")
            connection.execute(said.format(name, meaning))
        if "{}'" in said:
            # It says that it is ours, so it is made again.
            assert any(name in one for one in differences(store))
            assert store.publish().reason == ""
        else:
            refused = f"holds {name}, which tempkb did not make and leaves as it is"
            assert refused in store.publish().reason
            with pytest.raises(DatabaseFileError, match=refused):
                differences(store)
            with duckdb.connect(str(store.database.path)) as connection:
                connection.execute(f"DROP VIEW {name}")
            store.publish()
        assert differences(store) == []
        assert rows_shown(store) == [(300, 300)]


def rows_shown(store):
    with store.database.reading() as connection:
        return connection.execute("SELECT count(*), sum(n_people) FROM towns").fetchall()


def with_notes(store):
    """A published home whose analyst keeps a table in the file."""
    write(store)
    store.publish()
    with duckdb.connect(str(store.database.path)) as connection:
        connection.execute("CREATE TABLE notes AS SELECT range AS n FROM range(400000)")
    return store.database.path


@pytest.mark.parametrize("harm", ["cut", "head flipped", "log flipped"])
def test_a_duckdb_file_that_cannot_be_opened_is_set_aside_and_made_anew(store, harm):
    path = with_notes(store)
    log = path.with_name("tempkb.duckdb.wal")
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:20_000])
    elif harm == "head flipped":
        flip(path, 2201)
    else:
        connection = duckdb.connect(str(path))
        connection.execute("SET wal_autocheckpoint = '1GB'; INSERT INTO notes FROM range(50000)")
        kept = log.read_bytes()
        connection.close()
        log.write_bytes(kept)
        flip(log, len(kept) // 2)
    damaged = path.read_bytes()
    with pytest.raises(DamagedDatabaseError, match=r"tempkb.duckdb: found a damaged file \(.*; expected the published"):
        list(store.database.differences({}))
    write(store, "south")
    publication = store.publish()
    (aside,) = store.database.set_aside_files()
    assert (publication.left, publication.reason, aside.name) == (0, "", "tempkb.duckdb.damaged-1")
    assert publication.set_aside == (
        f"{path}: found a damaged file, which was set aside as {aside}; the tables were published again from the lake. "
        "Tables of your own, if you made any, are in that file only"
    )
    assert aside.read_bytes() == damaged
    assert aside.with_name(f"{aside.name}.wal").exists() == (harm == "log flipped")
    assert rows_shown(store) == [(600, 600)]
    assert (store.publish().set_aside, len(store.database.set_aside_files())) == ("", 1)


def test_a_damaged_block_is_found_and_mended_by_what_is_printed(store):
    path = with_notes(store)
    # Of the analyst's rows, which no publication reads.
    flip(path, path.stat().st_size - 100_000)
    assert store.publish().set_aside == ""
    with pytest.raises(DamagedDatabaseError) as found:
        list(store.database.differences({}))
    assert re.search(r"Make it again from the lake: mv .* && tempkb publish; tables of your own", str(found.value))
    path.rename(path.with_name(f"{path.name}.damaged"))
    assert store.publish().left == 0
    assert rows_shown(store) == [(300, 300)]
    assert differences(store) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            duckdb.IOException("IO Error: Could not set lock on file: Conflicting lock is held in PID 1"),
            "is open in another",
        ),
        (duckdb.IOException("IO Error: Cannot open file: Permission denied"), "cannot be read .IO Error"),
        (duckdb.IOException("IO Error: Could not read from file: Input/output error"), "cannot be read .IO Error"),
        (
            duckdb.IOException(
                "IO Error: Trying to read a database file with version number 99, but we can only read 64"
            ),
            "version number 99.* tempkb leaves it as it is",
        ),
    ],
)
def test_a_file_that_cannot_be_opened_for_another_reason_stays(store, error, said):
    path = with_notes(store)
    with mock.patch("tempkb.store.opening.duckdb.connect", return_value=mock.MagicMock()) as opened:
        opened.return_value.__enter__.return_value.execute.side_effect = error
        publication = Store(load_home(), [TOWNS], Patience(0.0)).publish()
    assert re.search(said, publication.reason)
    assert (path.exists(), store.database.set_aside_files(), publication.set_aside) == (True, [], "")
    assert store.publish().left == 0


@pytest.mark.slow
def test_a_damaged_file_that_another_program_has_open_stays(store):
    path = with_notes(store)
    script = f"import duckdb; held = duckdb.connect({str(path)!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "1\n"
        flip(path, 2201)
        assert "is open in another program" in store.publish().reason
        assert store.database.set_aside_files() == []
        other.communicate("\n")
    assert "found a damaged file" in store.publish().set_aside
