"""`tempkb linking` on made-up scores of the demo's mentions, and on the tables that the paper prints."""

import csv
import json
import re
import shutil
from datetime import date
from pathlib import Path

import duckdb
import pytest

from tempkb.commands.screens.linking import print_linker, print_linkers, print_scores
from tempkb.core.errors import SettingsError
from tempkb.models.linking.tables import LINKING_SCORES, scores_partition
from tempkb.models.linking.training.recipe import PRESETS
from tempkb.platform.api import open_store
from tempkb.results import linking_reading
from tempkb.results.linking_plots import linking_figure
from tempkb.results.linking_reading import Linking, read_linking
from tempkb.results.linking_tabling import limits, points, sentences, table_of_category
from tempkb.results.tables import ALL, LINKING_EFFECTS, LINKING_SUMS
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.linked import CUTS, add_linker, add_scores
from tempkb_tests.results.making import make
from tempkb_tests.results.paper_linking import FIRST_YEAR, PRINTED

PAGE = (Path(__file__).resolve().parents[2] / "docs/linking.md").read_text("utf-8")
QUERIES = [one for one in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL) if "nil_results" not in one]


@pytest.mark.slow
def test_the_command_prints_tables_and_figures_in_sentences(linked_home):
    said = run_tempkb(linked_home, "linking", "--k", "1").stdout
    assert "r: accuracy@1 of continual entities (pool own)" in said
    assert "r: accuracy@1 of new entities (pool own)" in said
    for line in ("│ 2022       │ [100.0] │     0.0 │", "│ 2023       │     0.0 │ [100.0] │"):
        assert said.count(line) == 2
    assert said.count("│ prior      │     0.0 │     0.0 │") == 2
    assert "demo: in-snapshot minus out-of-snapshot, continual entities: +100.0 points" in said
    assert "demo: a training snapshot has one seed only" in said
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


@pytest.mark.slow
def test_linkers_of_all_snapshots_are_at_zero_where_they_are_their_own(linked_home, monkeypatch):
    """Figure 5b has lines through the origin, and a type has the same colour in figures 5c and 8."""
    monkeypatch.setenv("TEMPKB_HOME", str(linked_home))
    (linking,) = read_linking(open_store(), (), "own", 64)
    with linking_figure(linking) as canvas:
        panels = {axis.get_title(): axis for axis in canvas.axes}
        (by_offset,) = [axis for title, axis in panels.items() if "(fig. 5b)" in title]
        (at_worst,) = [axis for title, axis in panels.items() if "(fig. 5c)" in title]
        (by_type,) = [axis for title, axis in panels.items() if "(fig. 8)" in title]
        lines = [line for line in by_offset.lines if line.get_label() in ("continual", "new")]
        colours = [{line.get_label(): line.get_color() for line in axis.lines} for axis in (at_worst, by_type)]
    assert len(lines) == 2
    for line in lines:
        points = dict(line.get_xydata().tolist())
        assert list(points) == [-1, 0, 1]
        assert points[0] == 0
    assert colours[0].keys() < colours[1].keys()
    assert colours[0].items() <= colours[1].items()
    assert colours[1]["continual, in"] not in colours[0].values()


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
def test_files_have_all_figures(linked_home, tmp_path):
    files = {name: tmp_path / f"linking.{name}" for name in ("csv", "tex", "png")}
    options = ("--csv", files["csv"], "--latex", files["tex"], "--picture", files["png"])
    run_tempkb(linked_home, "linking", *map(str, options))
    rows = list(csv.DictReader(files["csv"].open()))
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
    latex = files["tex"].read_text()
    assert latex.count(r"\begin{tabular}{lrr}") == 2
    assert r"\cellcolor{red!60}" in latex
    assert files["png"].read_bytes().startswith(b"\x89PNG")


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
            read_linking(None, releases, "fixed-9", 64)
    with pytest.raises(SettingsError, match="--pool fixed-7: no test mention was linked .*; there: fixed-9, own; link"):
        read_linking(None, [], "fixed-7", 64)


