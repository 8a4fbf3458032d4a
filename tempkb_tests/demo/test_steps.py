"""`tempkb demo --all`: one process, each command shown as it could be typed."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tempkb.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ran(monkeypatch):
    """The commands that are run below `demo`, with what they were asked for; none of them does anything."""
    told = []

    def note(name):
        return lambda **options: told.append((name, {key: value for key, value in options.items() if value}))

    release = main.commands["release"]
    # Those of releases are made when one is asked for.
    made = {
        name: release.get_command(click.Context(release), name)
        for name in release.list_commands(click.Context(release))
    }
    for name, command in {**main.commands, **made}.items():
        if name not in {"demo", "release", "model", "linker"}:
            monkeypatch.setattr(command, "callback", note(name))
    for group, name in (("model", "demo"), ("linker", "train"), ("linker", "score")):
        monkeypatch.setattr(main.commands[group].commands[name], "callback", note(f"{group} {name}"))
    return told


STEPS = [
    "build",
    "tempel",
    "templama",
    "dynamic-templama",
    "ecbd",
    "show",
    "model demo",
    "score",
    "score",
    "generate",
    "generate",
    "linker train",
    "linker score",
    "linker score",
    "linker score",
    "results",
    "linking",
    "knows",
]


@pytest.mark.slow
def test_the_whole_demo_shows_each_command_and_runs_it_in_one_process(home_folder, ran):
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == 0, done.output
    assert (home_folder / "dumps").is_dir()
    assert [name for name, _ in ran] == STEPS
    assert ("show", {"title": "Harbour Clock", "day": "2021-10-01"}) in ran
    assert ran[8] == ("score", {"is_all": True, "benchmarks": ("dynamic-templama",)})
    assert ran[9] == ("generate", {"is_all": True, "benchmarks": ("dynamic-templama",), "decoder": "greedy"})
    assert ran[10] == ("generate", {"is_all": True, "benchmarks": ("ecbd",), "limit": "100"})
    name, asked = ran[-1]
    assert (name, asked["window"], asked["earlier"]) == ("knows", "2022-01-01..2023-07-01", "2021-01-01..2022-01-01")
    assert asked["with_answers"] is True
    trained = {"release": "demo", "cuts": ("2022-01-01", "2023-01-01"), "preset": "demo"}
    earlier = {"is_all": True, "releases": ("demo",), "pools": ("2022-01-01", "2023-01-01")}
    assert ran[11:-1] == [
        ("linker train", trained),
        ("linker score", {"is_all": True, "releases": ("demo",)}),
        ("linker score", {**earlier, "subset": "validation"}),
        ("linker score", earlier),
        # After all scores, or what it computes would be stale from the beginning.
        ("results", {}),
        ("linking", ran[-2][1]),
    ]
    assert "demo" in str(ran[-2][1])
    shown = re.findall(r"^\$ (.*)$", done.output, re.MULTILINE)
    assert len(shown) == len(ran)
    ran.clear()
    for line in shown:
        home, program, *arguments = shlex.split(line)
        assert (home, program) == (f"TEMPKB_HOME={home_folder}", "tempkb")
        CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert [name for name, _ in ran] == STEPS


def test_a_step_that_fails_ends_the_demo_with_its_message_and_code(home_folder, ran, monkeypatch):
    def refuse(**_options):
        raise click.UsageError("no such thing")

    monkeypatch.setattr(main.commands["release"].commands["templama"], "callback", refuse)
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == 2
    assert "no such thing" in done.output
    assert [name for name, _ in ran] == ["build", "tempel"]


@pytest.mark.parametrize("other", [("--second",), ("--seed", "8"), ("--pages", "500"), ("--quarters", "13")])
def test_the_whole_demo_is_of_the_default_world(home_folder, other):
    done = CliRunner().invoke(main, ["demo", "--all", *other])
    assert done.exit_code == 2
    assert "--all builds the first dump of the default world; leave out the other options" in done.output
    assert not home_folder.exists()


def planned(target, folder):
    """The commands that make would run for a target on a fresh machine."""
    done = subprocess.run(
        ["make", "-n", target, f"VENV={folder}/venv"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_make_demo_installs_what_users_need_and_runs_one_command(tmp_path):
    lines = planned("demo", tmp_path)
    assert [line.split()[-1].strip(chr(34)) for line in lines if "pip install" in line] == [".[linking]"]
    assert [line.partition("/bin/")[2] for line in lines if "bin/tempkb" in line] == ["tempkb demo --all"]


@pytest.mark.parametrize("target", ["dev", "test", "check", "bench"])
def test_developers_get_the_rest(tmp_path, target):
    installed = [line.split()[-1].strip(chr(34)) for line in planned(target, tmp_path) if "pip install" in line]
    assert installed == [".[linking]", ".[dev]"]
