"""The demo world's traps, built through Dagster: each story with the row written by hand.

`tempkb demo --all`: one process, a line a step; the log shows each command as it could be typed.
"""

import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

import tempkb
import tempkb.demo.world
from tempkb.commands.cli import main
from tempkb.commands.runs.jobs import Summary
from tempkb.commands.screens import failure
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


def test_steps_say_how_many_models_do_what():
    """Three families are trained at two cuts each; of ECBD's questions only sequence-to-sequence models answer some."""
    told = [title for title in tempkb.demo.world.STEPS if " models" in title]
    assert told == [
        "training 6 tiny language models",
        "scoring 6 models on ECBD",
        "scoring 6 models on DynamicTempLAMA",
        "answers of 6 models to DynamicTempLAMA",
        "answers of 2 models to ECBD",
    ]


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
    window = ["--window", "2022-01-01..2022-04-01"]
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
]


def test_the_whole_demo_runs_each_command_in_one_process_with_a_line_each(home_folder, ran):
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == 0, done.output
    assert (home_folder / "dumps").is_dir()
    assert [name for name, _ in ran] == STEPS
    assert ran[7] == ("score", {"is_all": True, "benchmarks": ("dynamic-templama",)})
    assert ran[8] == ("generate", {"is_all": True, "benchmarks": ("dynamic-templama",), "decoder": "greedy"})
    assert ran[9] == ("generate", {"is_all": True, "benchmarks": ("ecbd",), "limit": "100"})
    trained = {"release": "demo", "cuts": ("2022-01-01", "2023-01-01"), "preset": "demo"}
    earlier = {"is_all": True, "releases": ("demo",), "pools": ("2022-01-01", "2023-01-01")}
    assert ran[10:] == [
        ("linker train", trained),
        ("linker score", {"is_all": True, "releases": ("demo",)}),
        ("linker score", {**earlier, "subset": "validation"}),
        ("linker score", earlier),
        # After all scores, or what it computes would be stale from the beginning.
        ("results", {}),
    ]
    shown, _, ending = done.output.partition("\n\n")
    lines = shown.splitlines()
    assert [re.fullmatch(r"\[(\d+)/16\] \S.*\S  \d+ s", line)[1] for line in lines] == [f"{n}" for n in range(1, 17)]
    assert len(ending.splitlines()) <= 20
    assert ending.startswith(f"The home is {home_folder}, the log {home_folder / 'demo.log'}.")
    assert [line.split("tempkb ")[1].split()[0] for line in ending.splitlines()[-4:]] == [
        "knows",
        "answers",
        "show",
        "docs",
    ]


def commands_logged(home):
    """The commands that the log of a demo shows."""
    return re.findall(r"^[\d-]{10} [\d:]{8} \$ (.*)$", (home / "demo.log").read_text("utf-8"), re.MULTILINE)


def test_the_log_shows_each_command_as_it_may_be_typed(home_folder, ran):
    CliRunner().invoke(main, ["demo", "--all"])
    shown = commands_logged(home_folder)
    assert len(shown) == len(ran)
    ran.clear()
    for line in shown:
        home, program, *arguments = shlex.split(line)
        assert (home, program) == (f"TEMPKB_HOME={home_folder}", "tempkb")
        CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert [name for name, _ in ran] == STEPS


def test_what_steps_print_is_in_the_log_alone_and_appended_when_the_demo_goes_on(home_folder, ran, monkeypatch, capfd):
    """Each line with its time; also what a process below, or a library in C, writes to the descriptors."""

    def loud():
        click.echo("said")
        click.echo("warned", err=True)
        sys.stdout.write("a ")
        sys.stdout.write("whole line\n")
        subprocess.run(["sh", "-c", "echo below; echo below, too >&2"], check=True)

    monkeypatch.setattr(main.commands["results"], "callback", loud)
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main(["demo", "--all"])
        assert ended.value.code == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert not re.search("said|warned|whole|below|wrote", out)
    log = (home_folder / "demo.log").read_text("utf-8")
    for line in ("said", "warned", "a whole line"):
        assert len(re.findall(rf"^\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d {line}$", log, re.MULTILINE)) == 2
    assert (log.count("below\n"), log.count("below, too\n")) == (2, 2)


