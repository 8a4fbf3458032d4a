"""The demo world's traps, built through Dagster: each story with the row written by hand.

`tempkb demo --all`: one process, each command shown as it could be typed.
"""

import re
import shlex
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

import tempkb
import tempkb.demo.world
from tempkb.commands.cli import main
from tempkb.core.errors import SettingsError
from tempkb.demo.export import write_dump
from tempkb.demo.world import make_world
from tempkb.platform.api import open_store
from tempkb_tests.conftest import run_tempkb


@pytest.fixture
def at(read, world):
    """The snapshot row of a story's page at the cut of a quarter, counted from 0."""

    def row(story, quarter):
        page = world.story(story)
        found = read("stable_snapshots", cut=world.clock.cut(quarter).date(), page_id=page.page_id).to_pylist()
        return found[0] if found else None

    return row


def number(world, story, index):
    """Number of the story's edit, in the order in which the story tells it."""
    return world.story(story).edits[index].revision_id


def test_an_article_that_was_a_redirect_for_a_while_stays_an_article_since_its_first_text(at, world):
    between = at("redirect_between", 3)
    assert (between["redirect_title"], between["redirect_section"]) == ("Border Stone", "History")
    row = at("redirect_between", 5)
    assert (row["redirect_title"], row["article_since"]) == (None, world.clock.start(0))
    assert row["revision_id"] == number(world, "redirect_between", 2)


def test_a_disambiguation_is_one_only_later(at):
    assert [at("disambiguation", quarter)["is_disambiguation"] for quarter in (4, 5)] == [False, True]


def test_titles_are_those_that_the_world_bore_wherever_a_comment_tells(read, world):
    checked = 0
    pages = {page.page_id: page for page in world.pages}
    for row in read("stable_snapshots", title_source="move_comment").to_pylist():
        cut = datetime.combine(row["cut"], datetime.min.time(), UTC)
        name = pages[row["page_id"]].name_at(cut - timedelta(seconds=1))
        assert (row["namespace"], row["title"]) == (name.namespace, name.title)
        checked += 1
    assert checked > 20


def test_hidden_authors_and_texts(at, read, world):
    row = at("hidden", 2)
    assert row["revision_id"] == number(world, "hidden", 2)
    # Two days before it was replaced and five after: the suppressed text stood longer, but cannot be read.
    assert row["standing_seconds"] == 7 * 86_400
    assert (row["n_revisions"], row["n_contributors"]) == (3, 2)
    log = read("revision_log", revision_id=number(world, "hidden", 1)).to_pylist()[0]
    assert (log["contributor"], log["is_suppressed"], log["text_sha1"], log["text_bytes"]) == (None, True, None, None)


def test_every_winning_text_is_kept_once_and_is_the_worlds(read, world):
    texts = {edit.revision_id: edit.text for page in world.pages for edit in page.edits}
    kept = read("page_wikitexts").to_pylist()
    assert all(row["wikitext"] == texts[row["revision_id"]] for row in kept)
    ids = [row["revision_id"] for row in kept]
    assert len(ids) == len(set(ids))
    winners = {row["revision_id"] for row in read("stable_snapshots").to_pylist() if row["has_text"]}
    assert set(ids) == winners


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path, world):
    day = world.dump_days[0]
    first = {path.name: path.read_bytes() for path in write_dump(make_world(), day, tmp_path / "a")}
    again = {path.name: path.read_bytes() for path in write_dump(make_world(), day, tmp_path / "b")}
    other = {path.name: path.read_bytes() for path in write_dump(make_world(seed=8), day, tmp_path / "c")}
    assert again == first
    assert other != first


def test_a_world_too_small_for_its_traps_is_refused():
    with pytest.raises(SettingsError, match="at least 250 pages and 8 quarters are needed"):
        make_world(pages=10)


