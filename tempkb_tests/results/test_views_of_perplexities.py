"""Perplexities of spans and of objects, from log-probabilities written by hand."""

import math
import statistics
from datetime import date

import pytest

from tempkb_tests.results.worlds import BERT, GPT, Q1, Q2, Q3, T5, Cloze, Facts, World, clustered, figures

EXP = math.exp
VARIANTS = ("original", "no_ent", "random_definition", "definition")


def result(world, aggregate, **equal):
    return world.one(
        "ecbd_results",
        **{
            "aggregate": aggregate,
            "variant": "original",
            "split": "test",
            "span_kind": "all",
            "origin_year": 0,
            **equal,
        },
    )


@pytest.fixture
def cloze():
    """A has items of 1 and 3 nats a token and was born in 2021; B has one of 5, and was born in 2022."""
    world = Cloze()
    world.item("a1", "A", 1, kind="np")
    world.item("a2", "A", 3, kind="random")
    world.item("b1", "B", 5, origin=date(2022, 2, 1), kind="np", n_tokens=7)
    return world


def test_each_aggregate_is_a_mean_of_its_own(cloze):
    assert result(cloze, "ppl_entity_macro")["value"] == pytest.approx(EXP((2 + 5) / 2))
    assert result(cloze, "ppl_micro")["value"] == pytest.approx(EXP((1 + 3 + 5) / 3))
    assert result(cloze, "ppl_example")["value"] == pytest.approx((EXP(1) + EXP(3) + EXP(5)) / 3)
    assert cloze.read("ecbd_results", aggregate="ppl_2021") == []
    for name in ("ppl_entity_macro", "ppl_micro", "ppl_example"):
        row = result(cloze, name)
        assert (row["n_items"], row["n_clusters"], row["metric"]) == (3, 2, "perplexity")
        assert (row["low"], row["high"]) == (None, None)


def test_years_pool_entities_and_kinds_of_span_are_apart(cloze):
    # The same entity under another year: over all years it is still one.
    cloze.item("a3", "A", 8, origin=date(2022, 1, 1), kind="np")
    found = {
        (row["origin_year"], row["span_kind"]): (row["value"], row["n_clusters"])
        for row in cloze.read("ecbd_results", aggregate="ppl_entity_macro")
    }
    assert found == {
        (2021, "all"): pytest.approx((EXP(2), 1)),
        (2021, "np"): pytest.approx((EXP(1), 1)),
        (2021, "random"): pytest.approx((EXP(3), 1)),
        (2022, "all"): pytest.approx((EXP((8 + 5) / 2), 2)),
        (2022, "np"): pytest.approx((EXP((8 + 5) / 2), 2)),
        # A's mean is 4, of three items. The mean of the years' values would be another number.
        (0, "all"): pytest.approx((EXP((4 + 5) / 2), 2)),
        (0, "np"): pytest.approx((EXP((4.5 + 5) / 2), 2)),
        (0, "random"): pytest.approx((EXP(3), 1)),
    }


def test_popular_entities_are_a_subset_of_their_own_and_in_no_year(cloze):
    cloze.item("p1", "P", 9, origin=date(1066, 1, 1), subset="popular", granularity=None)
    cloze.item("p2", "Q", 7, origin=None, subset="popular", granularity=None)
    assert result(cloze, "ppl_micro", subset="popular")["value"] == pytest.approx(EXP(8))
    assert {row["origin_year"] for row in cloze.read("ecbd_results", subset="popular")} == {0}
    assert result(cloze, "ppl_micro", subset="odie")["n_items"] == 3


def test_releases_splits_models_and_variants_are_apart_and_items_without_a_score_do_not_count(cloze):
    cloze.item("a1", "A", {}, release="f")
    cloze.prompt("ecbd", Q2, "a1", "answer", "a1 original", "A", release="f", variant="original")
    cloze.item("d1", "D", 2, split="dev")
    cloze.score("b1 original", None, status="too_long", scorer="causal.span-1.f32", model="other")
    cloze.score("a1 original", -6.0, scorer="masked.answer_l2r-1.f32", model="bert")
    assert result(cloze, "ppl_micro", release="e", model="m")["n_items"] == 3
    assert result(cloze, "ppl_micro", release="f", model="m")["value"] == pytest.approx(EXP(1))
    assert result(cloze, "ppl_micro", split="dev")["value"] == pytest.approx(EXP(2))
    assert cloze.read("ecbd_results", model="other") == []
    bert = result(cloze, "ppl_micro", release="e", model="bert")
    assert (bert["metric"], bert["value"]) == ("pseudo-perplexity", pytest.approx(EXP(3)))


