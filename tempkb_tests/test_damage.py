"""Damage to a home that was built: named, set aside, and built again as it was, from the dumps."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from unittest import mock

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

import tempkb.platform.definitions  # noqa: F401 - before a home of these tests decides which windows Dagster knows
from tempkb.benchmarks.register import mark_built
from tempkb.commands.cli import main
from tempkb.commands.runs.building import build
from tempkb.core import files
from tempkb.core.errors import StoredDamageError
from tempkb.core.files import read_summed, write_summed
from tempkb.core.record import IDENTITY, write_record
from tempkb.core.settings import in_shell, program
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import is_built
from tempkb.platform.planning.declaration import Request
from tempkb.store.drafts import Provenance
from tempkb.store.tables import Family
from tempkb.wiki.dumps.catalogue import Dump, DumpFile, remember
from tempkb.wiki.dumps.sums import known_sums
from tempkb.wiki.mentions.steps import look
from tempkb.wiki.revisions.windows import read_windows
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.damage import cut_off, flip
from tempkb_tests.killed import KilledError
from tempkb_tests.models.linking.tiny import save_encoder
from tempkb_tests.models.tiny import saved_tiny
from tempkb_tests.soak.flips import choose, files_of, hit_and_mend, notice_each, state
from tempkb_tests.wiki.revisions.builds import export, page, revision

BY_HAND = (
    "No mirror is set, so copy a good file there by hand or, if something is still to be built from it, fetch it: "
    "TEMPKB_MIRROR=https://dumps.wikimedia.org TEMPKB_CONTACT=me@example.org tempkb fetch"
)
SETTINGS = {"TEMPKB_FIRST_WINDOW": "2021-01-01", "TEMPKB_WORKERS": "1"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A home with the dump of a wiki of three pages, and its two quarters."""
    home = tmp_path_factory.mktemp("damage") / "home"
    folder = home / "dumps" / "testwiki" / "20210701"
    folder.mkdir(parents=True)
    pages = [
        page(
            1,
            revision(11, "2020-11-03T00:00:00Z", "The [[Mill]] turns."),
            revision(12, "2021-02-03T00:00:00Z", "The [[Mill|old mill]] and the [[Quay]]."),
            title="Clock",
        ),
        page(
            2,
            revision(21, "2020-12-01T00:00:00Z", "A mill by the [[Clock]]."),
            revision(22, "2021-05-01T00:00:00Z", "A mill without wings, see [[Quay]]."),
            title="Mill",
        ),
        page(3, revision(31, "2021-04-02T00:00:00Z", "The quay of the [[Clock|clock tower]]."), title="Quay"),
    ]
    (folder / "testwiki-20210701-pages-meta-history.xml").write_bytes(export(*pages))
    run_tempkb(home, "build", **SETTINGS)
    return home


