"""A release over the demo world that is built once for all tests of the room."""

import shutil

import pytest

from tempkb.api import open_store
from tempkb.benchmarks.releases import load
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb_tests.benchmarks.tempel.releases_for_tests import copy_home, make_release


@pytest.fixture(scope="session")
def made_release(demo_home, tmp_path_factory):
    """What `make_release()` adds to a home: its files by their places in the home."""
    with pytest.MonkeyPatch.context() as patched:
        home = copy_home(demo_home, tmp_path_factory.mktemp("made"), patched)
        before = set(home.rglob("*"))
        make_release()
    return {path.relative_to(home): path for path in sorted(set(home.rglob("*")) - before) if path.is_file()}


@pytest.fixture
def released(home, made_release):
    """The test's home as `make_release()` leaves it: (store, release). Its files are the test's own, to change."""
    for place, path in made_release.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, home / place)
    store = open_store()
    return store, load(store.home, TEMPEL, "r")
