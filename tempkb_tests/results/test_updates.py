"""Models that were brought up to date: rows written by hand, and means of years by hand."""

from datetime import date

import pytest

from tempkb_tests.results.worlds import T5, World

YEARS = {year: date(year, 1, 1) for year in (2020, 2021, 2022)}
F1 = {"base": (0.8, 0.6, 0.1), "updated": (0.7, 0.6, 0.5), "anew": (0.9, 0.8, 0.7), "uniform": (0.3, 0.2, 0.9)}


def train(world, model, base, first, last, regime="temporal", share=None, steps=9):
    world.add("models", model=model, n_parameters=10, status="ready")
    for year in range(first, last + 1):
        world.add(
            "mixtures",
            model=model,
            window_start=YEARS[year],
            source="text",
            name="news",
            text_id=f"{year}",
            regime=regime,
            period="year",
            base=base,
            steps=steps,
            newest_share=share,
        )


def answer(world, model, wording, year, n, f1, **more):
    for number in range(n):
        row = {"item_id": f"{year} {number}", "split": "test", "cluster_id": f"S{number}"} | more
        world.add(
            "judged_answers", model=model, wording=wording, window_start=YEARS[year], f1=f1, decoder="d", release="r",
            benchmark="templama", **row,
        )  # fmt: skip


@pytest.fixture
def world():
    """A base that ends with 2021, what became of it, and what was trained anew; beside others of another kind."""
    world = World()
    train(world, "base", "t5", 2020, 2021)
    train(world, "updated", "base", 2020, 2022, share=0.5, steps=3)
    train(world, "anew", "t5", 2020, 2022)
    train(world, "uniform", "base", 2020, 2022, "uniform")
    train(world, "shorter", "t5", 2021, 2022)
    for model, values in F1.items():
        for year, value in zip(YEARS, values, strict=True):
            # Ten subjects in 2020 and 2022, and eleven in 2021; each year weighs the same.
            answer(world, model, "dated", year, 11 if year == 2021 else 10, value)
            answer(world, model, "once", year, 10, 0.0)
            answer(world, model, "dated", year, 1, 0.0, split="train", item_id="other")
    return world


def test_old_years_are_those_of_the_base_and_each_year_weighs_the_same(world):
    rows = world.read("updated_models", aggregate="f1")
    found = {(row["model"], row["years"]): row["value"] for row in rows}
    assert found == {
        (model, years): pytest.approx(value)
        for model, (first, second, third) in F1.items()
        if model != "uniform"
        for years, value in (("old", (first + second) / 2), ("new", third))
    }
    told = {row["model"]: (row["alpha"], row["newest_share"], row["steps"], row["base"]) for row in rows}
    assert told == {
        "base": ("before", None, 9, "base"),
        "updated": ("0.5", 0.5, 3, "base"),
        "anew": ("anew", None, 9, "base"),
    }
    assert {(row["years"], row["n_items"], row["n_clusters"]) for row in rows} == {("old", 21, 11), ("new", 10, 10)}


def test_a_right_object_is_compared_with_one_of_the_year_before_by_date(world):
    """In 2022 the update prefers two of three, its base none; undated scores do not count for them."""
    world.add("fact_releases", release="r", benchmark="templama")
    scores = {"base": (-9, -9, -9), "updated": (-1, -2, -9)}
    for number in range(3):
        for variant, role in (("dated", "current"), ("dated", "previous"), ("undated", "current")):
            prompt = f"{variant} {role} {number}"
            world.prompt("templama", YEARS[2022], f"i{number}", role, prompt, f"S{number}", variant=variant, role=role)
            for model, values in scores.items():
                value = {"current": values[number], "previous": -5}[role]
                world.add(
                    "prompt_scores", model=model, scorer=T5, prompt_id=prompt, status="scored", log_prob_nats=value
                )
    rows = world.read("updated_models", aggregate="prefers_right")
    assert {(row["model"], row["years"]): (row["value"], row["n_items"]) for row in rows} == {
        ("base", "new"): (0, 3),
        ("updated", "new"): (pytest.approx(2 / 3), 3),
    }