@pytest.fixture
def home(built, home_folder, monkeypatch):
    """A copy of that home, which the environment names."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    shutil.copytree(built, home_folder)
    files._SUMS.clear()
    # Views name their files by absolute paths.
    open_store().publish()
    return home_folder


def typed(*arguments):
    return CliRunner().invoke(main, arguments)


def plain(output, home):
    """What was printed, with commands as they are typed for the default home."""
    return output.replace(f"TEMPKB_HOME={in_shell(home)} ", "").replace(f"{program()} ", "tempkb ")


def data_file(home, table, partition):
    (path,) = home.glob(f"lake/{table}/{partition}/*/part-00000.parquet")
    return path


@pytest.mark.slow
def test_tables_that_are_deleted_and_a_text_that_nobody_has_are_named_and_built_again(home):
    before, store = state(), open_store()
    shutil.rmtree(home / "lake" / "revision_log")
    shutil.rmtree(home / "lake" / "pages")
    # The text is gone, and nothing of it is noted.
    store.forget(store.tables["page_wikitexts"], "2020-10-01", "revision_id", pa.array([21]), Provenance())
    rebuild = "tempkb build --rebuild --window 2021-01-01..2021-04-01"
    gone = ("pages testwiki-20210701", "revision_log 2021-01-01", "revision_log 2021-04-01")
    lacking = "page_wikitexts 2020-10-01: found no text for winners of 2021-01-01 (1); expected the text of each. "
    said = plain(typed("verify").output, home)
    assert re.findall(r"^(.*), [0-9a-f]{16}/version.json: found no such file", said, re.MULTILINE) == list(gone)
    assert f"{lacking}Read them again: {rebuild}\n" in said
    # The lake knows that they are lost, whatever is published.
    assert typed("publish").output.count("missing, since it was damaged") == 3
    assert f"{lacking}Read them again: {rebuild}\n4 faults found (" in plain(typed("verify").output, home)
    summary = build(Request())
    assert summary.failures == []
    assert sum(note.startswith("damaged, and made again: ") for note in summary.notes) == 3
    assert state() == before
    assert typed("verify").output.startswith("All is well (")


# What nothing can make again, with what verify says instead.
GONE = {
    "rebuild_changes": "It told of one run, and nothing can make it again. Forget it: tempkb gc",
    "answer_tokens": "Build it again: tempkb release tokens demo-quarters FILE",
}
STUDY = "2021-01-01..2024-01-01"
FILLED = (
    ("release", "tempel", "2022-01-01..2024-01-01/yearly", "--preset", "small", "--name", "demo"),
    ("release", "templama", STUDY, "--name", "demo-years"),
    ("corpus", "make", "--chunker", "none"),
    ("train", "uniform", "--base", "{causal}", "--window", STUDY, "--preset", "small", "--set", "steps=2"),
    ("model", "add", "demo-causal-2022-01-01", "{causal}", "--knows-until", "2022-01-01"),
    ("model", "add", "demo-causal-2023-07-01", "{causal}", "--knows-until", "2023-07-01"),
    ("score", "--all", "--benchmark", "ecbd", "--variant", "original"),
    ("score", "demo-causal-2022-01-01", "--release", "demo-quarters", "--limit", "300"),
    ("score", "demo-causal-2023-07-01", "--release", "demo-quarters", "--window", "2022-01-01..2022-07-01"),
    ("generate", "demo-causal-2022-01-01", "--release", "demo-quarters", "--limit", "20"),
    ("linker", "add", "zero", "{encoder}"),
    # Not from the oldest cut on: a text is with the cut for which it was encoded first.
    ("linker", "score", "zero", "prior", "--cut", "2023-01-01", "--pool", "own", "--pool", "fixed-20"),
    ("linker", "score", "zero", "--subset", "validation", "--limit", "5"),
    ("linker", "score", "prior", "--cut", "2023-01-01", "--pool", "2022-01-01", "--subset", "validation"),
    ("link", "Mist over [[the port]].", "--as-of", "2021-05-01", "--linker", "zero"),
    ("results",),
)


@pytest.fixture(scope="module")
def filled(demo_home, tmp_path_factory):
    """A home in which each table has a partition; what is in it was not asked for in the usual way or order."""
    folder = tmp_path_factory.mktemp("filled")
    places = {"causal": folder / "causal", "encoder": folder / "encoder"}
    saved_tiny("gpt2", places["causal"])
    save_encoder(places["encoder"], "bert")
    home = folder / "home"
    shutil.copytree(demo_home, home)
    (home / "tempkb.toml").write_text('namespaces = "all"\n')
    for arguments in FILLED:
        run_tempkb(home, *(one.format(**places) for one in arguments))
    return home


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_what_verify_prints_for_a_damaged_partition_of_each_table_mends_the_home(filled, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(filled))
    store = open_store()
    for table, partition in (("rebuild_changes", "2021-01-01"), ("answer_tokens", "demo-quarters")):
        store.write(store.tables[table], partition, [store.tables[table].schema.empty_table()], Provenance())
    mark_built(store, "demo-quarters")
    store.publish()
    assert [name for name in store.tables if not store.lake.partitions(name)] == []
    before = {place: found for place, found in state().items() if place[0] not in GONE}
    struck = set()
    for name, table in store.tables.items():
        keys = store.lake.partitions(name)
        # All of what was asked for one by one, of models and linkers; of other tables a partition in the middle.
        chosen = keys if table.family in (Family.MODEL, Family.LINKER) else [keys[len(keys) // 2]]
        for key in chosen:
            cut_off(store.lake.current(name, key).places()[0])
            struck.add((name, key))
    lines = plain(run_tempkb(filled, "verify", check=False).stdout, filled).splitlines()
    assert {tuple(line.partition(",")[0].split(" ")) for line in lines[:-1]} == struck
    for table, said in GONE.items():
        (line,) = [one for one in lines if one.startswith(f"{table} ")]
        assert line.endswith(f". {said}")
    commands = [one for line in lines[:-1] for one in line.partition(". Build it again: ")[2].split(" && ")]
    for command in dict.fromkeys(commands):
        if command and not command.endswith(" FILE"):
            run_tempkb(filled, *shlex.split(command)[1:])
    run_tempkb(filled, "gc")
    after = state()
    assert {place for place in {*before, *after} if before.get(place) != after.get(place)} == set()
    (line, end) = plain(run_tempkb(filled, "verify", check=False).stdout, filled).splitlines()
    assert line.startswith("answer_tokens demo-quarters, part-00000.parquet: found ")
    assert end.startswith("1 fault found")


@pytest.mark.slow
def test_twelve_hits_are_noticed_each_and_mended(home):
    hits = choose(home / "lake", 10, 2, seed=3)
    assert notice_each(hits) == []
    assert hit_and_mend(hits, 60) == []


@pytest.mark.slow
def test_a_build_reads_lost_texts_again_and_mends_what_it_meets_while_it_reads(home):
    before = state()
    for table in ("page_wikitexts", "page_links"):
        cut_off(data_file(home, table, "2020-10-01"))
    # A bit flips in a file of the right size, which nobody has verified: the build meets it as it makes what follows.
    flip(data_file(home, "inverted_index", "2021-04-01"))
    open_store().lake.remove("mention_priors", "2021-04-01")
    summary = build(Request())
    assert summary.failures == []
    named = [note for note in summary.notes if note.startswith("damaged, and made again: ")]
    assert {note.split(": ")[1] for note in named} == {
        "page_wikitexts 2020-10-01, part-00000.parquet",
        "page_links 2020-10-01, part-00000.parquet",
        "inverted_index 2021-04-01, part-00000.parquet",
    }
    assert state() == before
    store = open_store()
    assert [one for one in read_windows(store) if not is_built(look(store), one)] == [], "and nothing is left to do"


@pytest.mark.slow
def test_commands_get_past_a_damaged_partition_and_name_it(home):
    cut_off(data_file(home, "revision_log", "2021-04-01"))
    said = typed("status")
    assert said.exit_code == 0
    assert "damaged: revision_log 2021-04-01, part-00000.parquet: found" in said.output.replace("\n", " ")
    assert typed("sql", "SELECT count(*) FROM revision_log").exit_code == 0
    said = typed("gc")
    assert said.exit_code == 0
    assert "missing, since it was damaged: revision_log 2021-04-01; build it again: " in said.output
    cut_off(data_file(home, "mentions", "2021-04-01"))
    said = typed("rm", "--window", "2021-04-01", "--yes")
    assert said.exit_code == 0
    assert open_store().lake.partitions("stable_snapshots") == ["2021-01-01"]
    assert open_store().lake.lost("mentions") == []
    cut_off(data_file(home, "pages", "testwiki-20210701"))
    said = typed("publish")
    assert said.exit_code == 0
    assert "missing, since it was damaged: pages testwiki-20210701; build it again: " in said.output


@pytest.mark.slow
def test_verify_has_a_line_a_fault_and_says_what_to_type(home):
    said = typed("verify")
    assert said.exit_code == 0, said.output
    assert said.output.startswith("All is well (")
    assert f"({len(files_of(home / 'lake')) + 1} files, " in said.output, "every file of the lake, and the dump"
    flipped, dump = data_file(home, "mentions", "2021-01-01"), next(home.glob("dumps/testwiki/*/*.xml"))
    flipped.write_bytes(flipped.read_bytes()[:-1] + b"?")
    pointer = home / "lake" / "inverted_index" / "2021-01-01" / "CURRENT"
    pointed = pointer.read_bytes()
    pointer.unlink()
    changed, sums = dump.stat(), known_sums(dump, None)
    dump.write_bytes(dump.read_bytes().replace(b"wings", b"wongs"))
    os.utime(dump, ns=(changed.st_atime_ns, changed.st_mtime_ns))
    (home / "releases").mkdir()
    (home / "releases" / "mine.json").write_text('{"name": "mi')
    said = typed("verify")
    assert said.exit_code == 1
    lines = plain(said.output, home).splitlines()
    assert lines[1].startswith("mentions 2021-01-01, part-00000.parquet: found sha256 ")
    assert lines[1].endswith("Build it again: tempkb build")
    assert f"Build it again: TEMPKB_HOME={in_shell(home)} {program()} build" in said.output
    assert lines[2].startswith("inverted_index 2021-01-01, CURRENT: found no such file; expected the name of a version")
    assert lines[2].endswith("Write it again: tempkb gc")
    assert lines[3].startswith("release 'mine': ")
    assert "; dump_files has " in lines[0]
    assert lines[0].endswith(
        f"with sha256 {sums['sha256']}. Move it away: mv {shlex.quote(str(dump))} {shlex.quote(f'{dump}.damaged')}. {BY_HAND}"
    )
    assert lines[4].startswith("4 faults found (")
    assert (typed("gc").exit_code, pointer.read_bytes()) == (0, pointed)
    assert typed("verify", "--table", "revision_log").exit_code == 0
    # The partition that was found damaged counts as absent until it is built again.
    assert typed("verify", "--table", "mentions").exit_code == 1
    assert typed("verify", "--since", "2100-01-01").output.startswith("All is well (0 files, 0 bytes")
    assert "no table 'towns'; " in typed("verify", "--table", "towns").output


def publish(dump, **said):
    """Write a publisher's list that describes a file as it is, or with other words about it."""
    data = dump.read_bytes()
    described = {"size": len(data), "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest(), **said}
    jobs = {"metahistorybz2dump": {"status": "done", "updated": "", "files": {dump.name: described}}}
    (dump.parent / "dumpstatus.json").write_text(json.dumps({"jobs": jobs}))


@pytest.mark.slow
def test_verify_tells_a_dump_that_was_published_again_from_a_damaged_one(home):
    dump = next(home.glob("dumps/testwiki/*/*.xml"))
    size, sums, before = dump.stat().st_size, known_sums(dump, None, ["sha256", "sha1"]), dump.read_bytes()
    publish(dump)
    assert typed("verify").output.startswith("All is well (")
    dump.write_bytes(dump.read_bytes().replace(b"without wings", b"with wings"))
    publish(dump)
    lines = plain(typed("verify").output, home).splitlines()
    assert lines[0] == (
        f"testwiki-20210701, {dump}: published again since tempkb has read it: found {size - 3:,} bytes with the sha1 "
        f"that its publisher gives now; dump_files has {size:,} bytes with sha256 {sums['sha256']}. What is built from "
        "it stays as it is. To build that again from the new file: tempkb build --rebuild --window "
        "2021-01-01..2021-07-01. If nothing more is to be built from it: tempkb rm --dump testwiki-20210701"
    )
    assert lines[1].startswith("1 fault found (")
    # A list that was altered is no reason to throw the file away.
    for said in ({"sha1": "0" * 40}, {"size": size - 4}, {"size": 10 * size}):
        dump.write_bytes(before)
        publish(dump, **said)
        lines = plain(typed("verify").output, home).splitlines()
        gives = f"sha1:{said.get('sha1', sums['sha1'])}, {said.get('size', size)}"
        assert lines[0] == (
            f"testwiki-20210701, {dump}: is as tempkb has read it, with {size} bytes, but its publisher's list beside "
            f"it gives {gives}: the list was altered, or the file was published again. Keep the file, and get the list "
            f"again. {BY_HAND}"
        )
        assert lines[1].startswith("1 fault found (")
    dump.write_bytes(before.replace(b"without wings", b"with wings"))
    publish(dump)
    # Whatever the list says, other bytes than it gives are damage.
    dump.write_bytes(dump.read_bytes().replace(b"with wings", b"With wings"))
    assert ". Move it away: mv " in typed("verify").output


def test_a_note_that_is_altered_is_what_is_wrong_where_the_publisher_agrees_with_the_file(home):
    (dump,) = home.glob("dumps/testwiki/*/*.xml")
    right = known_sums(dump, None)
    shutil.rmtree(home / "dumps" / "sums")
    assert typed("build", "--select", "dump_files").exit_code == 0
    publish(dump)
    (note,) = home.glob("dumps/sums/*.json")
    noted = json.loads(note.read_text())
    false = right["sha256"].replace(right["sha256"][0], "0" if right["sha256"][0] != "0" else "1")
    noted["sums"]["sha256"] = false
    note.write_text(json.dumps(noted))
    line, end = typed("verify").output.splitlines()
    assert line.startswith(f"{note}: this is not a note of a file's checksums")
    assert end.startswith("1 fault found (")
    # What is stored comes from the file, and the note is made again. The list alone names no tables.
    (dump.parent / "dumpstatus.json").unlink()
    assert typed("build", "--select", "dump_files").exit_code == 0
    assert json.loads(note.read_text())["sums"].items() >= right.items()
    assert shown(home, "(SELECT checksum FROM dump_files)") == [(right["sha256"],)]
    assert typed("verify").output.startswith("All is well (")


def test_a_query_over_a_damaged_file_of_a_view_names_it(home):
    path = data_file(home, "page_wikitexts", "2020-10-01")
    whole = path.read_bytes()
    place = "tempkb: page_wikitexts 2020-10-01, part-00000.parquet: found a file that DuckDB cannot read ("
    expected = "expected what tempkb wrote. Compare it with its checksum, and see how to repair it: tempkb verify"
    harms = {
        whole[:-10]: f"{place}Invalid Input Error: No magic bytes found at end of file 'part-00000.parquet'",
        b"": f"{place}Invalid Input Error: File 'part-00000.parquet' too small to be a Parquet file",
        # A footer that begins with rubbish: DuckDB does not say of which file it is.
        whole[: -8 - int.from_bytes(whole[-8:-4], "little")].ljust(len(whole) - 8, b"\xff")
        + whole[-8:]: "tempkb: a view over files of the lake: found a file that DuckDB cannot read (",
        None: f"{place}IO Error: No files found that match the pattern",
    }
    for data, words in harms.items():
        path.unlink() if data is None else path.write_bytes(data)
        said = typed("sql", "SELECT revision_id, wikitext FROM page_wikitexts")
        assert (said.exit_code, said.output.count("\n")) == (1, 1)
        assert said.output.startswith(words)
        table = " --table page_wikitexts\n" if words.startswith(place) else "\n"
        assert expected + table in plain(said.output, home)
    said = typed("publish")
    assert "missing, since it was damaged: page_wikitexts 2020-10-01" in said.output
    assert "DuckDB file was set aside" not in said.output, "only a file of the lake was damaged"
    assert typed("sql", "SELECT revision_id FROM page_wikitexts").exit_code == 0


@pytest.mark.slow
def test_verify_says_which_dump_is_gone_from_where_it_came_and_what_to_type(home, tmp_path, monkeypatch):
    dump = next(home.glob("dumps/testwiki/*/*.xml"))
    elsewhere = tmp_path / "named-20210801-pages.xml"
    dump.rename(elsewhere)
    # This home is a copy of the one in which the sum was noted, which a second note of the copy says once more.
    (note,) = home.glob("dumps/sums/*.json")
    noted = read_summed(note)
    assert noted["path"] != str(dump)
    write_summed(note.with_name("of-the-copy.json"), {**noted, "path": str(dump)})
    said = f"testwiki-20210701, {dump}: the file is missing, though tempkb has read it before. "
    forget = "If nothing more is to be built from it: tempkb rm --dump "
    lines = plain(typed("verify").output, home).splitlines()
    assert lines[0] == f"{said}{BY_HAND}. {forget}testwiki-20210701"
    assert lines[1].startswith("1 fault found (")
    monkeypatch.setenv("TEMPKB_MIRROR", str(tmp_path))
    assert plain(typed("verify").output, home).startswith(
        f"{said}If something is still to be built from testwiki-20210701, fetch it again from the mirror {tmp_path}: "
        f"tempkb fetch. {forget}"
    )
    monkeypatch.delenv("TEMPKB_MIRROR")
    assert typed("rm", "--dump", "testwiki-20210701", "--yes").exit_code == 0
    assert typed("verify").output.startswith("All is well (")
    named = Dump("testwiki-20210801", "testwiki", None, (DumpFile(elsewhere, "history"),), 0, is_named=True)
    remember(home / "dumps", named)
    assert typed("verify").output.startswith("All is well (")
    elsewhere.unlink()
    assert plain(typed("verify").output, home).splitlines()[0] == (
        f"testwiki-20210801, {elsewhere}: the file is missing, though it was named with --dump. Get the file "
        "again from its source and name its path: tempkb build --dump FILE. "
        f"{forget}testwiki-20210801"
    )
    assert typed("rm", "--dump", "testwiki-20210801", "--yes").exit_code == 0
    assert typed("verify").output.startswith("All is well (")


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        (
            {},
            "TEMPKB_MIRROR=https://dumps.wikimedia.org TEMPKB_CONTACT=me@example.org TEMPKB_WIKI=testwiki tempkb fetch",
        ),
        ({"CONTACT": "us@example.org", "WIKI": "testwiki"}, "TEMPKB_MIRROR=https://dumps.wikimedia.org tempkb fetch"),
        ({"MIRROR": "http://127.0.0.1:1", "WIKI": "testwiki"}, "TEMPKB_CONTACT=me@example.org tempkb fetch"),
        ({"MIRROR": "/"}, "TEMPKB_WIKI=testwiki tempkb fetch"),
    ],
    ids=["nothing set", "a person", "a server", "a folder"],
)
def test_verify_waits_for_a_dump_that_arrives_and_names_a_fetch_that_has_what_it_needs(
    home_folder, configure, variables, command
):
    configure(**variables)
    folder = home_folder / "dumps" / "testwiki" / "20210701"
    folder.mkdir(parents=True)
    dump = folder / "testwiki-20210701-pages-meta-history.xml.bz2"
    dump.write_bytes(b"x" * 3000)
    publish(dump, size=13_639, sha1="0" * 40)
    line = plain(typed("verify").output, home_folder).splitlines()[0]
    assert line.startswith(
        f"testwiki-20210701, {dump}: has 3,000 of 13,639 bytes. If it is still arriving, wait; else get the rest. "
    )
    assert line.endswith(f": {command}")
    assert "mv " not in line


