"""What terminals show is what is stored."""

import io
import re

import pytest

from tempkb.commands.screens import console
from tempkb.commands.screens.console import exact, grid, print_sheet, record, show
from tempkb.engine.progress import Meter
from tempkb.store.listings import Listing, Sheet, named
from tempkb.store.quoting import visible


class Stream(io.TextIOWrapper):
    """Standard output in memory, which may call itself a terminal."""

    def __init__(self, is_terminal=False):
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n")
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal

    def written(self):
        self.flush()
        return self.buffer.getvalue().decode()


TABLE = grid(["cut", "n"], [["2021-01-01", 1234567], ["2021-04-01", 8]])


@pytest.fixture
def printed(monkeypatch):
    """What a screen prints of a text or a table."""

    def run(what, width=80, is_terminal=False, **options):
        stream = Stream(is_terminal)
        monkeypatch.setattr("sys.stdout", stream)
        console.Screen(width).print(what, **options)
        return stream.written()

    return run


@pytest.mark.parametrize(
    "text", ["postgres:x:1", "[bold]b[/bold]", "[/]", "[link=http://x]y[/link]", "\\[x]", ":smile:"]
)
def test_markup_and_codes_of_emoji_are_just_text(text, printed):
    assert text in printed(text)
    table = printed(grid([text], [[text]]))
    assert table.count(text) == 2


def test_what_acts_on_a_terminal_is_shown_as_an_escape(printed):
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


def test_a_row_that_does_not_fit_has_one_column_a_line(printed):
    columns, row = ["id", "sentence"], ["2", "many words " * 4 + "end"]
    assert [line.rstrip() for line in printed(record(2, columns, row), 40).splitlines()] == [
        "record 2",
        "id        2",
        "sentence  many words many words many",
        "          words many words end",
    ]


def test_the_width_counts_what_a_terminal_needs_for_wide_letters():
    assert console.Screen().width_of(grid(["a"], [["漢字"]])) == 8


def test_a_terminal_of_ascii_gets_escapes_and_lines_it_has(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr("sys.stdout", stream)
    console.Screen().print(grid(["title"], [["Köln"]]))
    stream.flush()
    assert rb"K\xf6ln" in stream.buffer.getvalue()


def test_a_bar_of_progress_shows_names_of_files_as_they_are(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("tempkb.engine.progress._terminal", stream)
    with Meter("reading [bold]x[/bold] :smile: \x1b[2J.bz2", 100.0, print) as meter:
        meter.at(50.0)
        meter._bar.refresh()
    assert r"reading [bold]x[/bold] :smile: \x1b[2J.bz2" in stream.getvalue()


def test_a_table_is_as_wide_as_its_values_and_a_title_that_the_terminal_has_no_room_for_is_whole(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "25")
    rows = [["漢字かな", 1.5], ["e\u0301", 22], ["[/]", 3]]
    print_sheet(Sheet(["名前", "[bold]"], rows, "a title wider than its [bold] table"))
    assert capsys.readouterr().out == (
        "a title wider than its [bold] table\n"
        "┏━━━━━━━━━━┳━━━━━━━━┓\n"
        "┃ 名前     ┃ [bold] ┃\n"
        "┡━━━━━━━━━━╇━━━━━━━━┩\n"
        "│ 漢字かな │    1.5 │\n"
        "│ e\u0301        │     22 │\n"
        "│ [/]      │      3 │\n"
        "└──────────┴────────┘\n"
    )


def test_in_a_pipe_nothing_is_cut_or_wrapped_and_in_a_terminal_values_are_folded(printed):
    long = "words that go on " * 90 + "y" * 300
    (line,) = [one for one in printed(grid(["text", "n"], [[long, 1]]), None).splitlines() if "words" in one]
    assert line == f"│ {long} │ 1 │"
    assert long in printed(long, None)
    for is_terminal in (False, True):
        folded = printed(grid(["text"], [[long]]), 40, is_terminal)
        assert max(map(len, re.sub(r"\x1b\[\d*m", "", folded).splitlines())) == 40
        assert folded.count("y") == 300


def test_numbers_and_names_are_not_coloured(printed, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for text in ("12 rows, 'x', True, http://a.b/c", "漢字 " * 30):
        assert "\x1b" not in printed(text, 20, is_terminal=True)
    assert set(re.findall(r"\x1b\[\d*m", printed(TABLE, 80, is_terminal=True))) == {"\x1b[1m", "\x1b[0m"}


def test_what_is_wider_than_the_terminal_goes_without_columns_that_can_be_dispensed_with(capsys, monkeypatch):
    listing = Listing(named("model", "known", "items"), "levels", "how to read them", dispensable=("known", "items"))
    monkeypatch.setenv("COLUMNS", "24")
    show(listing, [{"model": "a-model", "known": "2021-01-01", "items": 12345}])
    assert capsys.readouterr().out == (
        "levels\n"
        "┏━━━━━━━━━┳━━━━━━━━┓\n"
        "┃ model   ┃  items ┃\n"
        "┡━━━━━━━━━╇━━━━━━━━┩\n"
        "│ a-model │ 12,345 │\n"
        "└─────────┴────────┘\n"
        "This terminal is too narrow for known; --csv writes all columns.\n"
        "how to read them\n"
    )
