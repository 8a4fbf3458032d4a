"""A release over the demo world that is built once for all tests of the room."""

import shutil

import pytest

from tempkb.benchmarks.register import load
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import balanced
from tempkb.platform.api import open_store
from tempkb_tests.benchmarks.tempel.releases_for_tests import build_kept, copy_home, extend, make_release


@pytest.fixture
def home(demo_home, tmp_path, monkeypatch):
    """A copy of the demo's home, which the environment names."""
    return copy_home(demo_home, tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def made_release(demo_home, tmp_path_factory):
    """What `make_release()` adds to a home: its files by their places in the home."""
    with pytest.MonkeyPatch.context() as patched:
        home = copy_home(demo_home, tmp_path_factory.mktemp("made"), patched)
        before = set(home.rglob("*"))
        make_release()
    return {path.relative_to(home): path for path in sorted(set(home.rglob("*")) - before) if path.is_file()}


@pytest.fixture(scope="session")
def made_extension(demo_home, tmp_path_factory):
    """A home whose release `r` was extended by `LATER`, by which an entity has died, and then balanced.

    Gives the home, and the files of the snapshots of `r` with their bytes before it was extended.
    """
    with pytest.MonkeyPatch.context() as patched:
        home = copy_home(demo_home, tmp_path_factory.mktemp("extended"), patched)
        store, _, _ = make_release(max_shortfall="0.1")
        before = {path: path.read_bytes() for path in home.glob("lake/*/r.*/**/*") if path.is_file()}
        build_kept(store, balanced(extend(store)))
    return home, before


@pytest.fixture
def extension(made_extension, monkeypatch):
    """The store of that home, and the files: (store, files). Both are read only."""
    home, before = made_extension
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    return open_store(), before


@pytest.fixture
def released(home, made_release):
    """The test's home as `make_release()` leaves it: (store, release). Its files are the test's own, to change."""
    for place, path in made_release.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, home / place)
    store = open_store()
    return store, load(store.home, TEMPEL, "r")
