"""What has to be scored again and what has not, as the lists of versions tell it; nothing is loaded to find out."""

import json
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet
import pytest

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.register import mark_built, release_names
from tempkb.engine.steps import Look
from tempkb.models.adding import add_model
from tempkb.models.known import known_models
from tempkb.models.requests import request_of as model_request
from tempkb.models.scores import selecting
from tempkb.models.scores.kinds import SCORES
from tempkb.models.scores.running import ask_model
from tempkb.models.scores.steps import due_models
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.platform.rooms import steps
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.versions import describe
from tempkb_tests.benchmarks.fact_queries.worlds import quiet, release
from tempkb_tests.conftest import run_tempkb

PROMPTS = "dynamic_templama_prompts"
SCORER = "t5--seq2seq.span_end-1.f32"


def score(store, **words):
    (done,) = ask_model(SCORES, store, BENCHMARKS, "t5", SCORES.request.of(words), quiet)
    return done


def due(store, **words):
    return due_models(SCORES, store, BENCHMARKS, known_models(store.lake), SCORES.request.of(words))


def rows(store):
    return {row["prompt_id"]: row for row in store.read("prompt_scores").to_pylist()}


def prompts(store):
    """Ids of the prompts that are asked for by default."""
    return {row["prompt_id"] for row in store.read(PROMPTS).to_pylist() if not row["variant"].startswith("date")}


def version(store):
    (found,) = store.lake.versions("prompt_scores")
    return found


@pytest.fixture
def scored(store, add):
    """The home with all its prompts scored by one model."""
    add(store, "t5")
    score(store)
    return store


@pytest.fixture
def no_rows(monkeypatch):
    """Call it so that rows can be read no more."""

    def forbid():
        def reading(*_arguments):
            raise AssertionError("rows were read")

        monkeypatch.setattr(selecting.Wanted, "n_lacking", reading)

    return forbid


def test_a_version_lists_the_releases_and_variants_that_it_has_all_answers_to(scored, no_rows):
    (name,) = {row["release"] for row in scored.read("fact_releases").to_pylist()}
    listed = [filler.split() for filler in version(scored).filled_by]
    assert [(one, variant) for one, variant, _ in listed] == [
        (name, variant) for variant in ("no_subject", "no_subject_object_last", "object_last", "undated")
    ]
    assert len({versions for *_, versions in listed}) == 1
    no_rows()
    assert due(scored) == due(scored, variants="undated", releases=name) == []


def test_another_torch_device_or_number_of_threads_asks_nothing_again(scored, no_rows):
    held = version(scored)
    describe(replace(held, settings=held.settings | {"torch": "1.0", "device": "cuda:7", "threads": 64}))
    assert version(scored).settings["threads"] == 64
    no_rows()
    assert due(scored) == due(scored, threads="3", device="cpu", batch_tokens="77", fixed_shapes="true") == []
    # Another type of numbers is another scorer.
    assert version(scored).partition == SCORER


def test_another_type_of_numbers_is_asked(scored):
    assert due(scored, dtype="float64") == ["t5"]


def test_scores_of_an_earlier_code_version_stand_and_are_said_to_be_of_earlier_rules(scored, no_rows):
    later = replace(PROMPT_SCORES, code_version="99")
    scored.tables = {**scored.tables, "prompt_scores": later}
    no_rows()
    look = Look(scored, steps())
    assert due(scored) == look.stale("prompt_scores") == []
    assert look.is_of_earlier_rules(version(scored))
    scored.tables = {**scored.tables, "prompt_scores": PROMPT_SCORES}
    assert not Look(scored, steps()).is_of_earlier_rules(version(scored))


def test_prompts_that_were_written_again_with_equal_rows_are_not_asked_again(scored, no_rows):
    for held in scored.lake.versions(PROMPTS):
        table = pa.parquet.read_table(held.places()[0])
        scored.lake.remove(PROMPTS, held.partition)
        left_out = [Exclusion(one["reason"], one["n"], one["example"], one["table_name"]) for one in held.exclusions]
        scored.write(scored.tables[PROMPTS], held.partition, [table], Provenance({"another": "source"}), left_out)
    no_rows()
    assert due(scored) == []


def changed(store, key, change):
    """Write a partition of prompts with other rows."""
    held = store.lake.current(PROMPTS, key)
    found = change(pa.parquet.read_table(held.places()[0]).to_pylist())
    table = pa.Table.from_pylist(found, store.tables[PROMPTS].schema)
    store.write(store.tables[PROMPTS], key, [table], Provenance())
    for name in release_names(store.home):
        mark_built(store, name)


