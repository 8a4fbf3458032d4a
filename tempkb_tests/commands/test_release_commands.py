"""`tempkb release` in this process: what lies in the future is refused in one sentence, before anything is written."""

import re
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
