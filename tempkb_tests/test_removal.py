"""Taking things out: what goes, what stays, and that DuckDB hears of it."""

import json
import shutil

import pytest

from tempkb_tests.conftest import run_tempkb
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.analysts import analyst, ask


@pytest.fixture(scope="module")
def home(demo_home, tmp_path_factory):
    """A copy of the demo's home that the tests of this module take apart, one after the other."""
    home = tmp_path_factory.mktemp("removal") / "home"
    shutil.copytree(demo_home, home)
    return home


def count(home, table, where="true"):
    told = run_tempkb(home, "sql", f"SELECT count(*) AS n FROM {table} WHERE {where}", "--json").stdout
    return json.loads(told)["n"]


def partitions(home, table):
    return sorted(path.parent.name for path in (home / "lake" / table).glob("*/CURRENT"))


@pytest.mark.slow
def test_a_window_goes_from_lake_and_duckdb_and_comes_back_with_the_same_bytes(home):
    window = "window_start = '2021-10-01'"
    before = {
        path: path.read_bytes() for path in home.glob("lake/*/2021-10-01/*/*.parquet") if "page_" not in path.parts[-4]
    }
    assert len(before) >= 6
    counted = f"SELECT count(*) > 0 FROM stable_snapshots WHERE {window}"
    with analyst(home / "tempkb.duckdb") as reader:
        done = run_tempkb(home, "rm", "--window", "2021-10-01", "--yes")
        assert (reader.ask(counted), ask(home / "tempkb.duckdb", counted), done.stderr) == (
            "[(True,)]",
            "[(False,)]",
            "",
        )
    assert "stable_snapshots" in done.stdout
    assert "Releases that were built from these windows stay as they are" in done.stdout
    assert count(home, "stable_snapshots", window) == count(home, "mentions", window) == 0
    assert count(home, "stable_snapshots") > 1000
    assert "2021-10-01" not in partitions(home, "stable_snapshots")
    assert "2021-Q4" in run_tempkb(home, "plan").stdout
    let_a_day_go_by(home / "lake")
    assert int(run_tempkb(home, "gc").stdout.split()[0]) >= 6
    assert not any(path.exists() for path in before)
    run_tempkb(home, "build")
    assert {path: path.read_bytes() for path in before} == before
    assert count(home, "stable_snapshots", window) > 50
    again = run_tempkb(home, "rm", "--window", "1999-01-01", "--yes", check=False)
    assert "--window: nothing is built of 1999-Q1" in again.stderr


def test_without_yes_nothing_goes_before_it_is_confirmed(home):
    done = run_tempkb(home, "rm", "--window", "2021-10-01", check=False)
    assert done.returncode == 1
    assert "Remove that? [y/N]" in done.stdout
    assert "2021-10-01" in partitions(home, "stable_snapshots")


@pytest.mark.slow
def test_a_release_goes_and_others_stay(home):
    assert count(home, "dynamic_templama_queries") > 0
    others = count(home, "ecbd_cloze")
    run_tempkb(home, "rm", "--release", "demo-quarters", "--yes")
    assert count(home, "dynamic_templama_queries") == count(home, "fact_spells") == 0
    assert count(home, "ecbd_cloze") == others > 0
    done = run_tempkb(home, "rm", "--release", "demo-quarters", "--yes", check=False)
    assert "--release demo-quarters: no such release; there: demo-cloze" in done.stderr


@pytest.mark.slow
def test_a_dump_goes_with_its_own_tables_but_not_what_was_built_from_it(home):
    snapshots = count(home, "stable_snapshots")
    run_tempkb(home, "rm", "--window", "2023-10-01", "--yes")
    done = run_tempkb(home, "rm", "--dump", "demowiki-20240101", "--yes", check=False)
    assert "--dump demowiki-20240101: still needed for 2023-Q4; build that first, or add --force" in done.stderr
    run_tempkb(home, "build")
    said = run_tempkb(home, "rm", "--dump", "demowiki-20240101", "--yes").stdout
    assert "5 files of demowiki-20240101" in said
    assert not (home / "dumps/demowiki").exists()
    assert count(home, "pages") == count(home, "dump_files", "kind = 'history'") == 0
    assert count(home, "stable_snapshots") == snapshots
    assert "demowiki-20240101" not in run_tempkb(home, "status").stdout
    done = run_tempkb(home, "rm", "--dump", "demowiki-20240101", "--yes", check=False)
    assert "--dump demowiki-20240101: no such dump" in done.stderr


def test_exactly_one_thing_is_named(home):
    for arguments in ([], ["--dump", "x", "--release", "y"]):
        done = run_tempkb(home, "rm", *arguments, "--yes", check=False)
        assert "expected one of --window, --release, --dump, --model and --linker" in done.stderr
