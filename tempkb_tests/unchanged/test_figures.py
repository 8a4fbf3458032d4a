"""What is said of figures that differ, and that a sum over rows sees each of them but not their order."""

import duckdb
import pytest

from tempkb_tests.unchanged import figures
from tempkb_tests.unchanged.__main__ import differences, read, write
from tempkb_tests.unchanged.prepared import _in_words
from tempkb_tests.unchanged.screens import _plain

BEFORE = {("demo", "mentions", "2021-01-01"): "ab12 7", ("demo", "pages", "d"): "cd34 9"}
HELP = {("tempkb gc",): "Usage: gc\n\n  Delete files.", ("tempkb ui",): "Usage: ui"}


@pytest.mark.parametrize(("kind", "values"), [("lake", BEFORE), ("help", HELP)])
def test_figures_are_read_as_they_were_written(kind, values, tmp_path):
    write(kind, values, "made by 0a1b2c3", tmp_path)
    assert read(kind, tmp_path) == values


def test_each_difference_is_a_line():
    after = {("demo", "mentions", "2021-01-01"): "ef56 7", ("demo", "facts", "d"): "0 1"}
    assert differences(BEFORE, BEFORE) == []
    assert differences(BEFORE, after) == [
        "demo facts d: expected nothing, found '0 1'",
        "demo mentions 2021-01-01: expected 'ab12 7', found 'ef56 7'",
        "demo pages d: expected 'cd34 9', found nothing",
    ]


def test_of_a_text_the_first_line_that_differs_is_shown():
    assert differences(
        HELP, HELP | {("tempkb gc",): "Usage: gc\n\n  Remove files.", ("tempkb ui",): "Usage: ui\nMore"}
    ) == [
        "tempkb gc: expected 'Delete files.', found 'Remove files.'",
        "tempkb ui: expected no further line, found 'More'",
    ]


def sums_of(home, rows):
    home.mkdir()
    with duckdb.connect(str(home / "tempkb.duckdb")) as connection:
        connection.execute("CREATE TABLE towns (name VARCHAR, share DOUBLE)")
        connection.executemany("INSERT INTO towns VALUES (?, ?)", rows)
    return dict(figures.sums_of_columns(home))


def test_a_sum_over_rows_sees_each_value_but_neither_their_order_nor_the_last_digits(tmp_path):
    rows = [["Ys", 0.1 + 0.2], ["Ker", None], ["Ker", 1e-17]]
    first = sums_of(tmp_path / "first", rows)
    assert first[("towns", "*")].startswith("3 ")
    assert sums_of(tmp_path / "again", [["Ker", 0.0], ["Ker", None], ["Ys", 0.3]]) == first
    for number, other in enumerate(([["Ys", 0.30000001]], [["Is", 0.3]], [["Ys", 0.3], ["Ker", None]])):
        assert sums_of(tmp_path / f"{number}", [*other, *rows[1:]]) != first
    swapped = sums_of(tmp_path / "swapped", [["Ker", 0.3], ["Ys", None], ["Ker", 0.0]])
    assert [key for key in first if swapped[key] != first[key]] == [("towns", "*")]


def test_screens_are_compared_without_paths_seconds_and_widths(tmp_path):
    said = (
        f"home {tmp_path}/demo-screens: 3 files, 1.4 s, 9 MB/s\n┏━━━━┳━━┓\n┃ at     ┃ n ┃\n│ 07:15:02  │ 4 │\n└──┴──┘\n"
    )
    assert _plain(said, tmp_path / "demo-screens") == ("home HOME: 3 files, N s, N MB/s\n┃ at ┃ n ┃\n│ 07:15:02 │ 4 │")


def test_states_are_told_by_table_with_the_keys_of_those_that_are_not_current():
    found = {("facts", "d"): "lost", ("mentions", "2021-01-01"): "current", ("mentions", "2021-04-01"): "stale"}
    assert _in_words(found) == {"facts": "1 lost", "mentions": "1 current, stale: 2021-04-01"}