def test_without_models_the_demo_says_why_it_finds_nothing(home_folder, ran):
    ending = CliRunner().invoke(main, ["demo", "--all"]).output.partition("\n\n")[2]
    words = " ".join(ending.split())
    assert "1. What models answer where facts have changed is not known: too few of their answers are judged." in words
    assert "2. Linkers are not compared: none was trained, or too few mentions were linked." in words
    assert "3. No training cutoff is estimated" in words


@pytest.mark.parametrize("hidden", ["bm25s", "sentence_transformers", "datasets", "accelerate", "faiss"])
def test_without_the_extra_linking_all_but_linkers_is_made(home_folder, ran, monkeypatch, hidden):
    monkeypatch.setitem(sys.modules, hidden, None)
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == 0, done.output
    assert [name for name, _ in ran] == [name for name in STEPS if not name.startswith("linker")]
    first, *lines = done.output.partition("\n\n")[0].splitlines()
    assert first == (
        f"Without linkers: training them needs {hidden}, which is not installed; install the extra linking: "
        'pip install "tempkb[linking]"'
    )
    assert lines[-1].startswith("[12/12] computing results  ")


def failing(error):
    def refuse(**_options):
        raise error

    return refuse


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(
            SettingsError("torn: type: tempkb gc"), 1, "tempkb: torn: type: TEMPKB_HOME={} tempkb gc", id="error"
        ),
        pytest.param(KeyboardInterrupt(), 130, "tempkb: interrupted; what is finished is kept, ", id="Ctrl-C"),
    ],
)
def test_a_step_that_fails_ends_the_demo_with_its_message_its_code_and_the_log(
    home_folder, ran, monkeypatch, error, code, message
):
    monkeypatch.setattr(main.commands["release"].commands["templama"], "callback", failing(error))
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == code
    assert [name for name, _ in ran] == ["build", "tempel"]
    assert done.stdout.splitlines()[-1] == "[4/16] a release of TempLAMA"
    said = done.stderr.splitlines()
    assert said[0].startswith(message.format(home_folder))
    assert said[1:] == [f"All that was printed is in {home_folder / 'demo.log'}. The same command goes on from here."]
    assert "Traceback" in (home_folder / "demo.log").read_text("utf-8")


def test_what_a_build_could_not_make_is_told(home_folder, monkeypatch):
    monkeypatch.setattr("tempkb.commands.runs.building.build", lambda _asked: Summary(failures=["window a: torn"]))
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.exit_code == 1
    assert done.stderr.splitlines()[0] == "failed: window a: torn"
    assert "failed: window a: torn" in (home_folder / "demo.log").read_text("utf-8")


def test_several_failures_of_a_step_are_all_told(home_folder, ran, monkeypatch):
    def fail():
        failure.fail_all(["window a: torn", "window b: empty"])

    monkeypatch.setattr(main.commands["results"], "callback", fail)
    done = CliRunner().invoke(main, ["demo", "--all"])
    assert done.stderr.splitlines()[:3] == [
        "failed: window a: torn",
        "failed: window b: empty",
        "tempkb: 2 failures, see above; what is finished is kept",
    ]


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
def test_the_demo_of_time_trains_and_asks_its_models_and_shows_what_they_know(home_folder, monkeypatch, capfd):
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
    assert commands_logged(home_folder)[-1].endswith(f"--picture {home_folder / 'time/regimes.png'}")
    # A second process prints its own.
    steps = re.findall(r"^\[(\d+)/14\] .*  .*\d s$", done.output + capfd.readouterr().out, re.MULTILINE)
    assert sorted(map(int, steps)) == [*range(1, 15)]
    assert len(done.output.partition("\n\n")[2].splitlines()) <= 20
    assert (home_folder / "time" / "regimes.png").stat().st_size > 10_000