def test_the_first_versions_measure_averages_both_sentinels_in():
    world = Cloze()
    for item, entity, nats in (
        ("a1", "A", [-9.0, -1.0, -3.0, -0.5]),
        ("a2", "A", [-1.0, -1.0]),
        ("b1", "B", [-2.0, -4.0]),
    ):
        world.item(item, entity, {"original": None})
        world.score(
            f"{item} original", sum(nats[1:]), "t5", T5, len(nats) - 1, n_before=1, n_after=1, token_log_probs=nats
        )
    # A model without sentinels has the same scorer, and no such measure.
    world.score("a1 original", -3.0, "bart", T5, 2, n_before=0, n_after=1, token_log_probs=[-1.0, -2.0])
    world.score(
        "a1 original", -3.0, "t5", "seq2seq.span-1.f32", 2, n_before=1, n_after=0, token_log_probs=[-5.0, -1.0, -2.0]
    )
    row = result(world, "ppl_2021")
    assert (row["model"], row["scorer"]) == ("t5", T5)
    assert row["value"] == pytest.approx(EXP(((13.5 / 4 + 1) / 2 + 3) / 2))
    assert (row["n_items"], row["n_clusters"]) == (3, 2)
    assert result(world, "ppl_entity_macro", model="bart")["value"] == pytest.approx(EXP(1.5))


def test_intervals_of_perplexities_are_exponentials_of_clustered_ones():
    world, items = Cloze(), []
    for number in range(12):
        for at in range(1 + number % 3):
            nats = 2 + (number * 5 % 7) / 4 + at
            world.item(f"{number}-{at}", f"E{number}", nats)
            items.append((f"E{number}", nats))
    means = [statistics.mean(nats for entity, nats in items if entity == one) for one in sorted(dict(items))]
    value, error, low, high = clustered(means, range(12))
    macro = result(world, "ppl_entity_macro")
    assert figures(macro) == pytest.approx((EXP(value), EXP(value) * error, EXP(low), EXP(high)), rel=1e-4)
    assert (macro["n_items"], macro["n_clusters"]) == (24, 12)
    value, error, low, high = clustered([nats for _, nats in items], [entity for entity, _ in items])
    assert figures(result(world, "ppl_micro")) == pytest.approx(
        (EXP(value), EXP(value) * error, EXP(low), EXP(high)), rel=1e-4
    )
    example = clustered([EXP(nats) for _, nats in items], [entity for entity, _ in items])
    assert figures(result(world, "ppl_example")) == pytest.approx(example, rel=1e-4)


def test_variants_are_compared_over_items_that_have_all_of_them():
    world, values = Cloze(), {name: [] for name in VARIANTS}
    for number in range(11):
        nats = {name: 2 + at * 0.5 + (number * (at + 3) % 5) / 3 for at, name in enumerate(VARIANTS)}
        for name, value in nats.items():
            values[name].append(value)
        world.item(f"i{number}", f"E{number}", nats)
    # Without a random definition, or without a score of it, an item is not compared.
    world.item("i98", "E1", {"original": 40, "no_ent": 41, "definition": 42})
    world.item("i99", "E99", {"original": 40, "no_ent": 41, "definition": 42, "random_definition": None})
    found = {
        (row["variant"], row["aggregate"]): row for row in world.read("ecbd_variants", span_kind="all", origin="all")
    }
    assert {row["n_items"] for row in found.values()} == {11}
    original = values["original"]
    for name in VARIANTS:
        macro = found[name, "ppl_entity_macro"]
        assert macro["value"] == pytest.approx(EXP(statistics.mean(values[name])))
        paired = [one - other for one, other in zip(values[name], original, strict=True)]
        difference = found[name, "nats_minus_original"]
        expected = clustered(paired, range(11))
        if name == "original":
            assert (difference["value"], difference["standard_error"]) == (0, 0)
            continue
        assert figures(difference) == pytest.approx(expected, rel=1e-4)
        # The delta method: each entity's part in a difference of two exponentials.
        one, other = EXP(statistics.mean(values[name])), EXP(statistics.mean(original))
        parts = [
            one * (a - statistics.mean(values[name])) - other * (b - statistics.mean(original))
            for a, b in zip(values[name], original, strict=True)
        ]
        perplexities = found[name, "ppl_minus_original"]
        assert perplexities["value"] == pytest.approx(one - other)
        assert perplexities["standard_error"] == pytest.approx(clustered(parts, range(11))[1])
    # All items are in the table that compares nothing.
    assert result(world, "ppl_micro")["n_items"] == 13


