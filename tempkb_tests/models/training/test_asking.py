"""Models that are told the time are asked as they were trained: with a date in front, or by the expert of the date."""

import json
import shutil
from datetime import date

import pytest
import torch

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.prompts import Prompt, Question
from tempkb.core.windows import Granularity, window_of
from tempkb.models.adding import add_model
from tempkb.models.checkpoints import load, read_checkpoint
from tempkb.models.dating import Dating, dating_of
from tempkb.models.decoding.decoder import Decoder
from tempkb.models.generations.kind import SAID
from tempkb.models.known import known_model
from tempkb.models.requests import request_of
from tempkb.models.scores.kinds import SCORES
from tempkb.models.scores.running import ask_model
from tempkb.models.scores.selecting import wanted
from tempkb.models.scores.steps import due_models
from tempkb.models.scoring import Scorer
from tempkb_tests.benchmarks.fact_queries.worlds import quiet

STARTS = ("2018-01-01", "2019-01-01", "2020-01-01")


def years(*first):
    return tuple(window_of(date(year, 1, 1), Granularity.YEAR) for year in first)


@pytest.mark.parametrize(
    ("left", "told"),
    [
        ("year: 2019 Ada plays for ", (2019, "year: 2019 Ada plays for ")),
        # The model knows years only.
        ("quarter: 2019-Q3 Ada plays for ", (2019, "year: 2019 Ada plays for ")),
        # As the paper does, any year is told.
        ("year: 2031 ", (2031, "year: 2031 ")),
        # What has no date is asked about the last period.
        ("Ada plays for ", (2020, "year: 2020 Ada plays for ")),
        ("", (2020, "year: 2020 ")),
        ("year: of plenty", (2020, "year: 2020 year: of plenty")),
    ],
)
def test_a_temporal_model_reads_the_date_in_front_as_in_its_training(left, told):
    period, text = Dating(years(2018, 2019, 2020), has_experts=False).told(left)
    assert (period.start.year, text) == told


@pytest.mark.parametrize(
    ("left", "told"),
    [
        ("year: 2019 Ada plays for ", (2019, "Ada plays for ")),
        ("quarter: 2018-Q3 Ada plays for ", (2018, "Ada plays for ")),
        ("year: 2031 Ada plays for ", (2020, "Ada plays for ")),
        ("year: 1999 Ada plays for ", (2018, "Ada plays for ")),
        ("Ada plays for ", (2020, "Ada plays for ")),
    ],
)
def test_the_expert_of_the_date_answers_or_the_nearest_one_and_reads_no_date(left, told):
    period, text = Dating(years(2018, 2019, 2020), has_experts=True).told(left)
    assert (period.start.year, text) == told


def test_a_date_is_put_into_the_periods_of_the_training():
    quarters = Dating((window_of(date(2020, 4, 1), Granularity.QUARTER),), has_experts=False)
    assert quarters.told("year: 2019 Ada")[1] == "quarter: 2019-Q1 Ada"


def told(folder, has_experts):
    """Write into the config of a checkpoint how its model is told a date."""
    file = folder / "config.json"
    periods = [{"start": start, "granularity": "year"} for start in STARTS]
    line = {"tempkb_dating": {"periods": periods, "has_experts": has_experts}}
    file.write_text(json.dumps(json.loads(file.read_text()) | line))
    return folder


def other_weights(folder, factor):
    """A checkpoint's file of weights, all of them multiplied."""
    from safetensors.torch import load_file, save_file

    weights = {name: factor * one for name, one in load_file(folder / "model.safetensors").items()}
    return lambda path: save_file(weights, path, {"format": "pt"})


@pytest.fixture
def checkpoint(saved, tmp_path):
    """Copies a tiny checkpoint: as a plain model, as a temporal one, and as experts of three years."""

    def copied(kind, how):
        folder = tmp_path / f"{kind}-{how}"
        shutil.copytree(saved(kind), folder)
        if how == "yearly":
            for factor, label in ((0.5, "2018"), (0.7, "2019")):
                other_weights(folder, factor)(folder / f"expert-{label}.safetensors")
        return folder if how == "plain" else told(folder, how == "yearly")

    return copied


def asked(store, name, kind=SCORES, **words):
    """What a model gives for the prompts of the home, by variant and text."""
    ask_model(kind, store, BENCHMARKS, name, kind.request.of({"device": "cpu", **words}), quiet)
    rows = store.read(kind.table.name, model=name).to_pylist()
    answers = {row[kind.key]: row for row in rows if row["rank"] in (None, 1)}
    prompts = store.read("templama_prompts").to_pylist()
    ids = {
        (row["variant"], Prompt(*texts) if kind is SCORES else Question(texts[0], texts[2])): row["prompt_id"]
        if kind is SCORES
        else Question(texts[0], texts[2]).question_id
        for row in prompts
        for texts in [(row["left_context"], row["target"], row["right_context"])]
    }
    return {place: answers[one] for place, one in ids.items() if one in answers}


