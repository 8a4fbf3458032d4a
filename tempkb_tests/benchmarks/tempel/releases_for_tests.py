"""Building releases over the demo world without Dagster: what the tests of the room share."""

import shutil
from datetime import date
from pathlib import Path

from tempkb.benchmarks.register import create, keep, load
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import extended, make_design
from tempkb.platform.api import open_store
from tempkb_tests.benchmarks.building import build_release

CUTS = (date(2022, 1, 1), date(2023, 1, 1))
LATER = date(2024, 1, 1)


def copy_home(demo_home: Path, folder: Path, monkeypatch) -> Path:
    """Copy the demo home, and let the environment name the copy."""
    home = folder / "home"
    shutil.copytree(demo_home, home, ignore=shutil.ignore_patterns("dagster"))
    for name in ("TEMPKB_NAMESPACES", "TEMPKB_WORKERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    return home


def make_release(preset: str = "small", name: str = "r", cuts=CUTS, **changes: str):
    """Build a release; return (store, release, the warnings)."""
    store = open_store()
    release = create(store.home, TEMPEL, preset, make_design(preset, cuts, changes), name)
    return store, release, build_kept(store, release)


def build_kept(store, release):
    """Write a release into the register and build it; return the warnings."""
    keep(store.home, release)
    return build_release(store, TEMPEL, release)


def extend(store, name="r", cuts=(LATER,)):
    """Extend a release by snapshots; return it."""
    grown = extended(load(store.home, TEMPEL, name), cuts)
    build_kept(store, grown)
    return grown


def counts(store, name):
    """{(cut, category, subset): (entities, mentions)} of a release."""
    found = {}
    for row in store.read("tempel_mentions", release=name).to_pylist():
        key = (row["cut"], row["category"], row["subset"])
        found.setdefault(key, []).append(row["target_page_id"])
    return {key: (len(set(targets)), len(targets)) for key, targets in found.items()}