def test_one_line_for_each_damaged_note_of_a_home(home):
    (note,) = (home / "dumps" / "sums").glob("*.json")
    note.write_text(json.dumps({"path": 1}))
    assert "this is not a note of a file's checksums" in typed("verify").output
    record = home / "home.toml"
    record.write_bytes(record.read_bytes()[:-200])
    for command in ("status", "verify", "build"):
        said = typed(command)
        assert (said.exit_code, said.output.count("\n")) == (1, 1)
        assert "home.toml: found " in said.output
        assert said.output.endswith(f"The lake has a copy: cp {home}/lake/home.toml {record}\n")


def test_a_removal_that_was_killed_is_finished_by_its_repeat(home, tmp_path):
    assert typed("model", "add", "tiny", str(saved_tiny("gpt2", tmp_path / "gpt2"))).exit_code == 0
    for typed_again, gone, at in [
        (("model", "rm", "tiny", "--yes"), "models", "store.store.Store.publish"),
        (("rm", "--window", "2021-01-01..2021-07-01", "--yes"), "stable_snapshots", "store.store.Store.publish"),
        (("rm", "--dump", "testwiki-20210701", "--force", "--yes"), "pages", "wiki.dumps.verification.empty_bin"),
    ]:
        before = shown(home, gone)
        with mock.patch(f"tempkb.{at}", side_effect=KilledError), pytest.raises(KilledError):
            typed(*typed_again)
        assert shown(home, gone) == before != []
        assert typed(*typed_again).exit_code == 0
        assert shown(home, gone) == []
        assert typed("publish").output == "Published: 0 partitions. Nothing is pending.\n"
        again = typed(*typed_again)
        assert (again.exit_code, "no such" in again.output or "nothing is built of" in again.output) == (1, True)
    assert not (home / "dumps" / "_removed").exists()