def scored_by(folder, prompts, template="span_end"):
    scorer = Scorer(load(read_checkpoint(str(folder))), template)
    return [one.log_prob_nats for one in scorer.score(prompts)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_a_date_in_the_prompt_changes_what_a_temporal_model_reads_and_not_what_a_uniform_one_does(
    store, checkpoint, kind
):
    temporal, uniform = checkpoint(kind, "temporal"), checkpoint(kind, "plain")
    for name, folder in (("temporal", temporal), ("uniform", uniform)):
        add_model(store, request_of(name, {"checkpoint": str(folder)}), quiet)
    assert dating_of(known_model(store.lake, "temporal")).periods == years(2018, 2019, 2020)
    assert dating_of(known_model(store.lake, "uniform")) is None
    words = {"scorer": "span_end"}
    found, plain = asked(store, "temporal", **words), asked(store, "uniform", **words)
    assert {variant for variant, _ in plain} == {"undated", "no_subject"}
    # Some of the prompts of dates are dated ones.
    assert {variant for variant, _ in found} - {"dates"} == {"dated", "undated", "no_subject"}
    dated = [prompt for variant, prompt in found if variant == "dated"]
    assert {prompt.left[:11] for prompt in dated} == {"year: 2018 ", "year: 2019 ", "year: 2020 "}
    undated = [prompt for variant, prompt in plain if variant == "undated"]
    assert scored_by(uniform, undated) == pytest.approx(
        [plain["undated", one]["log_prob_nats"] for one in undated], rel=1e-5
    )
    last = [Prompt(f"year: 2020 {one.left}", one.target, one.right) for one in undated]
    assert scored_by(uniform, dated + last) == pytest.approx(
        [found["dated", one]["log_prob_nats"] for one in dated]
        + [found["undated", one]["log_prob_nats"] for one in undated],
        rel=1e-5,
    )
    assert due_models(SCORES, store, BENCHMARKS, [known_model(store.lake, "temporal")], SCORES.request.of(words)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["t5", "t5_untied", "gpt2"])
def test_experts_are_one_model_of_which_each_answers_about_its_own_year(store, checkpoint, kind, tmp_path):
    yearly = checkpoint(kind, "yearly")
    add_model(store, request_of("yearly", {"checkpoint": str(yearly)}), quiet)
    row = known_model(store.lake, "yearly")
    alone = {2020: checkpoint(kind, "plain")}
    assert row["n_parameters"] == 3 * read_checkpoint(str(alone[2020])).n_parameters
    for year in (2018, 2019):
        alone[year] = tmp_path / f"alone-{year}"
        shutil.copytree(alone[2020], alone[year])
        shutil.copy(yearly / f"expert-{year}.safetensors", alone[year] / "model.safetensors")
    found = asked(store, "yearly", scorer="span_end")
    for year, folder in alone.items():
        dated = [one for variant, one in found if variant == "dated" and one.left.startswith(f"year: {year} ")]
        assert len(dated) >= 15
        plain = [Prompt(one.left.removeprefix(f"year: {year} "), one.target, one.right) for one in dated]
        assert scored_by(folder, plain) == pytest.approx(
            [found["dated", one]["log_prob_nats"] for one in dated], rel=1e-5
        )
    undated = [one for variant, one in found if variant == "undated"]
    assert scored_by(alone[2020], undated) == pytest.approx(
        [found["undated", one]["log_prob_nats"] for one in undated], rel=1e-5
    )


def test_a_name_is_bound_to_the_weights_of_all_experts_and_to_how_dates_are_told(checkpoint):
    before = read_checkpoint(str(checkpoint("gpt2", "yearly")))
    (before.folder / "expert-2018.safetensors").unlink()
    other_weights(before.folder, 0.6)(before.folder / "expert-2018.safetensors")
    after = read_checkpoint(str(before.folder))
    assert after.weights_sha256 != before.weights_sha256
    assert after.config_sha256 == before.config_sha256
    assert read_checkpoint(str(checkpoint("gpt2", "temporal"))).config_sha256 != after.config_sha256


@pytest.mark.slow
def test_experts_answer_questions_about_their_year(store, checkpoint):
    yearly = checkpoint("t5", "yearly")
    add_model(store, request_of("yearly", {"checkpoint": str(yearly)}), quiet)
    found = asked(store, "yearly", SAID)
    dated = [one for variant, one in found if variant == "dated"]
    last = [one for one in dated if one.left.startswith("year: 2020 ")]
    assert 0 < len(last) < len(dated)
    with torch.no_grad():
        decoder = Decoder(load(read_checkpoint(str(checkpoint("t5", "plain")))), "greedy")
        plain = decoder.answer([Question(one.left.removeprefix("year: 2020 "), one.right) for one in last])
    assert [one.text for (one,) in plain] == [found["dated", one]["text"] for one in last]


def test_what_is_asked_of_a_model_that_is_told_the_time_is_what_a_person_names(store, checkpoint):
    add_model(store, request_of("temporal", {"checkpoint": str(checkpoint("gpt2", "temporal"))}), quiet)
    row = known_model(store.lake, "temporal")

    def variants(**words):
        found = wanted(SCORES, store, BENCHMARKS, row, SCORES.request.of(words), quiet)
        return [(one.template, source.variants) for one in found for source in one.sources]

    assert variants(variants="undated") == [("span_end", ("undated",)), ("sentence", ("undated",))]
    assert variants()[0][1][:2] == ("dated", "undated")
