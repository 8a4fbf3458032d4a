"""The rooms and who may enter: import directions, Dagster's doors, the list of assets."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tempkb.commands.cli import main
from tempkb.core.settings import _TYPED

PACKAGE = Path(__file__).parents[1] / "tempkb"
ROOT = PACKAGE.parent

# A folder may import those before it and itself. Benchmarks never import one another, and no module imports itself by way
# of others.
ORDER = (
    "core",
    "store",
    "engine",
    "wiki.dumps",
    "wiki.wikitext",
    "wiki.wikidata",
    "wiki.revisions",
    "wiki.mentions",
    "benchmarks",
    "models",
    "models.corpora",
    "models.training",
    "models.scores",
    "models.generations",
    "models.linking",
    "models.again",
    "results",
    "platform",
    "demo",
    "commands.runs",
    "commands.screens",
    "commands",
)
# Results are made from tables of all rooms.
EXCEPTED = {("results.steps", "tempkb.platform.rooms")}
MAY_IMPORT_DAGSTER = {"assets", "automation", "definitions", "instance", "reporter", "timeline"}

# What benchmarks share; each of the others is a benchmark of its own.
SHARED_BY_BENCHMARKS = {
    "tasks",
    "benchmark",
    "chance",
    "chunking",
    "cutting",
    "sentences",
    "card",
    "croissant",
    "designs",
    "linkable",
    "export_folder",
    "exporting",
    "lm_eval",
    "lm_eval_rows",
    "loading",
    "methods",
    "promises",
    "prompt_steps",
    "prompting",
    "reading",
    "register",
    "sources",
    "work",
    "fact_queries",
}

ASSETS = {
    "linkers": "linking",
    "entity_vectors": "linking",
    "linking_scores": "linking",
    "nil_thresholds": "linking",
    "dump_files": "dumps",
    "pages": "dumps",
    "namespaces": "dumps",
    "revision_log": "revisions",
    "stable_snapshots": "revisions",
    "page_wikitexts": "revisions",
    "rebuild_changes": "revisions",
    "page_texts": "mentions",
    "page_links": "mentions",
    "mentions": "mentions",
    "inverted_index": "mentions",
    "mention_priors": "mentions",
    "entity_popularity": "mentions",
    "tempel_plans": "tempel",
    "tempel_filters": "tempel",
    "tempel_mentions": "tempel",
    "tempel_entities": "tempel",
    "tempel_releases": "tempel",
    "tempel_statistics": "tempel",
    "entity_texts": "tempel",
    "tempel_new_entities": "tempel",
    "wikidata_entities": "wikidata",
    "facts": "wikidata",
    "undated_statements": "wikidata",
    "entity_origins": "wikidata",
    "entity_classes": "wikidata",
    "subclasses": "wikidata",
    "late_edits": "wikidata",
    "templama/fact_subjects": "templama",
    "templama/fact_spells": "templama",
    "templama/fact_releases": "templama",
    "dynamic_templama/fact_subjects": "dynamic_templama",
    "dynamic_templama/fact_spells": "dynamic_templama",
    "dynamic_templama/fact_releases": "dynamic_templama",
    "templama_queries": "templama",
    "future_relation_queries": "templama",
    "templama_prompts": "templama",
    "dynamic_templama_queries": "dynamic_templama",
    "dynamic_templama_changes": "dynamic_templama",
    "dynamic_templama_prompts": "dynamic_templama",
    "answer_tokens": "dynamic_templama",
    "ecbd_entities": "ecbd",
    "ecbd_sentences": "ecbd",
    "ecbd_cloze": "ecbd",
    "ecbd_releases": "ecbd",
    "ecbd_prompts": "ecbd",
    "dated_texts": "corpora",
    "models": "models",
    "mixtures": "models",
    "prompt_scores": "scores",
    "generations": "generations",
    "knowledge": "results",
    "linking_effects": "results",
    "judged_answers": "results",
    "judged_changes": "results",
    "linking_sums": "results",
    "fact_delays": "results",
    "nil_results": "results",
    "knows": "results",
    "estimated_cutoffs": "results",
}


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py"))


def rank_of(dotted: str) -> int:
    """Place in the order of a module or of what it defines, by its dotted name below the package."""
    parts = dotted.split(".")
    names = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next(ORDER.index(name) for name in names if name in ORDER)


def imports(path: Path):
    """Dotted names that a module imports, wherever in it."""
    return imports_below(ast.parse(path.read_text("utf-8")))


def type_checking_blocks(path: Path):
    """The blocks of a module that only type checkers read."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield node


