"""A damaged partition counts as absent, is named and set aside, and what is written next takes its place."""

import dataclasses
import errno
import json
import os
import re
import subprocess
import sys
from unittest import mock

import duckdb
import pyarrow.parquet as pq
import pytest
from tempkb.store.verification import verify_lake

from tempkb.errors import StoredDamageError
from tempkb.settings import load_home
from tempkb.store import damage
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.lake import _last_line
from tempkb.store.locks import Patience
from tempkb.store.opening import DamagedDatabaseError
from tempkb.store.parquet import open_parquet, read_parquet
from tempkb.store.store import Store
from tempkb.store.tables import View
from tempkb_tests.damage import flip
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.tables_for_tests import TOWNS, towns


def write(store, region="north", people=1, source="x"):
    left_out = [Exclusion("nobody lives there", 2, "Ghost Town")]
    return store.write(TOWNS, region, [towns(region, 300, people)], Provenance({source: "1"}), left_out)


def pointer(version):
    return version.folder.parent / "CURRENT"


def again():
    """The store as a new process sees it, which knows no sums yet."""
    damage._SUMS.clear()
    return Store(load_home(), [TOWNS], Patience(1.0))


def faults(store):
    return [(one.partition, one.file) for one in verify_lake(store.lake, ["towns"], None).faults]


def test_every_flipped_byte_of_a_small_partition_is_noticed(store):
    version = write(store)
    for path in (pointer(version), *sorted(version.folder.iterdir())):
        size = path.stat().st_size
        for at in {*range(0, size, max(size // 12, 1)), 0, 3, size - 1, size - 5}:
            flip(path, at, at % 8)
            name = path.name
            assert faults(again()) == [("north", name)], f"byte {at} of {name}"
            flip(path, at, at % 8)
            assert faults(again()) == [], "what was put right by hand counts again"


@pytest.mark.parametrize(
    "written",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "{}",
        '{"version": 1}',
        '{"table": "towns", "partition": "north", "version": "a", "rows": 1, "schema": "s", "files": [{"name": "../x"}]}',
    ],
)
def test_a_pointer_that_tempkb_did_not_write_is_no_pointer(store, written):
    version = write(store)
    pointer(version).write_text(written)
    assert store.lake.current("towns", "north") is None
    assert store.lake.partitions("towns") == []
    (fault,) = store.faults()
    assert (fault.partition, fault.file) == ("north", "CURRENT")


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "a/b", "..", ""])
def test_a_pointer_names_files_of_its_own_folder_only(store, name):
    version = write(store)
    said = json.loads(pointer(version).read_text())
    # Its checksum is right, so that only the names tell.
    del said["sum"]
    said["files"][0]["name"] = name
    body = json.dumps(said, indent=1).encode()
    pointer(version).write_bytes(body.removesuffix(b"\n}") + _last_line(body))
    (fault,) = store.faults()
    assert fault.found == f"the file name {name!r}"
    assert store.lake.files("towns") == []


@pytest.mark.parametrize("harm", ["cut", "gone", "no folder"])
def test_sizes_tell_whenever_a_version_is_looked_up(store, harm):
    version = write(store)
    write(store, "south")
    path = version.folder / "part-00000.parquet"
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif harm == "gone":
        path.unlink()
    else:
        version.folder.rename(version.folder.with_name("elsewhere"))
    assert store.lake.partitions("towns") == ["south"]
    assert store.read("towns").num_rows == 300


def test_no_reader_gets_rows_of_a_file_with_a_flipped_bit(store):
    version = write(store)
    path = version.folder / "part-00000.parquet"
    flip(path, 2000)
    with pytest.raises(StoredDamageError, match="towns north, part-00000.parquet: found sha256 .*; expected sha256"):
        again().read("towns")
    assert again().lake.current("towns", "north") is None, "whoever looks next knows of it"
    assert again().lake.lost("towns") == ["north"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.ESTALE, errno.ENOMEM])
