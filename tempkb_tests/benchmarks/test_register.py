"""Names of releases are checked before anything is written."""

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
