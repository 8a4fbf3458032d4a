"""The figures of a release on tables small enough to count by hand."""

from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.tempel.card import plot_figures
from tempkb.benchmarks.tempel.statistics import figures_of, jaccard
from tempkb.store.memory import in_memory
from tempkb.wiki.wikitext.counting import words_before, words_behind

FIRST, LAST = date(2021, 1, 1), date(2022, 1, 1)


def mention(cut, page, left, right, anchor, category="continual", subset="train"):
    return {
        "cut": cut,
        "category": category,
        "subset": subset,
        "target_page_id": page,
        "anchor_page_id": anchor,
        "start_char": 0,
        "context_left": left,
        "context_right": right,
    }


def entity(cut, page, revision, title, category="continual"):
    return {"cut": cut, "page_id": page, "revision_id": revision, "title": title, "category": category}


@pytest.fixture
def figures():
    mentions = [
        mention(FIRST, 1, "a b ", " c d", 10),
        mention(FIRST, 1, "e f ", " g h", 11),
        mention(FIRST, 2, "x ", " y", 12),
        mention(LAST, 1, "a b ", " c z", 10),
        mention(LAST, 1, "q q ", " q q", 13),
        mention(LAST, 2, "x ", " y", 12),
        mention(LAST, 3, "n ", " n", 14, "new", "test"),
    ]
    entities = [
        entity(FIRST, 1, 101, "One"),
        entity(LAST, 1, 102, "One"),
        entity(FIRST, 2, 201, "Two"),
        entity(LAST, 2, 201, "Two"),
        entity(LAST, 3, 301, "Three", "new"),
        entity(LAST, 4, 401, "Four", None),
    ]
    # The longer text is cut to the four words of the shorter one.
    texts = [
        (1, 101, "aa bb cc dd"),
        (1, 102, "aa bb cx dd pink"),
        (2, 201, "same"),
        (3, 301, "new"),
        (4, 401, "other"),
    ]
    with in_memory() as connection:
        connection.register("release_mentions", pa.Table.from_pylist(mentions))
        connection.register("release_entities", pa.Table.from_pylist(entities))
        connection.register(
            "texts",
            pa.Table.from_pylist([dict(zip(("page_id", "revision_id", "text"), row, strict=True)) for row in texts]),
        )
        filters = {LAST: [("lists", "alone", 3, 7), ("all", "offered", 10, 20)]}
        yield list(figures_of(connection, "testwiki", "r", [FIRST, LAST], filters))


def values(figures, name, cut, series=None):
    return {
        row["label"]: row["value"]
        for row in figures
        if row["figure"] == name and row["cut"] == cut and series in (None, row["series"])
    }


def test_table_1_and_figures_4c_6_and_7(figures):
    assert values(figures, "table_1", LAST, "continual train") == {"entities": 2.0, "mentions": 3.0}
    assert values(figures, "table_1", LAST, "new test") == {"entities": 1.0, "mentions": 1.0}
    assert [values(figures, "figure_4c", cut)["entities"] for cut in (FIRST, LAST)] == [2.0, 4.0]
    assert values(figures, "figure_7", FIRST, "continual train") == {
        "at most 0001 mentions": 1.0,
        "at most 0002 mentions": 2.0,
    }
    assert values(figures, "figure_6", LAST, "lists, alone") == {"surfaces of entities": 3.0, "mentions": 7.0}


def test_figure_3_compares_with_the_first_snapshot_at_equal_lengths(figures):
    (first,) = values(figures, "figure_3a", FIRST).values()
    (last,) = values(figures, "figure_3a", LAST).values()
    # One: {aa bb cc dd} and {aa bb cx dd}, 3 of 5; Two is the same.
    assert (first, last) == (1.0, pytest.approx((3 / 5 + 1) / 2))
    (distance,) = values(figures, "figure_3b", LAST).values()
    # One letter of eleven.
    assert distance == pytest.approx((1 / 11 + 0) / 2)
    (contexts,) = values(figures, "figure_3c", LAST).values()
    # One, two contexts of two words to each side: {a b c d e f g h} and {a b c z q}, 3 of 10. Two: the same.
    assert contexts == pytest.approx((3 / 10 + 1) / 2)


def test_the_pairs_of_lowest_overlap_come_first_to_read(figures):
    assert values(figures, "drift", LAST) == {"One (page 1)": pytest.approx(3 / 5), "Two (page 2)": 1.0}


@pytest.mark.slow
def test_pictures_are_made_of_the_numbers(figures):
    assert plot_figures(figures).startswith("![figures](data:image/png;base64,")
    assert plot_figures([]).startswith("![figures](data:image/png;base64,")


def test_overlap_of_vocabularies():
    assert jaccard([], []) == 1.0
    assert jaccard(["a", "a", "b"], ["b"]) == 0.5


@pytest.mark.parametrize(
    ("text", "at", "n", "left", "right"),
    [
        ("one two three", 4, 1, "one ", "two"),
        ("one two three", 0, 2, "", "one two"),
        ("one  two\nthree four", 8, 5, "one  two", "\nthree four"),
        ("x" * 100 + " y z", 103, 2, "x" * 100 + " y ", "z"),
    ],
)
def test_contexts_are_whole_words_as_they_stand(text, at, n, left, right):
    assert (words_before(text, at, n), words_behind(text, at, n)) == (left, right)
