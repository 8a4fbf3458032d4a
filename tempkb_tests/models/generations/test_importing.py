"""Logs of lm-evaluation-harness: its tasks are what models are asked here, and what it logs becomes the same rows."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks.benchmark import benchmark_named
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.register import load, release_names
from tempkb.core.errors import DesignError, SettingsError, TempkbError
from tempkb.models.adding import add_model
from tempkb.models.again import command_for, odd_said
from tempkb.models.generations.importing import _Asked, _Doc, _Line, _require_own_logits, _Task, import_logs
from tempkb.models.generations.kind import KINDS
from tempkb.models.known import known_model, known_models
from tempkb.models.requests import request_of
from tempkb.platform.api import open_store
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.damage import draw


def export(store, folder):
    """The folder of the tasks of the home's release."""
    (name,) = release_names(store.home)
    benchmark = benchmark_named(BENCHMARKS, "dynamic_templama")
    return export_release(store, benchmark, load(store.home, benchmark, name), folder, {"lm_eval": True}) / "lm_eval"


def rows_of(tasks, name, window="2019-Q3"):
    return [one for one in pq.read_table(tasks / f"{name}.parquet").to_pylist() if one["date"] == window]


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


@pytest.fixture(scope="module")
def tasks(built, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEMPKB_HOME", str(built))
        return export(open_store(), tmp_path_factory.mktemp("exports"))


def test_what_a_log_has_becomes_rows_and_what_it_lacks_is_null(store, tasks, tmp_path):
    pairs = rows_of(tasks, "pairs")
    # Ada left Reed for Salt in the third quarter of 2019.
    (ada,) = [one for one in pairs if one["date"] == "2019-Q3" and one["left_context"].startswith("Ada ")]
    log = written(tmp_path, "pairs", of_pairs(pairs, ("-2.5", -1.5)))
    (imported,) = import_logs(store, BENCHMARKS, [log], "far-away", None)
    assert imported.partition == "far-away--causal.span_end-1.lm_eval"
    rows = {row["prompt_id"]: row for row in store.read("prompt_scores").to_pylist()}
    old, new = (rows[one] for one in ada["prompt_ids"])
    assert (new["status"], new["log_prob_nats"], new["n_chars"]) == ("scored", -1.5, len(ada["choices"][1]))
    assert {new[name] for name in ("n_tokens", "token_ids", "token_log_probs", "n_before", "n_after")} == {None}
    assert (old["status"], old["log_prob_nats"]) == ("scored", -2.5)
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


def test_an_answer_ends_where_those_of_our_decoders_end(store, tasks, tmp_path):
    ends = (
        (" Reed Town. And then", "Reed Town", "answered", "sentence_end"),
        (" Reed Town", "Reed Town", "answered", None),
        (" ...", None, "empty", "sentence_end"),
    )
    docs = rows_of(tasks, "cloze")
    lines = of_cloze(docs, None)
    for one, (said, *_) in zip(lines, itertools.cycle(ends), strict=False):
        one["resps"] = [[said]]
    (imported,) = import_logs(store, BENCHMARKS, [written(tmp_path, "cloze", lines)], "far-away", None)
    assert imported.partition == "far-away--causal.greedy-1.lm_eval"
    rows = store.read("generations").to_pylist()
    assert {row["question_id"] for row in rows} == {one["question_id"] for one in docs}
    assert {(row["raw_text"], row["text"], row["status"], row["stopped"]) for row in rows} == set(ends)
    assert {row["n_tokens"] for row in rows} == {None}


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
    yield "chat", chat, f"found that {n} of {n} rows of the task .* were asked with another text than in release"
    one_row = [{**whole[0], "doc_id": place} for place in range(n)]
    yield "one_row", one_row, f"found that {n - 1} of {n} rows of the task .* were asked with another text .* row 1 "
    yield "twice", [*whole, whole[0]], f"found 1 of {n + 1} lines .*line {n + 1}: row 0 once more"
    yield "far", [*whole, {**whole[0], "doc_id": 10**30}], f"found that 1 of {n + 1} rows of the task"
    for value in ("0.001", "inf", "-inf", "nan"):
        odd = of_pairs(pairs[:1], (value, -1.5)) + whole[1:]
        yield f"value{value}", odd, f"found 1 of {n} lines .*line 1: .* a finite one that is not above 0"
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
    docs = rows_of(tasks, "cloze")
    lines = of_cloze(docs, " Reed Town")
    for one in lines:
        one["arguments"]["gen_args_0"]["arg_1"]["do_sample"] = True
    with pytest.raises(SettingsError, match="were asked with another text than in release .* without .* sampling"):
        import_logs(store, BENCHMARKS, [written(tmp_path, "cloze", lines)], "far-away", None)


def test_an_answer_of_ten_thousand_letters_is_taken_and_a_longer_one_refused(store, tasks, tmp_path):
    docs = rows_of(tasks, "cloze")
    import_logs(store, BENCHMARKS, [written(tmp_path, "most", of_cloze(docs, "a" * 10_000))], "far-away", None)
    assert {len(row["raw_text"]) for row in store.read("generations").to_pylist()} == {10_000}
    with pytest.raises(SettingsError, match=r"line 1: expected as an answer a text of at most 10,000 letters"):
        import_logs(store, BENCHMARKS, [written(tmp_path, "more", of_cloze(docs, "a" * 10_001))], "far-away", None)


@pytest.mark.slow
def test_the_days_of_a_model_hold_until_others_are_given(store, tasks, tmp_path):
    log = written(tmp_path, "pairs", of_pairs(rows_of(tasks, "pairs")))
    first, second = (date(2018, 1, 1), date(2019, 1, 1)), (date(2020, 1, 1), date(2020, 1, 1))

    def until():
        row = known_model(store.lake, "far-away")
        return row["knows_certainly_until"], row["knows_possibly_until"]

    for given, held in ((first, first), (None, first), (second, second), (None, second)):
        import_logs(store, BENCHMARKS, [log], "far-away", given)
        assert until() == held
        # The row is lost, and what is to be typed names no day.
        shutil.rmtree(store.lake.root / "models" / "far-away")
        assert command_for(store, "models", "far-away") == "tempkb scores import LOG --model far-away"
        import_logs(store, BENCHMARKS, [log], "far-away", None)
        assert until() == held


def test_of_an_imported_model_the_days_that_were_said_are_missed_once_their_file_is_gone(store, tasks, tmp_path):
    log = written(tmp_path, "pairs", of_pairs(rows_of(tasks, "pairs")))
    import_logs(store, BENCHMARKS, [log], "far-away", None)
    # Nothing was said, so there is no file.
    assert odd_said(store, known_models(store.lake), ()) == []
    import_logs(store, BENCHMARKS, [log], "far-away", (date(2018, 1, 1), date(2019, 1, 1)))
    file = store.home.checkpoints / "far-away.json"
    before = file.read_bytes()
    file.unlink()
    (line,) = odd_said(store, known_models(store.lake), ())
    assert line.startswith("model far-away: found nothing said of it in models/far-away.json; expected ")
    assert line.endswith(". Write it again: tempkb scores import LOG --model far-away")
    import_logs(store, BENCHMARKS, [log], "far-away", None)
    assert file.read_bytes() == before


def test_a_checkpoint_under_an_imported_name_keeps_the_days(store, tasks, tmp_path, saved):
    days = (date(2018, 1, 1), date(2019, 1, 1))
    log = written(tmp_path, "pairs", of_pairs(rows_of(tasks, "pairs")))
    import_logs(store, BENCHMARKS, [log], "far-away", days)
    add_model(store, request_of("far-away", {"checkpoint": str(saved("gpt2"))}), lambda _: None)
    row = known_model(store.lake, "far-away")
    assert (row["status"], row["knows_certainly_until"], row["knows_possibly_until"]) == ("ready", *days)


def nested(values):
    """A log with a span `b c` and the span `c` that ends it, in one text each, with pairs of values."""
    task = _Task(Path("samples.jsonl"), _Doc("r", "d", "t"))
    for pair in values:
        for context, target, value in zip(("a ", "a b "), ("b c", "c"), pair, strict=True):
            place = len(task.lines)
            asked = {"gen_args_0": _Asked(f"{place // 2} {context}", target)}
            task.lines[place] = _Line(place, task.doc, asked, [((value, "False"),)])
    return task


def test_a_span_is_never_less_likely_than_a_longer_one_that_it_ends(tmp_path):
    right = [(-9.0, -4.0)] * 1000
    _require_own_logits("t", nested(right))
    # Numbers of few bits, and one span in a thousand whose tokens are others.
    _require_own_logits("t", nested([*right, (-4.0, -4.5), (-40.0, -41.0), (-4.0, -4.0), (-4.0, -20.0)]))
    for odd, found in (
        ([(-4.0, -20.0)] * 6, "1,006 spans of the task t that end longer ones, 6 of them less likely than these and 0"),
        ([(-4.0, -4.0)] * 1001, "2,001 spans of the task t that end longer ones, 0 of them less .* and 1,001 as"),
    ):
        with pytest.raises(SettingsError, match=f"samples.jsonl: found {found}.*logits_cache=False"):
            _require_own_logits("t", nested([*right, *odd]))
    # Equal spans have equal values.
    task = nested(right)
    task.lines |= {place + 2000: line for place, line in task.lines.items()}
    _require_own_logits("t", task)


@pytest.mark.parametrize(
    ("config", "is_refused"),
    [
        ('{"model": "hf", "model_args": {"pretrained": "m", "logits_cache": true}}', True),
        ('{"model": "hf", "model_args": "pretrained=m"}', True),
        ('{"model": "hf", "model_args": {"pretrained": "m", "logits_cache": false}}', False),
        ('{"model": "hf", "model_args": "pretrained=m,logits_cache=False"}', False),
        ('{"model": "vllm", "model_args": {"pretrained": "m"}}', False),
        ("\xff[[[", False),
    ],
)
def test_the_results_beside_a_log_tell_whether_it_had_the_cache(tmp_path, config, is_refused):
    (tmp_path / "results_2026-01-01T00-00-00.1.json").write_bytes(config.encode("latin-1"))
    task = nested([(-9.0, -4.0)])
    task.file = tmp_path / "samples_t_2025-01-01T00-00-00.1.jsonl"
    _require_own_logits("t", task)  # of another run
    task.file = tmp_path / "samples_t_2026-01-01T00-00-00.1.jsonl"
    if is_refused:
        with pytest.raises(SettingsError, match="and a cache of logits in the results; .*logits_cache=False"):
            _require_own_logits("t", task)
    else:
        _require_own_logits("t", task)
    # Where nothing nests, the cache does no harm.
    task.lines = {0: task.lines[0]}
    _require_own_logits("t", task)


HOSTILE = (
    *("null", "true", "-1", "1.5", "[]", "{}", '""', '"x"', '"../../x"', '[["a"]]', '{"a": {"b": 1}}'),
    *("NaN", "-Infinity", "1e999", "9" * 400, "-" + "9" * 400, "9" * 5000, '"nan"', '"-inf"', '"1e999"'),
    *('"\\ud800"', '"\\u0000"', "\x00", f'"{"x" * 5000}"', "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, ""),
)


NO_JSON = ("NaN", '"\\ud800"', "[" * 100_000 + "]" * 100_000, "[]")


def places(value, path=()):
    """The paths of all values in a JSON value."""
    yield path
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(one, (*path, key))


def with_value(line, path, raw):
    """A line with the JSON text `raw` in a place."""
    if not path:
        return raw
    line = json.loads(json.dumps(line))
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "@here@"
    return json.dumps(line).replace('"@here@"', raw)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "cloze"])
