"""Logs of lm-evaluation-harness: its tasks are what models are asked here, and what it logs becomes the same rows."""

import json
import os
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks.benchmark import benchmark_named
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.register import release_names
from tempkb.benchmarks.releases import load
from tempkb.errors import DesignError, SettingsError
from tempkb.generations.importing import import_logs
from tempkb.generations.kind import KINDS
from tempkb.models.known import known_model
from tempkb_tests.conftest import run_tempkb


def export(store, folder):
    """The folder of the tasks of the home's release."""
    (name,) = release_names(store.home)
    benchmark = benchmark_named(BENCHMARKS, "dynamic_templama")
    return export_release(store, benchmark, load(store.home, benchmark, name), folder, {"lm_eval": True}) / "lm_eval"


def rows_of(tasks, name):
    return pq.read_table(tasks / f"{name}.parquet").to_pylist()


def line(place, doc, *given):
    """A line of a log, as lm_eval 0.4.13 writes it: (context, continuation, outcome) for each choice."""
    arguments = {f"gen_args_{n}": {"arg_0": one[0], "arg_1": one[1]} for n, one in enumerate(given)}
    return {"doc_id": place, "doc": doc, "arguments": arguments, "resps": [[one[2]] for one in given], "filter": "none"}


def of_pairs(docs, values=(-1.5, -2.5)):
    return [
        line(
            place,
            doc,
            *(
                (doc["left_context"], text, [value, "False"])
                for text, value in zip(doc["choices"], values, strict=True)
            ),
        )
        for place, doc in enumerate(docs)
    ]


def of_cloze(docs, said):
    how = {"until": ["\n"], "do_sample": False, "max_gen_toks": 32}
    return [line(place, doc, (doc["left_context"].rstrip(), how, said)) for place, doc in enumerate(docs)]


def written(folder, name, lines):
    path = folder / f"samples_{name}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


@pytest.fixture
def tasks(store, tmp_path):
    return export(store, tmp_path / "exports")


def test_what_a_log_has_becomes_rows_and_what_it_lacks_is_null(store, tasks, tmp_path):
    pairs = rows_of(tasks, "pairs")
    # Ada left Reed for Salt in the third quarter of 2019.
    (ada,) = [one for one in pairs if one["date"] == "2019-Q3" and one["left_context"].startswith("Ada ")]
    log = written(tmp_path, "pairs", of_pairs(pairs, ("-inf", -1.5)))
    (imported,) = import_logs(store, BENCHMARKS, [log], "far-away", None)
    assert imported.partition == "far-away--causal.span_end-1.lm_eval"
    rows = {row["prompt_id"]: row for row in store.read("prompt_scores").to_pylist()}
    old, new = (rows[one] for one in ada["prompt_ids"])
    assert (new["status"], new["log_prob_nats"], new["n_chars"]) == ("scored", -1.5, len(ada["choices"][1]))
    assert {new[name] for name in ("n_tokens", "token_ids", "token_log_probs", "n_before", "n_after")} == {None}
    assert (old["status"], old["log_prob_nats"]) == ("not_finite", None)
    model = known_model(store.lake, "far-away")
    assert (model["status"], model["family"], model["weights_sha256"], model["knows_certainly_until"]) == (
        "elsewhere",
        "causal",
        None,
        None,
    )
    # The same again changes nothing.
    version = store.lake.current("prompt_scores", imported.partition).version
    import_logs(store, BENCHMARKS, [tmp_path], "far-away", None)
    assert store.lake.current("prompt_scores", imported.partition).version == version


@pytest.mark.parametrize(
    ("said", "text", "status", "stopped"),
    [
        (" Reed Town. And then", "Reed Town", "answered", "sentence_end"),
        (" Reed Town", "Reed Town", "answered", None),
        (" ...", None, "empty", "sentence_end"),
    ],
)
def test_an_answer_ends_where_those_of_our_decoders_end(store, tasks, tmp_path, said, text, status, stopped):
    docs = [one for one in rows_of(tasks, "cloze") if one["date"] == "2019-Q3"]
    (imported,) = import_logs(store, BENCHMARKS, [written(tmp_path, "cloze", of_cloze(docs, said))], "far-away", None)
    assert imported.partition == "far-away--causal.greedy-1.lm_eval"
    rows = store.read("generations").to_pylist()
    assert {row["question_id"] for row in rows} == {one["question_id"] for one in docs}
    assert {(row["text"], row["status"], row["stopped"], row["raw_text"], row["n_tokens"]) for row in rows} == {
        (text, status, stopped, said, None)
    }


def _spoilt(pairs):
    """Lines that are no whole log of the task, and what is said of each."""
    whole = of_pairs(pairs)
    n = len(pairs)
    yield "partial", whole[:2], f"found 2 of the {n} rows of the task .*; run it whole, without --limit"
    yield "empty", [], "found an empty file; expected a log of samples"
    yield "foreign", [{"doc": {"question": "?"}}, *whole], f"found 1 of {n + 1} lines that are no rows of such a task"
    other = [{**one, "doc": {**one["doc"], "digest": "0" * 64}} for one in whole]
    yield "other", other, "of other rows of release .* .digest 000000000000.; expected those of the home"
    chat = of_pairs([{**one, "left_context": f"User: {one['left_context']}"} for one in pairs])
    yield "chat", chat, f"found that {2 * n} of {2 * n} of the task .* was asked with another text than in release"
    ids = [{**one, "doc": {**one["doc"], "prompt_ids": ["f" * 32] * 2}} for one in whole]
    yield "ids", ids, f"found that {2 * n} of {2 * n} of the task .* is in no prompt of release"
    gone = [{**one, "doc": {**one["doc"], "release": "gone"}} for one in whole]
    yield "gone", gone, "release 'gone': no such release"


