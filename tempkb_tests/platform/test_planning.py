"""Why a mirror's dumps are not taken: each newer one is named with its reason, and a wiki that is not there is an error."""

import json
import shutil
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import tempkb.platform.definitions  # noqa: F401 - before a home of these tests decides which windows Dagster knows
from tempkb.commands.cli import main
from tempkb.commands.runs import building
from tempkb.core.errors import MissingDumpError
from tempkb.core.windows import Granularity, Window, windows_until
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import newest_held
from tempkb.platform.planning.due import look_out
from tempkb.wiki.dumps.download import present_dump
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.dumps.server import serving
from tempkb_tests.wiki.revisions.builds import export, page, revision

HISTORY = "pages-meta-history.xml.bz2"
TABLES = {"page.sql.gz": b"pages", "page_props.sql.gz": b"props"}
TODAY = date(2026, 8, 15)


@pytest.fixture
def server(home_folder, configure):
    """A server that the home fetches testwiki from; its windows are the quarters from 2026 on, two of which have ended."""
    with serving() as one:
        configure(
            mirror=one.root, contact="me@example.org", wiki="testwiki", first_window="2026-01-01", wikidata_days="0"
        )
        yield one


def put(server, day, *, wiki="testwiki", files=None, **jobs):
    return server.put_legacy(wiki, day, {HISTORY: b"history", **TABLES} if files is None else files, **jobs)


def as_folder(server, folder, monkeypatch):
    """The same files as a folder of this machine."""
    server.write_to(folder)
    monkeypatch.setenv("TEMPKB_MIRROR", str(folder))


def seen(**options):
    """What is due, and what is passed over."""
    outlook = look_out(open_store(), TODAY, **options)
    return [one.dump.dump_id for one in outlook.due], outlook.passed


def test_a_job_that_is_not_done_is_named_for_each_dump(server):
    put(server, "20260501", metahistorybz2dump="waiting")
    put(server, "20260601", pagepropstable="in-progress")
    put(server, "20260701", pagetable="failed")
    put(server, "20260720", files=TABLES, metahistorybz2dump="failed", metahistory7zdump="skipped")
    assert seen() == (
        [],
        [
            "testwiki-20260501: job metahistorybz2dump is waiting",
            "testwiki-20260601: job pagepropstable is in-progress",
            "testwiki-20260701: job pagetable is failed",
            "testwiki-20260720: job metahistorybz2dump is failed; job metahistory7zdump is skipped; it has no history "
            "of pages",
        ],
    )


def test_a_dump_that_is_too_old_or_that_an_earlier_one_makes_needless_is_named(server):
    for day in ("20251101", "20260320", "20260701", "20260801"):
        put(server, day)
    assert seen() == (
        ["testwiki-20260701"],
        [
            "testwiki-20251101: ends before 2026-04-01, where 2026-Q1 ends, the first window that is missing",
            "testwiki-20260320: ends before 2026-04-01, where 2026-Q1 ends, the first window that is missing",
            "testwiki-20260801: an earlier dump reaches the same missing windows, up to 2026-Q2",
        ],
    )


def test_what_is_no_newer_than_what_is_held_is_passed_over_in_silence(server, home_folder):
    for day in ("20251101", "20260320", "20260701"):
        put(server, day)
    for place, data in server.files.items():
        if "20260701" in place:
            (home_folder / "dumps" / place).parent.mkdir(parents=True, exist_ok=True)
            (home_folder / "dumps" / place).write_bytes(data)
    assert seen() == (["testwiki-20260701"], [])
    # Of the one that is here, a file is lost, so that the older ones are news again.
    next((home_folder / "dumps").rglob("*history*")).unlink()
    due, _ = seen(from_mirror=False)
    assert due == []
    assert seen(from_mirror=False)[1] == [
        "testwiki-20260701: lies here, but file testwiki-20260701-pages-meta-history.xml.bz2 is missing"
    ]


def test_a_dump_here_that_nobody_lists_is_named_where_it_is_not_taken(server, home_folder):
    folder = put(server, "20260701")
    del server.files[f"{folder}/dumpstatus.json"]
    server.write_to(home_folder / "dumps")
    due, (line,) = seen(from_mirror=False)
    assert due == []
    assert line == (
        "testwiki-20260701: lies here, but no list of its publisher says what belongs to it (dumpstatus.json, or "
        "SHA256SUMS and _SUCCESS), so nobody can tell whether it is whole, and the automation leaves it alone; add the "
        "list, or build from it: tempkb build"
    )
    assert seen(from_mirror=False, only_listed=False) == (["testwiki-20260701"], [])


