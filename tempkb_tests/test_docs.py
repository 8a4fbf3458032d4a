"""The README and docs/ do not lie: every command, setting, table, column, target, query and picture in them is true."""

import json
import operator
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import get_args

import click
import duckdb
import pyarrow as pa
import pytest

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.ecbd.design import PRESETS as CLOZE_PRESETS
from tempkb.benchmarks.ecbd.design import Design as ClozeDesign
from tempkb.benchmarks.fact_queries.design import Design as FactDesign
from tempkb.benchmarks.tempel.design import Design
from tempkb.commands.cli import main
from tempkb.core.model_words import ModelRequest
from tempkb.core.options import options_of
from tempkb.core.record import IDENTITY
from tempkb.core.settings import Settings, load_home
from tempkb.models.families import TRAITS
from tempkb.models.linking.answering import Answer
from tempkb.models.linking.training.recipe import Recipe
from tempkb.models.rows import Score, Status
from tempkb.models.scores.requests import ScoreRequest
from tempkb.models.training.requests import PRESETS as MODEL_PRESETS
from tempkb.models.training.requests import REGIMES
from tempkb.models.training.requests import Recipe as ModelRecipe
from tempkb.platform.rooms import ROOMS, TABLES, VIEWS
from tempkb.results import linking_effects
from tempkb.results.tables import AGGREGATES
from tempkb.store.tables import SIDE_TABLES
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.docs import DESIGNS, PAGES, documents
from tempkb_tests.models.tiny import KINDS, random_model, tokenizer_of
from tempkb_tests.soak.contrasts import CONTRASTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
QUERIES = (ROOT / "docs/queries.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs/tutorial.md").read_text("utf-8")
ENWIKI = (ROOT / "docs/enwiki.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for path in (
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tempkb").rglob("README.md"),
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "data/README.md")),
    )
)
ROOMS_WITH_README = (
    "wiki/dumps",
    "wiki/revisions",
    "wiki/wikitext",
    "wiki/mentions",
    "wiki/wikidata",
    "store",
    "engine",
    "platform/planning",
    "benchmarks",
    "models",
    "demo",
)
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def queries():
    return re.findall(r"```sql\n(.*?)```", QUERIES, re.DOTALL)


def code_of(name):
    """What a document shows as code, so that a sentence in which tempkb or make is a word is not taken for a command."""
    return CODE.findall((ROOT / name).read_text("utf-8"))


def anchors_of(path):
    """Anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    found, before = set(), Counter()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{plain}-{before[plain]}" if before[plain] else plain)
        before[plain] += 1
    return found


def columns_of_pages():
    """The columns of each table and view with their meanings, as the generated pages show them."""
    text = "\n".join(path.read_text("utf-8") for path in PAGES.glob("*.md"))
    sections = re.findall(r"^## (\w+)\n(.*?)(?=^## |^# |\Z)", text, re.DOTALL | re.MULTILINE)
    return {name: dict(re.findall(r"^\| `(\w+)` \| .+? \| (.*) \|$", own, re.MULTILINE)) for name, own in sections}


def blocks_of(text):
    """The lines of all blocks of commands, which name no language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [line for language, block in blocks if not language for line in block.splitlines()]


def test_the_readme_is_read_in_a_minute():
    assert len(README.splitlines()) < 150
    assert blocks_of(README)[:2] == ["make demo", ".venv/bin/tempkb knows"]
    (picture,) = re.findall(r"^!\[.+\]\((.+)\)$", README, re.MULTILINE)
    assert (ROOT / picture).stat().st_size < 100_000
    assert "python -m tempkb_tests.pictures" in README
    assert "pages-meta-history" in README
    assert "Not `pages-articles`" in README


def test_the_papers_of_the_readme_are_those_to_cite():
    import yaml

    cited = {one["url"] for one in yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]}
    assert set(re.findall(r"https://arxiv\.org/abs/[\d.]+", README)) == cited


def test_there_are_twenty_seven_queries():
    assert len(queries()) == 27