def test_a_log_with_a_hostile_value_anywhere_is_imported_rightly_or_refused(store, tasks, tmp_path, name):
    docs = rows_of(tasks, name)
    whole, kind = (of_pairs(docs), "prompt_scores") if name == "pairs" else (of_cloze(docs, " Reed"), "generations")

    def rows(model):
        return [{**row, "model": ""} for row in store.read(kind).to_pylist() if row["model"] == model]

    import_logs(store, BENCHMARKS, [written(tmp_path, "right", whole)], "right", None)
    right, n_refused = rows("right"), 0
    n_other = 0
    log = tmp_path / "samples_odd.jsonl"
    free = (("resps", 0, 0),) if name == "cloze" else (("resps", 0, 0, 0), ("resps", 1, 0, 0))
    read = ("doc_id", "arguments", "resps", "release", "digest", "task")
    for path in places(whole[1]):
        # What is not read need only be JSON.
        for raw in HOSTILE if path in ((), ("doc",)) or set(path) & set(read) else NO_JSON:
            # Another answer, or another log-probability, is no fault.
            if path in free and (raw == "-1" if name == "pairs" else raw.startswith('"') and "ud800" not in raw):
                continue
            # So is a whole list with one; and of all these cases an eighth, chosen by hash, is tried here.
            if (name, path, raw) == ("cloze", ("resps",), '[["a"]]') or draw(7, f"{path} {raw[:20]}", 8):
                continue
            lines = [json.dumps(one) for one in whole]
            lines[1] = with_value(whole[1], path, raw)
            log.write_text("\n".join(lines) + "\n")
            try:
                import_logs(store, BENCHMARKS, [log], "odd", None)
            except TempkbError as error:
                n_refused += str(log) in str(error)
                n_other += str(log) not in str(error)
            else:
                assert rows("odd") == right, (path, raw[:20])
    assert (n_refused > 30, n_other) == (True, 0)


