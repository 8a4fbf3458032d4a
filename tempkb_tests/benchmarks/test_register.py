"""The register: names that are allowed, entries that are altered or gone, and what is kept for those that are whole."""

import shutil

import pytest

from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS
from tempkb.benchmarks.register import (
    create,
    entries,
    entry_path,
    is_built,
    mark_built,
    release_names,
    release_versions,
    require_whole,
    unfinished_releases,
    write_entry,
)
from tempkb.benchmarks.templama.benchmark import TEMPLAMA
from tempkb.commands.screens.console import program
from tempkb.core.errors import DesignError
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.damage import flip
from tempkb_tests.store.ageing import let_a_day_go_by


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


def test_no_flipped_bit_of_an_entry_is_accepted_and_none_crashes_a_screen(load):
    home = load()
    write_entry(home, "toy", "mine", {"preset": "ä", "design": {"first": "2022-01-01", "n": 7}})
    store = Store(home, ())
    mark_built(store, "mine")
    path = entry_path(home, "mine")
    whole = path.read_bytes()
    said = (
        f"release 'mine': {path}: found other content than tempkb wrote; expected its entry. Put a good copy of it back, "
        f"or make the release again: rm {path} and the commands that made it, with --name mine; or remove it: tempkb rm "
        "--release mine"
    )
    for at in range(len(whole)):
        flip(path, at, at % 8)
        assert entries(home) == ({}, {"mine": said}), at
        for refused in (lambda: is_built(home, "mine"), lambda: require_whole(store, "mine")):
            with pytest.raises(DesignError, match="found other content than tempkb wrote"):
                refused()
        assert unfinished_releases(store) == []
        flip(path, at, at % 8)
    assert path.read_bytes() == whole
    assert is_built(home, "mine")


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\0" * 300, b"\xff"])
def test_what_is_no_entry_is_refused(load, data):
    home = load()
    path = entry_path(home, "mine")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert list(entries(home)[1]) == ["mine"]
    # That of another release, under this one's name.
    write_entry(home, "toy", "other", {})
    shutil.copy(entry_path(home, "other"), path)
    assert list(entries(home)[1]) == ["mine"]


@pytest.mark.slow
def test_an_entry_that_is_altered_or_gone_is_named_once_and_whole_again_as_printed(demo_home, tmp_path):
    home = shutil.copytree(demo_home, tmp_path / "home")
    run_tempkb(home, "publish")
    path = home / "releases" / "demo-quarters.json"
    whole, tables = path.read_bytes(), pointers(home)
    make = ("release", "dynamic-templama", "2021-01-01..2024-01-01", "--name", "demo-quarters")

    def typed(repair):
        first, then = repair.split(" and ")
        assert (first, then) == (f"rm {path}", "the commands that made it, with --name demo-quarters")
        path.unlink()
        run_tempkb(home, *make)

    repairs = (
        (whole.replace(b'"seed": 42', b'"seed": 43', 1), typed),
        (None, lambda _: run_tempkb(home, *make)),
    )
    for data, repair in repairs:
        path.unlink() if data is None else path.write_bytes(data)
        lines = [one for one in run_tempkb(home, "verify", check=False).stdout.splitlines() if "demo-quarters" in one]
        (line,) = lines
        found = "no such file, though tables of the release are there" if data is None else "other content than tempkb"
        assert line.startswith(f"release 'demo-quarters': {path}: found {found}")
        assert "demo-quarters" in run_tempkb(home, "status").stdout
        done = run_tempkb(home, "release", "finish", "demo-quarters", check=False)
        assert (done.returncode, done.stderr.count("\n"), found in done.stderr) == (1, 1, True)
        if data is None:
            # Nothing goes of what nobody can list.
            let_a_day_go_by(home / "lake")
            run_tempkb(home, "gc")
        repair(
            line.partition("make the release again: ")[2].partition("; or remove it")[0].replace(program(), "tempkb")
        )
        assert path.read_bytes() == whole
        assert pointers(home) == tables
        assert run_tempkb(home, "verify").stdout.startswith("All is well (")
    path.write_bytes(b"")
    run_tempkb(home, "rm", "--release", "demo-quarters", "--yes")
    assert "demo-quarters" not in run_tempkb(home, "status").stdout
    assert run_tempkb(home, "verify").stdout.startswith("All is well (")


def pointers(home):
    return {path: path.read_bytes() for path in home.glob("lake/*/demo-quarters*/CURRENT")}


@pytest.mark.slow
def test_gc_keeps_what_releases_list(demo_home, tmp_path, monkeypatch):
    """What is listed is no current version, since somebody wrote another one, or the entry cannot be read."""
    home = shutil.copytree(demo_home, tmp_path / "home")
    run_tempkb(home, "publish")
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    (listed,), (other,) = (release_versions(store, table, "demo-cloze") for table in (ECBD_CLOZE, ECBD_PROMPTS))
    for version in (listed, other):
        store.write(
            store.tables[version.table],
            version.partition,
            [store.tables[version.table].schema.empty_table()],
            Provenance(),
        )
    entry = entry_path(store.home, "demo-cloze")
    whole = entry.read_bytes()
    for data in (whole, whole[:-1]):
        entry.write_bytes(data)
        let_a_day_go_by(home / "lake")
        run_tempkb(home, "gc")
        assert listed.fault(sums=True) is other.fault(sums=True) is None
    entry.write_bytes(whole)
    (line,) = [one for one in run_tempkb(home, "verify", check=False).stdout.splitlines() if "demo-cloze" in one]
    assert line.startswith("release demo-cloze: not finished, since a run of it was killed; ")
    run_tempkb(home, "release", "finish", "demo-cloze")
    assert [store.lake.current(one.table, one.partition) for one in (listed, other)] == [listed, other]
    assert run_tempkb(home, "verify").stdout.startswith("All is well (")