def test_a_home_without_scores_says_what_makes_them(demo_home):
    done = run_tempkb(demo_home, "linking", check=False)
    assert "found no scores of linkers; make them" in done.stderr
    assert done.returncode == 1


@pytest.fixture(scope="module")
def paper():
    """The paper's printed tables as they would be read."""
    years = [date(FIRST_YEAR + at, 1, 1) for at in range(10)]
    keys = {"setup": "paper", "metric": "accuracy", "n_clusters": 900, "n_items": 9000, "n_seeds": 1, "low": None}
    by_training, accuracy = [], []
    for category, table in PRINTED.items():
        for model, line in zip(years, table, strict=True):
            own = line[years.index(model)]
            for cut, value in zip(years, line, strict=True):
                row = {**keys, "category": category, "k": 64, "model_cut": model, "cut": cut, "high": None}
                by_training.append({**row, "aggregate": "mean_of_seeds", "value": value / 1000})
                if cut != model:
                    difference = (value - own) / 1000
                    by_training.append({**row, "aggregate": "minus_own_snapshot", "value": difference})
                accuracy.append({**row, "k": 1, "linker": f"m{model}", "n_missing": 0})
    every = [{**row, "category": "all"} for row in accuracy]
    return Linking(
        "tempel", "own", 64, [*accuracy, *every], by_training, [], [], {years[0]: 3_500_000, years[-1]: 6_500_000}
    )


def test_ten_by_ten_tables_are_those_of_the_paper(paper):
    heads, rows, _ = table_of_category(paper, "new")
    assert heads == ["trained on", *map(str, range(2013, 2023))]
    assert (
        " ".join((rows[0][0], *(cell.text for cell in rows[0][1:])))
        == "2013 [91.0] 81.9 85.3 82.6 84.1 81.2 81.9 79.1 68.8 77.4"
    )
    # The row of 2021: its own snapshot has the lowest value but one, so that most others are better.
    assert [cell.mark for cell in rows[8][1:]] == [*["better"] * 8, "own", "better"]
    assert [cell.mark for cell in rows[0][1:]] == ["own", *["worse"] * 9]
    # Differences below half a point have no colour.
    continual = table_of_category(paper, "continual").lines
    assert continual[0][1:4] == [("[78.5]", "own", 0.0), ("78.2", "", 0.0), ("77.8", "worse", pytest.approx(-0.007))]


@pytest.mark.parametrize(
    ("days", "heads"),
    [
        ((date(2022, 1, 1), date(2023, 1, 1)), ["2022", "2023"]),
        ((date(2022, 1, 1), date(2022, 7, 1)), ["2022-01", "2022-07"]),
        ((date(2022, 1, 1), date(2022, 7, 4)), ["2022-01-01", "2022-07-04"]),
    ],
)
def test_snapshots_are_as_short_as_they_can_be(days, heads):
    rows = [{"cut": day} for day in days]
    assert table_of_category(Linking("r", "own", 1, rows, [], [], [], {}), "new").heads == ["trained on", *heads]


def test_what_the_release_cannot_tell_is_said(paper):
    said = "\n".join(limits(paper))
    assert "paper: a training snapshot has one seed only" in said
    assert "Candidates are 3,500,000 at the first snapshot and 6,500,000 at the last" in said
    assert list(sentences(paper)) == []


def test_points_have_an_interval_or_the_reason_why_not():
    row = {"value": -0.0312, "low": -0.0351, "high": -0.0272, "n_clusters": 50}
    assert points(row) == "-3.1 points [-3.5, -2.7]"
    assert points({**row, "value": -0.0001}) == "+0.0 points [-3.5, -2.7]"
    assert points({**row, "value": -0.0002, "low": -0.01, "high": -0.0004}) == "+0.0 points [-1.0, +0.0]"
    few = {**row, "low": None, "high": None, "n_clusters": 1}
    assert points(few) == "-3.1 points (1 entity; an interval needs 10)"
    assert points({**few, "n_clusters": 12}).endswith("(all entities agree exactly, so that there is no interval)")


