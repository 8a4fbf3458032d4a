"""Taking things out: what goes, what stays, and that DuckDB hears of it."""

import json
import shutil

import pytest

from tempkb.commands.runs.removal import of_linker, of_model, of_release, remove
from tempkb.core.errors import SettingsError
from tempkb.core.files import LinkError
from tempkb.engine.steps import Standing
from tempkb.engine.tasks import Done, Order, Task
from tempkb.models.linking.linkers import train_linker
from tempkb.models.linking.requests import linker_request
from tempkb.platform.api import open_store
from tempkb.platform.instance import prepare_dagster
from tempkb.store.said import Said, change_said
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
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
    pointers = (home / "lake" / table).glob("*/CURRENT")
    return sorted(path.parent.name for path in pointers if not path.read_bytes().startswith(b"- "))


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


@pytest.mark.slow
def test_commands_leave_what_lies_behind_links_and_name_it(demo_home, tmp_path):
    """Links where tempkb has folders of its own, to a folder that looks like them; a window is removed beside them."""
    home = shutil.copytree(demo_home, tmp_path / "home")
    elsewhere = tmp_path / "elsewhere"
    for place in ("2021-07-01/0123456789abcdef", "0123456789abcdef", "try-0000/x"):
        (elsewhere / place).mkdir(parents=True)
        for name in ("CURRENT", "part-00000.parquet", "notes.jsonl", ".alive"):
            (elsewhere / place / name).write_text("mine")
    before = {path: path.is_file() and path.read_bytes() for path in elsewhere.rglob("*")}
    links = [home / "lake" / one for one in ("harvest", "mentions/1999-01-01", "_staging/x", "facts/mine")]
    for link in links:
        link.symlink_to(elsewhere)
    commands = (("gc",), ("verify",), ("rm", "--window", "2021-07-01", "--yes"), ("gc",), ("build",), ("gc",))
    for command in commands:
        done = run_tempkb(home, *command, check=False)
        assert {path: path.is_file() and path.read_bytes() for path in elsewhere.rglob("*")} == before, command
        assert all(link.readlink() == elsewhere for link in links)
        assert done.returncode == (1 if command == ("verify",) else 0), done.stderr
        if command != ("build",):
            said = (done.stdout + done.stderr).replace("\n", "")
            assert all(f"{link}: found a link to {elsewhere}" in said for link in links), command
    assert "2021-07-01" in partitions(home, "stable_snapshots")


def test_exactly_one_thing_is_named(home):
    for arguments in ([], ["--dump", "x", "--release", "y"]):
        done = run_tempkb(home, "rm", *arguments, "--yes", check=False)
        assert "expected one of --window, --release, --dump, --model, --linker and --corpus" in done.stderr


@pytest.fixture
def behind(home_folder, tmp_path):
    """Moves something of a home to another place, where a link leads to it from then on; gives what lies there."""

    def move(place):
        elsewhere = tmp_path / "elsewhere"
        (home_folder / place).rename(elsewhere)
        (home_folder / place).symlink_to(elsewhere)
        return lambda: sorted((path, path.is_file() and path.read_bytes()) for path in tmp_path.glob("elsewhere/**/*"))

    return move


@pytest.mark.parametrize("place", ["models", "models/mine.json"])
def test_what_was_said_of_a_model_stays_behind_a_link(home_folder, behind, place):
    store = open_store()
    change_said(store.home.checkpoints, "mine", lambda _: Said({"checkpoint": "x"}))
    there = behind(place)
    before = there()
    with pytest.raises(LinkError, match=f"{place}: found a link to"):
        remove(store, of_model(store, "mine"))
    assert there() == before
    if place == "models":
        with pytest.raises(LinkError):
            change_said(store.home.checkpoints, "mine", lambda _: Said({}))
    assert there() == before


@pytest.mark.parametrize("place", ["linkers", "linkers/mine", "linkers/mine/part"])
def test_a_linker_stays_behind_a_link(home_folder, behind, place):
    store = open_store()
    (store.home.linkers / "mine" / "part").mkdir(parents=True)
    (store.home.linkers / "mine" / "part" / "weights").write_text("w")
    (store.home.linkers / "mine" / "training.json").write_text("{}")
    there = behind(place)
    before = there()
    if place == "linkers/mine":
        found = of_linker(store, "mine")
        assert f"{store.home.linkers}/mine stays, since tempkb did not write it." in found.notes
        remove(store, found)
    else:
        with pytest.raises(LinkError, match=f"{place}: found a link to"):
            remove(store, of_linker(store, "mine"))
    assert there() == before
    assert (store.home.linkers / "mine" / "training.json").exists()


def test_a_folder_that_is_no_linker_stays_and_none_is_trained_in_its_place(home_folder, monkeypatch):
    store = open_store()
    mine = store.home.linkers / "mine" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    found = of_linker(store, "mine")
    assert found.paths == []
    remove(store, found)
    monkeypatch.setattr("tempkb.models.linking.linkers.require_extra", lambda _: None)
    with pytest.raises(SettingsError, match="linkers/mine, which tempkb did not write, since it has no training.json"):
        train_linker(store, linker_request("mine", {"release": "r", "cut": "2022-01-01"}), print)
    assert mine.read_text() == "mine"


def test_a_release_stays_behind_a_link(home_folder, behind):
    store = open_store()
    (home_folder / "releases").mkdir(parents=True)
    (home_folder / "releases" / "mine.json").write_text("{}")
    there = behind("releases")
    before = there()
    with pytest.raises(LinkError, match="releases: found a link to"):
        remove(store, of_release(store, "mine"))
    assert there() == before


@pytest.mark.parametrize("place", ["dagster", "dagster/cache", "dagster/history"])
def test_dagster_is_not_used_behind_a_link(home_folder, behind, place):
    store = open_store()
    (home_folder / place).mkdir(parents=True)
    (home_folder / place / "mine").write_text("mine")
    there = behind(place)
    before = there()
    with pytest.raises(LinkError, match=f"{place}: found a link to"):
        prepare_dagster(store.home)
    assert there() == before


def test_nobody_works_behind_a_link(home_folder, behind):
    store = open_store()
    (home_folder / "working").mkdir(parents=True)
    (home_folder / "working" / "mine").write_text("mine")
    there = behind("working")
    before = there()
    task = Task("windows", (Standing((STABLE_SNAPSHOTS,)),), lambda _order: Done())
    with pytest.raises(LinkError, match="working: found a link to"):
        task.run(Order(store, ["2021-01-01"], print), ())
    assert there() == before
