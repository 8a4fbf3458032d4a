"""`tempkb knows` and `tempkb results` as people type them, on scores of two made-up models."""

import csv
import json
import re
import shutil
from collections import defaultdict
from datetime import date

import duckdb
import pyarrow as pa
import pytest

from tempkb.core.prompts import QUESTION_ID
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.tables import MODELS
from tempkb.platform.api import open_store
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.reading import read_levels_by_window
from tempkb.store.drafts import Provenance
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.conftest import DAYS, SCORERS, add_model, add_scores
from tempkb_tests.results.making import make

WINDOW = ("--full", "--window", "2022-01-01..2023-07-01", "--baseline", "2021-01-01..2022-01-01")


def knows(home, *arguments, check=True):
    return run_tempkb(home, "knows", *arguments, check=check)


@pytest.fixture(scope="module")
def home(scored_home, tmp_path_factory):
    """A copy, to which results are written."""
    home = tmp_path_factory.mktemp("results") / "home"
    shutil.copytree(scored_home, home)
    # So that views over its files may be queried.
    run_tempkb(home, "publish")
    return home


def preferences(home, model):
    """In plain Python, from the tables: window of the new object, subject, its start, whether the subject adds more to it."""
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        ask = lambda query, *values: connection.execute(query, list(values)).fetchall()  # noqa: E731
        nats = dict(
            ask("SELECT prompt_id, log_prob_nats FROM prompt_scores WHERE model = ? AND scorer = ?", model, SCORERS[0])
        )
        prompts = {
            (item, target, variant): prompt
            for item, target, variant, prompt in ask(
                "SELECT item_id, target_id, variant, prompt_id FROM dynamic_templama_prompts WHERE role <> 'control'"
            )
        }
        starts = dict(
            ask(
                "SELECT (subject_id, relation, object_id), min(valid_from) FROM fact_spells WHERE release = 'demo-quarters' GROUP BY ALL"
            )
        )
        changes = ask(
            """
            SELECT q.query_id, c.paired_window_start, c.subject_id, c.relation, c.paired_object_id, c.object_id
            FROM dynamic_templama_changes AS c JOIN dynamic_templama_queries AS q
            USING (release, window_start, subject_id, relation) WHERE c.role = 'leaving'
            """
        )
    found = []
    for item, window, subject, relation, new, old in changes:
        adds = []
        for target in (new, old):
            asked = [prompts.get((item, target, variant)) for variant in ("undated", "no_subject")]
            if None in asked:
                break
            adds.append(nats[asked[0]] - nats[asked[1]])
        if len(adds) == 2:
            found.append((window, subject, starts[subject, relation, new], adds[0] > adds[1]))
    return found


@pytest.mark.slow
def test_levels_are_those_of_a_plain_count_and_items_that_may_have_leaked_are_left_out(home, tmp_path):
    file = tmp_path / "k.csv"
    said = knows(home, *WINDOW, "--csv", str(file)).stdout
    rows = {(row["aggregate"], row["model"]): row for row in csv.DictReader(file.open())}
    for name, day in DAYS.items():
        found = preferences(home, name)
        window = [one for one in found if date(2022, 1, 1) <= one[0] < date(2023, 7, 1)]
        clean = [one for one in window if day == date(2023, 7, 1) or (one[2] is not None and (one[2] - day).days >= 90)]
        row = rows["prefers_new", name]
        assert int(row["n_items"]) == len(clean) > 100
        assert int(row["n_unclean"]) == len(window) - len(clean)
        assert int(row["n_clusters"]) == len({one[1] for one in clean})
        assert float(row["value"]) == pytest.approx(sum(one[3] for one in clean) / len(clean))
        earlier = [one for one in found if one[0] < date(2022, 1, 1)]
        assert float(row["earlier_value"]) == pytest.approx(sum(one[3] for one in earlier) / len(earlier))
    # The early model does not know what happened after its day; the late one does.
    assert rows["prefers_new", "early"]["verdict"] == "lower"
    assert rows["prefers_new", "late"]["verdict"] == "inconclusive"
    assert (rows["prefers_new", "early"]["rank_from"], rows["prefers_new", "late"]["rank_to"]) == ("2", "1")
    assert "Left out because they may be in the training texts" in said
    assert f"early {rows['prefers_new', 'early']['n_unclean']} of " in said