@pytest.mark.slow
def test_a_rebuild_from_a_second_dump_tells_what_it_has_changed(demo_home, tmp_path, world, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(demo_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    newer = [str(one) for one in write_dump(world, world.dump_days[1], home / "dumps") if one.suffix != ".json"]
    hidden = world.story("suppressed")
    window = ["--windows", "2022-01-01..2022-04-01"]
    said = run_tempkb(home, "build", *window, "--rebuild", "--dump", *newer).stdout
    assert "window 2022-01-01 was rebuilt; pages by what changed: 1 deleted, 1 item_changed, 1 suppressed" in said
    changes = {row["page_id"]: row for row in tempkb.open().read("rebuild_changes").to_pylist()}
    item = changes[world.story("merged_item").page_id]
    assert (item["entity_id"], item["previous_dump_id"], item["dump_id"]) == (
        "Q9001",
        "demowiki-20240101",
        "demowiki-20240401",
    )
    rebuilt = tempkb.open().read("stable_snapshots", cut="2022-04-01").to_pylist()
    changed = next(row for row in rebuilt if row["page_id"] == hidden.page_id)
    # Nothing else stood in those thirty days, so the hidden text wins; it just cannot be read any more.
    assert (changed["revision_id"], changed["has_text"]) == (hidden.edits[1].revision_id, False)
    assert tempkb.open().read("page_wikitexts", revision_id=hidden.edits[1].revision_id).num_rows == 0
    assert tempkb.open().read("page_wikitexts", revision_id=hidden.edits[0].revision_id).num_rows == 1


ROOT = Path(__file__).parents[2]


@pytest.fixture
def ran(monkeypatch):
    """The commands that are run below `demo`, with what they were asked for; none of them does anything."""
    told = []

    def note(name):
        return lambda **options: told.append((name, {key: value for key, value in options.items() if value}))

    release = main.commands["release"]
    # Those of releases are made when one is asked for.
    made = {
        name: release.get_command(click.Context(release), name)
        for name in release.list_commands(click.Context(release))
    }
    for name, command in {**main.commands, **made}.items():
        if name not in {"demo", "release", "model", "linker"}:
            monkeypatch.setattr(command, "callback", note(name))
    for group, name in (("model", "demo"), ("linker", "train"), ("linker", "score")):
        monkeypatch.setattr(main.commands[group].commands[name], "callback", note(f"{group} {name}"))
    return told


STEPS = [
    "build",
    "tempel",
    "templama",
    "dynamic-templama",
    "ecbd",
    "show",
    "model demo",
    "score",
    "score",
    "generate",
    "generate",
    "linker train",
    "linker score",
    "linker score",
    "linker score",
    "results",
    "linking",
    "knows",
]


@pytest.mark.slow
def test_the_whole_demo_shows_each_command_and_runs_it_in_one_process(home_folder, ran):
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == 0, done.output
    assert (home_folder / "dumps").is_dir()
    assert [name for name, _ in ran] == STEPS
    assert ("show", {"title": "Harbour Clock", "day": "2021-10-01"}) in ran
    assert ran[8] == ("score", {"is_all": True, "benchmarks": ("dynamic-templama",)})
    assert ran[9] == ("generate", {"is_all": True, "benchmarks": ("dynamic-templama",), "decoder": "greedy"})
    assert ran[10] == ("generate", {"is_all": True, "benchmarks": ("ecbd",), "limit": "100"})
    name, asked = ran[-1]
    assert (name, asked["window"], asked["earlier"]) == ("knows", "2022-01-01..2023-07-01", "2021-01-01..2022-01-01")
    assert asked["with_answers"] is True
    trained = {"release": "demo", "cuts": ("2022-01-01", "2023-01-01"), "preset": "demo"}
    earlier = {"is_all": True, "releases": ("demo",), "pools": ("2022-01-01", "2023-01-01")}
    assert ran[11:-1] == [
        ("linker train", trained),
        ("linker score", {"is_all": True, "releases": ("demo",)}),
        ("linker score", {**earlier, "subset": "validation"}),
        ("linker score", earlier),
        # After all scores, or what it computes would be stale from the beginning.
        ("results", {}),
        ("linking", ran[-2][1]),
    ]
    assert "demo" in str(ran[-2][1])
    shown = re.findall(r"^\$ (.*)$", done.output, re.MULTILINE)
    assert len(shown) == len(ran)
    ran.clear()
    for line in shown:
        home, program, *arguments = shlex.split(line)
        assert (home, program) == (f"TEMPKB_HOME={home_folder}", "tempkb")
        CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert [name for name, _ in ran] == STEPS


def test_a_step_that_fails_ends_the_demo_with_its_message_and_code(home_folder, ran, monkeypatch):
    def refuse(**_options):
        raise click.UsageError("no such thing")

    monkeypatch.setattr(main.commands["release"].commands["templama"], "callback", refuse)
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == 2
    assert "no such thing" in done.output
    assert [name for name, _ in ran] == ["build", "tempel"]


@pytest.mark.parametrize("other", [("--second",), ("--seed", "8"), ("--pages", "500"), ("--quarters", "13")])
def test_the_whole_demo_is_of_the_default_world(home_folder, other):
    done = CliRunner().invoke(main, ["demo", "--all", *other])
    assert done.exit_code == 2
    assert "--all builds the first dump of the default world; leave out the other options" in done.output
    assert not home_folder.exists()


def planned(target, folder):
    """The commands that make would run for a target on a fresh machine."""
    done = subprocess.run(
        ["make", "-n", target, f"VENV={folder}/venv"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_make_demo_installs_what_users_need_and_runs_one_command(tmp_path):
    lines = planned("demo", tmp_path)
    assert [line.split()[-1].strip(chr(34)) for line in lines if "pip install" in line] == [".[linking]"]
    assert [line.partition("/bin/")[2] for line in lines if "bin/tempkb" in line] == ["tempkb demo --all"]


@pytest.mark.parametrize("target", ["dev", "test", "check", "bench"])
def test_developers_get_the_rest(tmp_path, target):
    installed = [line.split()[-1].strip(chr(34)) for line in planned(target, tmp_path) if "pip install" in line]
    assert installed == [".[linking]", ".[dev]"]


@pytest.mark.parametrize("other", [("--second",), ("--seed", "8"), ("--all",)])
def test_the_demo_of_time_is_of_its_own_world(home_folder, other):
    done = CliRunner().invoke(main, ["demo", "--time", *other])
    assert done.exit_code == 2
    assert "leave out the other options" in done.output
    assert not home_folder.exists()


@pytest.mark.slow
def test_the_demo_of_time_trains_and_asks_its_models_and_shows_what_they_know(home_folder, monkeypatch):
    """With a few steps they know nothing, but all of them are there, each asked as it was trained."""
    monkeypatch.setattr(tempkb.demo.world, "TIME_STEPS", {"causal": 6, "seq2seq": 6})
    done = CliRunner().invoke(main, ["demo", "--time"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    regimes = {f"{family}-{regime}" for family in ("causal", "seq2seq") for regime in ("uniform", "temporal", "yearly")}
    trained = {
        one.parent.name: msgspec.json.decode(one.read_bytes())["numbers"]
        for one in (home_folder / "models").glob("*/training.json")
    }
    assert {*trained} == regimes
    assert {name: own["steps"] for name, own in trained.items()} == {
        name: 2 if name.endswith("yearly") else 6 for name in regimes
    }
    assert {(own["asked"], own["corpus"]) for own in trained.values()} == {("spans", "news")}
    rows = open_store().ask("FROM dated_choices", "dated_choices")
    asked = {(row["model"], row["asked"], row["measure"]) for row in rows}
    scored = {("undated", "previous"), ("dated", "previous"), ("dated", "object"), ("dated", "date")}
    answered = {(how, f"answer_{kind}") for how in ("undated", "dated") for kind in ("changed", "unchanged")}
    told = {name for name in regimes if not name.endswith("uniform")}
    assert asked == {(name, *one) for name in regimes for one in scored | {("undated", "answer_changed")}} | {
        (name, *one) for name in regimes for one in answered if name in told or one[0] == "undated"
    }
    # Of two objects both dates are asked, so that a model that no date moves is right in half of them.
    pairs = [row for row in rows if row["measure"] == "object"]
    assert {(row["model"], row["object_id"], row["other"]) for row in pairs} == {
        (row["model"], row["other"], row["object_id"]) for row in pairs
    }
    last = done.output[done.output.rindex("$ ") :]
    assert "paper templama regimes" in last
    assert all(name in last for name in regimes)
    assert (home_folder / "time" / "regimes.png").stat().st_size > 10_000
