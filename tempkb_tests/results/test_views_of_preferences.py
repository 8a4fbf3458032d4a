"""What models prefer where facts changed, from log-probabilities written by hand."""

from datetime import date

import pytest

from tempkb_tests.results.worlds import BERT, GPT, Q1, Q2, Q3, Q4, T5, Facts, clustered, figures

PAIRS = ("all", "equal_length", "nearly_equal_length", "long_known")


def pooled(world, aggregate, **equal):
    return world.one(
        "prefers_new",
        **{"aggregate": aggregate, "window_start": None, "split": "all", "pairs": "all", **equal},
    )


@pytest.fixture
def three():
    """Ann goes from Salt to Reed, Ben from Salt to Moorgate, Cem from Reed to Ox; Cem has no score without him."""
    world = Facts()
    world.model()
    world.handover("Ann", "Salt", "Reed", control=("Quay", "Bath"))
    world.handover("Ben", "Salt", "Moorgate", split="train")
    world.handover("Cem", "Reed", "Ox", arrival=Q3, left=Q4)
    world.tell("Ann", {"Reed": -4, "Salt": -5, "Quay": -1, "Bath": -3})
    world.tell("Ann", {"Reed": -2, "Salt": -6, "Quay": -1, "Bath": -1}, variant="no_subject")
    world.tell("Ben", {"Salt": -3}, n_chars=4)
    world.tell("Ben", {"Moorgate": -5}, n_chars=8)
    world.tell("Ben", {"Moorgate": -9, "Salt": -1}, variant="no_subject")
    world.tell("Cem", {"Reed": -4}, n_chars=4)
    world.tell("Cem", {"Ox": -3}, n_chars=2)
    return world


def test_a_change_has_both_scores_labels_and_days(three):
    ann, ben, cem = sorted(three.read("scored_changes"), key=lambda row: row["subject_id"])
    assert (ann["new_label"], ann["old_label"], ann["new_length"], ann["old_length"]) == ("Reed", "Salt", 4, 4)
    assert ann["is_equal_length"] is True
    assert (ann["new_nats"], ann["old_nats"]) == (-4, -5)
    # The subject takes 2 from Reed and adds 1 to Salt; of the controls it takes nothing from Quay, and 2 from Bath.
    assert (ann["preference_nats"], ann["control_preference_nats"]) == (-3, 2)
    assert (ann["window_start"], ann["window_end"], ann["arrival_window_start"]) == (Q3, Q4, Q2)
    assert (ben["preference_nats"], ben["control_preference_nats"], ben["split"]) == (6, None, "train")
    assert ben["is_equal_length"] is False
    assert (cem["preference_nats"], cem["new_chars"], cem["old_chars"]) == (None, 2, 4)
    assert (ann["days_after"], ann["is_long_known"]) == (None, None)


@pytest.mark.slow
def test_aggregates_over_changes_are_those_of_their_names(three):
    values = {name: pooled(three, name) for name in NAMES}
    expected = {
        # Ben of Ann and Ben; Cem has no score without him.
        "prefers_new": (1 / 2, 2, 2),
        # Ann and Cem of three.
        "prefers_new_raw": (2 / 3, 3, 3),
        # Of a character: Ann -1 > -1.25; Ben -.625 > -.75; Cem -1.5 < -1.
        "prefers_new_per_character": (2 / 3, 3, 3),
        "control_prefers_new": (1, 1, 1),
        "control_prefers_new_raw": (1, 1, 1),
        "prefers_new_minus_control": (-1, 1, 1),
        "log_prob_new_minus_old": ((1 - 2 + 1) / 3, 3, 3),
        "log_prob_new_minus_old_per_character": ((0.25 + 0.125 - 0.5) / 3, 3, 3),
        "log_prob_new_minus_old_against_class": ((-3 + 6) / 2, 2, 2),
        "control_log_prob_new_minus_old": (2, 1, 1),
        "control_log_prob_new_minus_old_against_class": (2, 1, 1),
    }
    found = {name: (row["value"], row["n_items"], row["n_clusters"]) for name, row in values.items()}
    assert found == {name: pytest.approx(one) for name, one in expected.items()}
    # Under ten clusters there is no interval.
    assert all((row["low"], row["high"]) == (None, None) for row in values.values())


