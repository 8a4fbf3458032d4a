"""`tempkb release` in this process: what lies in the future is refused in one sentence, before anything is written."""

import json
import re
import shutil
from datetime import date

import pytest
from click.testing import CliRunner

from tempkb.benchmarks.register import create, keep
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import make_design
from tempkb.commands.cli import main
from tempkb.core.settings import load_home

WIKIDATA = ("--dump-id", "wikidatawiki-20240101")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("tempel", "2022-01-01,9001-01-01,9002-01-01"),
            r"snapshots 2022-01-01,9001-01-01,9002-01-01: 9001-01-01 has not come yet, today is .*; type 2022-01-01$",
        ),
        (
            ("templama", "2022-01-01..9001-01-01", *WIKIDATA),
            r"2022-01-01\.\.9001-01-01: 20\d\d has not ended yet, .*; type 2022-01-01\.\.20\d\d-01-01$",
        ),
        (
            ("dynamic-templama", "9000-01-01..9001-01-01", *WIKIDATA),
            r"9000-Q1 has not ended yet, it ends on 9000-04-01, .*; type 20\d\d-\d\d-01\.\.20\d\d-\d\d-01$",
        ),
        (
            ("ecbd", "2020-01-01..2021-01-01", "--cut", "9001-01-01", *WIKIDATA),
            r"--cut 9001-01-01: 9001-01-01 has not come yet, .*; type --cut 20\d\d-\d\d-01$",
        ),
        (
            ("ecbd", "2020-01-01..9001-01-01", "--cut", "2022-01-01", *WIKIDATA),
            r"20\d\d-Q\d has not ended yet, .*; type 2020-01-01\.\.20\d\d-\d\d-01$",
        ),
    ],
)
def test_what_lies_in_the_future_is_refused(arguments, words, home_folder):
    done = CliRunner().invoke(main, ["release", *arguments])
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert re.search(words, line), line
    assert not home_folder.exists()


def test_a_release_is_not_extended_into_the_future(home_folder):
    home = load_home()
    keep(home, create(home, TEMPEL, "small", make_design("small", [date(2022, 1, 1)]), "mine"))
    entry = (home_folder / "releases" / "mine.json").read_bytes()
    done = CliRunner().invoke(main, ["release", "extend", "mine", "9001-01-01"])
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert re.search(r"snapshots 9001-01-01: 9001-01-01 has not come yet, .*; type 20\d\d-\d\d-01$", line), line
    assert (home_folder / "releases" / "mine.json").read_bytes() == entry


def test_releases_are_listed_shown_and_removed_as_models_are(demo_home, tmp_path, monkeypatch):
    home = shutil.copytree(demo_home, tmp_path / "home")
    monkeypatch.setenv("TEMPKB_HOME", str(home))

    def typed(*arguments, code=0):
        done = CliRunner().invoke(main, ["release", *arguments])
        assert done.exit_code == code, done.output
        return done.output

    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in typed("list").splitlines() if "│" in line]
    kept = json.loads((home / "releases/demo-quarters.json").read_text())
    n = sum(map(len, kept["versions"].values()))
    n_rows = sum(
        json.loads((home / "lake" / table / key / version / "version.json").read_text())["rows"]
        for table, keys in kept["versions"].items()
        for key, version in keys.items()
    )
    assert ["demo-quarters", "DynamicTempLAMA", kept["preset"], "built", f"{n:,}", f"{n_rows:,}"] in rows
    shown = typed("show", "demo-quarters")
    assert re.search(r"│ dump_id +│ wikidatawiki-20240101 +│", shown)
    assert "release demo-quarters: 5,309 queries by quarter" in shown
    for command in ("show", "rm"):
        said = typed(command, "none", code=1)
        assert "no such release; there: demo-cloze, demo-quarters" in said
    assert "Removed " in typed("rm", "demo-quarters", "--yes")
    assert "demo-quarters" not in typed("list")
    (home / "releases/demo-cloze.json").write_text("{}")
    assert "demo-cloze.json: found other content than tempkb wrote" in typed("list")


def test_a_home_without_releases_says_how_to_make_one(home_folder):
    assert "The home has no releases yet." in CliRunner().invoke(main, ["release", "list"]).output
