"""Prompts about later years, and what follows from their scores, by hand: a few facts, and a set of three cities."""

import math
from datetime import date

import pytest

from tempkb.core.prompts import Prompt
from tempkb_tests.results.worlds import World

YEARS = range(2020, 2032)  # of windows of 2020 and 2021, and ten years behind the last
IN_2020, IN_2021 = date(2020, 1, 1), date(2021, 1, 1)
CITIES = ("Salem", "Ogden", "Provo")
FINAL, CAPITAL = "The final will take place in ", "The capital is "


class Later(World):
    """A release of years in which subjects play for teams, and a model that knows all of 2021."""

    def __init__(self):
        super().__init__()
        self.model(certainly=date(2022, 6, 1), possibly=date(2022, 6, 1))
        self.add("fact_releases", release="r", granularity="year", benchmark="templama")

    def plays(self, subject, team, *windows, split="test", template=""):
        for window in windows:
            self.prompt(
                "templama",
                window,
                f"{subject}_P54_{window.year}{template}",
                team,
                f"{subject} {team}",
                subject,
                left_context=f"{subject} plays for ",
                target=team,
                right_context=".",
                split=split,
            )

    def asks(self, number, left, change_class):
        for city in CITIES:
            about = {"variant": "future", "role": "candidate", "split": None, "left_context": left, "target": city}
            self.prompt("templama", None, f"future.{number}", city, left + city, "c", right_context=".", **about)
        answers = [{"entity_id": city, "label": city, "aliases": []} for city in CITIES]
        about = {"answer_set": "us_city", "change_class": change_class, "answers": answers}
        self.add("future_relation_queries", release="r", query_no=number, query=f"{left}_X_.", **about)

    def gives(self, nats, left, target, **more):
        self.score(Prompt(left, target, ".").prompt_id, nats, **more)


def asked(world, **equal):
    return [(row["year"], row["left_context"], row["target"]) for row in world.read("later_prompts", **equal)]


def test_every_object_of_a_subject_is_asked_about_in_every_year_to_ten_behind_the_last():
    world = Later()
    world.plays("Ann", "Reed", IN_2020, IN_2021)
    world.plays("Ann", "Salt", IN_2021)
    texts = {(year, team) for year in YEARS for team in ("Reed", "Salt")}
    assert sorted(asked(world, variant="later_dated")) == sorted(
        (year, f"year: {year} Ann plays for ", team) for year, team in texts
    )
    assert sorted(asked(world, variant="later_in_year")) == sorted(
        (year, f"In {year}, Ann plays for ", team) for year, team in texts
    )
    row = world.one("later_prompts", variant="later_dated", year=2031, target_id="Salt")
    assert row["prompt_id"] == Prompt("year: 2031 Ann plays for ", "Salt", ".").prompt_id
    assert (row["item_id"], row["window_start"], row["cluster_id"]) == ("Ann_P54", date(2031, 1, 1), "Ann")


def test_queries_about_the_future_lose_the_capital_of_their_article():
    world = Later()
    world.plays("Ann", "Reed", IN_2020, IN_2021)
    world.asks(1, FINAL, "frequent")
    assert sorted(asked(world, variant="future_dated", target_id="Salem")) == [
        (year, f"year: {year} The final will take place in ", "Salem") for year in YEARS
    ]
    (text,) = asked(world, variant="future_in_year", target_id="Salem", year=2031)
    assert text == (2031, "In 2031, the final will take place in ", "Salem")


def test_only_first_templates_of_the_test_split_are_asked():
    world = Later()
    world.plays("Ann", "Reed", IN_2021, split="train")
    world.plays("Dan", "Reed", IN_2021, template="_2")
    world.plays("Eve", "Reed", IN_2021)
    assert {row["item_id"] for row in world.read("later_prompts")} == {"Eve_P54"}


def likelihoods():
    """In 2021 Ann plays for Salt and Moss, having left Reed, and Dan for Bath, always.

    Ann: Moss is the more likely one, by 1, and Reed more likely than both. Dan: Bath is the only one.
    """
    world = Later()
    world.plays("Ann", "Reed", IN_2020)
    for team in ("Salt", "Moss"):
        world.plays("Ann", team, IN_2021)
    world.plays("Dan", "Bath", IN_2020, IN_2021)
    for team, nats in {"Reed": -1.0, "Salt": -4.0, "Moss": -3.0}.items():
        world.gives(nats, "year: 2021 Ann plays for ", team)
    world.gives(-3.5, "year: 2022 Ann plays for ", "Moss")
    world.gives(-9.0, "year: 2022 Ann plays for ", "Salt")
    world.gives(-2.0, "year: 2021 Dan plays for ", "Bath")
    world.gives(-1.75, "year: 2022 Dan plays for ", "Bath")
    world.gives(-5.0, "year: 2031 Dan plays for ", "Bath")
    return world


def shown(world, **equal):
    rows = world.read("future_likelihoods", **equal)
    return {(row["kind"], row["condition"], row["years_after"]): row["value"] for row in rows}