@pytest.mark.parametrize("is_here", [True, False], ids=["here", "in the mirror"])
def test_an_incomplete_dump_of_which_a_window_was_built_by_hand_is_still_named(
    is_here, server, home_folder, monkeypatch
):
    put(server, "20260701", pagetable="in-progress")
    if is_here:
        server.write_to(home_folder / "dumps")
    # As after `build --window 2026-01-01..2026-04-01 --dump FILE`: the dump's files are written down, Q1 is built.
    monkeypatch.setattr("tempkb.platform.planning.due.newest_held", lambda *_: date(2026, 7, 1))
    _, second = windows_until(date(2026, 1, 1), date(2026, 7, 1), Granularity.QUARTER)
    monkeypatch.setattr("tempkb.platform.planning.due.missing_windows", lambda *_: [second])
    lies = "lies here, but " if is_here else ""
    assert seen(from_mirror=not is_here) == ([], [f"testwiki-20260701: {lies}job pagetable is in-progress"])
    # Of windows that end later it would serve none.
    monkeypatch.setattr(
        "tempkb.platform.planning.due.missing_windows", lambda *_: [Window(second.end, Granularity.QUARTER)]
    )
    assert seen(from_mirror=not is_here) == ([], [])


def test_an_incomplete_dump_is_named_if_the_complete_one_that_serves_the_same_windows_is_later(server, home_folder):
    put(server, "20260415", pagetable="failed")
    put(server, "20260501")
    put(server, "20260601", pagetable="failed")
    put(server, "20260701", pagetable="failed")
    server.write_to(home_folder / "dumps")
    assert seen(from_mirror=False) == (
        ["testwiki-20260501"],
        [
            "testwiki-20260415: lies here, but job pagetable is failed",
            "testwiki-20260701: lies here, but job pagetable is failed",
        ],
    )


def test_an_undated_dump_whose_hash_has_only_digits_is_not_taken_for_a_dated_one(server):
    read = ["testwiki-20260320", "testwiki-98765432", "otherwiki-20260701"]
    store = open_store()
    store.lake = SimpleNamespace(partitions=lambda _table: read)
    assert newest_held(store, []) == date(2026, 3, 20)
    with pytest.raises(MissingDumpError, match="dump 'testwiki-98765432': not below .*, and no longer in the mirror"):
        present_dump(store.home, "testwiki-98765432", print)


def test_lists_that_are_missing_or_of_another_wiki_are_named(server):
    folder = put(server, "20260501")
    del server.files[f"{folder}/dumpstatus.json"]
    content = server.put_content("testwiki", "2026-06-01", {"p1p9": b"x"})
    del server.files[f"{content}/SHA256SUMS"]
    del server.files[f"{content}/_SUCCESS"]
    other = server.put_legacy("frwiki", "20260701", {HISTORY: b"history", **TABLES})
    for place in [one for one in server.files if one.startswith(other)]:
        server.files[place.replace("frwiki/", "testwiki/")] = server.files.pop(place)
    server.files["testwiki/2026-07-20/readme.txt"] = b""
    server.files["testwiki/latest/readme.txt"] = b""
    due, passed = seen()
    assert due == []
    assert passed == [
        "testwiki-20260501: there is no dumpstatus.json",
        "testwiki-20260601: there is no _SUCCESS, which marks the end; there is no SHA256SUMS",
        f"testwiki-20260701: {server.root}/testwiki/20260701/dumpstatus.json: names files of frwiki-20260701, and none "
        "of testwiki-20260701; the list is not used",
        "testwiki/2026-07-20: is not the name of a dump; expected a date, such as 20260401",
    ]