def test_the_query_of_the_tutorial_finds_all_kinds_of_changes(demo_home):
    query = re.search(r'tempkb sql "(SELECT window_start.+)"$', TUTORIAL, re.MULTILINE)[1]
    with duckdb.connect(str(demo_home / "tempkb.duckdb"), read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    assert {change for _, change, _ in rows} == {"unchanged", "updated", "new", "deleted", "undatable"}


def test_the_picture_of_the_tutorial_shows_what_the_demo_holds(demo_home):
    bars = re.findall(r"^    (.+) :(\d{4}-\d\d-\d\d), (\d{4}-\d\d-\d\d)$", TUTORIAL, re.MULTILINE)
    diamonds = re.findall(r"^    (.+) replaces (.+) :milestone, (\d{4}-\d\d-\d\d), 0d$", TUTORIAL, re.MULTILINE)
    with duckdb.connect(str(demo_home / "tempkb.duckdb"), read_only=True) as connection:
        query = connection.execute(
            "SELECT DISTINCT subject_id, relation FROM dynamic_templama_queries "
            "WHERE query = '_X_ is the head of the government of Ostvik.'"
        ).fetchall()
        (subject, relation) = query[0]
        spells = connection.execute(
            "SELECT object_label, greatest(valid_from, DATE '2021-01-01')::VARCHAR, "
            "coalesce(valid_to, DATE '2024-01-01')::VARCHAR FROM fact_spells WHERE subject_id = ? AND relation = ?",
            [subject, relation],
        ).fetchall()
        updates = connection.execute(
            "SELECT arriving.object_label, leaving.object_label, c.window_start::VARCHAR "
            "FROM dynamic_templama_changes AS c "
            "JOIN fact_spells AS arriving USING (subject_id, relation, object_id) "
            "JOIN fact_spells AS leaving ON leaving.subject_id = c.subject_id AND leaving.relation = c.relation "
            "AND leaving.object_id = c.paired_object_id "
            "WHERE c.subject_id = ? AND c.relation = ? AND c.change = 'updated' AND c.role = 'arriving'",
            [subject, relation],
        ).fetchall()
    assert len(query) == 1
    assert sorted(bars) == sorted(spells)
    assert sorted(diamonds) == sorted(updates)


def test_what_is_generated_is_what_the_declarations_give():
    for path, text in documents().items():
        assert path.read_text("utf-8") == text, f"{path.name} differs from the declarations; type: make docs"


def test_the_graphs_show_the_rooms_and_what_follows_from_what(home_folder):
    from tempkb.platform.definitions import build_definitions

    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    graphs = {
        room.name: re.search(rf"^### {room.name}\n\n```mermaid\n(.*?)```", text, re.M | re.S)[1] for room in ROOMS
    }
    asset_graph = build_definitions(load_home()).resolve_asset_graph()
    for room in ROOMS:
        shown = set(re.findall(r"^    (\w+)\[\w+\]$", graphs[room.name], re.MULTILINE))
        assert shown == {table.name for table in room.tables}
        for table in room.tables:
            # A table that two benchmarks share has an asset in each.
            own = [key for key in asset_graph.get_all_asset_keys() if key.path[-1] == table.name]
            parents = {parent.path[-1] for key in own for parent in asset_graph.get(key).parent_keys}
            edges = re.findall(rf"^    (\w+) --> {table.name}$", graphs[room.name], re.MULTILINE)
            assert sorted(edges) == sorted(parents), table.name
    of_rooms = text.split("<!-- begin rooms -->")[1].split("<!-- end rooms -->")[0]
    assert re.findall(r"^    (\w+)\[", of_rooms, re.MULTILINE) == [room.name for room in ROOMS]


def test_the_jobs_of_the_architecture_are_those_of_dagster(home_folder):
    from tempkb.platform.definitions import build_definitions

    text = (ROOT / "docs/architecture.md").read_text("utf-8").split("<!-- begin jobs -->")[1]
    made = build_definitions(load_home())
    names = [one.name for one in (*made.jobs, *made.sensors, *made.schedules)]
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == names


# At most half the doors that led there when tempkb's commands still ran inside Dagster.
@pytest.mark.parametrize(("number", "most"), [(1, 34), (2, 31), (3, 14)])
def test_the_doors_of_a_walk_are_there(number, most):
    walk = (ROOT / "docs/architecture.md").read_text("utf-8").split("## Three walks")[1].split("### ")[number]
    doors = re.findall(r"^\d+\. `([\w/]+)\.py:([\w.]+)`", walk, re.MULTILINE)
    assert 10 < len(doors) == len(re.findall(r"^\d+\.", walk, re.MULTILINE)) <= most
    for module, name in doors:
        operator.attrgetter(name)(import_module(f"tempkb.{module.replace('/', '.')}"))


def test_the_decisions_are_short_and_their_index_names_every_section():
    text = (ROOT / "docs/decisions.md").read_text("utf-8")
    assert len(text.encode()) <= 60_000
    index, *rest = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    shown = re.findall(r"^- \[(.+)\]\(#.+\)$", index, re.MULTILINE)
    assert shown == re.findall(r"^## (.+)$", "".join(rest), re.MULTILINE)


@pytest.mark.parametrize("room", ROOMS_WITH_README)
def test_the_readme_of_a_room_names_every_file_of_it(room):
    text = (ROOT / "tempkb" / room / "README.md").read_text("utf-8")
    named = set(re.findall(r"`(\w+\.py)`", text))
    folders = [ROOT / "tempkb" / room, *([ROOT / "tempkb/demo/models"] if room == "demo" else [])]
    files = {path.name for folder in folders for path in folder.glob("*.py")} - {"__init__.py", "room.py"}
    assert named >= files, f"not named: {sorted(files - named)}"
    elsewhere = {path.name for path in (ROOT / "tempkb").rglob("*.py")}
    assert named <= elsewhere, f"not there: {sorted(named - elsewhere)}"


@pytest.fixture(scope="module")
def scored_home(linked_home, tmp_path_factory):
    """A linked home with scores of two models of random weights, by the names of those that the demo trains."""
    folder = tmp_path_factory.mktemp("scored")
    home = shutil.copytree(linked_home, folder / "home")
    for kind, day in (("gpt2", "2022-01-01"), ("llama", "2023-07-01")):
        random_model(KINDS[kind], tokenizer_of(kind), context=512).save_pretrained(folder / kind)
        tokenizer_of(kind).save_pretrained(folder / kind)
        run_tempkb(home, "model", "add", f"demo-causal-{day}", str(folder / kind), "--knows-until", day)
    run_tempkb(home, "score", "--all", "--window", "2022-01-01..2022-10-01")
    run_tempkb(home, "corpus", "make", "--chunker", "none")
    run_tempkb(home, "results")
    return home


@pytest.mark.parametrize("query", queries(), ids=lambda query: query.splitlines()[0].removeprefix("-- "))
def test_every_query_runs_on_the_demo_and_finds_something(scored_home, query):
    with duckdb.connect(str(scored_home / "tempkb.duckdb"), read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    assert rows or "exclusions" in query


def test_queries_of_linking_say_what_the_linkers_do(linked_home):
    """Each of the two linkers has all mentions of its own snapshot right; the prior and the other one have none."""
    with duckdb.connect(str(linked_home / "tempkb.duckdb"), read_only=True) as connection:
        accuracy, found, missed = (
            connection.sql(query).to_arrow_table().to_pylist() for query in queries() if "linking_" in query
        )
    for row in accuracy:
        assert row["accuracy"] == (100 if row["trained_on"] == row["tested_on"] else 0)
    own = {("r-2022", 2022), ("r-2023", 2023)}
    assert {(row["linker"], row["cut"].year) for row in found} <= own
    assert {row["rank_by_prior"] for row in found} == {None, 30}
    assert missed
    assert not {(row["linker"], row["cut"].year) for row in missed} & own
    assert all(row["first_candidate"] not in (None, row["entity"]) for row in missed)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_and_their_options_exist(name):
    text = "\n".join(code_of(name))
    for command, rest in re.findall(r"(?<![\w./-])(?:\.venv/bin/)?tempkb ([a-z]+)\b([^\n`]*)", text):
        assert command in main.commands, f"{name}: tempkb {command}"
        found = main.commands[command]
        below = rest.split()[:1]
        if isinstance(found, click.Group) and below:
            found = found.get_command(click.Context(found), below[0])
            assert found is not None, f"{name}: tempkb {command} {below[0]}"
        options = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
            "--help"
        }
        for option in re.findall(r"(?<!\S)--[a-z-]+", rest):
            assert option in options, f"{name}: tempkb {command} {option}"
    for target in re.findall(r"\bmake ([a-z]+)\b", text):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"{name}: make {target}"


def test_every_command_is_named_in_the_documentation():
    told = "".join((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/queries.md", "docs/operations.md"))
    missing = [command for command in main.commands if f"tempkb {command}" not in told and command != "demo"]
    assert missing == []
    releases = (ROOT / "docs/releases.md").read_text("utf-8")
    group = main.commands["release"]
    assert [name for name in group.list_commands(click.Context(group)) if f" {name} " not in releases] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_names_in_backticks_that_look_like_tables_columns_or_settings_exist(name):
    columns = {column.name for table in (*TABLES, *SIDE_TABLES) for column in table.columns}
    kinds = [column.arrow for table in TABLES for column in table.columns if pa.types.is_list(column.arrow)]
    columns |= {one.name for kind in kinds if pa.types.is_struct(kind.value_type) for one in kind.value_type}
    tables = {table.name for table in (*TABLES, *SIDE_TABLES)}
    known = (
        columns
        | tables
        | set(options_of(Settings))
        | {"lake_partition", "page_props", "published", "declared"}
        | {one.name for one in (*fields(Design), *fields(FactDesign), *fields(ClozeDesign))}
        | {word for design in DESIGNS.values() for one in options_of(design).values() for word in get_args(one.kind)}
        | {name for columns in columns_of_pages().values() for name in columns}
        | {one.name for one in (*VIEWS, *ROOMS, *fields(Recipe), *fields(ModelRecipe))}
        | {*REGIMES, *MODEL_PRESETS}
        | set(CLOZE_PRESETS)
        | {variant for one in BENCHMARKS if one.prompting for variant in one.prompting.variants}
        | set(AGGREGATES)
        | set(options_of(ModelRequest))
        | set(options_of(ScoreRequest))
        | {one.name for one in fields(Score)}
        | {*get_args(Status), *(template for one in TRAITS.values() for template in one.templates)}
        # Jobs and sensors, which another test compares with Dagster's.
        | set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/architecture.md").read_text("utf-8"), re.MULTILINE))
        | {*CONTRASTS}
        # Checks, a model of spaCy's, aggregates, fields of the released files.
        | {"lm_eval", "lm_eval_rows", "chunker_is_spacy", "newest_window_is_recent", "en_core_web_sm"}
        | {"most_recent_answer", "most_frequent_answer", "ppl_2021", "ppl_micro", "ppl_example"}
        | {"mean_of_models", "mean_of_seeds", "change_of_later_models"}
        | {"in_snapshot", "out_of_snapshot", "in_minus_out", "out_minus_in", "in_old_articles", "in_new_articles"}
        | {one.name for one in linking_effects.CONTRASTS}
        # What tempkb link says of a mention.
        | {one.name for one in fields(Answer)}
    )
    for word in re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)(?: = [^`]*)?`", (ROOT / name).read_text("utf-8")):
        assert word in known, f"{name}: {word}"


def test_the_documentation_lists_all_tables_and_views():
    names = sorted(one.name for one in (*TABLES, *VIEWS, *SIDE_TABLES))
    pages = [path.read_text("utf-8") for path in PAGES.glob("*.md")]
    assert sorted(name for text in pages for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)) == names
    index = (ROOT / "docs/tables.md").read_text("utf-8")
    assert sorted(re.findall(r"\[\w+\]\(tables/\w+\.md#(\w+)\)", index)) == names
    assert {path.stem for path in PAGES.glob("*.md")} == {*re.findall(r"\(tables/(\w+)\.md\)", index)}


def test_every_column_has_a_meaning_and_every_meaning_of_a_view_a_column():
    shown = columns_of_pages()
    assert len(shown) == len((*TABLES, *VIEWS, *SIDE_TABLES))
    for name, columns in shown.items():
        assert columns, name
        assert [one for one, meaning in columns.items() if not meaning.strip()] == [], name
    told = tomllib.loads((ROOT / "tempkb/platform/views.toml").read_text("utf-8"))
    every = told.pop("any")
    views = {one.name for one in VIEWS}
    assert [(view, one) for view in told for one in told[view] if view not in views or one not in shown[view]] == []
    assert every.keys() <= {one for view in views for one in shown[view]}


def test_the_settings_of_the_documentation_are_all_settings_with_their_defaults(home_folder):
    text = (ROOT / "docs/settings.md").read_text("utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", text, re.MULTILINE))
    assert list(told) == list(options_of(Settings))
    assert all(field.meaning for field in options_of(Settings).values())
    assert tuple(list(told)[: len(IDENTITY)]) == IDENTITY
    settings = load_home().settings
    for name, default in told.items():
        if default.startswith("`"):
            value = getattr(settings, name)
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
            assert default == f"`{shown}`", name


def test_links_between_files_lead_somewhere():
    for name in DOCUMENTS:
        for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", (ROOT / name).read_text("utf-8")):
            path = (ROOT / name).parent / target if target else ROOT / name
            assert path.exists(), f"{name}: {target}"
            assert not anchor or anchor in anchors_of(path), f"{name}: {target}#{anchor}"


def test_what_the_tutorial_says_the_demo_prints_is_what_it_prints(demo_home):
    from tempkb_tests.conftest import run_tempkb

    said = run_tempkb(demo_home, "show", "Harbour Clock", "--cut", "2021-10-01").stdout
    line = (
        "Revision 1717 won: its text was visible for 12 d of the 30 days before the cut (40%), longer than any other."
    )
    assert line in TUTORIAL
    assert line in said


def test_the_mention_of_the_tutorial_is_linked_rightly_for_the_reason_that_is_shown(demo_home):
    title, n, of = re.search(r"^here ([\w ]+), to which (\d) of (\d) of them lead:$", TUTORIAL, re.MULTILINE).groups()
    typed = re.search(r"tempkb (link .*)$", TUTORIAL, re.MULTILINE)[1]
    (found,) = run_tempkb(demo_home, *shlex.split(typed), "--json").stdout.splitlines()
    assert (json.loads(found)["entities"][0]["title"]) == title
    with duckdb.connect(str(demo_home / "tempkb.duckdb"), read_only=True) as connection:
        links = connection.execute(
            "SELECT title, n_links, sum(n_links) OVER () FROM mention_priors AS p JOIN stable_snapshots AS s "
            "ON s.cut = p.cut AND s.page_id = p.target_page_id WHERE p.cut = '2022-01-01' AND surface = 'the old port'"
        ).fetchall()
    assert (title, int(n), int(of)) in links


@pytest.fixture
def asked_home(trained_home, tmp_path):
    """A copy of the demo's home with two of its models, which have answered a few questions."""
    home = shutil.copytree(trained_home, tmp_path / "home")
    for typed in (
        "publish",
        "score --all --benchmark dynamic-templama",
        "generate --all --benchmark dynamic-templama --decoder greedy --limit 60",
        "results",
    ):
        run_tempkb(home, *typed.split())
    return home


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run_as_they_are_printed(asked_home, tmp_path):
    def cut_versions():
        return {path.parent.name: path.read_text() for path in asked_home.glob("lake/stable_snapshots/*/CURRENT")}

    made, *lines = blocks_of(TUTORIAL)
    assert made == "make demo"
    before, said = cut_versions(), {}
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == ".venv/bin/tempkb"
        said.setdefault(arguments[0], []).append(run_tempkb(asked_home, *arguments, cwd=tmp_path).stdout)
    assert "Tor Mallin" in said["sql"][0]
    assert (tmp_path / "ostvik.png").stat().st_size > 10_000
    assert "Grand Harbour" in said["link"][0]
    assert "stale, since" not in said["status"][-1]
    assert (tmp_path / "exports/mine/README.md").is_file()
    with duckdb.connect(str(asked_home / "tempkb.duckdb"), read_only=True) as connection:
        ((share, n),) = connection.execute(
            "SELECT avg((preference_nats > 0)::INTEGER), count(*) FROM scored_changes "
            "WHERE model = 'demo-causal-untrained' AND scorer LIKE '%span_end%' AND release = 'demo-quarters'"
        ).fetchall()
    assert n > 300
    assert 0.4 < share < 0.6
    assert len(before) == 12
    assert cut_versions().items() > before.items()
    assert "2024-01-01" in cut_versions()


# What stands in the document, and what takes its place: the demo's wiki in a folder in place of Wikimedia's server.
SMALL = {
    "https://dumps.wikimedia.org": "{mirror}",
    "curl -s -o": "curl -s -o",
    "/data/": "{place}/",
    "enwiki-20260101-pages-meta-history1.xml-p1p857": "demowiki-20240101-pages-meta-history1.xml-p11p323",
    "enwiki/20260101": "demowiki/20240101",
    "TEMPKB_WIKI=enwiki": "TEMPKB_WIKI=demowiki",
    "TEMPKB_WORKERS=16": "TEMPKB_WORKERS=1",
    "2017-01-01..2026-01-01/yearly": "2022-01-01..2024-01-01/yearly --preset small",
    "ecbd 2016-01-01..2026-01-01": "ecbd 2021-01-01..2024-01-01 --preset small",
    "2016-01-01..2026-01-01": "2021-01-01..2024-01-01",
    "FIRST_WINDOW=2016-01-01": "FIRST_WINDOW=2021-01-01",
}


@pytest.mark.slow
def test_the_commands_of_enwiki_run_on_a_small_wiki(demo_dumps, tmp_path):
    mirror, place = tmp_path / "mirror", tmp_path / "data"
    shutil.copytree(demo_dumps / "dumps", mirror)
    script = "\n".join(blocks_of(ENWIKI)) + "\n"
    for told, small in SMALL.items():
        assert told in script, told
        script = script.replace(told, small.format(mirror=mirror, place=place))
    script = script.replace(f"bz2 {mirror}", f"bz2 file://{mirror}")
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = {}
    for home in ("sample", "enwiki"):
        with duckdb.connect(str(place / home / "tempkb.duckdb"), read_only=True) as connection:
            query = "SELECT count(DISTINCT cut), count(*) FROM stable_snapshots"
            (found[home],) = connection.execute(query).fetchall()
    assert found["sample"][0] == found["enwiki"][0] == 12
    assert 0 < found["sample"][1] < found["enwiki"][1] / 5
    assert {path.stem for path in (place / "enwiki/releases").glob("*.json")} == {
        "linking",
        "changes",
        "years",
        "cloze",
    }
    assert (tmp_path / "exports/changes/README.md").is_file()


def test_versions_agree():
    version = re.search(r'__version__ = "(.+)"', (ROOT / "tempkb/__init__.py").read_text())[1]
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_dagster_yaml_and_the_one_tempkb_writes_say_the_same():
    import yaml

    from tempkb.platform.instance import DAGSTER_YAML

    committed, written = (yaml.safe_load(said) for said in ((ROOT / "dagster.yaml").read_text(), DAGSTER_YAML))
    places = {name: committed.pop(name) for name in ("storage", "local_artifact_storage", "compute_logs")}
    assert committed == written
    assert places["storage"] == {"sqlite": {"base_dir": "data/demo/dagster"}}


def test_make_help_lists_every_target():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "check", "audit", "docs", "ui", "bench", "real"):
        assert re.search(rf"^{target} ", done.stdout, re.MULTILINE)
    assert sys.version_info >= (3, 11)