def test_a_file_that_the_system_does_not_let_us_read_is_not_damaged(store, number):
    write(store)
    store = again()
    refused = OSError(number, os.strerror(number))
    with mock.patch("hashlib.file_digest", side_effect=refused), pytest.raises(OSError, match=refused.strerror):
        store.set_aside_damaged()
    assert store.lake.set_aside_folders() == []
    assert store.lake.partitions("towns") == ["north"]


def test_a_file_that_the_disk_cannot_read_is_damaged(store):
    write(store)
    store = again()
    with mock.patch("hashlib.file_digest", side_effect=OSError(errno.EIO, "Input/output error")):
        (fault,) = store.faults()
    assert fault.found == "a file that cannot be read (Input/output error)"


def test_sums_are_compared_once_a_process(store):
    version = write(store)
    damage._SUMS.clear()
    with mock.patch("hashlib.file_digest", side_effect=damage.hashlib.file_digest) as hashed:
        for _ in range(3):
            version.paths()
    assert hashed.call_count == 1


def test_what_is_set_aside_stays_and_is_built_again_as_it_was(store):
    version = write(store)
    store.publish()
    data = (version.folder / "part-00000.parquet").read_bytes()
    flip(version.folder / "part-00000.parquet", 1000)
    assert faults(again()) == [("north", "part-00000.parquet")]
    (done,) = again().set_aside_damaged()
    (aside,) = store.lake.set_aside_folders()
    assert json.loads((aside / "why.json").read_text())["found"] == done.fault.found
    assert len((aside / version.version / "part-00000.parquet").read_bytes()) == len(data)
    assert store.lake.lost("towns") == ["north"]
    assert store.lake.lost_version("towns", "north") == version.version
    assert store.publish().done == 1
    assert again().set_aside_damaged() == []
    assert write(store).version == version.version
    assert (version.folder / "part-00000.parquet").read_bytes() == data
    assert store.lake.lost("towns") == []
    store.publish()
    assert store.database.differences(verify_lake(store.lake, ["towns"], None).whole) == []


def test_what_told_of_a_run_is_set_aside_and_waited_for_by_nobody(store):
    version = write(store)
    flip(version.folder / "part-00000.parquet", 1000)
    assert faults(again()) == [("north", "part-00000.parquet")]
    of_runs = Store(load_home(), [dataclasses.replace(TOWNS, tells_of_a_run=True)], Patience(1.0))
    assert [done.fault.partition for done in of_runs.set_aside_damaged()] == ["north"]
    assert len(store.lake.set_aside_folders()) == 1
    assert (store.lake.lost("towns"), faults(again())) == ([], [])


def test_an_equal_draft_takes_the_place_of_a_damaged_version(store):
    # Nobody has looked: the sizes are right, and the same rows are written once more.
    version = write(store)
    flip(version.folder / "part-00000.parquet", 1000)
    damage._SUMS.clear()
    assert write(store).version == version.version
    assert faults(again()) == []
    assert store.read("towns").num_rows == 300
    assert len(store.lake.set_aside_folders()) == 1


