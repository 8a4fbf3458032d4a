"""Scores of a home's prompts: each once, as the definitions say, kept through kills, and never of other files."""

import shutil

import pytest

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.commands.runs.removal import of_model, remove
from tempkb.core.errors import DesignError, ModelError, SettingsError
from tempkb.core.locks import LockTimeoutError
from tempkb.core.prompts import Prompt
from tempkb.models.adding import add_model
from tempkb.models.requests import request_of as model_request
from tempkb.models.scores import making, running
from tempkb.models.scores import running as shards
from tempkb.models.scores.kinds import SCORES
from tempkb.models.scores.running import ask_model
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb.store.said import read_said
from tempkb_tests.benchmarks.fact_queries.worlds import TEMPLAMA, quiet, release
from tempkb_tests.conftest import run_script
from tempkb_tests.models.scores.dying import DEATHS, files_of
from tempkb_tests.models.test_parity import expected

UNDATED = {"undated", "no_subject", "object_last", "no_subject_object_last"}


def score(store, name, **words):
    return {one.name: one for one in ask_model(SCORES, store, BENCHMARKS, name, SCORES.request.of(words), quiet)}


def prompts(store, variants=UNDATED):
    """Prompts by id, from the tables of all releases."""
    rows = [row for one in ("dynamic_templama", "templama") for row in store.read(f"{one}_prompts").to_pylist()]
    return {
        row["prompt_id"]: Prompt(row["left_context"], row["target"], row["right_context"])
        for row in rows
        if row["variant"] in variants
    }


def rows(store, **equal):
    return {row["prompt_id"]: row for row in store.read("prompt_scores", **equal).to_pylist()}


def files(store):
    """Bytes of the table of scores, and what is said of them."""
    return files_of(store, "prompt_scores")


@pytest.mark.parametrize(("kind", "template"), [("roberta", "answer_l2r"), ("t5", "span_end")])
def test_every_prompt_has_the_score_of_its_definition(store, add, kind, template):
    name = add(store, kind)
    (done,) = score(store, name).values()
    wanted = prompts(store)
    assert done.n_prompts == done.n_new == len(wanted) > 15
    found = rows(store)
    assert found.keys() == wanted.keys()
    for prompt_id, prompt in wanted.items():
        right = expected(kind, template, prompt)
        row = found[prompt_id]
        assert (row["model"], row["scorer"], row["status"]) == (name, done.name, right["status"])
        if row["status"] == "scored":
            assert row["log_prob_nats"] == pytest.approx(right["sum"], rel=1e-4, abs=1e-4)


def test_causal_models_are_asked_sentences_only_where_nothing_precedes_the_target(store, add):
    done = score(store, add(store, "gpt2"))
    wanted = prompts(store)
    bare = {key for key, prompt in wanted.items() if not prompt.left}
    assert 0 < len(bare) < len(wanted)
    spans, sentences = rows(store, scorer="causal.span_end-1.f32"), rows(store, scorer="causal.sentence-1.f32")
    assert spans.keys() == wanted.keys()
    assert sentences.keys() == bare
    assert {key for key, row in spans.items() if row["status"] == "no_left_context"} == bare
    assert done["causal.span_end-1.f32"].by_status["no_left_context"] == len(bare)
    for prompt_id in bare:
        right = expected("gpt2", "sentence", wanted[prompt_id])["sum"]
        assert sentences[prompt_id]["log_prob_nats"] == pytest.approx(right, rel=1e-4)


@pytest.mark.slow
def test_a_run_shows_the_releases_with_new_scores_or_else_the_newest_and_counts_the_others(store, add, monkeypatch):
    name = add(store, "t5")

    def shown(**words):
        sources, n_others = making.to_show(
            store, ask_model(SCORES, store, BENCHMARKS, name, SCORES.request.of(words), quiet)
        )
        return [source.release for _, source in sources], n_others

    (first,) = set(store.read("dynamic_templama_prompts")["release"].to_pylist())
    assert shown() == ([first], 0)
    yearly = release(store, TEMPLAMA, "2018-01-01..2021-01-01", "year").name
    assert shown() == ([yearly], 1)
    # Fewer quarters than the first release has: all its prompts have a score.
    fewer = release(store, windows="2019-01-01..2019-10-01").name
    assert shown() == ([fewer], 2)
    # Dated prompts are new in each of them.
    monkeypatch.setattr(making, "_N_SHOWN", 2)
    assert shown(variants="dated") == ([fewer, yearly], 1)


