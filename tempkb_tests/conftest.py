"""Fixtures: homes of a test's own, and the demo world built once."""

import gc
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

import tempkb
from tempkb.core.locks import locked
from tempkb.core.settings import load_home
from tempkb.demo.world import make_world
from tempkb_tests.forked import RARELY, run_alone, run_command

# As in an environment that is active: commands in messages are then called by name.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

# How long an example takes says nothing where several programs share the processors.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")
# Files of tests are many and small: in memory they take a fifth less of all processor time than on a disk.
_MEMORY = Path("/dev/shm")
_ROOM = 6 * 2**30
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    os.environ.setdefault("TMPDIR", str(_MEMORY))
# Models of tests are tiny, and the workers of a run share the cores: threads would wait for one another.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# A width that the environment names is obeyed without a terminal, too; tests are of what is printed without one.
os.environ.pop("COLUMNS", None)
# Last digits, and thus bytes, differ between devices. Tests of a GPU say that they need one.
if not os.environ.get("TEMPKB_TESTS_GPU"):
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.fixture
def home_folder(tmp_path, monkeypatch) -> Path:
    """An empty home that the environment names; no other TEMPKB_ variable is set."""
    for name in list(os.environ):
        if name.startswith("TEMPKB_") and not name.startswith("TEMPKB_REAL_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("TEMPKB_HOME", str(folder))
    return folder


def run_tempkb(
    home: Path, *arguments: str, check: bool = True, cwd: Path | None = None, is_alone: bool = False, **variables: str
):
    """Run the command without any other TEMPKB_ variable, forked from a process that has imported what it needs.

    Unless the variables say otherwise it works in one process: another would import everything anew. Alone, it is
    run as a person types it, with as many workers as the machine has cores.
    """
    named = {"TEMPKB_HOME": str(home), **({} if is_alone else {"TEMPKB_WORKERS": "1"}), **variables}
    done = (run_alone if is_alone else run_command)(list(arguments), _environment(**named), cwd)
    if check and done.returncode:
        raise AssertionError(f"tempkb {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
    return done


def run_module(module: str, *arguments: str, **variables: str):
    """Run a module of the tests as `python -m` does, without any other TEMPKB_ variable, forked as commands are."""
    done = run_command(list(arguments), _environment(**variables), None, module)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def run_script(script: str, *arguments: str, code: int = 0):
    """Run Python as `python -c` does, in the environment of the test, forked as commands are; it must end with `code`."""
    done = run_command(list(arguments), dict(os.environ), script=script)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def _environment(**variables: str):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("TEMPKB_", "DAGSTER_"))}
    return {**clean, "PYTHONPATH": str(Path(__file__).parents[1]), **variables}


@pytest.fixture(scope="session")
def made_once(tmp_path_factory, worker_id) -> Callable[[str, Callable[[Path], None]], Path]:
    """Makes a home that is read only, under a name, once for all workers: the first that needs it makes it.

    Its path has all signs that somebody could forget to quote.
    """
    own = tmp_path_factory.getbasetemp()

    def make(name: str, fill: Callable[[Path], None]) -> Path:
        folder = (own if worker_id == "master" else own.parent) / name
        home, made = folder / 'it\'s a "home" 100% [x] é', folder / "made"
        with locked(folder / "lock"):
            if not made.exists():
                fill(home)
                made.touch()
        return home

    return make


@pytest.fixture(scope="session")
def demo_dumps(made_once) -> Path:
    """A home with the dumps of the demo world and nothing else. Read only; copy it to change it."""
    return made_once("demo-dumps", lambda home: run_tempkb(home, "demo"))


@pytest.fixture(scope="session")
def demo_home(made_once, demo_dumps) -> Path:
    """A home with the demo world, a release of its facts and one of ECBD, built through Dagster.

    Read only; copy it to change it.
    """

    def fill(home):
        shutil.copytree(demo_dumps, home)
        run_tempkb(home, "build", TEMPKB_NAMESPACES="all", TEMPKB_WORKERS="1")
        run_tempkb(home, "release", "dynamic-templama", "2021-01-01..2024-01-01", "--name", "demo-quarters")
        run_tempkb(home, "release", "ecbd", "2021-01-01..2024-01-01", "--preset", "small", "--name", "demo-cloze")

    return made_once("demo", fill)


@pytest.fixture(scope="session")
def linked_home(made_once, demo_home) -> Path:
    """The demo's home with a release of TempEL whose mentions were linked. Read only; copy it to change it."""
    from tempkb_tests.results.linked import fill_linked

    return made_once("linked", lambda home: fill_linked(home, demo_home))


@pytest.fixture(scope="session")
def trained_home(made_once, demo_home) -> Path:
    """The demo's home with its two causal models, and what was printed in the file `printed`. Read only; copy it to change it."""

    def fill(home):
        shutil.copytree(demo_home, home)
        (home / "printed").write_text(run_tempkb(home, "model", "demo", "--family", "causal").stdout)

    return made_once("trained", fill)


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
    return tempkb.open().read


@pytest.fixture
def configure(monkeypatch):
    """Sets settings by the environment: configure(wiki="testwiki")."""

    def to(**settings):
        for name, value in settings.items():
            monkeypatch.setenv(f"TEMPKB_{name.upper()}", value)

    return to


@pytest.fixture
def load(home_folder):
    """Load the test's home with settings."""
    return lambda **settings: load_home(**settings)


def pytest_collection():
    """Do not look for garbage while modules are imported and tests are collected: all of it stays."""
    gc.disable()


def pytest_collection_finish():
    """From here on as in a command, which looks for garbage more seldom than Python does by default."""
    gc.freeze()
    gc.set_threshold(*RARELY)
    gc.enable()


def pytest_ignore_collect(collection_path, config):
    """Do not import files without slow tests where only these are asked for."""
    may_be_left = config.option.markexpr == "slow" and collection_path.suffix == ".py"
    return (may_be_left and b"mark.slow" not in collection_path.read_bytes()) or None


# What takes longest, longest first, but for two that need no home: they are at work while the first makes the demo's.
_LONG = (
    "tempkb_tests/platform/test_platform.py",
    "tempkb_tests/models/linking/test_teaching.py",
    "tempkb_tests/soak/test_kills.py",
    "tempkb_tests/test_damage.py",
    "tempkb_tests/demo/models/test_demo_models.py",
    "tempkb_tests/models/training/test_making.py",
    "tempkb_tests/test_docs.py",
    "tempkb_tests/models/generations/test_importing.py",
    "tempkb_tests/engine/test_cluster.py",
    "tempkb_tests/demo/test_world.py",
    "tempkb_tests/soak/test_automation.py",
    "tempkb_tests/platform/test_reporter.py",
    "tempkb_tests/test_wheel.py",
)


def pytest_collection_modifyitems(items):
    """Begin with the files of slow tests that take longest, so that of several workers none is left with one at the end.

    The tests of a file stay together, since they share what is made for the file.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    order = {Path(__file__).parents[1] / name: place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: (item.path not in slow, order.get(item.path, len(order))))