NAMES = (
    "prefers_new",
    "prefers_new_raw",
    "prefers_new_per_character",
    "control_prefers_new",
    "control_prefers_new_raw",
    "prefers_new_minus_control",
    "log_prob_new_minus_old",
    "log_prob_new_minus_old_per_character",
    "log_prob_new_minus_old_against_class",
    "control_log_prob_new_minus_old",
    "control_log_prob_new_minus_old_against_class",
)


@pytest.mark.slow
def test_changes_count_by_window_split_and_pairs_of_similar_length(three):
    by_window = {
        (row["window_start"], row["split"]): row["n_items"]
        for row in three.read("prefers_new", aggregate="prefers_new_raw", pairs="all")
    }
    assert by_window == {
        # That in which the new object begins, as in scores_by_gap and knows.
        (Q2, "test"): 1,
        (Q2, "train"): 1,
        (Q2, "all"): 2,
        (Q3, "test"): 1,
        (Q3, "all"): 1,
        (None, "test"): 2,
        (None, "train"): 1,
        (None, "all"): 3,
    }
    n = {
        pairs: [
            row["n_items"]
            for row in three.read(
                "prefers_new", aggregate="prefers_new_raw", pairs=pairs, window_start=None, split="all"
            )
        ]
        for pairs in PAIRS
    }
    assert n == {"all": [3], "equal_length": [1], "nearly_equal_length": [1], "long_known": []}


def test_labels_that_differ_by_one_character_are_nearly_equal(three):
    three.handover("Dan", "Reed", "Moors", arrival=Q3, left=Q4)
    three.tell("Dan", {"Reed": -4, "Moors": -5})
    assert pooled(three, "prefers_new_raw", pairs="equal_length")["n_items"] == 1
    assert pooled(three, "prefers_new_raw", pairs="nearly_equal_length")["n_items"] == 2


def test_days_are_those_between_the_arrival_and_the_models_knowledge():
    world = Facts()
    world.model("known", date(2021, 3, 1), date(2021, 5, 1))
    world.model("old", date(2024, 10, 1), date(2024, 10, 1))
    world.model("nearly", date(2024, 9, 30), date(2024, 9, 30))
    world.handover("Ann", "Salt", "Reed")
    for model in ("known", "old", "nearly"):
        world.tell("Ann", {"Reed": -4, "Salt": -5}, model=model)
    rows = {row["model"]: row for row in world.read("scored_changes")}
    # Reed came in the quarter that begins on 1 April, and Salt has left in the next, which ends on 1 October 2021.
    assert (rows["known"]["days_after"], rows["known"]["is_long_known"]) == (-30, False)
    assert (rows["old"]["is_long_known"], rows["nearly"]["is_long_known"]) == (True, False)
    known = world.read("prefers_new", pairs="long_known", aggregate="prefers_new_raw", split="all", window_start=None)
    assert [(row["model"], row["value"]) for row in known] == [("old", 1)]


def test_a_query_that_cannot_be_scored_counts_with_the_object_last():
    world = Facts()
    world.model()
    world.handover("Ann", "Salt", "Reed")
    world.handover("Ben", "Salt", "Reed")
    world.tell("Ann", {"Reed": None, "Salt": None}, scorer=GPT, status="no_left_context", n_tokens=None)
    world.tell("Ann", {"Reed": -1, "Salt": -2}, scorer=GPT, variant="object_last")
    world.tell("Ben", {"Reed": -3, "Salt": -2}, scorer=GPT)
    world.tell("Ben", {"Reed": -1, "Salt": -2}, scorer=GPT, variant="object_last")
    found = {row["subject_id"]: (row["wording"], row["new_nats"]) for row in world.read("scored_changes")}
    assert found == {"Ann": ("object_last", -1), "Ben": ("undated", -3)}
    assert pooled(world, "prefers_new_raw")["value"] == 0.5