@pytest.mark.parametrize(("lost", "value"), [(800, math.inf), (400, EXP(400) / 12)])
def test_an_item_that_no_number_holds_leaves_the_mean_of_perplexities_without_an_error(lost, value):
    world = Cloze()
    for number in range(12):
        world.item(f"i{number}", f"E{number}", lost if number == 11 else 2 + number % 3)
    # The squares of the deviations are infinite in both cases.
    assert figures(result(world, "ppl_example")) == (pytest.approx(value), None, None, None)
    # The other aggregates have the exponential of a mean that is small enough.
    for name in ("ppl_entity_macro", "ppl_micro"):
        row = result(world, name)
        assert 0 < row["low"] < row["value"] < row["high"] < math.inf
        assert row["standard_error"] > 0


def test_a_difference_of_perplexities_that_no_number_holds_has_no_error():
    world = Cloze()
    for number in range(12):
        level = {"original": 2, "no_ent": 800, "definition": 3, "random_definition": 900}
        world.item(f"i{number}", f"E{number}", {name: nats + number % 4 for name, nats in level.items()})
        same = {name: nats if name == "definition" else 800 + number % 4 for name, nats in level.items()}
        world.item(f"j{number}", f"E{number}", same, split="dev")
    every = {"span_kind": "all", "origin": "all"}
    differences = world.read("ecbd_variants", aggregate="ppl_minus_original", **every)
    found = {(row["split"], row["variant"]): row for row in differences}
    small = EXP(4.5) - EXP(3.5)
    assert found["test", "definition"]["value"] == pytest.approx(small)
    assert found["test", "definition"]["high"] > small
    expected = {
        ("test", "no_ent"): math.inf,
        ("test", "random_definition"): math.inf,
        ("dev", "definition"): -math.inf,
        # Infinite less infinite is no number.
        ("dev", "no_ent"): None,
        ("dev", "random_definition"): None,
    }
    for key, value in expected.items():
        assert figures(found[key]) == (value, None, None, None)
        assert (found[key]["n_items"], found[key]["n_clusters"]) == (12, 12)
    # Differences in nats are small.
    nats = world.one(
        "ecbd_variants", aggregate="nats_minus_original", split="test", variant="random_definition", **every
    )
    assert figures(nats) == (898, 0, None, None)


@pytest.fixture
def years():
    """TempLAMA: three queries, the first with two answers; the coach's begins with its answer."""
    world = World()
    answers = (
        (2020, "A", "P54", "Reed", "test"),
        (2020, "A", "P54", "Salt", "test"),
        (2021, "A", "P54", "Salt", "test"),
        (2021, "B", "P286", "Ida", "train"),
    )
    for year, subject, relation, target, split in answers:
        for variant in ("undated", "no_subject", "dated"):
            world.prompt(
                "templama",
                date(year, 1, 1),
                f"{subject}_{relation}_{year}",
                target,
                f"{subject} {target} {variant}",
                subject,
                release="y",
                variant=variant,
                split=split,
            )
    world.score("A Reed undated", -2.0, scorer=GPT, n_tokens=1)
    world.score("A Salt undated", -6.0, scorer=GPT, n_tokens=3)
    world.score("A Reed no_subject", -100.0, scorer=GPT)
    world.score("A Reed dated", -1.0, scorer=GPT, n_tokens=1)
    world.score("B Ida undated", None, scorer=GPT, n_tokens=None, status="no_left_context")
    last = {"variant": "object_last", "prompt_id": "B Ida object_last"}
    world.add("templama_prompts", **{**world.rows["templama_prompts"][-1], **last})
    world.score("B Ida object_last", -9.0, scorer=GPT, n_tokens=2)
    world.prompt(
        "templama", date(2021, 1, 1), "A_P54_2021", "Reed", "A Reed undated", "A", release="y", role="previous"
    )
    return world


