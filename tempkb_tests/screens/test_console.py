"""What terminals show is what is stored."""

import io

import pytest

from tempkb.engine.progress import Meter
from tempkb.screens import console
from tempkb.screens.console import PlainConsole, exact, fits, grid, records
from tempkb.store.visible import visible


def printed(what, width=80, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    PlainConsole(file=stream, width=width).print(what)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize(
    "text", ["postgres:x:1", "[bold]b[/bold]", "[/]", "[link=http://x]y[/link]", "\\[x]", ":smile:"]
)
def test_markup_and_codes_of_emoji_are_just_text(text):
    assert text in printed(text)
    table = printed(grid([text], [[text]], title=text))
    assert table.count(text) == 3


def test_what_acts_on_a_terminal_is_shown_as_an_escape():
    nasty = "a\x1b[31mred\x07 \u202eturned\u2066 line\nbreak \t\r \ud800 \ufeff"
    shown = r"a\x1b[31mred\x07 \u202eturned\u2066 line\nbreak \t\r \ud800 \ufeff"
    assert visible(nasty) == shown
    assert visible("two\nlines", keep="\n") == "two\nlines"
    assert shown in printed(grid(["title"], [[nasty]]), 120)
    assert "\x1b" not in printed(nasty)
    # Letters of scripts that need joiners stay words.
    assert visible("می\u200cخواهم é 漢字 🙂") == "می\u200cخواهم é 漢字 🙂"


def test_values_are_exact():
    assert exact(1234567) == "1234567"
    assert exact(None) == "NULL"
    assert exact(True) == "true"
    assert exact([{"label": "Köln", "aliases": ["a\nb"]}]) == r'[{"label": "Köln", "aliases": ["a\nb"]}]'
    assert exact(b"\x00\xff") == r"\x00ff"


def test_rows_are_one_column_a_line_when_they_do_not_fit():
    columns, rows = ["id", "sentence"], [["1", "short"], ["2", "many words " * 4 + "end"]]
    assert fits(columns, rows[:1], 20)
    assert not fits(columns, rows, 40)
    assert list(records(columns, rows, 40)) == [
        "-[ record 1 ]---------------",
        "id       | 1",
        "sentence | short",
        "-[ record 2 ]---------------",
        "id       | 2",
        "sentence | many words many words many",
        "         | words many words end",
    ]


def test_the_width_counts_what_a_terminal_needs_for_wide_letters():
    assert fits(["a"], [["漢字"]], 8)
    assert not fits(["a"], [["漢字"]], 7)


def test_a_terminal_of_ascii_gets_escapes_and_lines_it_has(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr("sys.stdout", stream)
    console.console().print(grid(["title"], [["Köln"]]))
    stream.flush()
    assert rb"K\xf6ln" in stream.buffer.getvalue()


def test_a_bar_of_progress_shows_names_of_files_as_they_are(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("tempkb.engine.progress._terminal", stream)
    with Meter("reading [bold]x[/bold] :smile: \x1b[2J.bz2", 100.0, print) as meter:
        meter.at(50.0)
        meter._bar.refresh()
    assert r"reading [bold]x[/bold] :smile: \x1b[2J.bz2" in stream.getvalue()
