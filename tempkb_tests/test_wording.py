"""Rows of CSV: what a spreadsheet reads there is what they have, and never a formula."""

import csv
import io
from datetime import date

import pyarrow as pa
import pytest

from tempkb.screens.files import write_csv
from tempkb.wording import csv_of


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


def test_tables_that_commands_write_are_as_safe(tmp_path):
    write_csv(
        tmp_path / "rows.csv", pa.table({"said": ["=cmd|' /C calc'!A0", "Reed", None], "value": [-1.5, 2.0, None]})
    )
    assert (tmp_path / "rows.csv").read_text() == '"said","value"\n"\'=cmd|\' /C calc\'!A0",-1.5\n"Reed",2\n,\n'