@pytest.mark.slow
def test_prompts_that_no_release_stores_are_asked_by_their_variant_alone(store, add):
    name = add(store, "t5")
    made = release(store, TEMPLAMA, "2018-01-01..2021-01-01", "year", shares="0,0").name
    score(store, name, releases=made)
    before = rows(store).keys()
    later = {row["prompt_id"]: row for row in store.ask("FROM later_prompts", "later_prompts")}
    assert not before & later.keys()
    (done,) = score(store, name, variants="later_dated", windows="2020-01-01..2022-01-01").values()
    new = {key: row for key, row in rows(store).items() if key not in before}
    wanted = {key for key, row in later.items() if row["variant"] == "later_dated" and row["year"] in (2020, 2021)}
    assert new.keys() == wanted
    assert done.n_new == len(wanted) > 10
    (some,) = (key for key in wanted if "2021 Ada" in later[key]["left_context"] and later[key]["target"] == "Salt")
    right = expected("t5", "span_end", Prompt("year: 2021 Ada plays for ", "Salt", "."))
    assert new[some]["log_prob_nats"] == pytest.approx(right["sum"], rel=1e-4, abs=1e-4)
    (again,) = score(store, name, variants="later_dated,dated", releases=made).values()
    # The dated prompts of the release are among them.
    assert again.n_prompts == sum(row["variant"] == "later_dated" for row in later.values())


def test_a_limit_takes_the_first_ids_and_a_larger_one_only_adds(store, add):
    name = add(store, "t5")
    score(store, name, limit="5")
    ids = sorted(prompts(store))
    assert sorted(rows(store)) == ids[:5]
    assert score(store, name, limit="8")["seq2seq.span_end-1.f32"].n_new == 3
    assert sorted(rows(store)) == ids[:8]


def test_what_gives_new_scores_is_noted_with_the_releases_that_it_reached(store, add):
    name = add(store, "t5")
    (first,) = {row["release"] for row in store.read("fact_releases").to_pylist()}
    for limit in ("5", "5", "3"):
        score(store, name, limit=limit)
    second = release(store, windows="2019-01-01..2021-01-01").name
    score(store, name, windows="2020-01-01..2020-04-01")
    score(store, name, limit="40")
    in_both = ",".join(sorted((first, second)))
    assert read_said(store.home.checkpoints, name).asked[0] == {"releases": first, "limit": "5"}
    assert read_said(store.home.checkpoints, name).asked[-1] == {"releases": in_both, "limit": "40"}
    before = rows(store)
    store.lake.remove("prompt_scores", f"{name}--seq2seq.span_end-1.f32")
    for words in read_said(store.home.checkpoints, name).asked:
        score(store, name, **words)
    assert rows(store) == before
    assert len(read_said(store.home.checkpoints, name).asked) == 3


@pytest.mark.slow
def test_windows_variants_and_releases_choose_prompts(store, add):
    name = add(store, "t5")
    made = release(store, windows="2019-04-01..2019-10-01")
    score(store, name, windows="2019-07-01..2019-10-01", variants="undated", releases=other(store, made.name))
    table = store.read("dynamic_templama_prompts", variant="undated").to_pylist()
    assert rows(store).keys() == {row["prompt_id"] for row in table if str(row["window_start"]) == "2019-07-01"}


def other(store, name):
    (found,) = {row["release"] for row in store.read("fact_releases").to_pylist()} - {name}
    return found