def shown(home, table):
    """All rows that DuckDB shows of a table."""
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        return connection.execute(f"FROM {table} ORDER BY ALL").fetchall()


def test_both_copies_of_the_record_are_checked_and_a_lake_refuses_another_record_than_its_own(home):
    record, copy = home / "home.toml", home / "lake" / "home.toml"
    whole = record.read_bytes()
    for spoilt in (whole.replace(b"lookback_days = 30", b"lookback_days = 31"), b"", None):
        for put_right in ("verify", "build"):
            copy.unlink() if spoilt is None else copy.write_bytes(spoilt)
            said = typed(put_right)
            if put_right == "verify":
                (line, _) = said.output.splitlines()
                assert (said.exit_code, line.startswith(f"{copy}: found ")) == (1, True)
                subprocess.run(shlex.split(line.rpartition(": ")[2]), check=True)
            else:
                assert f"put right: {copy}: found " in said.output.replace("\n", " ")
            assert copy.read_bytes() == whole
    assert typed("verify").output.startswith("All is well (")
    digests = {json.loads(path.read_text())["record"] for path in home.glob("lake/*/*/*/version.json")}
    assert len(digests) == 1
    # With another salt, or without any, contributors of later windows would be others.
    for file in (record, copy):
        file.unlink()
    for found in ("neither it nor a copy in the lake", "the digest "):
        for command in ("status", "build", "verify"):
            said = typed(command)
            assert (said.exit_code, said.output.count("\n")) == (1, 1)
            assert f"{record}: found {found}" in said.output
            assert f"; expected the digest {digests.copy().pop()}, under which " in said.output
        values = tomllib.loads(whole.decode())
        write_record(home, {key: values[key] for key in IDENTITY})
    record.write_bytes(whole)
    copy.unlink(missing_ok=True)
    assert typed("build").exit_code == 0
    assert typed("verify").output.startswith("All is well (")


