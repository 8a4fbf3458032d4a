"""The command as people use it: in a process of its own, in folders of its own."""

import re
import shutil

import pytest
import torch
from click.testing import CliRunner

import tempkb
from tempkb.commands.cli import main
from tempkb.commands.runs import linkers, models
from tempkb.core.errors import SettingsError
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.wiki.revisions.builds import export, page, revision


@pytest.fixture
def history(tmp_path):
    """A small history in a compressed file without a date."""
    import bz2

    path = tmp_path / "somewhere" / "history.xml.bz2"
    path.parent.mkdir()
    edits = [revision(n, f"20{n}-06-01T00:00:00Z", f"text {n}") for n in range(18, 22)]
    path.write_bytes(bz2.compress(export(page(1, *edits), page(2, revision(30, "2021-07-01T00:00:00Z")))))
    return path


@pytest.fixture
def home(demo_home, tmp_path):
    """A copy of the demo's home."""
    return shutil.copytree(demo_home, tmp_path / "home")


def test_the_version(demo_home):
    assert run_tempkb(demo_home, "--version").stdout == f"tempkb, version {tempkb.__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        "score --all",
        "generate --all",
        "train uniform --base gpt2 --window 2021-01-01..2022-01-01",
        "linker score --all",
        "linker train r",
    ],
)
def test_a_device_that_is_not_there_is_refused_before_the_work(linked_home, monkeypatch, words):
    monkeypatch.setenv("TEMPKB_HOME", str(linked_home))
    monkeypatch.setattr(torch, "empty", raises(RuntimeError("no such device\nat all")))
    for module in (models, linkers):
        monkeypatch.setattr(module, "past_damage", raises(AssertionError("has begun to work")))
    done = CliRunner().invoke(main, [*words.split(), "--device", "cuda"])
    command = " ".join(one for one in words.split()[:2] if one in ("score", "generate", "train", "linker"))
    said = "the device 'cuda' cannot be used (no such device); expected one of this machine, such as cpu"
    assert (done.exit_code, done.stderr) == (1, f"tempkb: {command}: {said}\n")


def raises(error):
    """A function that ends with an error."""

    def function(*_words, **_named):
        raise error

    return function


@pytest.mark.parametrize("command", sorted(main.commands))
def test_help_of_every_command_has_an_example_or_a_sentence(demo_home, command):
    said = run_tempkb(demo_home, command, "--help").stdout
    assert f"Usage: tempkb {command}" in said
    assert len(said.splitlines()[2].strip()) > 20
    if command in {"build", "sql", "show", "demo"}:
        lines = [line.strip() for line in said.splitlines()]
        assert {"Example:", "Examples:"} & set(lines), "examples stand on lines of their own"
        assert any(line.startswith(("tempkb ", "TEMPKB_HOME=")) for line in lines)


@pytest.mark.slow
def test_an_empty_folder_a_file_and_all_just_works_from_anywhere_and_stays_inside(tmp_path, history):
    home, elsewhere, house = tmp_path / "some" / "home", tmp_path / "elsewhere", tmp_path / "house"
    elsewhere.mkdir()
    house.mkdir()
    before = {path for path in tmp_path.rglob("*") if home not in path.parents}
    outside = {"HOME": str(house), "TMPDIR": str(elsewhere), "XDG_CACHE_HOME": "", "MPLCONFIGDIR": ""}
    words = ("build", "--dump", str(history), "--select", "stable_snapshots", "--all")
    done = run_tempkb(home, *words, cwd=elsewhere, is_alone=True, PYTHONDONTWRITEBYTECODE="1", **outside)
    assert "82 of 82 windows are built." in done.stdout
    said = run_tempkb(
        home, "sql", "SELECT count(*) AS n, max(cut) AS last FROM stable_snapshots", "--csv", cwd=elsewhere
    )
    assert said.stdout == "n,last\n13,2021-07-01\n"
    assert run_tempkb(
        home, "sql", "SELECT count(*) FROM published WHERE table_name = 'revision_log'", "--csv"
    ).stdout.endswith("0\n")
    after = {path for path in tmp_path.rglob("*") if home not in path.parents and path not in (home, home.parent)}
    assert after == before, "every file written is inside the home"


def test_a_build_of_what_is_built_does_nothing_and_says_so(home):
    done = run_tempkb(home, "build")
    assert "Nothing to build: all requested windows are built." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sql", "SELECT nothing FROM nowhere"], "the query was refused: Catalog Error"),
        (["sql", "DELETE FROM stable_snapshots"], "the query was refused"),
        (["show", "harbor clock"], "no page had the title 'harbor clock' at that cut; near it: Harbour Clock, "),
        (["show", "Harbour Clock", "--cut", "today"], "day 'today': expected YYYY-MM-DD"),
        (
            ["build", "--select", "tempel_plans"],
            "belongs to a release, not to a window; make one: TEMPKB_HOME=.* tempkb release --help",
        ),
        (
            ["build", "--select", "knowledge"],
            "--select knowledge: follows from the scores of models; compute it: TEMPKB_HOME=.* tempkb results",
        ),
        (
            ["build", "--select", "snapshots"],
            "--select snapshots: no such asset; did you mean stable_snapshots\\?",
        ),
        (["build", "--window", "2021-01-01..2022-01-01", "--all"], "exclude one another"),
        (["build", "--dump", "/nowhere/x.xml"], "no such file"),
    ],
)
def test_mistakes_get_one_clear_message_and_no_trace(home, arguments, words):
    if arguments[0] == "sql":
        run_tempkb(home, "publish")
    done = run_tempkb(home, *arguments, check=False)
    assert done.returncode == 1
    assert re.search(words, done.stderr + done.stdout)
    assert "Traceback" not in done.stderr + done.stdout


def test_show_tells_why_a_text_won(demo_home):
    said = run_tempkb(demo_home, "show", "Harbour Clock", "--cut", "2021-10-01").stdout
    assert "won: its text was visible for 12 d of the 30 days before the cut (40%)" in said
    assert "10 d" in said
    assert "It strikes." in said


@pytest.mark.slow
def test_publish_and_gc(home):
    (home / "tempkb.duckdb").unlink()
    said = run_tempkb(home, "publish").stdout
    assert said.startswith("Published: ")
    assert said.endswith("Nothing is pending.\n")
    assert run_tempkb(home, "publish").stdout == "Published: 0 partitions. Nothing is pending.\n"
    # The files of both dumps were written down twice: when they were registered, and with what the pass found.
    said = "0 folders removed. Kept for a day, for open readers: 2 folders.\n"
    assert run_tempkb(home, "gc").stdout == said
    let_a_day_go_by(home / "lake")
    assert run_tempkb(home, "gc").stdout == "2 folders removed.\n"
    assert run_tempkb(home, "gc").stdout == "0 folders removed.\n"


def test_a_cut_that_is_not_built_names_the_nearest_in_every_table(read):
    with pytest.raises(
        SettingsError, match="cut 2021-05-01: mentions is not built at that cut; the nearest are 2021-04-01,"
    ):
        read("mentions", cut="2021-05-01")
    with pytest.raises(
        SettingsError, match="cut 2021-05-01: ecbd_cloze is not built at that cut; the nearest are 2024-01-01$"
    ):
        read("ecbd_cloze", cut="2021-05-01")
    with pytest.raises(SettingsError, match="tempel_mentions: nothing of it is built yet"):
        read("tempel_mentions", cut="2021-04-01")
    assert read("rebuild_changes", cut="2021-04-01").num_rows == 0, "the window stands, and was never rebuilt"