def test_an_equal_draft_brings_its_manifest_without_touching_the_one_that_counts(store):
    version = write(store, source="x")
    with (
        mock.patch("tempkb.store.lake._replace_pointer", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        write(store, source="y")
    assert faults(again()) == [], "killed before the pointer moved, the old manifest is whole"
    assert store.lake.current("towns", "north").side_rows("manifest")[0]["name"] == "x"
    write(store, source="y")
    assert faults(again()) == []
    assert store.lake.current("towns", "north").side_rows("manifest")[0]["name"] == "y"
    store.publish()
    let_a_day_go_by(store.lake.root)
    store.collect_garbage()
    assert sorted(path.name[:8] for path in version.folder.glob("*.jsonl")) == ["exclusio", "manifest"]
    assert faults(again()) == []


def test_a_damaged_version_is_not_put_back(store):
    old = write(store, people=1)
    write(store, people=2)
    flip(old.folder / "part-00000.parquet", 1000)
    damage._SUMS.clear()
    with pytest.raises(StoredDamageError, match="cannot be restored"):
        store.lake.restore(old)
    assert store.read("towns")["n_people"].to_pylist()[0] == 2


def test_garbage_is_collected_around_a_damaged_partition(store):
    first, north = write(store, "north", people=1), write(store, "north", people=2)
    south = write(store, "south", people=1)
    write(store, "south", people=2)
    pointer(north).write_text("{")
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([south.folder], 0)
    assert first.folder.exists()
    assert north.folder.exists()


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
    found = store.database.differences(verify_lake(store.lake, ["towns"], None).whole)
    assert {(one.thing, one.found) for one in found} == {
        ("towns south", "300 rows that are not those of the lake"),
        ("towns west", "299 rows"),
        ("exclusions of towns north", "1 rows that are not those of the lake"),
    }
    write(store, "north", people=4)
    found = store.database.differences(verify_lake(store.lake, ["towns"], None).whole)
    assert ("towns north", True) in {(one.thing, one.is_pending) for one in found}


def test_what_a_build_replaces_while_the_duckdb_file_is_compared_is_no_difference(store):
    write(store, people=1)
    store.publish()
    read = verify_lake(store.lake, ["towns"], None).whole
    write(store, people=2)
    store.publish()
    assert store.database.differences(read) == [], "replaced and published since the lake was read"
    write(store, people=2, source="y")
    store.publish()
    write(store, people=2, source="z")
    read = verify_lake(store.lake, ["towns"], None).whole
    store.publish()
    write(store, people=2, source="w")
    store.publish()
    assert store.database.differences(read) == [], "equal rows with another manifest"


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
        found = store.database.differences(verify_lake(store.lake, ["towns"], None).whole)
        publication = store.publish()
        if "{}'" in said:
            # It says that it is ours, so it is made again.
            assert any(name in one.thing for one in found)
            assert publication.reason == ""
        else:
            assert f"holds {name}, which tempkb did not make and leaves as it is" in publication.reason
            with duckdb.connect(str(store.database.path)) as connection:
                connection.execute(f"DROP VIEW {name}")
            store.publish()
        assert store.database.differences(verify_lake(store.lake, ["towns"], None).whole) == []
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
        store.database.differences({})
    write(store, "south")
    publication = store.publish()
    (aside,) = store.database.set_aside_files()
    assert (publication.left, publication.reason, aside.name) == (0, "", "tempkb.duckdb.damaged-1")
    assert publication.set_aside.startswith(f"{path}: found a damaged file (")
    assert publication.set_aside.endswith(
        f"The damaged DuckDB file was set aside as {aside}, and the tables were published again from the lake; tables "
        "of your own, if you made any, are in that file only"
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
        store.database.differences({})
    assert re.search(r"Make it again from the lake: mv .* && tempkb publish; tables of your own", str(found.value))
    path.rename(path.with_name(f"{path.name}.damaged"))
    assert store.publish().left == 0
    assert rows_shown(store) == [(300, 300)]
    assert store.database.differences(verify_lake(store.lake, ["towns"], None).whole) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            duckdb.IOException("IO Error: Could not set lock on file: Conflicting lock is held in PID 1"),
            "is open in another",
        ),
        (duckdb.IOException("IO Error: Cannot open file: Permission denied"), "cannot be opened: IO Error"),
        (duckdb.IOException("IO Error: Could not read from file: Input/output error"), "cannot be opened: IO Error"),
        (
            duckdb.IOException(
                "IO Error: Trying to read a database file with version number 99, but we can only read 64"
            ),
            "this version of DuckDB cannot read .* tempkb leaves it as it is",
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


def test_looking_up_many_partitions_stays_cheap(store):
    # The cost is that of opening a pointer and asking for the sizes of three files; no file is read.
    version = write(store)
    with mock.patch("hashlib.file_digest") as hashed, mock.patch("os.stat", side_effect=os.stat) as asked:
        damage._SUMS.clear()
        assert store.lake.current("towns", "north") is not None
    assert hashed.call_count == 0
    assert len([one for one in asked.call_args_list if str(version.folder) in str(one.args[0])]) == 3