def test_for_a_partition_of_a_release_another_command_is_named(home):
    store = open_store()
    said = []
    for table, partition in (("tempel_plans", "mine.2021-04-01"), ("ecbd_cloze", "my.own"), ("answer_tokens", "mine")):
        store.write(store.tables[table], partition, [store.tables[table].schema.empty_table()], Provenance())
        cut_off(data_file(home, table, partition))
        said.append(f"damaged: {table} {partition}, part-00000.parquet: found")
    screen = typed("status").output.replace("\n", "")
    assert all(line in screen for line in said)
    name = f"TEMPKB_HOME={in_shell(home)} tempkb"
    commands = [f"{name} release finish mine", f"{name} release finish my.own", f"{name} release tokens mine FILE"]
    lines = typed("verify").output.replace(program(), "tempkb").splitlines()
    found = {line.split(",")[0]: line.rsplit(": ", 1)[1] for line in lines[:3]}
    assert sorted(found.values()) == sorted(commands)
    assert found["tempel_plans mine.2021-04-01"] == commands[0]
    screen = " ".join(typed("status").output.split())
    for command in commands:
        assert f"build it again: {command}" in screen
    # Whoever reads a flipped file is sent to where that is said.
    (version,) = store.lake.versions("mentions", ["2021-01-01"])
    path = data_file(home, "mentions", "2021-01-01")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(StoredDamageError, match="for the command to type: tempkb status$"):
        version.paths()