def imports_below(tree: ast.AST):
    """Dotted names that a piece of a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{ast.unparse(node)}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_go_one_way():
    found = {f"{one} imports {name}" for path in modules() for one, name in forbidden_imports(path)}
    assert not found


def forbidden_imports(path):
    """The imports of a module that go to a later folder, or to another benchmark."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    own = ".".join(parts)
    for name in imports(path) if own != "__init__" else ():
        if not name.startswith("tempkb.") or name.startswith("tempkb.__"):
            continue
        other = name.removeprefix("tempkb.")
        allowed = {parts[1], *SHARED_BY_BENCHMARKS} if parts[0] == "benchmarks" else set()
        is_of_other = other.startswith("benchmarks.") and bool(allowed) and other.split(".")[1] not in allowed
        is_excepted = (own, name.rpartition(".")[0]) in EXCEPTED
        if (rank_of(other) > rank_of(own) and not is_excepted) or (is_of_other and own != "benchmarks.declared"):
            yield own, name


def test_no_module_imports_itself_by_way_of_others():
    """Within a room as well, and also where a function imports; types that only a checker reads do not count."""
    dotted = {path: ".".join(["tempkb", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in modules()}
    known = set(dotted.values())
    graph = {}
    for path, name in dotted.items():
        for_checkers = {name for node in type_checking_blocks(path) for name in imports_below(node)}
        found = set(imports(path)) - for_checkers
        graph[name] = {one if one in known else one.rpartition(".")[0] for one in found} & known
    assert (
        "tempkb.platform.planning.due" in graph["tempkb.commands.runs.building"] | graph["tempkb.commands.runs.removal"]
    )
    TopologicalSorter(graph).prepare()


def test_only_the_named_modules_import_dagster():
    found = {path.stem for path in modules() if "dagster" in {name.split(".")[0] for name in imports(path)}}
    assert found <= MAY_IMPORT_DAGSTER


def test_modules_say_what_they_are_and_have_honest_names():
    assert [path for path in modules() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))] == []
    names = {part for path in modules() for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not {"utils", "helpers", "common", "misc", "manager"} & names


def test_the_top_level_holds_what_it_should():
    told = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not told:
        pytest.skip("not a git checkout")
    top = {name.split("/")[0] for name in told}
    assert top <= {
        "pyproject.toml",
        "tempkb",
        "tempkb_tests",
        "workspace.yaml",
        "dagster.yaml",
        "data",
        "README.md",
        "Makefile",
        "constraints.txt",
        "LICENSE",
        ".ci",
        "docs",
        ".gitignore",
        "CITATION.cff",
        "NOTICE",
        "CHANGELOG.md",
    }
    assert [name for name in told if name.startswith("data/")] == ["data/README.md"]


def test_the_package_has_at_most_twelve_entries():
    there = {path.relative_to(PACKAGE).parts[0] for path in (*modules(), PACKAGE / "py.typed")}
    assert len(there) <= 12, sorted(there)


GRAPH = """
import json
from tempkb.platform.definitions import defs
graph = defs.resolve_asset_graph()
print(json.dumps({
    key.to_user_string(): [graph.get(key).group_name, graph.get(key).description, graph.get(key).code_version,
                           sorted(graph.get(key).kinds), list(graph.get(key).owners), graph.get(key).is_partitioned,
                           graph.get(key).freshness_policy is not None]
    for key in graph.get_all_asset_keys()
}))
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    import json
    import os

    environment = {**os.environ, "TEMPKB_HOME": str(tmp_path_factory.mktemp("graph"))}
    done = subprocess.run([sys.executable, "-c", GRAPH], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def test_the_assets_are_those_we_know_in_their_groups(graph):
    assert {key: facts[0] for key, facts in graph.items()} == ASSETS


def test_every_asset_is_described_versioned_owned_and_partitioned(graph):
    for key, (_, description, code_version, kinds, owners, is_partitioned, _) in graph.items():
        assert description, key
        assert "Key `" in description or "key `" in description, f"{key} names its key"
        assert code_version, key
        assert kinds == ["duckdb", "parquet"], key
        assert owners == ["team:tempkb"], key
        # Results are about all models at once.
        assert is_partitioned == (ASSETS[key] != "results"), key


def test_what_is_made_for_releases_says_what_its_partitions_are(graph):
    told = {key for key, facts in graph.items() if "A partition is a release, made by `tempkb release`." in facts[1]}
    others = {
        "dumps",
        "revisions",
        "mentions",
        "wikidata",
        "corpora",
        "models",
        "scores",
        "generations",
        "linking",
        "results",
    }
    assert told == {key for key, group in ASSETS.items() if group not in others}


def test_what_is_made_for_each_dump_is_watched_for_freshness(graph):
    """Tables of windows are not: Dagster would take the day of the build for their age. A check tells the true one."""
    watched = {key for key, facts in graph.items() if facts[-1]}
    assert watched == {key for key, group in ASSETS.items() if group in {"dumps", "wikidata"}}


def test_dagster_shows_the_columns_that_duckdb_comments_on(demo_home):
    """Names, types and meanings, before a run as after it."""
    import duckdb

    from tempkb.platform.definitions import defs

    with duckdb.connect(str(demo_home / "tempkb.duckdb"), read_only=True) as connection:
        found = connection.execute(
            """
            SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
            -- This one is for the store's own use: it says which partition a row was brought in with.
            WHERE NOT internal AND column_name <> 'lake_partition' ORDER BY ALL
            """
        ).fetchall()
    graph = defs.resolve_asset_graph()
    shown = set()
    for key in graph.get_all_asset_keys():
        metadata = graph.get(key).metadata
        assert metadata["dagster/table_name"] == f"tempkb.main.{key.path[-1]}"
        for column in metadata["dagster/column_schema"].columns:
            meaning = re.sub(r"\\([^a-z\s])", r"\1", column.description)
            shown.add((key.path[-1], column.name, column.type, meaning))
    names = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
    published = {row[0] for row in found}
    assert {"stable_snapshots", "facts", "ecbd_cloze", "dynamic_templama_changes"} <= published & {
        row[0] for row in shown
    }
    told = sorted((table, name, names.get(kind, kind), meaning) for table, name, kind, meaning in shown)
    columns = {row for row in found if row[0] in {name for name, *_ in shown}}
    assert [row for row in told if row[0] in published and "STRUCT" not in row[2]] == sorted(
        row for row in columns if "STRUCT" not in row[2]
    )
    assert {row[:2] for row in columns} == {row[:2] for row in told if row[0] in published}


def test_every_asset_is_a_declared_table():
    from tempkb.platform.rooms import TABLES

    assert {table.name for table in TABLES} == {key.split("/")[-1] for key in ASSETS}
    for table in TABLES:
        assert all(column.meaning for column in table.columns)
        assert set(table.key) <= set(table.schema.names)
        of_models = (
            "models",
            "mixtures",
            "prompt_scores",
            "generations",
            "linkers",
            "entity_vectors",
            "knowledge",
            "linking_effects",
            "judged_answers",
            "judged_changes",
            "linking_sums",
            "fact_delays",
            "nil_thresholds",
            "nil_results",
            "knows",
            "estimated_cutoffs",
            "dated_texts",
        )
        if table.name in of_models or table.name.endswith("_prompts"):
            # A model comes from a checkpoint, not from the dumps of a wiki, and results are about models. A prompt is a
            # text, whose item has its origin. Dated texts may be a user's own.
            continue
        assert "wiki" in table.schema.names
        # Rows of a release's plan and statistics come of several dumps; its own row names them.
        assert "dump_id" in table.schema.names or table.name in {
            "tempel_releases",
            "tempel_plans",
            "tempel_filters",
            "tempel_statistics",
            "tempel_new_entities",
            "linking_scores",
            "fact_releases",
            "future_relation_queries",
            "ecbd_releases",
        }


def test_rooms_behind_the_benchmarks_know_none_by_name():
    """What they read of a benchmark it brings by its declaration; `fact_queries` is a room that benchmarks share."""
    from tempkb.benchmarks.declared import BENCHMARKS

    named = tuple(f"tempkb.benchmarks.{one.name}." for one in BENCHMARKS)
    rooms = ("core", "models", "results")
    paths = [path for room in rooms for path in (PACKAGE / room).rglob("*.py")]
    assert not {(path, name) for path in paths for name in imports(path) if name.startswith(named)}


def test_only_one_module_deletes_trees():
    """It follows no link and refuses what lies behind one."""
    calls = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute | ast.alias) and "rmtree" in ast.unparse(node)
    }
    assert calls == {"core/files.py"}


def test_no_sentence_of_a_message_reads_as_a_command():
    for node in (one for path in PACKAGE.rglob("*.py") for one in ast.walk(ast.parse(path.read_text("utf-8")))):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        said = "".join(str(part.value) if isinstance(part, ast.Constant) else " " for part in parts)
        for typed in _TYPED.finditer(said):
            assert re.match(r"\w+", said[typed.end() :])[0] in main.commands, said
