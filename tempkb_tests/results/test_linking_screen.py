"""`tempkb linking` on made-up scores of the demo's mentions."""

import csv
import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from tempkb.commands.runs.jobs import Summary
from tempkb.commands.runs.results import bring_results
from tempkb.commands.screens.linking import print_linker, print_linkers, print_scores
from tempkb.core.errors import SettingsError
from tempkb.models.linking.tables import LINKING_SCORES, scores_partition
from tempkb.models.linking.training.recipe import PRESETS
from tempkb.platform.api import open_store
from tempkb.results import linking_reading
from tempkb.results.linking_reading import FIGURES, LIMITS, linked
from tempkb.results.tables import ALL, LINKING_EFFECTS, LINKING_SUMS
from tempkb.store.memory import in_memory
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.linked import CUTS, add_linker, add_scores
from tempkb_tests.results.making import make
from tempkb_tests.results.worlds import Linked

PAGE = (Path(__file__).resolve().parents[2] / "docs/linking.md").read_text("utf-8")
QUERIES = [one for one in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL) if "nil_results" not in one]


@pytest.mark.slow
def test_the_command_prints_tables_and_figures_in_sentences(linked_home):
    said = run_tempkb(linked_home, "linking", "--k", "1").stdout
    assert "TempEL, Table 7: Accuracy@1 (%) " in said
    assert said.count("(release r, pool own, category ") == 2
    for line in (
        "│ demo   │ 2022-01-01  │      100.0 │        0.0 │",
        "│ demo   │ 2023-01-01  │        0.0 │      100.0 │",
        "│ prior  │ not trained │        0.0 │        0.0 │",
    ):
        assert said.count(line) == 2
    assert "differences of accuracy@1 in points (pool own), release r" in said
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in said.splitlines() if "│" in line]
    found = {tuple(row[:3]): row[3:] for row in cells}
    assert found["demo", "continual", "in-snapshot minus out-of-snapshot"][0] == "+100.0"
    before = "trained one snapshot before the test, minus in-snapshot"
    assert found["demo", "new", before][0] == "-100.0"
    # Two entities are too few for an interval, and there is one seed.
    assert found["demo", "new, recurrent", "in-snapshot minus out-of-snapshot"] == ["+100.0", "2", "1"]
    assert found["prior", "continual", "from 2022-01-01 to 2023-01-01"][0] == "+0.0"
    assert "tempkb paper tempel table-7 --latex table-7.tex" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.splitlines()[0].removeprefix("-- "))