def test_a_folder_put_together_by_hand_is_named_with_what_it_holds(server, tmp_path, monkeypatch):
    folder = put(server, "20260501")
    del server.files[f"{folder}/dumpstatus.json"]
    server.files["testwiki/20260601/testwiki-20260601-pages-articles.xml.bz2"] = b"x"
    content = server.put_content("testwiki", "2026-07-01", {"p1p9": b"x"})
    server.files.pop(f"{content}/testwiki-2026-07-01-p1p9.xml.bz2")
    server.files["testwiki/20260710/testwiki-20260710-page.sql.gz"] = b"x"
    server.files["other/mediawiki_content_history/testwiki/2026-07-20/readme.txt"] = b""
    as_folder(server, tmp_path / "mirror", monkeypatch)
    due, (by_hand, articles, gone, tables, empty) = seen()
    assert due == []
    assert by_hand.startswith("testwiki-20260501: no list of its publisher says what belongs to it (dumpstatus.json,")
    assert articles == (
        "testwiki-20260601: testwiki/20260601 has no file that tempkb reads for testwiki-20260601; it holds only "
        "testwiki-20260601-pages-articles.xml.bz2"
    )
    assert gone == "testwiki-20260701: file testwiki-2026-07-01-p1p9.xml.bz2 is missing"
    assert tables == "testwiki-20260710: it has no history of pages"
    assert empty.startswith("testwiki-20260720: other/mediawiki_content_history/testwiki/2026-07-20 has no folder xml/")


def test_a_day_of_wikidata_without_json_is_named(server, monkeypatch):
    monkeypatch.setenv("TEMPKB_WIKIDATA_DAYS", "90")
    put(server, "20260701")
    place = "wikidatawiki/entities/{0}/wikidata-{0}-{1}"
    for day, names in (("20260601", ("all.json.gz",)), ("20260608", ("all.ttl.gz",))):
        sums = "".join(f"{'0' * 40}  wikidata-{day}-{name}\n" for name in names)
        server.files[place.format(day, "sha1sums.txt")] = sums.encode()
    server.files[place.format("20260615", "all.json.gz")] = b"no sums"
    server.files[place.format("20260501", "all.json.gz")] = b"no sums, but older than the one that is taken"
    assert seen() == (
        ["testwiki-20260701", "wikidatawiki-20260601"],
        [
            "wikidatawiki-20260608: wikidata-20260608-sha1sums.txt has no checksum of its JSON",
            "wikidatawiki-20260615: there is no checksum list",
        ],
    )
    assert seen(wikidata=False) == (["testwiki-20260701"], [])


@pytest.mark.parametrize("is_folder", [False, True], ids=["server", "folder"])
def test_a_wiki_that_the_mirror_does_not_have_is_told_with_its_neighbours(is_folder, server, tmp_path, monkeypatch):
    put(server, "20260701", wiki="testwiktionary")
    put(server, "20260701", wiki="frwiki")
    server.put_content("testwik", "2026-07-01", {"p1p9": b"x"})
    if is_folder:
        as_folder(server, tmp_path / "mirror", monkeypatch)
    outlook = look_out(open_store(), TODAY)
    root = str(tmp_path / "mirror") if is_folder else server.root
    assert (outlook.due, outlook.passed) == ([], [])
    assert outlook.nothing == (
        f"mirror {root}: shows no dump of 'testwiki', looked for at {root}/testwiki and "
        f"{root}/other/mediawiki_content_history/testwiki; it has testwik, testwiktionary, frwiki. "
        "Correct the wiki (TEMPKB_WIKI) or the mirror (TEMPKB_MIRROR)."
    )


def test_a_server_without_an_index_of_its_root_is_told_of_all_the_same(server):
    server.faults[""] = [lambda handler, _data: handler.head(403, 0) or True]
    assert "it shows no other wiki either" in look_out(open_store(), TODAY).nothing


@pytest.mark.slow
def test_fetch_and_plan_print_the_reasons_and_fetch_refuses_a_wiki_that_is_not_there(tmp_path):
    home, mirror = tmp_path / "home", tmp_path / "mirror"
    run_tempkb(tmp_path / "publisher", "demo")
    shutil.copytree(tmp_path / "publisher/dumps", mirror)
    status = mirror / "demowiki/20240101/dumpstatus.json"
    said = json.loads(status.read_text())
    said["jobs"]["metahistorybz2dump"]["status"] = "waiting"
    status.write_text(json.dumps(said))
    settings = {"TEMPKB_MIRROR": str(mirror), "TEMPKB_WIKI": "demowiki", "TEMPKB_FIRST_WINDOW": "2023-01-01"}
    line = "not taken: demowiki-20240101: job metahistorybz2dump is waiting"
    done = run_tempkb(home, "fetch", "--no-wikidata", **settings)
    assert done.stdout.splitlines() == [line, "Nothing to fetch."]
    assert line in run_tempkb(home, "plan", "--no-wikidata", **settings).stdout.splitlines()
    done = run_tempkb(home, "fetch", check=False, **{**settings, "TEMPKB_WIKI": "demwiki"})
    assert done.returncode == 1
    assert f"mirror {mirror}: shows no dump of 'demwiki'" in done.stderr
    assert "it has demowiki" in done.stderr
    assert not (Path(home) / "dumps").exists(), "of a wiki that is mistyped not even Wikidata is fetched"


