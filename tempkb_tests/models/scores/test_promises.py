"""What the table of scores promises, and what breaks each promise; the views over scores, by hand."""

import dataclasses

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.commands.screens.scores import print_scores
from tempkb.core.errors import ContractError
from tempkb.models.scores.kinds import SCORES
from tempkb.models.scores.making import picture, sample
from tempkb.models.scores.running import ask_model
from tempkb.models.scores.steps import PROMISES
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb.store.tables import MANIFEST
from tempkb_tests.benchmarks.fact_queries.worlds import quiet

SCORER = "seq2seq.span_end-1.f32"
PARTITION = f"t5--{SCORER}"


@pytest.fixture
def scored(store, add):
    """The home with all its prompts scored by one model."""
    ask_model(SCORES, store, BENCHMARKS, add(store, "t5"), SCORES.request.of({}), quiet)
    return store


def broken(store, keys=("t5",), **facts):
    """Names of the promises that are broken, with the number of rows that break them."""
    verdicts = {one.name: one.judged(store, Subject(keys, facts)) for one in PROMISES}
    return {name: verdict.facts["broken"] for name, verdict in verdicts.items() if not verdict.passed}


def rewrite(store, change, inputs=None):
    """Write the scores again, changed, with the inputs of their manifest or others."""
    (version,) = store.lake.versions("prompt_scores", [PARTITION])
    known = {row["name"]: row["sha256"] for row in version.side_rows(MANIFEST.name) if row["role"] == "input"}
    rows = change(store.read("prompt_scores"))
    store.write(PROMPT_SCORES, PARTITION, [rows], Provenance({**known, **(inputs or {})}))


def test_scores_keep_their_promises(scored):
    assert broken(scored) == {}
    assert broken(scored, None) == {}
    assert broken(scored, asked={"limit": "3"}) == {}


def test_a_prompt_without_a_row_is_noticed(scored):
    rewrite(scored, lambda rows: rows.slice(2))
    assert broken(scored) == {"every_prompt_has_a_score_or_a_reason": 1}
    (promise,) = [one for one in PROMISES if one.name.startswith("every")]
    first = sorted({row["prompt_id"] for row in scored.read("dynamic_templama_prompts").to_pylist()})
    said = promise.judged(scored, Subject(("t5",))).facts["examples"]
    assert said[0].startswith(f"t5, {SCORER}: 2 prompts, such as ")
    assert said[0].split()[-1] in first
    # A run that was asked for less has done its part.
    assert broken(scored, asked={"variants": "dated"}) == {"every_prompt_has_a_score_or_a_reason": 1}


def test_scores_of_other_files_are_noticed(scored):
    rewrite(scored, lambda rows: rows, {"weights_sha256": "0" * 64})
    assert broken(scored) == {"scores_are_of_the_models_files": 1}


def test_a_probability_above_one_is_noticed(scored):
    def lift(rows):
        values = [value if at else 0.5 for at, value in enumerate(rows["log_prob_nats"].to_pylist())]
        return rows.set_column(rows.schema.get_field_index("log_prob_nats"), "log_prob_nats", pa.array(values))

    rewrite(scored, lift)
    assert broken(scored) == {"log_probabilities_are_not_above_zero": 1}


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("status", "lost", "known_status"),
        ("log_prob_nats", None, "scored_has_a_score"),
        ("token_log_probs", [-1.0], "a_value_for_each_token"),
    ],
)
def test_rows_that_contradict_themselves_are_not_written(scored, column, value, rule):
    def change(rows):
        values = [value, *rows[column].to_pylist()[1:]]
        kind = PROMPT_SCORES.schema.field(column).type
        return rows.set_column(rows.schema.get_field_index(column), column, pa.array(values, kind))

    with pytest.raises(ContractError, match=rule):
        rewrite(scored, change)


def test_a_sample_shows_prompts_with_their_answers_and_scores(scored):
    shown = sample(scored, PARTITION, source(scored)).to_pylist()
    known = {
        f"{row['left_context']}[{row['target']}]{row['right_context']}": row["target"]
        for row in scored.read("dynamic_templama_prompts").to_pylist()
    }
    assert len(shown) == 10
    assert all(known[row["prompt"]] == row["answer"] for row in shown)
    assert all(row["log_prob_nats"] < 0 for row in shown)
    assert picture(scored, PARTITION, source(scored)).startswith("![dynamic-templama-")


def source(store):
    from tempkb.models.scores.selecting import wanted

    (one,) = wanted(SCORES, store, BENCHMARKS, {"family": "seq2seq"}, SCORES.request.of({}), quiet)
    return one.sources[0]


