"""What a message tells a person to type works when it is pasted."""

import shlex
import subprocess
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.commands.runs.jobs import Summary
from tempkb.commands.screens import console
from tempkb.commands.screens.status import print_summary
from tempkb.core import settings
from tempkb.core.settings import at_home
from tempkb.core.wording import counted


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory, in which a home may lie."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TEMPKB_HOME", raising=False)
    return tmp_path


def test_a_home_that_is_not_the_default_goes_in_front_of_each_command(here, monkeypatch):
    said = "x is not built: build it: tempkb build --all, or look: TEMPKB_WIKI='a b' tempkb plan; tempkb gc && tempkb status"
    assert at_home(said) == said, "without the variable"
    monkeypatch.setenv("TEMPKB_HOME", "data/demo")
    assert at_home(said) == said, "with the variable for the home that is used anyway"
    monkeypatch.setenv("TEMPKB_HOME", str(here / "it's a home"))
    front = """TEMPKB_HOME='it'"'"'s a home' """
    expected = (
        f"x is not built: build it: {front}tempkb build --all, or look: {front}TEMPKB_WIKI='a b' tempkb plan; "
        f"{front}tempkb gc && {front}tempkb status"
    )
    assert at_home(said) == expected
    assert at_home(expected) == expected, "once is enough"
    shell = f"{front}env | grep ^TEMPKB_HOME="
    told = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True, cwd=here).stdout
    assert told == "TEMPKB_HOME=it's a home\n"
    monkeypatch.setenv("TEMPKB_HOME", "/elsewhere")
    assert at_home("look: tempkb plan") == "look: TEMPKB_HOME=/elsewhere tempkb plan"
    assert at_home("for the other use: TEMPKB_HOME=b tempkb build") == "for the other use: TEMPKB_HOME=b tempkb build"


def test_prose_about_commands_stays_as_it_is(monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", "/elsewhere")
    for said in ("tempkb sql reads tables", "tempkb: no such table", "made by tempkb release", "a file: tempkb.duckdb"):
        assert at_home(said) == said


def test_errors_and_closing_screens_name_the_home(here, monkeypatch, capsys):
    monkeypatch.setenv("TEMPKB_HOME", "my home")
    done = CliRunner().invoke(main, ["show", "Harbour Clock"])
    assert done.stderr == (
        "tempkb: stable_snapshots: nothing of it is built yet; build it: TEMPKB_HOME='my home' tempkb build\n"
    )
    with mock.patch.object(settings.shutil, "which", return_value="/bin/tempkb"):
        print_summary(Summary())
    assert "next: TEMPKB_HOME='my home' tempkb sql" in capsys.readouterr().out
    monkeypatch.delenv("TEMPKB_HOME")
    with mock.patch.object(settings.shutil, "which", return_value=None):
        console.print_next("build")
        said = shlex.split(at_home("look: tempkb plan"))
    told = shlex.split(capsys.readouterr().out)
    assert said == ["look:", told[1], "plan"]
    assert (told[0], told[2], Path(told[1]).name) == ("next:", "build", "tempkb")
    assert Path(told[1]).is_absolute()


def test_a_home_of_an_unknown_user_is_refused(monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", "~nobody-of-that-name/home")
    done = CliRunner().invoke(main, ["status"])
    assert (done.exit_code, done.stderr) == (
        1,
        "tempkb: TEMPKB_HOME: '~nobody-of-that-name/home' names the folder of a user whom this system does not know\n",
    )


@pytest.mark.parametrize("command", ["publish", "gc"])
def test_where_there_is_no_home_none_is_made(here, monkeypatch, command):
    monkeypatch.setenv("TEMPKB_HOME", "mistyped")
    done = CliRunner().invoke(main, [command])
    assert (done.exit_code, done.stderr) == (
        1,
        f"tempkb: home {here}/mistyped: there is no such folder, so there is nothing to do; name a home that was built "
        "(TEMPKB_HOME=...), or build this one: TEMPKB_HOME=mistyped tempkb build\n",
    )
    assert list(here.iterdir()) == []


def test_one_is_one_and_others_are_several():
    assert [counted(n, "row") for n in (0, 1, 2, 1_000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]
    assert counted(2, "query", "queries") == "2 queries"