@pytest.mark.slow
def test_a_line_for_each_model_says_what_it_knows_of_the_newest_window_that_can_be_judged(home):
    said = knows(home).stdout
    lines = {line.split(" ")[0]: line for line in said.splitlines() if "; knowledge of " in line}
    assert set(lines) == set(DAYS)
    assert "┏" not in said
    form = (
        r"stated cutoff (\S+), estimated .*; knowledge of (\S+)\.\.\S+ \(demo-quarters(?:, provisional)?\): (\w+), preference rate (\d+) % "
        r"\[(\d+), (\d+)\], in the baseline window \S+\.\.\S+ (\d+) % \["
    )
    for name, day in DAYS.items():
        stated, first, verdict, rate, low, high, baseline = re.search(form, lines[name]).groups()
        assert stated == str(day)
        clean = defaultdict(list)
        for window, subject, start, is_preferred in preferences(home, name):
            # A quarter before the day, or a fact that began 90 days after it.
            if window < day or (start is not None and (start - day).days >= 90):
                clean[window].append((subject, is_preferred))
        judged = [one for one, own in clean.items() if len({subject for subject, _ in own}) >= 10]
        assert first == str(max(judged))
        own = [is_preferred for _, is_preferred in clean[max(judged)]]
        assert (int(rate), int(low) < int(rate) <= int(high)) == (round(100 * sum(own) / len(own)), True)
        assert verdict == {"early": "lower", "late": "inconclusive"}[name]
        if verdict == "lower":
            assert int(rate) < int(baseline)
    # A window that is asked for is that of the line, too.
    asked = knows(home, "--window", "2022-07-01..2022-10-01", "--model", "early").stdout
    assert "knowledge of 2022-07-01..2022-10-01 (demo-quarters): " in asked
    nothing = knows(home, "--window", "2023-07-01..2023-10-01", "--model", "late").stdout
    assert "; no window can be judged: no item of the window is left\n" in nothing


def test_all_items_count_if_a_person_asks_for_them(home, tmp_path):
    file = tmp_path / "k.csv"
    said = knows(home, *WINDOW, "--all-items", "--csv", str(file)).stdout
    rows = [row for row in csv.DictReader(file.open()) if row["aggregate"] == "prefers_new"]
    assert {row["n_unclean"] for row in rows} == {"0"}
    assert len({row["n_items"] for row in rows}) == 1
    assert "Left out" not in said


@pytest.mark.slow
def test_the_last_window_is_provisional_and_is_compared_with_the_first_that_can_be(home, tmp_path):
    file = tmp_path / "k.csv"
    said = knows(home, "--full", "--model", "early", "--csv", str(file)).stdout
    # The release begins in 2021; in its first quarter one player has changed.
    subjects = defaultdict(set)
    for window, subject, _, _ in preferences(home, "early"):
        subjects[window].add(subject)
    assert (len(subjects[date(2021, 1, 1)]), len(subjects[date(2021, 4, 1)]) >= 10) == (1, True)
    title = "from 2023-07-01 to 2023-10-01 (demo-quarters); baseline window: 2021-04-01 to 2021-07-01 (the first that can be "
    assert f"{title}compared)" in said
    assert (
        "Of the same days 3 years earlier no model can be asked about 10 subjects. The baseline window is the first of the "
        "same length of which one can: 2021-04-01..2021-07-01."
    ) in said
    (row,) = [row for row in csv.DictReader(file.open()) if row["aggregate"] == "prefers_new"]
    earlier = [one[3] for one in preferences(home, "early") if one[0] == date(2021, 4, 1)]
    assert float(row["earlier_value"]) == pytest.approx(sum(earlier) / len(earlier))
    assert (row["earlier_from"], row["earlier_to"], row["is_earlier_fallback"]) == ("2021-04-01", "2021-07-01", "True")
    assert row["verdict"] == "lower"
    # Of entities, of which the demo has too few, nothing is compared.
    assert "(demo-cloze); baseline window: 2020-10-01 to 2021-01-01: none of 1 has a comparison: the items are" in said
    assert "The window is provisional: its changes are seen in the queries of the window after it" in said
    assert "the reporting lag is not known (compute it: " in said
    assert "late" not in said.replace("later", "")


