"""Files that are not what they say, by the command: one message, nothing is left, and the good file takes their place."""

import bz2
import gzip
import json
import re
from datetime import datetime

import pytest

from tempkb.commands.runs.building import build as build_request
from tempkb.core.errors import SettingsError, SourceError
from tempkb.platform.planning import requests
from tempkb.platform.planning.declaration import Request
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.dumps.test_looking import BROKEN, HTML
from tempkb_tests.wiki.revisions.builds import export, page, revision
from tempkb_tests.wiki.wikidata.items import item, said, write_lines

YEARS = {"TEMPKB_GRANULARITY": "year", "TEMPKB_FIRST_WINDOW": "2018-01-01", "TEMPKB_WORKERS": "1"}
GOOD = export(
    page(1, *(revision(n, f"20{n}-06-01T00:00:00Z", f"text {n}") for n in range(18, 22))),
    page(2, revision(30, "2021-07-01T00:00:00Z")),
)
CUTS = "SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut"
PAGES = ["cut,pages", "2019-01-01,1", "2020-01-01,1", "2021-01-01,1", "2022-01-01,2"]


def build(home, *arguments, check=True, **variables):
    done = run_tempkb(
        home,
        "build",
        "--select",
        "stable_snapshots",
        "--select",
        "pages",
        "--select",
        "dump_files",
        *arguments,
        check=check,
        **YEARS,
        **variables,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done


def is_untouched(home):
    """Is there nothing of a dump in the home: no table, no note of files, no partition in Dagster?"""
    left = [
        path
        for name in ("lake", "dumps/named")
        for path in (home / name).rglob("*")
        if (path.name == "CURRENT" and not path.read_text("utf-8").startswith("- "))
        or (path.suffix == ".json" and name != "lake")
    ]
    return left == []


@pytest.mark.slow
def test_a_named_dump_that_is_none_leaves_nothing_and_the_good_one_of_its_name_is_built(tmp_path):
    home, path = tmp_path / "home", tmp_path / "testwiki-20220101-pages-meta-history.xml.bz2"
    for data, words in (
        (HTML, "holds no whole page (it is an HTML page"),
        (bz2.compress(HTML), "holds no whole page (it is an HTML page"),
        (b"", "holds no whole page (the file is empty)"),
        (bz2.compress(GOOD)[:-40], "cut at byte"),
        (bz2.compress(export()), "there is no <page>"),
    ):
        path.write_bytes(data)
        done = build(home, "--all", "--dump", str(path), check=False)
        assert done.returncode == 1
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert not (home / "home.toml").exists()
        assert is_untouched(home)
    path.write_bytes(bz2.compress(GOOD))
    assert "4 of 4 windows are built." in build(home, "--all", "--dump", str(path)).stdout
    assert run_tempkb(home, "sql", CUTS, "--csv").stdout.split() == PAGES


def test_what_is_mistyped_beside_a_named_dump_does_not_decide_what_the_home_is(home_folder, tmp_path, monkeypatch):
    path = tmp_path / "testwiki-20220101-pages-meta-history.xml.bz2"
    path.write_bytes(bz2.compress(GOOD))
    for name, value in YEARS.items():
        monkeypatch.setenv(name, value)
    for asked, words in (
        ("9000-01-01..9001-01-01", "--window 9000-01-01..9001-01-01: 9000 has not ended yet, it ends on 9001-01-01"),
        ("2020-01-01", "expected A..B with two days"),
        ("2020-02-01..2020-03-01", "no year begins in there"),
        ("2010-01-01..2021-01-01", "the home's windows begin on 2018-01-01"),
    ):
        with pytest.raises(SettingsError, match=re.escape(words)):
            build_request(Request(windows=asked, dump_files=(path,)))
        assert not (home_folder / "home.toml").exists()
        assert is_untouched(home_folder)


def test_a_dump_from_the_future_is_refused_and_nothing_is_built(home_folder, tmp_path, monkeypatch):
    for name, value in YEARS.items():
        monkeypatch.setenv(name, value)
    dated = tmp_path / "testwiki-20990101-pages-meta-history.xml.bz2"
    dated.write_bytes(bz2.compress(GOOD))
    undated = tmp_path / "history.xml"
    undated.write_bytes(export(page(1, revision(1, "2098-12-31T12:00:00Z"))))
    items = write_lines(tmp_path / "wikidata-20990101-all.json", [item("Q1")])
    for path in (dated, undated, items):
        with pytest.raises(SettingsError, match=r"--dump: \w+-\w+ reaches to 209[89]-\d\d-\d\d, and today is 20"):
            build_request(Request(dump_files=(path,)))
    there = home_folder / "dumps" / "testwiki" / "20990101" / dated.name
    there.parent.mkdir(parents=True)
    dated.rename(there)
    with pytest.raises(
        SourceError, match=r"no complete dump .*: testwiki-20990101 \(reaches to 2099-01-01, and today is"
    ):
        build_request(Request())
    assert not (home_folder / "home.toml").exists()
    assert is_untouched(home_folder)


@pytest.mark.slow
def test_a_clock_that_lies_before_the_built_windows_is_named(tmp_path, monkeypatch):
    home, path = tmp_path / "home", tmp_path / "testwiki-20220101-pages-meta-history.xml.bz2"
    path.write_bytes(bz2.compress(GOOD))
    build(home, "--all", "--dump", str(path))

    class WithoutBattery(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2000, 1, 1, tzinfo=tz)

    monkeypatch.setattr(requests, "datetime", WithoutBattery)
    for name, value in {**YEARS, "TEMPKB_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        SourceError, match=r"window 2021 is built, which ends on 2022-01-01, and today is 2000-01-01; set"
    ):
        build_request(Request(select=("mentions",)))


def folder_dump(home, data):
    path = home / "dumps" / "testwiki" / "20220101" / "testwiki-20220101-pages-meta-history.xml.bz2"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.slow
def test_strict_says_once_what_is_damaged_and_without_it_whole_pages_are_kept(tmp_path):
    home = tmp_path / "home"
    damaged = export(page(1, revision(18, "2018-06-01T00:00:00Z")), BROKEN.replace("<id>1<", "<id>7<"))
    folder_dump(home, bz2.compress(damaged))
    done = build(home, check=False, TEMPKB_STRICT="true")
    assert done.returncode == 1
    failed = " ".join(done.stdout[done.stdout.index("failed:") :].split())
    assert (
        "4 windows (2018-01-01 to 2021-01-01) were not built: testwiki-20220101-pages-meta-history.xml.bz2: damaged"
        in failed
    )
    assert failed.count("yesterday") == 1
    done = build(home)
    assert "is damaged: byte" in done.stdout
    assert "4 of 4 windows are built." in done.stdout


@pytest.mark.slow
def test_tables_that_are_none_are_refused_with_their_dump(tmp_path):
    home = tmp_path / "home"
    path = folder_dump(home, bz2.compress(GOOD))
    for kind, data in (
        ("page", HTML),
        ("page_props", gzip.compress(b"-- MariaDB dump 10.19\nCREATE TABLE `x` (\n")),
    ):
        table = path.with_name(f"testwiki-20220101-{kind}.sql.gz")
        table.write_bytes(data)
        done = build(home, check=False)
        assert done.returncode == 1
        assert table.name in done.stdout
        assert not list((home / "lake").rglob("CURRENT"))
        table.unlink()
    assert "4 of 4 windows are built." in build(home).stdout


@pytest.mark.slow
def test_wikidata_without_an_entity_is_refused_and_the_good_file_is_read(tmp_path):
    home, path = tmp_path / "home", tmp_path / "wikidata-20220103-all.json.gz"
    good = write_lines(tmp_path / "good.json", [item("Q1", "One", "One", P31=[said("a", "Q5")])]).read_bytes()
    # The last has ids, which are those of other things.
    for data, words in (
        (HTML, "it is an HTML page"),
        (b"plain", "byte 0"),
        (gzip.compress(b"[]"), "an empty list"),
        (gzip.compress(b'{"a": 1}'), "holds no entity"),
        (gzip.compress(json.dumps([{"id": "x1"}, {"id": "x2"}]).encode()), "is the id of no entity"),
    ):
        path.write_bytes(data)
        done = run_tempkb(home, "build", "--dump", str(path), check=False, TEMPKB_WIKI="xwiki", **YEARS)
        assert done.returncode == 1
        assert words in " ".join((done.stdout + done.stderr).split())
        assert is_untouched(home)
    path.write_bytes(gzip.compress(good))
    run_tempkb(home, "build", "--dump", str(path), TEMPKB_WIKI="xwiki", **YEARS)
    query = "SELECT entity_id, site_title FROM wikidata_entities"
    assert run_tempkb(home, "sql", query, "--csv").stdout.split() == ["entity_id,site_title", "Q1,One"]


@pytest.mark.slow
def test_a_list_of_pages_that_is_none_or_that_no_dump_has(tmp_path):
    home, path, listed = tmp_path / "home", tmp_path / "testwiki-20220101-x.xml", tmp_path / "pages.txt"
    path.write_bytes(GOOD)
    listed.write_bytes(HTML)
    done = build(home, "--all", "--pages", str(listed), "--dump", str(path), check=False)
    assert done.returncode == 1
    assert "pages.txt, line 1: found '<!DOCTYPE html>" in done.stderr
    assert not list(home.glob("*"))
    listed.write_text("No such page\n", "utf-8")
    done = build(home, "--all", "--pages", str(listed), "--dump", str(path), check=False)
    assert done.returncode == 1
    assert "no page of testwiki-20220101 is in the part of the wiki that the home holds" in " ".join(
        done.stdout.split()
    )
    assert not list((home / "lake").rglob("stable_snapshots/*/CURRENT"))