@pytest.mark.slow
def test_the_second_of_two_builds_says_that_another_program_builds_the_same(home_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2021-01-01")
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    monkeypatch.setattr("tempkb.wiki.revisions.building.plan_name", lambda _item: "same")
    monkeypatch.setattr("tempkb.store.lake._LOOK", 0.0)
    file = tmp_path / "testwiki-20210701-pages-meta-history.xml"
    file.write_bytes(export(page(1, revision(11, "2021-02-03T00:00:00Z", "A mill."))))
    selected = (part for name in ("stable_snapshots", "pages", "dump_files") for part in ("--select", name))
    build = ("build", *selected, "--all", "--dump", str(file))
    with open_store().lake.resumable("resumable-same"):
        second = CliRunner().invoke(main, build)
    assert second.exit_code == 1
    assert second.output == (
        "tempkb: another program builds 2021-Q1 to 2021-Q2 from testwiki-20210701 in this home now (staging folder "
        "resumable-same). Wait until it has finished, then type the same command again; what is built then is kept\n"
    )
    # The other program builds from the files that were named: they are not forgotten.
    assert open_store().lake.partitions("dump_files") == ["testwiki-20210701"]
    assert "2 of 2 windows are built." in CliRunner().invoke(main, build).output


@pytest.mark.slow
def test_a_dump_is_read_again_only_if_that_is_asked_for(home_folder, tmp_path, monkeypatch):
    """Not for windows that are built from it, by whatever words they are asked for, nor from a newer one."""
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2021-01-01")
    ran, run_of = [], building.run_of

    def noting(family, *asked, **words):
        ran.append(family.value)
        return run_of(family, *asked, **words)

    monkeypatch.setattr(building, "run_of", noting)

    def typed(day, *more):
        ran.clear()
        file = tmp_path / f"testwiki-{day}-pages-meta-history.xml"
        file.write_bytes(export(page(1, revision(11, "2021-02-03T00:00:00Z", "A mill."))))
        done = CliRunner().invoke(main, ["build", "--dump", str(file), *more])
        assert not done.exit_code, done.output
        return done.output

    assert "2 of 2 windows are built." in typed("20210701", "--all")
    assert "window" in ran
    versions = {
        one.table: one.serial for name in ("mentions", "page_texts") for one in open_store().lake.versions(name)
    }
    for more in ((), ("--all",), ("--window", "2021-01-01..2021-07-01")):
        typed("20210701", *more)
        assert ran == []
    # A newer dump is written down, and changes nothing about windows that are built.
    said = typed("20210801", "--all")
    assert ran == ["dump"]
    assert said.count("stays as it is: built before from another dump; --rebuild would replace it") == 2
    again = {one.table: one.serial for name in ("mentions", "page_texts") for one in open_store().lake.versions(name)}
    assert again == versions
    typed("20210701", "--all", "--rebuild")
    assert ran == ["dump", "window"]


@pytest.mark.slow
def test_a_dump_is_read_once_for_all_windows_that_lack_it_and_then_what_follows_is_made(
    home_folder, tmp_path, monkeypatch
):
    """Also if windows that stand lie between them. What follows comes last, since Wikidata's items may change it."""
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2021-01-01")
    asked, run_of = [], building.run_of

    def noting(family, keys, summary, tables=(), **words):
        if family.value == "window":
            asked.append((keys, "stable_snapshots" in tables, "mentions" in tables))
        return run_of(family, keys, summary, tables, **words)

    monkeypatch.setattr(building, "run_of", noting)
    file = tmp_path / "testwiki-20211001-pages-meta-history.xml"
    file.write_bytes(export(page(1, revision(11, "2021-02-03T00:00:00Z", "A mill."))))
    for more in (("--window", "2021-04-01..2021-07-01"), ("--all",)):
        done = CliRunner().invoke(main, ["build", "--dump", str(file), *more])
        assert not done.exit_code, done.output
    middle, others = ["2021-04-01"], ["2021-01-01", "2021-07-01"]
    assert asked == [(middle, True, False), (middle, False, True), (others, True, False), (others, False, True)]
    assert open_store().lake.partitions("mentions") == ["2021-01-01", "2021-04-01", "2021-07-01"]