def test_a_score_that_is_no_number_is_a_row(store, add, monkeypatch):
    from tempkb.models import batching as heads

    name = add(store, "t5")
    honest = heads.log_probs

    def broken(logits, *arguments, **named):
        return honest(logits * float("nan"), *arguments, **named)

    for asker in ("batching", "scoring"):
        monkeypatch.setattr(f"tempkb.models.{asker}.log_probs", broken)
    done = score(store, name)["seq2seq.span_end-1.f32"]
    assert done.by_status == {"not_finite": done.n_prompts}
    assert {row["log_prob_nats"] for row in rows(store).values()} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("moment", DEATHS)
def test_a_killed_run_goes_on_and_ends_with_the_bytes_of_an_undisturbed_one(store, tmp_path, monkeypatch, add, moment):
    monkeypatch.setattr(type(SCORES), "n_of_shard", 4)
    name = add(store, "gpt2")
    copy = tmp_path / "copy"
    shutil.copytree(store.home.path, copy)
    score(store, name)
    undisturbed = files(store)

    monkeypatch.setenv("TEMPKB_HOME", str(copy))
    store = open_store()
    die(moment, name)
    assert list((copy / "lake" / "_staging").glob("*scores*/*/*")), "nothing is left with which to go on"
    score(store, name)
    assert files(store) == undisturbed
    assert not list((copy / "lake" / "_staging").iterdir())


def die(moment, name):
    """Score in a process of its own, which dies at a moment."""
    script = "import sys; from tempkb_tests.models.scores.dying import ask_and_die; ask_and_die(*sys.argv[1:])"
    run_script(script, moment, name, code=9)


@pytest.mark.slow
def test_what_a_killed_run_has_finished_is_kept_though_the_next_asks_for_others(store, monkeypatch, add):
    monkeypatch.setattr(type(SCORES), "n_of_shard", 4)
    name = add(store, "t5")
    die("middle", name)
    assert not rows(store)
    score(store, name, variants="dated")
    assert len(rows(store).keys() - prompts(store, {"dated"}).keys()) == 3 * 4


def test_a_model_is_scored_by_one_process_and_not_removed_meanwhile_and_drafts_go_with_it(store, add):
    name = add(store, "t5")
    score(store, name, limit="3")
    with store.lake.resumable(f"resumable-scores-{name}") as drafts:
        for other in (lambda: score(store, name), lambda: remove(store, of_model(store, name))):
            with pytest.raises(LockTimeoutError, match="another program"):
                other()
        (drafts.folder / "killed").mkdir()
    assert (len(rows(store)), store.lake.partitions("models")) == (3, [name])
    remove(store, of_model(store, name))
    assert not (drafts.folder / "killed").exists()


@pytest.mark.slow
def test_what_a_killed_run_has_finished_is_never_given_to_other_files(store, monkeypatch, add, saved):
    """The row of a model was lost, and its name given to other files before anything was in the table."""
    monkeypatch.setattr(type(SCORES), "n_of_shard", 4)
    name = add(store, "t5")
    die("middle", name)
    store.lake.remove("models", name)
    add_model(store, model_request(name, {"checkpoint": str(saved("t5_untied"))}), quiet)
    score(store, name, variants="dated")
    assert rows(store).keys() == prompts(store, {"dated"}).keys()
    assert not list((store.home.path / "lake" / "_staging").iterdir())


@pytest.mark.slow
def test_what_a_killed_run_has_finished_is_never_added_to_scores_of_other_files(store, monkeypatch, add):
    name = add(store, "t5")
    score(store, name, limit="5")
    (version,) = store.lake.versions("prompt_scores")
    others = Provenance(version.inputs | {"weights_sha256": "0" * 64})
    monkeypatch.setattr(type(SCORES), "n_of_shard", 4)
    die("middle", name)
    store.write(PROMPT_SCORES, version.partition, [store.read("prompt_scores")], others)
    before = files(store)
    with pytest.raises(ModelError, match=r"were made with other files \(weights_sha256 differ\)"):
        score(store, name, variants="dated")
    assert files(store) == before