@pytest.fixture
def many():
    """Twelve subjects with one or two changes each, in two releases; what two models give differs."""
    world = Facts()
    world.model("a")
    world.model("b")
    for number in range(12):
        subject = f"S{number}"
        for at, (arrival, left) in enumerate(((Q1, Q2), (Q3, Q4))[: 1 + number % 2]):
            new, old = f"N{at}", f"O{at}"
            for release in ("r", "s"):
                world.handover(subject, old, new, arrival, left, release=release)
            for model, shift in (("a", 0.0), ("b", 1.5)):
                world.tell(subject, {new: -5 + (number * 7 % 5) - 2 + shift, old: -5 + at}, model=model)
    return world


@pytest.mark.slow
def test_standard_errors_and_intervals_are_clustered_by_subject(many):
    for model in ("a", "b"):
        rows = many.read("scored_changes", model=model, release="r")
        assert len(rows) == 18
        differences = [row["new_nats"] - row["old_nats"] for row in rows]
        subjects = [row["subject_id"] for row in rows]
        for release in ("r", "s"):
            found = pooled(many, "log_prob_new_minus_old", model=model, release=release)
            assert figures(found) == pytest.approx(clustered(differences, subjects), rel=1e-4)
            assert (found["n_items"], found["n_clusters"]) == (18, 12)
            share = pooled(many, "prefers_new_raw", model=model, release=release)
            assert figures(share)[:2] == pytest.approx(clustered([one > 0 for one in differences], subjects)[:2])
            assert 0 <= share["low"] < share["value"] < share["high"] <= 1
    assert pooled(many, "prefers_new_raw", model="a", release="r")["value"] < 1


def test_scores_of_other_models_and_changes_without_scores_do_not_count(many):
    many.handover("S99", "O9", "N9")
    many.tell("S99", {"N9": -1}, model="a")
    assert pooled(many, "prefers_new_raw", model="a", release="r")["n_items"] == 18


def test_objects_are_compared_within_subjects():
    world = Facts()
    # Ann gets Reed for Salt and keeps Bath; Ben gets Reed for Quay; Cem keeps Salt.
    world.handover("Ann", "Salt", "Reed")
    world.query(Q2, "Ann", "Bath", relation="P69")
    world.change(Q2, "Ann", "Bath", "unchanged", relation="P69")
    world.handover("Ben", "Quay", "Reed", split="train")
    world.query(Q2, "Cem", "Salt")
    world.change(Q2, "Cem", "Salt", "unchanged")
    world.change(Q2, "Cem", "Lost", "undatable")
    world.tell("Ann", {"Reed": -4, "Salt": -6, "Bath": -1})
    world.tell("Ann", {"Reed": -5, "Salt": -5}, variant="no_subject")
    world.tell("Ben", {"Reed": -8, "Quay": -7})
    world.tell("Cem", {"Salt": -3})
    found = {
        row["aggregate"]: (row["value"], row["n_items"], row["n_clusters"])
        for row in world.read("object_scores", metric="nats", split="all", window_start=Q2)
    }
    assert found == {
        "new": (-6, 2, 2),
        "removed": (-6.5, 2, 2),
        "kept": (-2, 2, 2),
        "new_minus_removed": (0.5, 4, 2),
        "new_minus_kept": (-3, 2, 1),
    }
    # The object that left has its window's row with the one that took its place, and none of its own.
    assert world.read("object_scores", window_start=Q3) == []
    adds = world.one(
        "object_scores",
        metric="nats that the subject adds",
        aggregate="new_minus_removed",
        split="all",
        window_start=None,
    )
    assert (adds["value"], adds["n_clusters"]) == (2, 1)
    train = world.one("object_scores", metric="nats", aggregate="new", split="train", window_start=None)
    assert train["value"] == -8


def test_objects_that_left_without_a_successor_are_removed_in_their_own_window():
    world = Facts()
    world.query(Q2, "Ann", "Salt", "Bath")
    world.query(Q3, "Ann", "Bath")
    world.change(Q3, "Ann", "Salt", "deleted")
    world.change(Q3, "Ann", "Bath", "unchanged")
    world.tell("Ann", {"Salt": -6, "Bath": -1}, scorer=BERT)
    found = {
        row["aggregate"]: row["value"]
        for row in world.read("object_scores", metric="nats", split="all", window_start=Q3, scorer=BERT)
    }
    assert found == {"removed": -6, "kept": -1}
    assert world.read("object_scores", scorer=T5) == []
