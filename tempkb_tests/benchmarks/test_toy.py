"""A benchmark is one folder and one line: a toy gets its asset, job, check, commands, export and documentation."""

import csv
import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from tempkb_tests.forked import run_command
from tempkb_tests.models.tiny import KINDS, random_model, tokenizer_of

ROOT = Path(__file__).parents[2]
LINE = "BENCHMARKS = (TEMPEL, ECBD, TEMPLAMA, DYNAMIC_TEMPLAMA)"
DEFINED = """
import json
import dagster as dg
from tempkb.platform.definitions import defs
graph = defs.resolve_asset_graph()
key = dg.AssetKey("toy_titles")
job = defs.resolve_job_def("build_toy_letters")
print(json.dumps({
    "group": graph.get(key).group_name,
    "parents": [parent.to_user_string() for parent in graph.get(key).parent_keys],
    "partitions": graph.get(key).partitions_def.name,
    "checks": [check.name for check in graph.get_check_keys_for_assets({key})],
    "config": sorted(job.run_config_schema.config_type.fields["ops"].config_type.fields["toy_letters"].config_type.fields["config"].config_type.fields),
}))
"""
DIFFERENT = """
from tempkb_tests.docs import documents
print([path.name for path, text in documents().items() if not path.exists() or path.read_text() != text])
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the package whose list of benchmarks has one more."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("tempkb", "docs", "tempkb_tests/benchmarks/toy"):
        shutil.copytree(ROOT / name, tree / name)
    for name in ("tempkb_tests/__init__.py", "tempkb_tests/docs.py", "tempkb_tests/benchmarks/__init__.py"):
        shutil.copy(ROOT / name, tree / name)
    declared = tree / "tempkb/benchmarks/declared.py"
    text = declared.read_text("utf-8")
    assert text.count(LINE) == 1
    imported = "from tempkb_tests.benchmarks.toy.benchmark import TOY\n"
    declared.write_text(imported + text.replace(LINE, f"{LINE[:-1]}, TOY)"), "utf-8")
    return tree


@pytest.fixture(scope="module")
def home(demo_home, tmp_path_factory):
    home = tmp_path_factory.mktemp("toy") / "home"
    shutil.copytree(demo_home, home, ignore=shutil.ignore_patterns("dagster"))
    return home


def tempkb(tree, home, *arguments, **other):
    """Run a command of the copied package, or another module or script."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("TEMPKB_")}
    environment = {**clean, "TEMPKB_HOME": str(home), "TEMPKB_WORKERS": "1", "PYTHONPATH": str(tree)}
    return run_command(arguments, environment, tree, tree=tree, **other)


@pytest.mark.slow
def test_dagster_has_its_asset_job_partitions_check_and_configuration(tree, home):
    done = tempkb(tree, home, script=DEFINED)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "group": "toy_letters",
        "parents": ["stable_snapshots"],
        "partitions": "toy_letters_releases",
        "checks": ["titles_are_titles"],
        "config": ["changes", "cut", "letter", "preset"],
    }


@pytest.mark.slow
def test_its_releases_live_as_those_of_all_benchmarks(tree, home, tmp_path):
    made = tempkb(tree, home, "release", "toy-letters", "2", "--cut", "2022-01-01", "--name", "mine")
    assert made.returncode == 0, made.stderr
    assert "release mine: 1 titles" in made.stdout
    assert "2021 Varland Rowing Cup" in made.stdout
    exported = tempkb(tree, home, "release", "export", "mine", str(tmp_path))
    assert exported.stdout == f"wrote {tmp_path / 'mine'}\n", exported.stderr
    summed = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "mine", capture_output=True, text=True, check=True
    )
    assert summed.stdout.splitlines() == [
        f"{name}: OK"
        for name in ("README.md", "croissant.json", "design.json", "parquet/toy_titles.parquet", "titles.jsonl")
    ]
    assert json.loads((tmp_path / "mine/titles.jsonl").read_text()) == {"title": "2021 Varland Rowing Cup"}
    assert "Titles, made with tempkb " in (tmp_path / "mine/README.md").read_text()
    faulty = tempkb(tree, home, "release", "toy-letters", "I", "--preset", "loud", "--name", "loud")
    assert faulty.returncode == 1
    assert "fails its own check toy_titles.titles_are_titles" in faulty.stderr
    assert sorted(path.stem for path in (home / "releases").glob("*.json")) == ["demo-cloze", "demo-quarters", "mine"]
    extended = tempkb(tree, home, "release", "extend", "mine", "2023-01-01")
    assert "release 'mine': is one of ToyLetters; expected one of TempEL" in extended.stderr
    assert tempkb(tree, home, "rm", "--release", "mine", "--yes").returncode == 0
    assert not (home / "releases/mine.json").exists()


@pytest.mark.slow
def test_its_items_are_scored_and_what_models_know_of_them_is_read(tree, home, tmp_path):
    made = tempkb(tree, home, "release", "toy-letters", "H", "--name", "asked")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "tiny"
    for part in (random_model(KINDS["gpt2"], tokenizer_of("gpt2")), tokenizer_of("gpt2")):
        part.save_pretrained(folder)
    scored = tempkb(tree, home, "score", str(folder), "--release", "asked")
    assert scored.returncode == 0, scored.stderr
    window = "2022-01-01..2023-01-01"
    known = tempkb(tree, home, "knows", "--release", "asked", "--window", window, "--csv", str(tmp_path / "knows.csv"))
    assert known.returncode == 0, known.stderr
    (row,) = csv.DictReader((tmp_path / "knows.csv").open())
    with duckdb.connect(home / "tempkb.duckdb", read_only=True) as connection:
        ((n, nats),) = connection.execute(
            """
            SELECT count(*), avg(-log_prob_nats / n_tokens) FROM toy_scores
            WHERE window_start >= DATE '2022-01-01' AND window_start < DATE '2023-01-01'
            """
        ).fetchall()
    assert n > 0
    assert (row["aggregate"], row["metric"], int(row["n_asked"]), int(row["n_items"])) == (
        "letter_perplexity",
        "perplexity",
        n,
        n,
    )
    assert float(row["value"]) == pytest.approx(math.exp(nats))


@pytest.mark.slow
def test_the_documentation_fails_until_it_is_written_anew(tree, home):
    told = tempkb(tree, home, script=DIFFERENT)
    assert told.stdout == "['tables.md', 'releases.md', 'architecture.md', 'toy_letters.md']\n", told.stderr
    assert tempkb(tree, home, module="tempkb_tests.docs").returncode == 0
    tables, releases = ((tree / "docs" / name).read_text("utf-8") for name in ("tables/toy_letters.md", "releases.md"))
    assert "## toy_titles\n\nTitles of a snapshot that begin with a letter." in tables
    assert re.search(r"### tempkb release toy-letters\n.*?\| `--cut` \|", releases, re.DOTALL)
