"""Measures of answers, by hand and beside an oracle of SQuAD's rules in other words."""

import re
import string
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.models.generations.measures import (
    best,
    exact_match,
    is_recalled,
    named,
    normalised,
    released_f1_macro,
    rouge1,
    token_f1,
)


def words(text):
    """Words as SQuAD's evaluation has them: a loop over characters and words."""
    kept = "".join(one for one in text.lower() if one not in string.punctuation)
    return [one for one in re.sub(r"\b(a|an|the)\b", " ", kept).split() if one]


def f1(said, right):
    said, right = words(said), words(right)
    if not said or not right:
        return float(said == right)
    left, shared = Counter(right), 0
    for one in said:
        if left[one] > 0:
            left[one] -= 1
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(right)
    return 2 * precision * recall / (precision + recall)


TEXTS = st.lists(st.sampled_from([*"abT hen.,'-é", "the ", " an ", "Reed ", "F.C. "]), max_size=12).map("".join)


@given(TEXTS, TEXTS)
def test_words_and_f1_are_those_of_the_rules(said, right):
    assert normalised(said).split() == words(said)
    assert token_f1(said, right) == pytest.approx(f1(said, right), abs=1e-12)
    assert exact_match(said, right) == float(words(said) == words(right))


@pytest.mark.parametrize(
    ("said", "right", "exact", "shared"),
    [
        ("the Reed Town F.C.", "Reed Town FC", 1, 1),
        ("Reed", "Reed Town", 0, 2 / 3),
        ("Salt", "Reed", 0, 0),
        ("Reed Reed", "Reed Town", 0, 1 / 2),
        ("The", "an", 1, 1),
    ],
)
def test_exact_match_and_f1_by_hand(said, right, exact, shared):
    assert exact_match(said, right) == exact
    assert token_f1(said, right) == pytest.approx(shared)


def test_rouge_is_of_stemmed_words():
    # Two of the three words of the name, of two that were said: precision 1, recall 2/3.
    assert rouge1("football clubs", "the football club") == pytest.approx(2 * 1 * (2 / 3) / (1 + 2 / 3))
    assert rouge1("salt", "reed") == 0


def test_the_released_f1_compares_tokens_in_their_places():
    assert released_f1_macro([5, 6], [5, 6]) == 1
    assert released_f1_macro([6, 5], [5, 6]) == 0
    assert released_f1_macro([5], [5, 6]) == 0
    # Classes 5 (right), 6 (missed) and 7 (wrongly said).
    assert released_f1_macro([5, 7], [5, 6]) == pytest.approx(1 / 3)
    # Class 5: once right, once said for 6: 2 / 3; class 6: 0.
    assert released_f1_macro([5, 5], [5, 6]) == pytest.approx(1 / 3)


def test_recall_looks_at_ten_answers_to_the_letter():
    answers = [f"Reed {number}" for number in range(12)]
    assert is_recalled(answers, ["Salt", "Reed 9"])
    assert not is_recalled(answers, ["Reed 10"])
    assert not is_recalled(answers, ["reed 9"])


def test_of_several_right_names_the_best_counts():
    assert best(token_f1, ["Reed"], ["Salt", "Reed Town"]) == pytest.approx(2 / 3)
    assert best(token_f1, [], ["Salt"]) == 0


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("Reed Town", "new"),
        ("the reeds", "new"),
        ("Salt.", "old"),
        ("Moss", "other_object"),
        ("Fern", "other_name"),
        ("Wanderers", "ambiguous"),
        (None, "none"),
    ],
)
def test_an_answer_names_by_any_name(answer, kind):
    new, old = ["Reed Town", "The Reeds", "Wanderers"], ["Salt", "The Wanderers"]
    assert named(answer, new, old, ["Moss"]) == kind


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("Salt and its hall", "old"),
        ("Salty", "other_name"),
        # The longest name counts, whosever it is.
        ("Salt Town in the hills", "new"),
        ("in Salt", "other_name"),
    ],
)
def test_who_continues_a_text_may_say_more_than_a_name(answer, kind):
    assert named(answer, ["Salt Town"], ["Salt"], runs_on=True) == kind
    assert named(answer, ["Salt Town"], ["Salt"]) == "other_name"


def test_long_answers_take_no_memory_once_they_are_judged():
    def judged(n):
        for number in range(n):
            text = " ".join(f"w{number}x{place}" for place in range(300))
            assert best(rouge1, [text], ["Reed Town"]) == best(token_f1, [text], ["Reed Town"]) == 0

    judged(20)
    tracemalloc.start()
    judged(100)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The texts have 200,000 letters, of which the last few are kept.
    assert held < 1_000_000
