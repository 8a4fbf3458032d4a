"""Views of what models make of dates: shares of pairs of a right and a wrong date, by hand."""

import pytest

from tempkb_tests.results.worlds import Q1, Q2, Q3, Q4, World

DAYS = {"2021-Q1": Q1, "2021-Q2": Q2, "2021-Q3": Q3, "2021-Q4": Q4}


class Dates(World):
    """Spells that are asked about with dates."""

    def spell(self, subject, nats, right, split="test"):
        """What the model gives for the object of a spell, by date."""
        for date, value in nats.items():
            prompt = f"{subject} {right} {date}"
            self.prompt(
                "dynamic_templama",
                DAYS[right],
                f"{subject}_P54_{right}@{date}",
                "Q1",
                prompt,
                subject,
                target="Reed",
                variant="dates",
                role="current" if date == right else "wrong_date",
                split=split,
            )
            self.score(prompt, value)

    def figures(self, **equal):
        return {
            (row["model"], row["split"], row["window_start"], row["aggregate"]): (row["value"], row["n_items"])
            for row in self.read("date_results", **equal)
        }


@pytest.fixture
def world():
    return Dates()


def test_a_pair_is_won_by_the_right_date_and_a_spell_by_all_of_its_pairs(world):
    world.spell("S1", {"2021-Q1": -1, "2021-Q2": -2, "2021-Q3": -3}, "2021-Q1")
    world.spell("S2", {"2021-Q2": -2, "2021-Q1": -2, "2021-Q3": -3, "2021-Q4": -4}, "2021-Q2", split="val")
    world.score("S2 2021-Q2 2021-Q4", None, "n", status="too_long")
    found = world.figures()
    # Of S2, equal is not won.
    assert found["m", "all", None, "win_rate"] == (4 / 5, 5)
    assert found["m", "all", None, "robustness"] == (1 / 2, 2)
    assert found["m", "val", None, "win_rate"] == (2 / 3, 3)
    assert found["m", "test", Q1, "win_rate"] == (1, 2)
    # Q1 against Q2 was asked in both directions, the other pairs of dates in one.
    assert found["m", "all", None, "win_rate_balanced"] == (1 / 2, 2)
    assert not [key for key in found if key[0] == "n"]
    (pair,) = world.read("date_pairs", right_date="2021-Q2", wrong_date="2021-Q4")
    assert (pair["query_id"], pair["subject_id"], pair["right_nats"], pair["wrong_nats"], pair["is_won"]) == (
        "S2_P54_2021-Q2",
        "S2",
        -2,
        -4,
        True,
    )


def test_a_model_that_likes_a_date_has_one_half_where_both_directions_weigh_the_same(world):
    # It gives 2021-Q2 more of everything, which is the right date of three spells, and the wrong one of one.
    for number, right in enumerate(("2021-Q2", "2021-Q2", "2021-Q2", "2021-Q1")):
        world.spell(f"S{number}", {"2021-Q1": -9, "2021-Q2": -1}, right)
    found = world.figures(split="all", window_start=None)
    assert found["m", "all", None, "win_rate"] == (3 / 4, 4)
    assert found["m", "all", None, "win_rate_balanced"] == (1 / 2, 4)


def test_intervals_are_clustered_by_subject(world):
    for number in range(12):
        wins = number % 3 != 0
        world.spell(f"S{number}", {"2021-Q1": -1, "2021-Q2": -2 if wins else 0}, "2021-Q1")
        world.spell(f"S{number}", {"2021-Q2": -1, "2021-Q1": -2 if wins else 0}, "2021-Q2")
    (row,) = world.read("date_results", aggregate="win_rate", split="all", window_start=None)
    (same,) = world.read("date_results", aggregate="win_rate_balanced", split="all", window_start=None)
    # Twelve means of 0 or 1, of which eight are 1: sqrt(12 / 11 * (4 * (2/3)^2 + 8 * (1/3)^2)) / 12.
    error = (12 / 11 * (4 * (2 / 3) ** 2 + 8 * (1 / 3) ** 2)) ** 0.5 / 12
    for one in (row, same):
        assert (one["value"], one["n_items"], one["n_clusters"]) == (pytest.approx(2 / 3), 24, 12)
        assert one["standard_error"] == pytest.approx(error, rel=1e-10)
        assert one["low"] < 2 / 3 < one["high"]


def test_chance_is_that_of_dates_in_any_order(world):
    """Of a spell with n wrong dates the right one is the likeliest once in n + 1 orders."""
    world.spell("S1", {"2021-Q1": -1, "2021-Q2": -2}, "2021-Q1")
    world.spell("S2", {"2021-Q1": -1, "2021-Q2": -2, "2021-Q3": -3, "2021-Q4": -4}, "2021-Q1")
    world.spell("S3", {"2021-Q2": -1, "2021-Q1": -2, "2021-Q3": -3}, "2021-Q2", split="val")
    rows = world.read("date_results")
    found = {(row["aggregate"], row["split"], row["window_start"]): row["chance"] for row in rows}
    assert {row["aggregate"] for row in rows} == {"win_rate", "robustness", "win_rate_balanced"}
    assert found["robustness", "all", None] == pytest.approx((1 / 2 + 1 / 4 + 1 / 3) / 3)
    assert found["robustness", "test", Q1] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert found["robustness", "val", None] == pytest.approx(1 / 3)
    assert {chance for (name, *_), chance in found.items() if name != "robustness"} == {0.5}