def shares_of(store):
    """Aggregates over all changes of all windows and splits."""
    rows = store.read("prefers_new", split="all", pairs="all").to_pylist()
    return {row["aggregate"]: row for row in rows if row["window_start"] is None}


def lines(capsys):
    """The cells of the lines that a screen has printed."""
    printed = capsys.readouterr().out.replace("┃", "│").splitlines()
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed]


def test_shares_are_of_the_changes_that_have_what_they_compare(scored, capsys):
    """Without "This player plays for Salt." only the coach (+1) and Cem (-1) have a preference, in unlike windows."""
    texts = {
        f"{row['left_context']}{row['target']}{row['right_context']}": row["prompt_id"]
        for row in scored.read("dynamic_templama_prompts").to_pylist()
    }
    pairs = {row["subject_id"]: row for row in scored.read("change_scores", wording="undated").to_pylist()}
    raised = {row["prompt_id"]: 0.0 for row in scored.read("fact_scores", variant="no_subject").to_pylist()}
    for subject, (new, old) in {"Q201": (-1.0, -2.0), "Q3": (-2.0, -1.0)}.items():
        by_target = {
            row["target"]: row["prompt_id"]
            for row in scored.read("fact_scores", item_id=pairs[subject]["item_id"], variant="undated").to_pylist()
        }
        raised |= {by_target[pairs[subject]["new_label"]]: new, by_target[pairs[subject]["old_label"]]: old}

    def change(rows):
        values = [
            raised.get(key, value)
            for key, value in zip(rows["prompt_id"].to_pylist(), rows["log_prob_nats"].to_pylist(), strict=True)
        ]
        rows = rows.set_column(rows.schema.get_field_index("log_prob_nats"), "log_prob_nats", pa.array(values))
        return rows.filter(pc.not_equal(rows["prompt_id"], texts["This player plays for Salt."]))

    rewrite(scored, change)
    shares = shares_of(scored)
    assert shares["prefers_new_raw"]["n_items"] == 4
    assert (shares["prefers_new"]["n_items"], shares["prefers_new"]["value"]) == (2, 0.5)
    print_scores(["t5"], {})
    (shown,) = [line for line in lines(capsys) if len(line) == 7 and line[:2] == ["t5", SCORER]]
    assert shown[3:5] == ["4", "50"]


def test_prompts_that_have_no_score_yet_are_counted(scored, capsys):
    rewrite(scored, lambda rows: rows.slice(2))
    print_scores(["t5"], {})
    found = lines(capsys)
    (titles,) = [line for line in found if "no score yet" in line]
    (shown,) = [line for line in found if len(line) == len(titles) and line[:2] == ["t5", SCORER]]
    n = len(
        {
            row["prompt_id"]
            for row in scored.read("dynamic_templama_prompts").to_pylist()
            if row["variant"] not in {"dated", "dates"}
        }
    )
    assert dict(zip(titles, shown, strict=True)) | {"model": "", "scorer": ""} == {
        "model": "",
        "scorer": "",
        "prompts": str(n),
        "scored": str(n - 2),
        "no score yet": "2",
    }


def test_views_count_missing_tables_of_other_benchmarks_as_empty(scored):
    assert not scored.lake.partitions("templama_prompts")
    found = scored.read("fact_scores")
    assert set(pc.unique(found["release"]).to_pylist()) == {source(scored).release}
    scored.publish()
    with duckdb.connect(scored.home.database, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM fact_scores").fetchall()[0][0] == found.num_rows > 0


@pytest.mark.slow
def test_views_over_several_benchmarks_are_there_with_one_of_them(scored):
    """Neither ECBD nor TempLAMA is built here, so their own views are missing, which others use."""
    scored.publish()
    with duckdb.connect(scored.home.database, read_only=True) as connection:
        for name in ("scores_by_gap", "entity_knowledge"):
            ((n,),) = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
            assert n == scored.read(name).num_rows > 0
        # The model's days are not known.
        assert connection.execute("FROM leak_free_items").fetchall() == []
        names = {row[0] for row in connection.execute("SELECT view_name FROM duckdb_views()").fetchall()}
    assert {"prefers_new", "dynamic_templama_results"} <= names
    assert not {"ecbd_results", "templama_results"} & names
    assert set(pc.unique(scored.read("scores_by_gap")["benchmark"]).to_pylist()) == {"dynamic_templama"}


def test_promises_name_each_table_that_they_read():
    assert {one.about.name for one in PROMISES} == {"prompt_scores"}
    assert all(dataclasses.is_dataclass(one) and one.meaning.endswith(".") for one in PROMISES)
