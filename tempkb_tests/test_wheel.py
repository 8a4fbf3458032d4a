"""tempkb as others install it: the wheel in a bare environment, used from an empty folder, without a clone."""

import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
import zipfile
from contextlib import closing
from importlib import metadata
from pathlib import Path
from urllib.error import URLError

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def files_of_git(*folders):
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(listed.stdout.splitlines())


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution, and the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The program in an environment with what users need and no extra.

    pip installs the wheel. What it requires, and what that requires, is linked from the environment of the tests, which
    pip made under the same constraints: it is three gigabytes. pip then says whether anything is missing.
    """
    place = tmp_path_factory.mktemp("bare") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "--disable-pip-version-check"]
    # Most modules of what it stands on are never imported; to compile them all would take as long as the rest.
    subprocess.run([*pip, "install", "--quiet", "--no-compile", "--no-deps", built[1]], check=True)
    link_requirements(place)
    said = subprocess.run([*pip, "check"], capture_output=True, text=True, check=False).stdout
    assert said == "No broken requirements found.\n"
    return place / "bin" / "tempkb"


def link_requirements(place):
    """Link what the tempkb of an environment requires, without extras, from where the tests find it, and its programs."""
    (site,) = place.glob("lib/python*/site-packages")
    (own,) = metadata.distributions(name="tempkb", path=[str(site)])
    needed, owners = required(own), {}
    for one in metadata.distributions():
        name = name_of(one)
        for part in {file.parts[0] for file in one.files or ()}:
            owners.setdefault(part, set()).add(name)
    for one in needed.values():
        for file in one.files:
            # A folder as a whole where all that is in it is needed.
            part = file.parts[0] if owners[file.parts[0]] <= needed.keys() else file
            if file.parts[0] != ".." and not (site / part).exists():
                (site / part).parent.mkdir(parents=True, exist_ok=True)
                (site / part).symlink_to(one.locate_file(part))
        for script in one.entry_points.select(group="console_scripts"):
            program = place / "bin" / script.name
            program.write_text(f"#!{place}/bin/python\nfrom {script.module} import {script.attr}\n{script.attr}()\n")
            program.chmod(0o755)


def required(root):
    """The distributions that one requires, and those that they require, by name."""
    found, seen, asked = {}, set(), [(root, "")]
    while asked:
        one, extra = asked.pop()
        for requirement in map(Requirement, one.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                name = canonicalize_name(requirement.name)
                found.setdefault(name, metadata.distribution(name))
                more = {(name, named) for named in ("", *requirement.extras)} - seen
                seen |= more
                asked += [(found[name], named) for _, named in more]
    return found


def name_of(distribution):
    return canonicalize_name(distribution.metadata["Name"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder, in which a small demo is made by and by."""
    return tmp_path_factory.mktemp("elsewhere")


def run(program, folder, *arguments, code=0):
    """Run the installed tempkb in a folder, without any variable of ours."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_both_are_complete_and_say_under_which_licences_they_are(built):
    source, wheel = built
    with tarfile.open(source) as opened:
        there = {name.partition("/")[2] for name in opened.getnames()}
    assert files_of_git() - {one for one in files_of_git() if one.startswith(".ci/")} <= there
    with zipfile.ZipFile(wheel) as opened:
        there = set(opened.namelist())
        (name,) = (one for one in there if one.endswith(".dist-info/METADATA"))
        metadata = opened.read(name).decode()
    pages = {f"tempkb/{one}" for one in files_of_git("docs")}
    assert files_of_git("tempkb") | pages <= there
    assert {Path(one).name for one in there if "/licenses/" in one} == {"LICENSE", "NOTICE"}
    assert "License-Expression: Apache-2.0 AND CC-BY-4.0" in metadata
    assert "](docs/" not in metadata
    assert "](https://github.com/tempkb/tempkb/blob/main/docs/results.md)" in metadata


def test_help_and_pages_need_no_clone(installed, folder):
    assert "tempkb docs settings lists them" in " ".join(run(installed, folder, "--help").split())
    assert "results       How to read the results" in run(installed, folder, "docs")
    assert run(installed, folder, "docs", "results") == (ROOT / "docs/results.md").read_text("utf-8")
    assert "docs nope: no such page; there: architecture, " in run(installed, folder, "docs", "nope", code=1)


def test_what_the_demo_of_time_needs_is_asked_first(installed, folder):
    said = run(installed, folder, "demo", "--time", code=1)
    assert "datasets, accelerate, which are not installed" in said
    assert said.endswith('pip install "tempkb[linking]"\n')
    assert list(folder.iterdir()) == []


def test_a_small_demo_from_an_empty_folder(installed, folder):
    run(installed, folder, "demo", "--pages", "250", "--quarters", "8")
    run(installed, folder, "build")
    assert "stable_snapshots" in run(installed, folder, "tables")
    assert int(run(installed, folder, "sql", "SELECT count(*) FROM mentions", "--csv").split()[-1]) > 1000
    run(installed, folder, "release", "tempel", "2022-01-01", "--preset", "small", "--name", "mine")
    assert run(installed, folder, "release", "export", "mine", "exports") == f"wrote {Path('exports/mine')}\n"


def test_the_ui_opens(installed, folder):
    with closing(socket.socket()) as asked:
        asked.bind(("127.0.0.1", 0))
        port = asked.getsockname()[1]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    ui = subprocess.Popen(
        [installed, "ui", "--port", str(port)], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        assert page_at(f"http://127.0.0.1:{port}/").startswith("<!doctype html>")
    finally:
        ui.terminate()
        ui.wait(60)


def page_at(address):
    """What is at an address within a minute and a half."""
    for _ in range(180):
        try:
            with urllib.request.urlopen(address) as page:
                return page.read().decode().lower()
        except URLError:
            time.sleep(0.5)
    raise AssertionError(f"{address} did not answer")