def test_of_a_release_that_has_grown_the_new_prompts_alone_are_scored(scored):
    key, before = scored.lake.partitions(PROMPTS)[0], rows(scored)

    def grow(found):
        last = found[-1]
        return [*found, last | {"item_id": last["item_id"] + "~", "prompt_id": "f" * 32, "target": "Nowhere"}]

    changed(scored, key, grow)
    assert due(scored) == ["t5"]
    assert score(scored).n_new == 1
    assert rows(scored).keys() - before.keys() == {"f" * 32}
    assert {key: row for key, row in rows(scored).items() if key in before} == before
    assert due(scored) == []


def test_a_release_made_anew_under_its_name_with_other_prompts_is_scored_and_old_rows_stay(scored):
    before = rows(scored)
    for key in scored.lake.partitions(PROMPTS):
        changed(scored, key, lambda found: [row | {"prompt_id": row["prompt_id"][::-1]} for row in found])
    assert due(scored) == ["t5"]
    assert score(scored).n_new == len(prompts(scored))
    assert rows(scored).keys() == before.keys() | prompts(scored)
    assert due(scored) == []


@pytest.mark.slow
def test_another_release_with_the_same_prompts_has_all_answers_though_no_list_says_so(scored):
    assert release(scored, windows="2019-01-01..2019-10-01").name not in str(version(scored).filled_by)
    assert due(scored) == []
    # It has dated prompts as well.
    assert due(scored, variants="dated") == ["t5"]


def test_a_limit_is_never_listed_and_still_known_to_be_reached(store, add):
    add(store, "t5")
    score(store, limit="5")
    assert version(store).filled_by == ()
    assert due(store, limit="5") == due(store, limit="3") == []
    assert due(store, limit="6") == due(store) == ["t5"]
    score(store)
    assert due(store, limit="6") == due(store) == []


def test_windows_are_listed_with_their_days_and_are_not_all(store, add, no_rows):
    add(store, "t5")
    score(store, windows="2019-07-01..2019-10-01")
    assert all("DATE '2019-07-01'" in filler for filler in version(store).filled_by)
    assert due(store) == due(store, windows="2019-10-01..2020-01-01") == ["t5"]
    no_rows()
    assert due(store, windows="2019-07-01..2019-10-01") == []


def test_a_partition_that_is_lost_while_a_run_goes_on_does_not_count_as_whole(store, add, monkeypatch):
    add(store, "t5")
    score(store, limit="5")
    lost = set(rows(store))
    with monkeypatch.context() as patched:
        lose = lambda: store.lake.remove("prompt_scores", SCORER)  # noqa: E731
        patched.setattr(type(SCORES), "rows", _after(lose, type(SCORES).rows))
        score(store)
    assert not lost & rows(store).keys()
    assert version(store).filled_by == ()
    assert due(store) == ["t5"]
    assert score(store).n_new == 5
    assert rows(store).keys() == prompts(store)


def _after(work, honest):
    def doing(*arguments, **named):
        work()
        return honest(*arguments, **named)

    return doing


def test_what_a_killed_run_has_left_is_still_to_be_added(scored):
    with pytest.raises(InterruptedError), scored.lake.resumable("resumable-scores-t5") as drafts:
        raise InterruptedError
    assert due(scored) == ["t5"]
    assert score(scored).n_new == 0
    assert due(scored) == []
    assert not drafts.folder.exists()


def test_scores_of_other_files_are_left_to_the_run_that_refuses_them(scored, saved):
    scored.lake.remove("models", "t5")
    add_model(scored, model_request("t5", {"checkpoint": str(saved("t5_untied"))}), quiet)
    assert due(scored) == ["t5"]


LOADED = """
import json, os, sys
from tempkb.commands.cli import main
try:
    main(["score", "--all"], standalone_mode=False)
except SystemExit as end:
    assert not end.code
sys.stdout.write(json.dumps(sorted(sys.modules)))
"""


def test_a_command_with_nothing_to_score_says_so_and_starts_nothing(scored):
    run_tempkb(scored.home.path, "results")
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    said, *_, modules = done.stdout.splitlines()
    assert said == "Nothing to score: prompt_scores has a row for all that is asked for, of 1 model."
    assert not {"dagster", "torch", "transformers", "pyarrow"} & set(json.loads(modules))
    assert not scored.home.dagster.exists()
    again = run_tempkb(scored.home.path, "score", "t5", "--limit", "3", "--threads", "2")
    assert again.stdout.startswith("Nothing to score: ")