def test_likelihoods_are_relative_to_the_last_year_that_the_model_knows():
    assert shown(likelihoods(), variant="later_dated") == {
        ("multiple", "all", 0): 0,
        ("multiple", "all", 1): -0.5,
        ("single", "all", 0): 0,
        ("single", "all", 1): 0.25,
        ("single", "all", 10): -3,
        ("single", "first", 0): 0,
        ("single", "first", 1): 0.25,
        ("single", "first", 10): -3,
    }


def test_an_exact_match_in_the_last_window_makes_a_query_one_that_is_answered_rightly():
    world = likelihoods()
    about = {"benchmark": "templama", "release": "r", "model": "m", "decoder": "d", "wording": "once"}
    world.add("judged_answers", item_id="Ann_P54_2021", exact_match=1.0, **about)
    world.add("judged_answers", item_id="Dan_P54_2021", exact_match=0.0, **about)
    world.add("judged_answers", item_id="Dan_P54_2020", exact_match=1.0, **about)
    right = {key: value for key, value in shown(world).items() if key[1] == "right"}
    assert right == {("multiple", "right", 0): 0, ("multiple", "right", 1): -0.5}


def test_the_last_year_is_the_models_own():
    world = likelihoods()
    world.model("early", date(2021, 1, 1), date(2021, 1, 1))
    world.model("undated")
    for model in ("early", "undated"):
        for year, nats in ((2020, -2.0), (2021, -2.5)):
            world.gives(nats, f"year: {year} Dan plays for ", "Bath", model=model)
    row = world.one("future_likelihoods", model="early", condition="all", years_after=1)
    assert (row["value"], row["year"], row["n_items"], row["n_clusters"]) == (-0.5, 2021, 1, 1)
    assert {row["model"] for row in world.read("future_likelihoods")} == {"m", "early"}


def test_intervals_are_by_subject():
    world = Later()
    changes = [(-1) ** number * number / 4 for number in range(12)]
    for number, change in enumerate(changes):
        world.plays(f"Q{number}", "Reed", IN_2021)
        world.gives(-2.0, f"In 2021, Q{number} plays for ", "Reed")
        world.gives(-2.0 + change, f"In 2024, Q{number} plays for ", "Reed")
    row = world.one("future_likelihoods", condition="all", years_after=3)
    mean = sum(changes) / 12
    error = math.sqrt(sum((one - mean) ** 2 for one in changes) / 11 / 12)
    assert (row["value"], row["standard_error"]) == (pytest.approx(mean), pytest.approx(error))
    assert row["high"] == pytest.approx(mean + 2.2009851600916384 * error)


def entropies(**equal):
    """Of the final, the model gives the cities 1/2, 1/4 and 1/4 of what it gives to all three; of the capital, 1/3."""
    world = Later()
    world.plays("Ann", "Reed", IN_2020, IN_2021)
    world.asks(1, FINAL, "frequent")
    world.asks(2, CAPITAL, "never")
    for city, share in zip(CITIES, (0.5, 0.25, 0.25), strict=True):
        world.gives(math.log(share) - 7, f"year: 2023 {FINAL}", city)
        world.gives(-9.0, f"year: 2023 {CAPITAL}", city)
    world.gives(-1.0, f"year: 2024 {CAPITAL}", "Salem")
    return world.read("future_entropies", **equal)


def test_entropies_are_over_the_renormalised_set():
    rows = sorted(entropies(answer_set="all"), key=lambda row: row["change_class"])
    assert [(row["change_class"], row["year"], row["years_after"], row["value"]) for row in rows] == [
        ("frequent", 2023, 2, pytest.approx(1.5 * math.log(2))),
        ("never", 2023, 2, pytest.approx(math.log(3))),
    ]
    assert len(entropies(answer_set="us_city")) == 2


def test_a_set_of_which_most_has_no_score_has_no_entropy():
    assert not entropies(year=2024)


def test_the_year_of_an_object_is_asked_for_and_all_its_years_are_right():
    world = Later()
    world.plays("Ann", "Reed", IN_2020, IN_2021)
    world.plays("Ann", "Moss", IN_2021)
    world.plays("Dan", "Reed", IN_2021, split="train")
    world.plays("Dan", "Reed", IN_2021, template="_2")
    rows = world.read("when_prompts")
    assert {(row["item_id"], row["left_context"], row["target"], row["right_context"]) for row in rows} == {
        ("Ann_P54_Reed", "Ann plays for Reed in the year ", "2020", "."),
        ("Ann_P54_Reed", "Ann plays for Reed in the year ", "2021", "."),
        ("Ann_P54_Moss", "Ann plays for Moss in the year ", "2021", "."),
    }
    assert {row["cluster_id"] for row in rows} == {"Ann"}
    assert all(row["prompt_id"] == Prompt(row["left_context"], row["target"], ".").prompt_id for row in rows)
