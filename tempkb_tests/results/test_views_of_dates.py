"""Views of what models make of dates: shares of pairs of a right and a wrong date, by hand."""

from datetime import date

import pytest

from tempkb_tests.results.worlds import GPT, Q1, Q2, Q3, Q4, T5, World

DAYS = {"2021-Q1": Q1, "2021-Q2": Q2, "2021-Q3": Q3, "2021-Q4": Q4}


class Dates(World):
    """Spells that are asked about with dates."""

    def spell(self, subject, nats, right, split="test"):
        """What the model gives for the object of a spell, by date."""
        for told_on, value in nats.items():
            prompt = f"{subject} {right} {told_on}"
            self.prompt(
                "dynamic_templama",
                DAYS[right],
                f"{subject}_P54_{right}@{told_on}",
                "Q1",
                prompt,
                subject,
                target="Reed",
                variant="dates",
                role="current" if told_on == right else "wrong_date",
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


class Told(World):
    """Queries of TempLAMA by year, of one subject each, and what models give and say; an object's label is its id."""

    def query(self, subject, year, *objects, text="{} plays for _X_."):
        self.add(
            "templama_queries",
            release="r",
            window_start=date(year, 1, 1),
            query_id=f"{subject}_{year}",
            template_no=1,
            subject_id=subject,
            relation="P54",
            query=text.format(subject),
            answers=[{"entity_id": one, "label": one, "aliases": []} for one in objects],
        )

    def tell(self, subject, year, variant, nats, previous=(), scorer=GPT):
        """Log-probabilities by object."""
        for one, value in nats.items():
            self._give(f"{subject}_{year}", subject, year, one, variant, value, one in previous and "previous", scorer)

    def dates(self, subject, one, nats, right):
        """Log-probabilities of an object by date, of which one is right."""
        for year, value in nats.items():
            role = "" if year == right else "wrong_date"
            self._give(f"{subject}_{right}@{year}", subject, right, one, "dates", value, role, GPT)

    def _give(self, item, subject, year, one, variant, value, role, scorer):
        prompt = f"{item} {one} {variant}"
        self.prompt(
            "templama",
            date(year, 1, 1),
            item,
            one,
            prompt,
            subject,
            variant=variant,
            role=role or "current",
            target=one,
        )
        self.score(prompt, value, scorer=scorer)

    def said(self, subject, year, wording, is_right):
        of = {"benchmark": "templama", "release": "r", "model": "m", "decoder": "causal.greedy-1.f32"}
        self.add("judged_answers", **of, item_id=f"{subject}_{year}", wording=wording, exact_match=float(is_right))


def told(world, measure):
    return {
        (row["asked"], row["item_id"], row["object_id"], row["other"]): row["is_right"]
        for row in world.read("dated_choices", measure=measure)
    }


def test_choices_between_objects_and_between_dates_are_right_where_the_likelier_one_held():
    world = Told()
    for year, objects in ((2021, ["Reed"]), (2022, ["Reed", "Salt"]), (2023, ["Salt"])):
        world.query("S1", year, *objects)
    world.tell("S1", 2023, "dated", {"Salt": -1, "Reed": -2}, ["Reed"])
    world.tell("S1", 2023, "undated", {"Salt": -3, "Reed": -2}, ["Reed"])
    # In the year of the change both hold, so that there is nothing to choose.
    world.tell("S1", 2022, "dated", {"Salt": -1, "Reed": -2})
    world.dates("S1", "Reed", {2021: -1, 2023: -2}, right=2021)
    world.dates("S1", "Salt", {2023: -3, 2021: -4}, right=2023)
    assert told(world, "previous") == {
        ("dated", "S1_2023", "Salt", "Reed"): True,
        ("undated", "S1_2023", "Salt", "Reed"): False,
    }
    assert told(world, "date") == {
        ("dated", "S1_2021", "Reed", "2023"): True,
        ("dated", "S1_2023", "Salt", "2021"): True,
    }
    # Reed is likelier on either date.
    assert told(world, "object") == {
        ("dated", "S1_2021", "Reed", "Salt"): True,
        ("dated", "S1_2023", "Salt", "Reed"): False,
    }


def test_answers_count_where_the_query_lost_an_answer_and_where_it_kept_all():
    world = Told()
    for year, objects in ((2020, ["Moss"]), (2021, ["Reed", "Moss"]), (2022, ["Reed"]), (2023, ["Reed"])):
        world.query("S1", year, *objects)
        world.said("S1", year, "once", is_right=year == 2023)
        world.said("S1", year, "dated", is_right=True)
    # The first year follows none, and in 2021 an answer came beside another.
    assert told(world, "answer_changed") == {
        ("undated", "S1_2022", None, None): False,
        ("dated", "S1_2022", None, None): True,
    }
    assert told(world, "answer_unchanged") == {
        ("undated", "S1_2023", None, None): True,
        ("dated", "S1_2023", None, None): True,
    }


@pytest.mark.parametrize(("scorer", "n"), [(GPT, 0), (T5, 1)])
def test_queries_that_begin_with_their_answer_are_left_out_for_causal_models(scorer, n):
    world = Told()
    for year, one in ((2022, "Reed"), (2023, "Salt")):
        world.query("S1", year, one, text="_X_ leads {}.")
    world.tell("S1", 2023, "dated", {"Salt": -1, "Reed": -2}, ["Reed"], scorer)
    assert len(told(world, "previous")) == n


def test_shares_of_right_choices_have_intervals_by_subject():
    world = Told()
    for number in range(12):
        for year, one in ((2022, "Reed"), (2023, "Salt")):
            world.query(f"S{number}", year, one)
        world.tell(f"S{number}", 2023, "dated", {"Salt": -1, "Reed": -2 if number % 3 else 0}, ["Reed"])
    row = world.one("dated_choice_results", measure="previous")
    assert (row["value"], row["n_items"], row["n_clusters"]) == (pytest.approx(2 / 3), 12, 12)
    assert row["low"] < 2 / 3 < row["high"]