def test_pictures_show_no_interval_beyond_what_is_possible():
    """Shares are cut at 0 and 1, differences of shares at -1 and 1; the numbers stay as they are."""
    ranges = {"in_snapshot": (0.9, 0.7, 1.1), "out_of_snapshot": (0.1, -0.2, 0.4), "in_minus_out": (0.8, 0.5, 1.3)}
    keys = {"setup": "demo", "category": "new", "metric": "accuracy", "n_clusters": 20, "n_linkers": 2, "steps": None}
    changes = [
        {**keys, "aggregate": aggregate, "cut": cut, "k": k, "value": value, "low": low, "high": high}
        for aggregate, (value, low, high) in ranges.items()
        for cut in (*CUTS, None)
        for k in (1, 2, 4, 8, 16, 32, 64)
    ]
    linked = [{"setup": "demo", "model_cut": cut, "cut": cut} for cut in CUTS]
    with linking_figure(Linking("r", "own", 64, linked, linked, changes, [], {})) as canvas:
        drawn = {
            name: {tuple(round(y, 9) for _, y in one) for lines in axis.collections for one in lines.get_segments()}
            for axis in canvas.axes
            for name in re.findall(r"fig\. (\w+)", axis.get_title())
        }
    assert drawn["4b"] == {(0.7, 1.0), (0.0, 0.4)}
    assert drawn["5a"] == {(0.5, 1.0)}
    assert changes[0]["high"] == 1.1


@pytest.mark.slow
def test_verdicts_on_scores_that_changed_since_are_marked(linked_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(linked_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    make(store, LINKING_EFFECTS)
    told = "These verdicts are of earlier scores or mentions; compute them again: "
    said = run_tempkb(home, "linking").stdout
    assert "what linkers show of time" in said
    assert told not in said
    store.lake.remove(LINKING_SCORES.name, scores_partition("prior", "r", str(CUTS[0]), "own"))
    said = run_tempkb(home, "linking").stdout
    assert "what linkers show of time" in said
    assert told in said


@pytest.mark.slow
def test_sums_that_do_not_follow_from_the_present_scores_are_said_to_be_due(linked_home, tmp_path, monkeypatch, capsys):
    home = tmp_path / "home"
    shutil.copytree(linked_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    asked = "SELECT value FROM linking_changes WHERE aggregate = 'in_minus_out' AND cut IS NULL AND k = 1"
    due = "linking_sums is not of the present scores; compute it again: "
    (held,) = store.lake.versions(LINKING_SUMS.name)
    store.publish()
    # The same scores give the same bytes.
    store.lake.remove(LINKING_SUMS.name, ALL)
    assert make(store, LINKING_SUMS).version == held.version
    assert due not in run_tempkb(home, "sql", asked).stderr
    add_scores(store, "r-2022", CUTS[0], pool="fixed-300")
    assert due in run_tempkb(home, "sql", asked).stderr
    assert due not in run_tempkb(home, "sql", "FROM linking_accuracy").stderr
    print_scores(["r-2022"], {})
    assert "linking_effects, linking_sums and nil_results are not of the present scores" in capsys.readouterr().out
    make(store, LINKING_SUMS)
    assert due not in run_tempkb(home, "sql", asked).stderr


@pytest.mark.slow
def test_verdicts_are_shown_with_the_pool_that_they_are_of(linked_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(linked_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    add_scores(store, "r-2022", CUTS[0], pool="fixed-300")
    make(store, LINKING_EFFECTS)
    assert "what linkers show of time" in run_tempkb(home, "linking").stdout
    said = run_tempkb(home, "linking", "--pool", "fixed-300").stdout
    assert "r: accuracy@64 of continual entities (pool fixed-300)" in said
    assert "what linkers show of time" not in said
    assert "Verdicts (linking_effects) are of the pool own only: " in said