@pytest.mark.slow
def test_what_lies_in_the_window_only_in_part_is_counted_and_said(home):
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        (partly,) = connection.execute(
            "SELECT count(*) FROM dynamic_templama_changes WHERE role = 'leaving' AND release = 'demo-quarters' "
            "AND paired_window_start IN (DATE '2022-01-01', DATE '2022-10-01')"
        ).fetchone()
    said = knows(home, "--full", "--window", "2022-02-10..2022-10-15").stdout
    assert f"{partly} further items may lie outside the window in part, and do not count: of a change" in said
    # No quarter is in the window: nothing can be said, and that is said.
    short = knows(home, "--full", "--window", "2022-02-10..2022-03-10").stdout
    assert "demo-quarters: no item lies wholly in the window from 2022-02-10 to 2022-03-10 (" in short
    assert "(demo-quarters); baseline" not in short


@pytest.mark.slow
def test_a_model_without_a_knowledge_date_is_named_and_keeps_all_items(scored_home, tmp_path, monkeypatch):
    home, file = tmp_path / "home", tmp_path / "k.csv"
    shutil.copytree(scored_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    add_model(store, "undated", None)
    add_scores(store, "undated", DAYS["early"])
    said = knows(home, *WINDOW, "--csv", str(file)).stdout
    assert (
        "Nothing was left out, and items of the baseline window count in any case, since no training cutoff is stated: "
        "undated."
    ) in said
    rows = {row["model"]: row for row in csv.DictReader(file.open()) if row["aggregate"] == "prefers_new"}
    assert rows["undated"]["n_unclean"] == "0"
    assert int(rows["undated"]["n_items"]) == int(rows["early"]["n_items"]) + int(rows["early"]["n_unclean"])


@pytest.mark.slow
def test_a_model_that_cannot_be_used_is_passed_over_by_name(scored_home, tmp_path, monkeypatch):
    home = tmp_path / "home"
    shutil.copytree(scored_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    row = {**dict.fromkeys(MODELS.column_names()), "model": "early", "checkpoint": "/a", "status": "not_loaded"}
    rows = pa.Table.from_pylist([{**row, "reason": "It has no config.json."}], MODELS.schema)
    open_store().write(MODELS, "early", [rows], Provenance())
    said = "model 'early': its checkpoint could not be used: It has no config.json; once it can, add it again: "
    for arguments in (("knows", *WINDOW), ("results",)):
        done = run_tempkb(home, *arguments)
        assert said in done.stderr
        assert not re.search(r"\bearly\b", done.stdout)
    assert {row["model"] for row in open_store().read("knowledge").to_pylist()} == {"late"}
    assert {row["model"] for row in read_levels_by_window(open_store())} == {"late"}


@pytest.mark.slow
def test_a_level_on_both_sides_of_a_knowledge_date_is_called_that(home):
    # The early model's cutoff is 2022-01-01: half of this window, and nothing of the next.
    said = knows(home, "--full", "--window", "2021-07-01..2022-07-01", "--baseline", "2021-01-01..2021-07-01").stdout
    before = [one for one in preferences(home, "early") if date(2021, 7, 1) <= one[0] < date(2022, 1, 1)]
    assert f"of items both before and after that day; items before it: early {len(before)} of " in said
    assert "both before and after" not in knows(home, *WINDOW).stdout


@pytest.mark.slow
def test_a_named_baseline_window_is_that_of_each_line_and_a_release_before_it_is_passed_over(home):
    lines = [line for line in knows(home, "--baseline", *WINDOW[-1:]).stdout.splitlines() if "; knowledge of " in line]
    assert lines
    assert all("in the baseline window 2021-01-01..2022-01-01 " in line for line in lines)
    # The last window of demo-quarters begins on 2023-07-01, that of demo-cloze on 2023-10-01.
    said = knows(home, "--baseline", "2021-01-01..2023-09-01", "--full").stdout
    assert "demo-quarters has no window after the baseline window." in said
    assert "(demo-cloze); baseline window: 2021-01-01 to 2023-09-01" in said
    done = knows(home, "--baseline", "2021-01-01..2024-01-01", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--baseline: the window 2021-01-01..2024-01-01 does not end before the window 20" in done.stderr


@pytest.mark.slow
def test_tables_for_papers_and_pictures_are_written_whole(home, tmp_path):
    latex, picture = tmp_path / "k.tex", tmp_path / "k.png"
    knows(home, *WINDOW, "--latex", str(latex), "--picture", str(picture))
    text = latex.read_text()
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 2
    assert r"\caption{preference rate, \% of the changes from 2022-01-01" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    refused = knows(home, "--picture", str(tmp_path / "missing" / "k.png"), check=False)
    assert refused.returncode == 2
    assert f"there is no folder {tmp_path / 'missing'}; make it: mkdir -p" in " ".join(refused.stderr.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.png", "k.tex"]


def test_a_fact_is_shown_with_the_preferences_of_models_through_time(home, tmp_path):
    # Odd Haldor and others: the world's truth about Ostvik is in the README.
    said = knows(home, "--fact", "Ostvik", "P6", "--picture", str(tmp_path / "f.png")).stdout
    assert "_X_ is the head of the government of Ostvik. (Ostvik, P6, release demo-quarters)" in said
    assert "2021-01-01 to 2021-04-22" in said
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--window", "yesterday"), "knows: window: found 'yesterday'; expected last, or two days A..B"),
        (
            ("--baseline", "soon"),
            "knows: baseline: found 'soon'; expected a number of years from 1 to 99, or two days A..B",
        ),
        (
            ("--window", "2022-01-01..2023-01-01", "--baseline", "2021-06-01..2022-06-01"),
            "--baseline: the window 2021-06-01..2022-06-01 does not end before the window 2022-01-01..2023-01-01 begins",
        ),
        (
            ("--window", "2015-01-01..2023-01-01"),
            "--baseline: the window 2012-01-01..2020-01-01 does not end before the window 2015-01-01..2023-01-01 begins",
        ),
        (("--model", "nobody"), "--model nobody: no such model; there: early, late"),
        (
            ("--release", "nothing"),
            "--release nothing: no such release of ecbd or dynamic-templama; there: demo-cloze, demo-quarters",
        ),
        (
            ("--release", "demo-quarters", "--window", "2022-01-15..2022-03-15"),
            "knows: demo-quarters: no item lies wholly in the window from 2022-01-15 to 2022-03-15 (",
        ),
        (("--scorer", "sentence"), "knows: found no scores of such models and releases by such a scorer"),
        (
            ("--window", "2030-01-01..2031-01-01"),
            "knows: demo-quarters: no item lies wholly in the window from 2030-01-01 to 2031-01-01; demo-cloze: no item "
            "lies wholly in the window from 2030-01-01 to 2031-01-01; name another period: --window A..B",
        ),
        (
            ("--window", "0050-01-01..0051-01-01", "--baseline", "99"),
            "--baseline 99: there is no day 99 years before 0050-01-01; name fewer years",
        ),
        (
            ("--fact", "Ostvik", "P6", "--release", "demo-cloze"),
            "--fact Ostvik P6: none of the releases demo-cloze asks about it; expected the item",
        ),
        (("--fact", "Nobody", "P6"), "--fact Nobody P6: no release asks about it"),
    ],
)
def test_what_cannot_be_answered_is_one_line_that_says_what_to_do(home, arguments, message):
    done = knows(home, *arguments, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--all-items", "--buffer", "90"), "--all-items leaves nothing out, so that --buffer has no meaning"),
        (
            ("--fact", "Ostvik", "P6", "--release", "demo-quarters", "--answers", "--csv", "k.csv"),
            "--fact takes --release and --picture only; leave out --full and --csv",
        ),
        (
            ("--csv", ""),
            "Invalid value for '--csv': found '', which names no file; expected the path of a file to write",
        ),
        (("--latex", ""), "Invalid value for '--latex': found ''"),
        (("--fact", "Ostvik", "P6", "--picture", ""), "Invalid value for '--picture': found ''"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(home, arguments, message):
    done = knows(home, *arguments, check=False)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.slow
def test_a_narrow_terminal_has_fewer_columns_and_no_cut_lines(home):
    wide, narrow = (
        run_tempkb(home, "knows", *WINDOW, "--release", "demo-quarters", COLUMNS=str(width)).stdout.splitlines()
        for width in (200, 80)
    )
    wide, narrow = (
        lines[next(at for at, line in enumerate(lines) if "; baseline" in line) :] for lines in (wide, narrow)
    )
    assert wide[0] == narrow[0]
    assert wide[0].endswith("baseline window: 2021-01-01 to 2022-01-01")
    assert [cell.strip() for cell in narrow[2].strip("┃").split("┃")] == [
        "model",
        "subjects",
        "preference rate",
        "difference",
        "rank",
        "knowledge",
    ]
    assert "This terminal is too narrow for stated cutoff, items, MDE, baseline; --csv writes all columns." in narrow
    assert not any("too narrow" in line for line in wide)


def test_a_home_without_scores_says_how_to_get_them(demo_home, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(demo_home, home)
    done = knows(home, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.rstrip().endswith("tempkb score --all")


def query(home, sql):
    return [json.loads(line) for line in run_tempkb(home, "sql", sql, "--json").stdout.splitlines()]


@pytest.mark.slow
def test_the_table_has_the_figures_of_the_command_for_every_window(home, tmp_path):
    file = tmp_path / "k.csv"
    run_tempkb(home, "results")
    knows(home, "--window", "2022-07-01..2022-10-01", "--csv", str(file))
    said = {row["model"]: row for row in csv.DictReader(file.open()) if row["aggregate"] == "prefers_new"}
    shown = query(home, "SELECT * FROM knows WHERE aggregate = 'prefers_new' AND window_from = DATE '2022-07-01'")
    assert {row["model"] for row in shown} == set(said)
    for row in shown:
        for name in ("value", "low", "high", "n_items", "n_clusters"):
            assert float(row[name]) == float(said[row["model"]][name]), name
        assert row["verdict"] == said[row["model"]]["verdict"]


@pytest.mark.slow
def test_estimated_cutoffs_are_read_and_their_rates_are_those_of_a_plain_count(scored_home, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(scored_home, home)
    due = "estimated_cutoffs is out of date, since scores, answers, models or releases have changed; compute it again: "
    said = knows(home, "--full").stdout
    assert said.count(", estimated not computed; ") == len(DAYS)
    assert due in said
    run_tempkb(home, "results")
    said = knows(home, "--full").stdout
    assert "not computed" not in said
    assert due not in said
    for row in query(home, "FROM estimated_cutoffs WHERE scorer LIKE 'causal.span_end-%'"):
        found = [is_preferred for *_, is_preferred in preferences(home, row["model"])]
        assert (row["n_changes"], row["value"]) == (len(found), pytest.approx(sum(found) / len(found)))
        assert row["knows_certainly_until"] == str(DAYS[row["model"]])
        if row["answer"] == "interval":
            assert f"{row['cutoff']} [{row['cutoff_low']}, {row['cutoff_high']}]; knowledge" in said
        else:
            assert f"estimated {row['answer']}" in said
    gone = run_tempkb(home, "release", "rm", "demo-quarters", "--yes").stdout
    assert re.search(r"estimated_cutoffs.* are out of date, .*; compute them again: .*tempkb results\n", gone)


@pytest.mark.slow
def test_perplexities_pool_entities_of_a_year(scored_home, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(scored_home, home)
    run_tempkb(home, "publish")
    for name in ("knows", "linking_changes"):
        unknown = run_tempkb(home, "sql", f"FROM {name}", check=False).stderr
        assert f"{name} was not computed yet; compute it from the scores that are there: " in unknown
        assert "tempkb results" in unknown
    run_tempkb(home, "results")
    (row,) = query(
        home,
        "SELECT * FROM knows WHERE aggregate = 'ppl_entity_macro' AND model = 'late' "
        "AND window_from = DATE '2021-01-01' AND window_to = DATE '2022-01-01'",
    )
    means = defaultdict(list)
    for item in query(
        scored_home,
        "SELECT s.cluster_id, s.log_prob_nats / s.n_tokens AS nats FROM ecbd_scores AS s JOIN ecbd_cloze AS c "
        "ON c.cloze_id = s.item_id AND c.release = s.release WHERE s.model = 'late' AND s.variant = 'original' "
        "AND s.split = 'test' AND c.origin_from >= DATE '2021-01-01' AND c.origin_to <= DATE '2022-01-01'",
    ):
        means[item["cluster_id"]].append(-item["nats"])
    import math

    expected = math.exp(sum(sum(own) / len(own) for own in means.values()) / len(means))
    assert row["value"] == pytest.approx(expected)
    assert row["n_clusters"] == len(means) > 5


@pytest.mark.slow
def test_whom_they_name_counts_the_changes_of_the_table_above(scored_home, tmp_path, monkeypatch):
    """The model gives every query the same answer, which is no name."""
    home = tmp_path / "home"
    shutil.copytree(scored_home, home)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    asked = store.query(
        f"SELECT DISTINCT {QUESTION_ID} AS question_id FROM dynamic_templama_prompts WHERE role = 'current' ORDER BY ALL",
        "dynamic_templama_prompts",
    )
    said = {"rank": 1, "model": "early", "decoder": "seq2seq.greedy-1.f32", "status": "answered", "text": "nobody"}
    rows = [
        {**said, "question_id": one, "token_ids": [], "token_log_probs": []} for one in asked["question_id"].to_pylist()
    ]
    table = pa.Table.from_pylist(rows, GENERATIONS.schema)
    store.write(GENERATIONS, "early--seq2seq.greedy-1.f32", [table], Provenance())
    make(store, JUDGED_CHANGES)
    make(store, JUDGED_ANSWERS)
    file = tmp_path / "a.csv"
    told = run_tempkb(home, "answers", "early", "--csv", str(file), COLUMNS="300").stdout
    assert "changes: what early answered, release demo-quarters, decoder seq2seq.greedy-1.f32" in told
    rows = list(csv.DictReader(file.open()))
    prompts = store.read("dynamic_templama_prompts").to_pylist()
    asked = {(one["item_id"], one["left_context"] + "___" + one["right_context"]) for one in prompts}
    assert rows
    assert all((row["item_id"], row["question"]) in asked and row["said"] == "nobody" for row in rows)
    right = defaultdict(set)
    for one in store.read("dynamic_templama_queries").to_pylist():
        right[one["query_id"]] |= {answer["label"] for answer in one["answers"]}
    items, changes = ([row for row in rows if row["kind"] == kind] for kind in ("items", "changes"))
    assert all(right[row["item_id"]] <= set(row["accepted"].split("; ")) for row in items)
    assert all(row["new"] in right[row["item_id"]] for row in changes)
    shown = [[cell.strip() for cell in line.split("│")[1:-1]] for line in told.splitlines() if "nobody" in line]
    assert {(row[1], row[2]) for row in shown} <= {(row["question"], row["new"] or row["accepted"]) for row in rows}
    counts = []
    for more in ((), ("--all-items",)):
        lines = run_tempkb(home, "knows", *WINDOW, *more, COLUMNS="200").stdout.splitlines()
        rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│ early ")]
        level, names = rows[0], next(row for row in rows if row[1] == said["decoder"])
        assert level[2] == names[2]
        # New, its placebo, old, its placebo, other, none.
        assert [cell.split(" ")[0] for cell in names[3:]] == ["0", "0", "0", "0", "100", "0"]
        counts.append(int(names[2]))
    assert 0 < counts[0] < counts[1]