def test_a_name_of_a_masked_model_is_refused(store, tasks, add):
    masked = add(store, "bert_cased")
    with pytest.raises(SettingsError, match=f"--model {masked}: found a masked model; expected a causal one"):
        import_logs(store, BENCHMARKS, [tasks], masked, None)


# `lm_eval`, but for the thousands of tasks that come with it: to read their names takes longer than all that is asked.
HARNESS = """
from functools import partialmethod
from lm_eval.__main__ import cli_evaluate
from lm_eval.tasks import TaskManager
TaskManager.__init__ = partialmethod(TaskManager.__init__, include_defaults=False)
cli_evaluate()
"""


@pytest.mark.slow
def test_what_the_harness_gives_is_what_we_give(demo_home, saved, tmp_path):
    """It runs without a network, in another folder, and what was imported of its logs equals our own scores."""
    home = shutil.copytree(demo_home, tmp_path / "home")
    checkpoint = saved("gpt2")
    run_tempkb(home, "release", "dynamic-templama", "2022-01-01..2022-10-01", "--name", "quarters")
    run_tempkb(home, "release", "ecbd", "2022-01-01..2023-01-01", "--preset", "small", "--name", "cloze")
    of_both = ["--release", "quarters", "--release", "cloze"]
    run_tempkb(home, "score", str(checkpoint), *of_both)
    run_tempkb(home, "generate", "gpt2", *of_both)
    for name in ("quarters", "cloze"):
        run_tempkb(home, "release", "export", name, str(tmp_path / "exports"), "--lm-eval")
    (tmp_path / "elsewhere").mkdir()
    # With its cache of logits, nested spans of one sentence get one another's scores.
    model = f"pretrained={checkpoint},dtype=float32,logits_cache=False"
    asked = ["--tasks", "quarters_full,cloze_full", "--include_path", str(tmp_path / "exports"), "--batch_size", "64"]
    kept = ["--log_samples", "--output_path", str(tmp_path / "logs"), "--device", "cpu"]
    subprocess.run(
        [sys.executable, "-c", HARNESS, "run", "--model", "hf", "--model_args", model, *asked, *kept],
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
    assert scores["n"] > 2000
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
    assert texts["n"] > 100
    assert texts["n_other"] == 0
    run_tempkb(home, "results")
    known = run_tempkb(home, "knows", "--model", "far-away")
    assert "far-away" in known.stdout
    run_tempkb(home, "verify")


def query(home, sql):
    return [json.loads(line) for line in run_tempkb(home, "sql", sql, "--json").stdout.splitlines()]
