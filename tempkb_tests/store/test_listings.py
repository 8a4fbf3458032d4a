"""Tables for people: lines from rows, and what spreadsheets and LaTeX read of them."""

import csv
import io
from datetime import date

import pytest

from tempkb.store.listings import (
    BETTER,
    WORSE,
    Across,
    Listing,
    Marked,
    Sheet,
    as_csv,
    as_latex,
    csv_of,
    estimate,
    in_order,
    named,
)

LINKED = [
    {"linker": linker, "pool": "own", "cut": cut, "value": value}
    for linker, cut, value in (("a", 2021, 0.5), ("b", 2021, 0.25), ("a", 2022, 1.0), ("b", 2023, 0.75))
]


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1", "＋1", "－1", "＠1"]
)
def test_a_text_that_spreadsheets_compute_gets_an_apostrophe_and_keeps_its_letters(text):
    assert list(csv.reader(io.StringIO(csv_of([["name", text]]), newline=""))) == [["name", f"'{text}"]]


def test_numbers_days_and_other_texts_stay():
    rows = [["a", "b"], [-1.5, -3], [date(2020, 1, 2), None], ["a=b", "'quoted'"], ["", True], ['say "x", y', "1-2"]]
    assert csv_of(rows) == (
        "a,b\n-1.5,-3\n2020-01-02,\na=b,'quoted'\n,True\n" + '"say ""x"", y",1-2\n'  # as RFC 4180 quotes
    )


def test_rows_with_names_have_all_columns_that_one_of_them_has():
    assert as_csv([{"said": "=1", "n": 2}, {"n": 3, "day": date(2020, 1, 2)}]) == "said,n,day\n'=1,2,\n,3,2020-01-02\n"
    assert as_csv([], ["said", "n"]) == "said,n\n"


def test_rows_are_lines_with_what_the_columns_say():
    listing = Listing(named("linker", day="cut") | {"in %": lambda row: 100 * row["value"]}, "links")
    assert listing.sheet(LINKED[:2]) == Sheet(
        ["linker", "day", "in %"], [["a", 2021, 50.0], ["b", 2021, 25.0]], "links"
    )
    assert listing.sheet(LINKED[:1], without=["day"]).lines == [["a", 50.0]]
    # Equal rows stay two lines, and without columns all are shown.
    assert Listing().sheet([{"a": 1}, {"a": 1}]) == Sheet(["a"], [[1], [1]])
    assert Listing(title="links").sheet([]) == Sheet([], [], "links")


def test_values_of_a_column_become_columns_in_the_order_of_their_titles():
    across = Across("cut", estimate, {2022: "in 2022", 2021: "in 2021"})
    found = Listing(named("linker") | {"cuts": across}).sheet(LINKED)
    assert found == Sheet(["linker", "in 2022", "in 2021"], [["a", "100", "50"], ["b", None, "25"]])


def test_without_titles_all_values_of_a_column_become_columns():
    rows = [{"linker": "b", "value": 1}, {"linker": None, "value": 2}, {"linker": "a", "value": 3}]
    found = Listing({"is": lambda _: "all", "linkers": Across("linker", "value", {})}).sheet(rows)
    assert found == Sheet(["is", "a", "b"], [["all", 3, 1]])


def test_rows_in_which_nothing_can_be_compared_are_a_sentence():
    few = "too few items"
    listing = Listing(in_order("model", "rate"), "rates", lacking=lambda row: (row[0], row[2]) if row[2] else None)
    rows = [("a", 1, ""), ("b", 2, few), ("c", 3, few), ("d", 4, "no baseline")]
    assert listing.compared(rows[:1]) == (rows[:1], "")
    assert listing.compared(rows) == (rows[:1], "3 of 4 have no comparison: b, c: too few items; d: no baseline.")
    assert listing.compared(rows[:2]) == (rows[:1], "1 of 2 has no comparison: b: too few items.")
    assert listing.compared(rows[1:3]) == ([], "rates: none of 2 has a comparison: too few items.")
    assert listing.compared(rows[1:]) == (
        [],
        "rates: none of 3 has a comparison: b, c: too few items; d: no baseline.",
    )


def test_what_is_the_same_in_all_rows_is_in_the_title():
    listing = Listing(named("linker", "pool", "cut"), "links", common=("pool", "cut"))
    assert listing.sheet(LINKED[:3]) == Sheet(
        ["linker", "cut"], [["a", 2021], ["b", 2021], ["a", 2022]], "links, pool own"
    )


def test_words_are_filled_in_wherever_names_stand():
    filled = Listing(title="of {model}", remark="{n} %", query="SELECT {n}").filled(model="{m}", n=1)
    assert (filled.title, filled.remark, filled.query) == ("of {m}", "1 %", "SELECT 1")


def test_latex_has_signs_as_it_prints_them_numbers_to_the_right_and_cells_with_their_colours():
    lines = [["a_b^1 ~ \\x", 7, Marked("1.0", BETTER, 0.03)], ["50 % & {#$}", 8, Marked("0.0", WORSE, -0.2)]]
    lines.append([None, 9, Marked("[2.0]")])
    assert as_latex(Sheet(["who", "n", "5 %"], lines, "links_1")) == (
        "\\begin{table}[t]\n"
        "\\caption{links\\_1}\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "who & n & 5 \\% \\\\\n"
        "\\midrule\n"
        "a\\_b\\textasciicircum 1 \\textasciitilde  \\textbackslash x & 7 & \\cellcolor{green!36}1.0 \\\\\n"
        "50 \\% \\& \\{\\#\\$\\} & 8 & \\cellcolor{red!60}0.0 \\\\\n"
        " & 9 & [2.0] \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\end{table}\n"
    )
