"""Dates by rule, and which of overlapping spans are taken."""

import hashlib

import pytest

from tempkb.models.corpora.making import known_of, spans_of


@pytest.mark.parametrize(
    ("text", "dates", "years"),
    [
        ("On 12 March 2021 it began.", ["12 March 2021"], [2021]),
        ("On March 12, 2021, it began.", ["March 12, 2021"], [2021]),
        ("In March 2021 and in 1999.", ["March 2021", "1999"], [1999, 2021]),
        ("From 2010–2011, 2012/13 and (2014).", ["2010", "2011", "2012", "2014"], [2010, 2011, 2012, 2014]),
        ("3 May\xa02021", ["3 May\xa02021"], [2021]),
        ("In den 12. März 2021", ["2021"], [2021]),
        ("£2021, 12021, 20211, 1.2021, 2021.5, 2,021, 2021s, the 1990s, x2021, 0999 and 2100", [], []),
        ("32 March 2021", ["March 2021"], [2021]),
        ("", [], []),
    ],
)
def test_dates_are_found_by_rule(text, dates, years):
    assert [text[one["start_char"] : one["end_char"]] for one in spans_of(text, (), ())] == dates
    assert known_of(text)["years"] == years


def test_of_spans_that_overlap_the_longest_is_taken_then_the_first_and_a_link_before_a_phrase():
    text = "The 2021 Cup of Lund was won by Ada."
    found = spans_of(text, [(4, 12)], [(4, 12), (4, 20), (16, 25), (32, 35)])
    assert [(text[one["start_char"] : one["end_char"]], one["kind"]) for one in found] == [
        ("2021 Cup of Lund", "phrase"),
        ("Ada", "phrase"),
    ]
    found = spans_of(text, [(4, 12)], [(4, 12), (9, 15)])
    assert [(text[one["start_char"] : one["end_char"]], one["kind"]) for one in found] == [("2021 Cup", "link")]
    # As long as one another: the first.
    assert [(one["start_char"], one["end_char"]) for one in spans_of("abcdef", [(2, 5), (0, 3)], [])] == [(0, 3)]


def test_a_text_is_known_by_its_digest_and_so_is_its_split():
    assert known_of("Old words.")["text_id"] == hashlib.sha256(b"Old words.").hexdigest()[:32]
    splits = [known_of(f"Sentence {number}.")["split"] for number in range(5000)]
    # One in fifty each: 100, with a standard deviation of ten.
    assert 60 < splits.count("test") < 140
    assert 60 < splits.count("validation") < 140
    assert {*splits} == {"train", "validation", "test"}