def test_a_removal_that_is_killed_leaves_no_scores_without_their_model(store, add, monkeypatch):
    name = add(store, "t5")
    score(store, name, limit="3")
    honest = store.lake.remove

    def dying(table, partition):
        honest(table, partition)
        raise KeyboardInterrupt

    monkeypatch.setattr(store.lake, "remove", dying)
    with pytest.raises(KeyboardInterrupt):
        remove(store, of_model(store, name))
    assert store.lake.partitions("models") == [name]
    assert not store.lake.partitions("prompt_scores")


def test_files_that_have_changed_are_not_scored(store, saved, tmp_path):
    folder = shutil.copytree(saved("t5"), tmp_path / "mine")
    add_model(store, model_request("mine", {"checkpoint": str(folder)}), quiet)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ModelError, match=r"model 'mine': the files .* are not those .*weights_sha256"):
        score(store, "mine")
    assert not rows(store)


REFUSED = (
    ({"benchmarks": "tempel"}, "found the benchmark 'tempel'; expected one that has prompts: ecbd, templama"),
    ({"releases": "nobody"}, "found the release 'nobody'; expected a release that has prompts: dynamic-templama-"),
    ({"variants": "loud"}, "found the variant 'loud'; expected some of "),
    ({"scorer": "answer_l2r"}, "seq2seq models have no template 'answer_l2r'; expected one of span, span_end"),
    ({"device": "abacus"}, "the device 'abacus' cannot be used"),
)


def test_words_that_cannot_be_meant_are_refused(store, add):
    name = add(store, "t5")
    for words, message in REFUSED:
        with pytest.raises(SettingsError, match=message):
            score(store, name, **words)
    assert not rows(store)


def test_models_that_cannot_be_used_are_refused(store):
    with pytest.raises(SettingsError, match="model 'nobody': no such model; there: none. Add it first"):
        score(store, "nobody")


def test_a_release_without_prompts_is_named_with_what_to_do(store, add):
    name = add(store, "t5")
    (made,) = {row["release"] for row in store.read("fact_releases").to_pylist()}
    for path in store.lake.files("dynamic_templama_prompts"):
        path.unlink()
    lines = []
    assert ask_model(SCORES, store, BENCHMARKS, name, SCORES.request.of({}), lines.append) == []
    assert any(f"tempkb release finish {made}" in line for line in lines)
    with pytest.raises((SettingsError, DesignError), match=f"tempkb release finish {made}"):
        score(store, name, releases=made)


@pytest.mark.slow
def test_shards_are_added_while_a_long_run_goes_on(store, tmp_path, monkeypatch, add):
    monkeypatch.setattr(type(SCORES), "n_of_shard", 4)
    name = add(store, "t5")
    copy = tmp_path / "copy"
    shutil.copytree(store.home.path, copy)
    score(store, name)
    at_once = files(store)

    monkeypatch.setenv("TEMPKB_HOME", str(copy))
    store, seen = open_store(), []
    honest = shards.Shards.finish

    def watched(self, scores):
        seen.append(len(rows(store)))
        honest(self, scores)

    monkeypatch.setattr(shards.Shards, "finish", watched)
    monkeypatch.setattr(running, "_ADDED_EVERY", -1.0)
    score(store, name)
    # Before each shard those before it are in the table.
    assert seen == [4 * number for number in range(len(seen))]
    assert len(seen) > 3
    assert files(store) == at_once


def test_scores_of_other_files_are_never_added_to(store, add, saved):
    """The row of a model was lost, and its name given to other files; its scores are still there."""
    name = add(store, "t5")
    score(store, name, limit="5")
    store.lake.remove("models", name)
    add_model(store, model_request(name, {"checkpoint": str(saved("t5_untied"))}), quiet)
    before = files(store)
    with pytest.raises(ModelError, match=r"were made with other files \(weights_sha256, .* tempkb model rm t5$"):
        score(store, name)
    assert files(store) == before
