"""Names of releases are checked before anything is written."""

import shlex
import shutil

import pytest

from tempkb.benchmarks.register import entry_path, release_names
from tempkb.benchmarks.releases import create
from tempkb.benchmarks.templama.benchmark import TEMPLAMA
from tempkb.errors import DesignError
from tempkb_tests.conftest import run_tempkb


@pytest.mark.parametrize("name", [".x", "-x", ".", "..", "a/b", "a b", "X", "é", "a\n", "²"])
def test_a_name_that_the_lake_refuses_is_refused_at_once(load, name):
    home = load()
    with pytest.raises(
        DesignError, match="lower-case letters, digits, dots, hyphens and underscores only, and does not"
    ):
        create(home, TEMPLAMA, "small", None, name)
    assert release_names(home) == []


@pytest.mark.parametrize("name", ["_x", "a", "1.2", "a--b", "x_", "2022"])
def test_a_name_that_the_lake_takes_is_one_of_a_release(load, name):
    home = load()
    assert entry_path(home, name) == home.path / "releases" / f"{name}.json"


@pytest.mark.slow
@pytest.mark.parametrize("name", [".x", "-x"])
def test_a_refused_name_leaves_nothing_behind(demo_home, name):
    before = sorted(path.name for path in demo_home.glob("releases/*"))
    done = run_tempkb(demo_home, "release", "templama", "2021-01-01..2024-01-01", "--name", name, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"release '{name}': a name has" in done.stderr
    assert sorted(path.name for path in demo_home.glob("releases/*")) == before


@pytest.mark.slow
def test_an_entry_that_is_not_as_the_table_of_releases_says_is_refused_and_restored_as_printed(demo_home, tmp_path):
    home = shutil.copytree(demo_home, tmp_path / "home")
    run_tempkb(home, "publish")
    path = home / "releases" / "demo-quarters.json"
    whole = path.read_text("utf-8")
    spoilt = [whole.replace('"seed": 42', '"seed": 43', 1), whole.replace('"seed"', '"sead"', 1), whole[:700], "", None]
    for data in spoilt:
        found = "found no such file;" if data is None else "found another content than tempkb wrote;"
        path.unlink() if data is None else path.write_text(data, "utf-8")
        (line,) = [one for one in run_tempkb(home, "verify", check=False).stdout.splitlines() if found in one]
        assert f"release 'demo-quarters': {path}" in line
        # Another end date is another design, and an altered design is not exported.
        other = ("dynamic-templama", "2021-01-01..2023-01-01", "--name", "demo-quarters")
        for refused in (other, ("export", "demo-quarters", str(tmp_path / "exports"))):
            done = run_tempkb(home, "release", *refused, check=False)
            assert (done.returncode, found in done.stderr) == (1, True)
        command = shlex.split(line.rpartition(": ")[2])
        # As after "next:", the program is named so that it runs when pasted.
        assert shutil.which(command[1]) is not None
        run_tempkb(home, *command[2:])
        assert path.read_text("utf-8") == whole
        assert run_tempkb(home, "verify").stdout.startswith("All is well (")
    path.unlink()
    run_tempkb(home, "rm", "--release", "demo-quarters", "--yes")
    assert "demo-quarters" not in run_tempkb(home, "status").stdout
