"""Fixtures: homes of a test's own, and the demo world built once."""

import os
from pathlib import Path

import pytest

import tempkb
from tempkb.demo.world import make_world
from tempkb.settings import load_home
from tempkb.store.locks import locked
from tempkb_tests.commands import run_command

# A width that the environment names is obeyed without a terminal, too; tests are of what is printed without one.
os.environ.pop("COLUMNS", None)


@pytest.fixture
def home_folder(tmp_path, monkeypatch) -> Path:
    """An empty home that the environment names; no other TEMPKB_ variable is set."""
    for name in list(os.environ):
        if name.startswith("TEMPKB_") and name != "TEMPKB_REAL_DATA":
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("TEMPKB_HOME", str(folder))
    return folder


def run_tempkb(
    home: Path, *arguments: str, check: bool = True, cwd: Path | None = None, is_fresh: bool = False, **variables: str
):
    """Run the command in a process of its own, without any other TEMPKB_ variable; a fresh one imports all by itself."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("TEMPKB_")}
    environment = {**clean, "TEMPKB_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[1]), **variables}
    done = run_command(list(arguments), environment, cwd, is_fresh=is_fresh)
    if check and done.returncode:
        raise AssertionError(f"tempkb {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
    return done


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory, worker_id) -> Path:
    """A home with the demo world, a release of its facts and one of ECBD, built through Dagster.

    Read only; copy it to change it. The first of several workers builds it for all. Its name has all signs that
    somebody could forget to quote.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "demo"
    home, built = folder / 'it\'s a "home" 100% [x] é', folder / "built"
    with locked(folder / "lock"):
        if not built.exists():
            run_tempkb(home, "demo")
            run_tempkb(home, "build", TEMPKB_NAMESPACES="all", TEMPKB_WORKERS="1")
            run_tempkb(home, "release", "dynamic-templama", "2021-01-01..2024-01-01", "--name", "demo-quarters")
            run_tempkb(home, "release", "ecbd", "2021-01-01..2024-01-01", "--preset", "small", "--name", "demo-cloze")
            built.touch()
    return home


@pytest.fixture(scope="session")
def world():
    """The demo world, which knows the truth."""
    return make_world()


@pytest.fixture
def read(demo_home, monkeypatch):
    """Read tables of the built demo world."""
    for name in ("TEMPKB_NAMESPACES", "TEMPKB_WORKERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    return tempkb.read


@pytest.fixture
def load(home_folder):
    """Load the test's home with settings."""
    return lambda **settings: load_home(**settings)


def pytest_collection_modifyitems(items):
    """Begin with the slowest files, so that of several workers none is left with one of them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
