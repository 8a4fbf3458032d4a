"""TempLAMA's items in a home with tiny models that were trained and asked there, beside plain computations."""

import math
from collections import defaultdict
from statistics import mean

import pytest
import torch

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.prompts import Question
from tempkb.models.generations.kind import SAID
from tempkb.models.generations.measures import token_f1
from tempkb.models.scores.kinds import SCORES
from tempkb.models.scores.running import ask_model
from tempkb.models.training.making import Training
from tempkb.models.training.requests import train_request
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.results.papers.items import lacking, listings, papers, rows_of
from tempkb_tests.benchmarks.fact_queries.worlds import quiet
from tempkb_tests.models.training.conftest import (  # noqa: F401 - fixtures of this module
    WORDS,
    YEARS,
    built,
    club,
    dated,
    name_of_release,
    saved,
    sentences,
    store,
    write_texts,
)
from tempkb_tests.results.making import make
from tempkb_tests.results.test_judging import answer

LITTLE = "steps=2,batch_size=8,mini_batch_size=4,texts_per_query=3"
TEMPLAMA = papers()["templama"]
MADE = ("table-2", "table-3", "table-4", "table-5", "table-6", "table-7", "figure-2")
ASKED = {
    SCORES: ({"variants": "text_undated,text_dated"}, {"benchmarks": "templama"}),
    SAID: ({"variants": "text_undated,text_dated"}, {"benchmarks": "templama"}, {"variants": "when"}),
}


def test_of_the_years_of_an_object_each_is_right(store, name_of_release):  # noqa: F811
    questions = defaultdict(set)
    for row in store.ask("FROM when_prompts", "when_prompts"):
        questions[row["left_context"]].add(row["target"])
    left, years = max(questions.items())
    assert left.endswith(" in the year ")
    answer(store, "tiny", {(left, "."): (f"the {min(years)}", "answered")})
    make(store, JUDGED_ANSWERS)
    (row,) = store.read("judged_answers", benchmark="templama_when").to_pylist()
    assert (row["release"], row["wording"], row["exact_match"]) == (name_of_release, "when", 1.0)
    assert set(row["accepted"]) == years


def test_what_is_lacking_is_said_with_a_command(store):  # noqa: F811
    for name in MADE:
        said = lacking(store, TEMPLAMA, TEMPLAMA.items[name])
        assert said, name
        assert all(": tempkb " in one for one in said)
        assert rows_of(store, TEMPLAMA.items[name]) == []


def cells(store, name, model):  # noqa: F811
    """What an item says of a model and dated text, by group of years."""
    about = {"model": model, "release": "home", "span": "2018\u20132019"}
    rows = rows_of(store, TEMPLAMA.items[name])
    return {row["years"]: row["value"] for row in rows if about.items() <= row.items()}


@pytest.mark.slow
def test_every_item_of_trained_models_is_made(store, saved, name_of_release, monkeypatch):  # noqa: F811
    from tempkb.models.training.exercises import learn

    def teach(lesson, folder, log, n_gpus=0):
        folder.mkdir(parents=True)
        return folder / "checkpoint", learn(lesson, folder, 1e9, lambda _step: None)

    monkeypatch.setattr("tempkb.models.training.making.teach", teach)
    for year in YEARS:
        clubs = [(n, club(n, year)) for n in range(3)]
        held_out = [dated(year, f"On day {n} of {year} the {own} won.", [own], "test") for n, own in clubs]
        write_texts(store, [*sentences(year), *held_out])
    wanted = {
        "uniform": ("uniform", "2018-01-01..2020-01-01"),
        "yearly": ("yearly", "2018-01-01..2020-01-01"),
        "temporal": ("temporal", "2018-01-01..2020-01-01"),
        "long": ("temporal", "2018-01-01..2021-01-01"),
        "y2018": ("uniform", "2018-01-01..2019-01-01"),
        "y2019": ("uniform", "2019-01-01..2020-01-01"),
    }
    with torch.random.fork_rng():
        for name, (regime, windows) in wanted.items():
            about = {"regime": regime, "windows": windows, "base": str(saved("t5")), "release": name_of_release}
            Training(store, train_request(name, {**WORDS, **about, "settings": LITTLE})).trained(print)
    torch.use_deterministic_algorithms(False)
    for name in wanted:
        for kind, requests in ASKED.items():
            for words in requests:
                ask_model(kind, store, BENCHMARKS, name, kind.request.of({"device": "cpu", **words}), quiet)
    make(store, JUDGED_ANSWERS)
    for name in MADE:
        item = TEMPLAMA.items[name]
        rows = rows_of(store, item)
        assert rows or name == "table-5", name
        assert not lacking(store, TEMPLAMA, item), name
        assert [listing.sheet(own).lines for listing, own in listings(TEMPLAMA, name, rows)] or name == "table-5"
    said = {row["question_id"]: row["text"] for row in store.read("generations", model="temporal").to_pylist()}
    texts = store.ask("FROM text_prompts", "text_prompts")
    by_year = defaultdict(list)
    for row in texts:
        if row["variant"] == "text_dated":
            by_year[row["window_start"].year].append(
                token_f1(said[Question(row["left_context"], row["right_context"]).question_id] or "", row["target"])
            )
    assert [len(by_year[year]) for year in YEARS] == [3, 3, 3]
    assert cells(store, "table-2", "temporal") == pytest.approx(
        {
            "training": mean(mean(by_year[year]) for year in (2018, 2019)),
            "later": mean(by_year[2020]),
            "all years": mean(map(mean, by_year.values())),
        }
    )
    scores = {row["prompt_id"]: row for row in store.read("prompt_scores", model="uniform").to_pylist()}
    own = [
        scores[row["prompt_id"]]
        for row in texts
        if row["variant"] == "text_undated" and row["window_start"].year == 2020  # noqa: PLR2004
    ]
    nats, n = (sum(one[what] for one in own) for what in ("log_prob_nats", "n_tokens"))
    assert cells(store, "table-7", "uniform")["later"] == pytest.approx(math.exp(-nats / n))