def test_foreign_changed_and_partial_logs_are_refused_with_counts_and_write_nothing(store, tasks, tmp_path):
    for name, lines, said in _spoilt(rows_of(tasks, "pairs")):
        log = written(tmp_path, name, lines)
        with pytest.raises((SettingsError, DesignError), match=said):
            import_logs(store, BENCHMARKS, [log], "far-away", None)
    page = tmp_path / "page.html"
    page.write_text("<html><body>Not found</body></html>\n")
    with pytest.raises(SettingsError, match="found 1 of 1 lines that are no rows of such a task"):
        import_logs(store, BENCHMARKS, [page], "far-away", None)
    with pytest.raises(SettingsError, match="no such file or folder"):
        import_logs(store, BENCHMARKS, [tmp_path / "nowhere"], "far-away", None)
    twice = [written(tmp_path, one, of_pairs(rows_of(tasks, "pairs"))) for one in ("first", "second")]
    with pytest.raises(
        SettingsError, match="found the task .* in .*first.* and in .*second.*; expected one log of each"
    ):
        import_logs(store, BENCHMARKS, twice, "far-away", None)
    assert [store.lake.keys(kind.table.name) for kind in KINDS] == [[], []]
    assert known_model(store.lake, "far-away") is None


def test_sampled_answers_are_no_greedy_ones(store, tasks, tmp_path):
    docs = [one for one in rows_of(tasks, "cloze") if one["date"] == "2019-Q3"]
    lines = of_cloze(docs, " Reed Town")
    for one in lines:
        one["arguments"]["gen_args_0"]["arg_1"]["do_sample"] = True
    with pytest.raises(SettingsError, match="lines that are no rows of such a task"):
        import_logs(store, BENCHMARKS, [written(tmp_path, "cloze", lines)], "far-away", None)


def test_a_name_of_a_masked_model_is_refused(store, tasks, add):
    masked = add(store, "bert_cased")
    with pytest.raises(SettingsError, match=f"--model {masked}: found a masked model; expected a causal one"):
        import_logs(store, BENCHMARKS, [tasks], masked, None)


@pytest.mark.slow
def test_what_the_harness_gives_is_what_we_give(demo_home, saved, tmp_path):
    """It runs without a network, in another folder, and what was imported of its logs equals our own scores."""
    home = shutil.copytree(demo_home, tmp_path / "home")
    checkpoint = saved("gpt2")
    run_tempkb(home, "score", str(checkpoint))
    run_tempkb(home, "generate", "gpt2")
    for name in ("demo-quarters", "demo-cloze"):
        run_tempkb(home, "release", "export", name, str(tmp_path / "exports"), "--lm-eval")
    (tmp_path / "elsewhere").mkdir()
    # With its cache of logits, nested spans of one sentence get one another's scores.
    model = f"pretrained={checkpoint},dtype=float32,logits_cache=False"
    asked = ["--tasks", "demo-quarters,demo-cloze", "--include_path", str(tmp_path / "exports"), "--batch_size", "64"]
    kept = ["--log_samples", "--output_path", str(tmp_path / "logs"), "--device", "cpu"]
    subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", "--model", "hf", "--model_args", model, *asked, *kept],
        cwd=tmp_path / "elsewhere",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")},
        check=True,
        capture_output=True,
    )
    run_tempkb(home, "scores", "import", str(tmp_path / "logs"), "--model", "far-away", "--knows-until", "2022-01-01")
    (scores,) = query(
        home,
        """
        SELECT count(*) AS n, max(abs(a.log_prob_nats - b.log_prob_nats)) AS most, bool_and(a.n_chars = b.n_chars) AS n_chars
        FROM prompt_scores AS a JOIN prompt_scores AS b USING (prompt_id)
        WHERE a.model = 'far-away' AND b.model = 'gpt2' AND replace(a.scorer, 'lm_eval', 'f32') = b.scorer
          AND b.status = 'scored'
        """,
    )
    assert scores["n"] > 4000
    assert scores["most"] < 1e-4
    assert scores["n_chars"]
    (texts,) = query(
        home,
        """
        SELECT count(*) AS n, count(*) FILTER (WHERE a.text IS DISTINCT FROM b.text) AS n_other
        FROM generations AS a JOIN generations AS b USING (question_id) WHERE a.model = 'far-away' AND b.model = 'gpt2'
          AND b.status <> 'too_long' -- the harness cuts these
        """,
    )
    assert texts["n"] > 400
    assert texts["n_other"] == 0
    run_tempkb(home, "results")
    known = run_tempkb(home, "knows", "--models", "far-away")
    assert "far-away" in known.stdout
    run_tempkb(home, "verify")


def query(home, sql):
    return [json.loads(line) for line in run_tempkb(home, "sql", sql, "--json").stdout.splitlines()]