def test_every_query_of_the_page_finds_something(linked_home, query):
    # The home was linked among the candidates of each snapshot only.
    query = query.replace("pool = '2022-01-01'", "pool = 'own'")
    with duckdb.connect(str(linked_home / "tempkb.duckdb"), read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    # Of a snapshot of its own a linker has all right.
    assert rows
    assert not {(linker, str(cut)[:4]) for linker, cut, *_ in rows} & {("r-2022", "2022"), ("r-2023", "2023")}


def test_scores_have_a_column_for_what_differs(linked_home, monkeypatch, capsys):
    """With one release and one pool, the title names them; each linker has all of its own snapshot right."""
    monkeypatch.setenv("TEMPKB_HOME", str(linked_home))
    print_scores(["r-2022", "r-2023"], {})
    title, _, heads, *lines = capsys.readouterr().out.splitlines()
    assert title == "accuracy@K in %, release r, pool own"
    columns = ["linker", "snapshot", "category", "mentions", "candidates", "@1", "@4", "@16", "@64"]
    assert heads.replace("┃", " ").split() == columns
    cells = [line.replace("│", " ").split() for line in lines if line.startswith("│")]
    own = [row for row in cells if row[0].removeprefix("r-") == row[1][:4]]
    assert [row[2] for row in own] == ["continual", "new"] * 2
    assert all(row[5:] == ["100.0"] * 4 for row in own)
    assert len(cells) == 2 * len(own)


def test_the_list_says_what_each_linker_is_made_from(linked_home, monkeypatch, capsys):
    monkeypatch.setenv("TEMPKB_HOME", str(linked_home))
    print_linkers(["r-2022", "prior"])
    lines = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert [row[:3] for row in cells] == [["r-2022", "bi-encoder", "r, 2022-01-01"], ["prior", "prior", ""]]


def test_a_setup_is_explained_by_what_differs_from_its_preset(linked_home, tmp_path, monkeypatch, capsys):
    """Digits of a recipe tell setups apart; they are in the list, and the linker's own screen says what they are of."""
    home = tmp_path / "home"
    shutil.copytree(linked_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    recipe = {**PRESETS["demo"].numbers(), "hard_negatives": 0}
    others = {"as-is": recipe, "longer": {**recipe, "epochs": 20, "hard_negatives": 2}}
    for name, numbers in others.items():
        add_linker(store, name, CUTS[0], recipe=json.dumps(numbers))
    based = {**PRESETS["tempkb"].numbers(), "hard_negatives": 0, "batch_size": 32}
    add_linker(store, "based", CUTS[0], preset="tempkb", base="./bert", recipe=json.dumps(based))
    add_scores(store, "longer", CUTS[0])
    setups = {row["linker"]: row["setup"] for row in store.read("linking_accuracy", cut=CUTS[0], k=1).to_pylist()}
    print_linkers()
    listed = capsys.readouterr().out
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in listed.splitlines() if "│" in line]
    shown = {row[0]: row[4] for row in cells}
    assert re.fullmatch("demo [0-9a-f]{6}", shown["longer"])
    assert shown["longer"] == setups["longer"] != shown["r-2022"] == setups["r-2022"]
    assert (shown["based"], shown["prior"]) == ("tempkb", "")
    for name, told in (
        ("longer", "the preset demo, except for epochs 20 (there 14), hard_negatives 2 (there 0)."),
        ("as-is", "the preset demo."),
        (
            "based",
            "the preset tempkb, except for base ./bert (there google-bert/bert-base-uncased), batch_size 32 (there 64).",
        ),
    ):
        print_linker(name)
        said = capsys.readouterr().out
        assert f"The tables of tempkb linking call its setup {shown[name]}. Its recipe is that of {told}\n" in said
    print_linker("prior")
    assert "setup" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_file_has_all_figures(linked_home, tmp_path):
    run_tempkb(linked_home, "linking", "--csv", str(tmp_path / "linking.csv"))
    rows = list(csv.DictReader((tmp_path / "linking.csv").open()))
    assert {row["view"] for row in rows} == {
        "linking_accuracy",
        "linking_by_training",
        "linking_changes",
        "linking_by_type",
    }
    assert {row["k"] for row in rows} == {"1", "2", "4", "8", "16", "32", "64"}
    (cell,) = [
        row
        for row in rows
        if row["view"] == "linking_accuracy" and row["metric"] == "accuracy" and row["k"] == "1"
        if (row["linker"], row["cut"], row["category"]) == ("r-2022", "2022-01-01", "all")
    ]
    assert float(cell["value"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--k", "3"), "--k 3: expected one of 1, 2, 4, 8, 16, 32, 64"),
        (("--release", "other"), "--release other: no linker has linked its test mentions; there: r"),
        (
            ("--pool", "fixed"),
            "--pool fixed-50000: no test mention was linked among its candidates; there: own; link them",
        ),
        (
            ("--pool", "fixed-9"),
            "--pool fixed-9: no test mention was linked among its candidates; there: own; link them",
        ),
    ],
)
def test_what_is_not_there_is_named(linked_home, options, message):
    done = run_tempkb(linked_home, "linking", *options, check=False)
    assert done.returncode == 1
    assert message in done.stderr


def test_a_release_that_was_not_linked_in_the_pool_is_named_with_its_own_pools(monkeypatch):
    monkeypatch.setattr(linking_reading, "_there", lambda _store: {("r", "own"), ("u", "own"), ("u", "fixed-9")})
    # What the other release has is not left out silently, nor offered.
    said = (
        "--pool fixed-9: no test mention of r was linked among its candidates; there: own; link them: "
        "tempkb linker score --all --release r --pool fixed-9"
    )
    for releases in (["r"], ["r", "u"]):
        with pytest.raises(SettingsError, match=f"^{said}$"):
            linked(None, releases, "fixed-9", 64)
    with pytest.raises(SettingsError, match="--pool fixed-7: no test mention was linked .*; there: fixed-9, own; link"):
        linked(None, [], "fixed-7", 64)


def test_a_home_without_scores_says_what_makes_them(demo_home):
    done = run_tempkb(demo_home, "linking", check=False)
    assert "found no results of linkers; make them: " in done.stderr
    assert done.returncode == 1


def _said(world, listing, k=1):
    """The rows of a listing over a small world, of the pool own."""
    filled = listing.filled(k=k, pool="own", of="pool = 'own' AND subset = 'test'")
    with in_memory() as connection:
        for need in filled.needs:
            world.show(connection, need)
        return connection.sql(filled.query).to_arrow_table().to_pylist()


def test_figures_follow_from_the_last_test_and_types_are_the_papers_if_it_tells_them_apart():
    """Linker a has all of its own test and nothing of the other; b half of the continual mentions everywhere."""
    world = Linked()
    for name, cut in (("a", CUTS[0]), ("b", CUTS[1]), ("prior", None)):
        world.linker(name, cut)
    for cut in CUTS:
        for at in range(2):
            world.link("a", cut, 1, 1 if cut == CUTS[0] else None, anchor=at)
            world.link("b", cut, 1, 1 if at else None, anchor=at)
            world.link("prior", cut, 1, None, anchor=at)
        world.link("a", cut, cut.year, 1 if cut == CUTS[0] else None, "new", anchor=9)
        world.link("b", cut, cut.year, 1, "new", anchor=9)
        world.add("tempel_new_entities", release="t", cut=cut, page_id=cut.year, paper_type="covid")
    found = {(row["linkers"], row["mentions"], row["figure"]): row["value"] for row in _said(world, FIGURES)}
    change, worth = "from 2022-01-01 to 2023-01-01", "in-snapshot minus out-of-snapshot"
    before, after = (f"trained one snapshot {one} the test, minus in-snapshot" for one in ("before", "after"))
    # a falls by all and b by nothing; at the first test a has a half more than b, at the second a half less.
    assert found == {
        ("demo", "continual", change): -0.5,
        ("demo", "new", change): -0.5,
        ("prior", "continual", change): 0,
        ("demo", "continual", worth): 0.5,
        ("demo", "new", worth): 0.5,
        ("demo", "new, covid", worth): 0.5,
        ("demo", "continual", before): -0.5,
        ("demo", "continual", after): -0.5,
        ("demo", "new", before): -1,
        ("demo", "new", after): 0,
    }


def test_what_the_release_cannot_tell_is_said():
    world = Linked()
    world.linker("prior")
    world.link("prior", CUTS[0], 1, 1, n_candidates=3_500_000)
    world.link("prior", CUTS[1], 1, None, n_candidates=6_500_000, gold_is_candidate=False)
    said = [row["line"] for row in _said(world, LIMITS)]
    assert said == [
        "No linker was trained on a snapshot of t, so that in- and out-of-snapshot cannot be compared: "
        "tempkb linker train t",
        "Of 1 mentions of 2023-01-01 (t), the entities of 1 are no candidates; they count as misses.",
        "Candidates of t are 3,500,000 at the first snapshot and 6,500,000 at the last: more candidates alone make "
        "linking harder. A fixed pool has as many at each: tempkb linker score --all --pool fixed",
    ]


@pytest.mark.slow
def test_verdicts_on_scores_that_changed_since_are_marked(linked_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(linked_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    make(store, LINKING_EFFECTS)
    told = "linking_effects and linking_sums are out of date, since scores, answers, models or releases have changed; compute them again: "
    said = run_tempkb(home, "linking").stdout
    assert "what linkers show of time" in said
    assert told not in said
    store.lake.remove(LINKING_SCORES.name, scores_partition("prior", "r", str(CUTS[0]), "own"))
    said = run_tempkb(home, "linking").stdout
    assert "what linkers show of time" in said
    assert told in said


@pytest.mark.slow
def test_sums_that_do_not_follow_from_the_present_scores_are_said_to_be_due(linked_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(linked_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    asked = "SELECT value FROM linking_changes WHERE aggregate = 'in_minus_out' AND cut IS NULL AND k = 1"
    due = "linking_sums is out of date, since scores, answers, models or releases have changed; compute it again: "
    (held,) = store.lake.versions(LINKING_SUMS.name)
    store.publish()
    # The same scores give the same bytes.
    store.lake.remove(LINKING_SUMS.name, ALL)
    assert make(store, LINKING_SUMS).version == held.version
    assert due not in run_tempkb(home, "sql", asked).stderr
    add_scores(store, "r-2022", CUTS[0], pool="fixed-300")
    assert due in run_tempkb(home, "sql", asked).stderr
    assert due not in run_tempkb(home, "sql", "FROM linking_accuracy").stderr
    # As tempkb linker score does.
    assert not bring_results(Summary(), LINKING_SCORES).notes
    assert due not in run_tempkb(home, "sql", asked).stderr


@pytest.mark.slow
def test_verdicts_are_shown_with_the_pool_that_they_are_of(linked_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(linked_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    add_scores(store, "r-2022", CUTS[0], pool="fixed-300")
    for table in (LINKING_SUMS, LINKING_EFFECTS):
        make(store, table)
    assert "what linkers show of time" in run_tempkb(home, "linking").stdout
    said = run_tempkb(home, "linking", "--pool", "fixed-300").stdout
    assert "(release r, pool fixed-300, category continual)" in said
    assert "paper tempel figure-5 --pool fixed-300 --picture" in said
    assert "what linkers show of time" not in said
    assert "Verdicts (linking_effects) are of the pool own only: " in said
    said = run_tempkb(home, "paper", "tempel", "table-2", "--pool", "fixed-300").stdout
    assert said.count("pool fixed-300, category ") == 2
    assert "pool own" not in said
    refused = run_tempkb(home, "paper", "tempel", "table-2", "--pool", "fixed", check=False)
    assert "found nothing of fixed-50000; there: r; demo, prior; fixed-300, own" in refused.stderr