def test_perplexity_of_answers_is_by_token_over_window_and_split(years):
    found = {
        (row["variant"], row["split"], row["window_start"] and row["window_start"].year): (
            row["value"],
            row["n_items"],
            row["n_clusters"],
        )
        for row in years.read("templama_results")
    }
    assert found == {
        ("undated", "test", 2020): pytest.approx((EXP(8 / 4), 2, 1)),
        ("undated", "test", 2021): pytest.approx((EXP(6 / 3), 1, 1)),
        ("undated", "test", None): pytest.approx((EXP(14 / 7), 3, 1)),
        ("undated", "all", 2020): pytest.approx((EXP(8 / 4), 2, 1)),
        ("undated", "all", 2021): pytest.approx((EXP(6 / 3), 1, 1)),
        ("undated", "all", None): pytest.approx((EXP(14 / 7), 3, 1)),
        ("object_last", "train", 2021): pytest.approx((EXP(9 / 2), 1, 1)),
        ("object_last", "train", None): pytest.approx((EXP(9 / 2), 1, 1)),
        ("object_last", "all", 2021): pytest.approx((EXP(9 / 2), 1, 1)),
        ("object_last", "all", None): pytest.approx((EXP(9 / 2), 1, 1)),
        ("dated", "test", 2020): pytest.approx((EXP(1), 1, 1)),
        ("dated", "test", None): pytest.approx((EXP(1), 1, 1)),
        ("dated", "all", 2020): pytest.approx((EXP(1), 1, 1)),
        ("dated", "all", None): pytest.approx((EXP(1), 1, 1)),
        ("once", "test", 2020): pytest.approx((EXP(8 / 4), 2, 1)),
        ("once", "test", 2021): pytest.approx((EXP(6 / 3), 1, 1)),
        ("once", "test", None): pytest.approx((EXP(14 / 7), 3, 1)),
        ("once", "train", 2021): pytest.approx((EXP(9 / 2), 1, 1)),
        ("once", "train", None): pytest.approx((EXP(9 / 2), 1, 1)),
        ("once", "all", 2020): pytest.approx((EXP(8 / 4), 2, 1)),
        ("once", "all", 2021): pytest.approx((EXP(15 / 5), 2, 2)),
        ("once", "all", None): pytest.approx((EXP(23 / 9), 4, 2)),
    }


def median(world, change, **equal):
    return world.one(
        "dynamic_templama_results",
        **{"aggregate": "ppl_median", "change": change, "split": "all", "window_start": None, **equal},
    )


@pytest.mark.slow
def test_medians_are_of_the_objects_of_a_change_and_respect_the_split():
    world = Facts()
    world.handover("Ann", "Salt", "Reed")
    world.handover("Ben", "Quay", "Reed", split="train")
    world.query(Q2, "Cem", "Bath", "Lost")
    world.query(Q3, "Cem", "Bath")
    world.change(Q3, "Cem", "Bath", "unchanged")
    world.change(Q3, "Cem", "Lost", "deleted")
    world.change(Q3, "Cem", "Salt", "undatable")
    world.tell("Ann", {"Reed": -2, "Salt": -4}, scorer=BERT, n_tokens=2)
    world.tell("Ben", {"Reed": -6, "Quay": -8}, scorer=BERT, n_tokens=2)
    world.tell("Cem", {"Bath": -10}, scorer=BERT, n_tokens=1)
    world.tell("Cem", {"Lost": -12}, scorer=BERT, n_tokens=4)
    assert median(world, "updated")["value"] == pytest.approx((EXP(1) + EXP(3)) / 2)
    assert median(world, "updated", split="train")["value"] == pytest.approx(EXP(3))
    assert median(world, "updated", split="test")["value"] == pytest.approx(EXP(1))
    assert median(world, "unchanged")["value"] == pytest.approx(EXP(10))
    # It left in the third quarter, and is scored by the query of the second.
    assert median(world, "deleted", window_start=Q3)["value"] == pytest.approx(EXP(3))
    assert world.read("dynamic_templama_results", change="undatable") == []
    # The second quarter has Reed twice, Salt, Quay, Bath and Lost; the third Reed twice, and Bath.
    second = median(world, "all", window_start=Q2)
    assert (second["value"], second["n_items"], second["n_clusters"]) == (pytest.approx(EXP(3)), 6, 3)
    third = median(world, "all", window_start=Q3)
    assert (third["value"], third["n_items"], third["metric"]) == (pytest.approx(EXP(3)), 3, "pseudo-perplexity")
    token = world.one("dynamic_templama_results", aggregate="ppl_token", change="updated", split="all", window_start=Q2)
    assert (token["value"], token["n_items"]) == (pytest.approx(EXP(8 / 4)), 2)


def test_the_interval_of_a_median_is_woodruffs():
    world, values, subjects = Facts(), [], []
    for number in range(40):
        subject = f"S{number}"
        objects = [f"O{at}" for at in range(1 + number % 3)]
        world.query(Q1, subject, *objects)
        nats = {one: -1 - (number * 11 % 40) / 10 - at / 100 for at, one in enumerate(objects)}
        world.tell(subject, nats, n_tokens=1)
        values += [EXP(-one) for one in nats.values()]
        subjects += [subject] * len(objects)
    middle = statistics.median(values)
    share, _, low, high = clustered([value <= middle for value in values], subjects)
    ordered, n = sorted(values), len(values)
    first, last = math.floor(n * (0.5 + low - share)), math.floor(n * (0.5 + high - share)) + 1
    assert 1 < first < n / 2 < last < n
    found = median(world, "all")
    expected = (middle, ordered[first - 1], ordered[last - 1])
    assert (found["value"], found["low"], found["high"]) == pytest.approx(expected)
    assert found["standard_error"] is None
