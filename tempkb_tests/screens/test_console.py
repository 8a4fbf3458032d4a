"""What terminals show is what is stored."""

import io

import pytest

from tempkb.engine.progress import Meter
from tempkb.screens import console
from tempkb.screens.console import exact, fits, grid, records
from tempkb.screens.folding import PlainConsole, folded_table
from tempkb.store.visible import visible


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


@pytest.fixture
def printed(monkeypatch):
    """What a screen prints of a text or a table."""

    def run(what, width=80, is_terminal=False, **options):
        stream = Stream(is_terminal)
        monkeypatch.setattr("sys.stdout", stream)
        console.console(width).print(what, **options)
        return stream.written()

    return run


def painted_by_rich(what, width, is_terminal, **options):
    """The same by Rich alone."""
    stream = Stream()
    out = PlainConsole(file=stream, width=width, force_terminal=is_terminal, markup=False, emoji=False)
    if not isinstance(what, str):
        what = folded_table(what.columns, what.rows, what.are_numbers, what.title)
    out.print(what, **options)
    return stream.written()


@pytest.mark.parametrize(
    "text", ["postgres:x:1", "[bold]b[/bold]", "[/]", "[link=http://x]y[/link]", "\\[x]", ":smile:"]
)
def test_markup_and_codes_of_emoji_are_just_text(text, printed):
    assert text in printed(text)
    table = printed(grid([text], [[text]], title=text))
    assert table.count(text) == 3


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


LONG = "words that go on " * 9
TABLES = [
    grid(["a", "b"], []),
    grid(["cut", "n"], [["2021-01-01", 1234567], ["2021-04-01", 8]], title="windows"),
    grid(["n"], [[1]], title="a title that is longer than its table"),
    grid(["名前", "Zahl"], [["漢字かな", 1.5], ["e\u0301", 22], ["", 3]], title="題"),
    grid(["", "x"], [[None, True], ["  two blanks  ", False]]),
    grid(["[bold]", "say"], [["[/]", ":smile:"], ["\x1b[31m", "a\nb"]]),
    grid(["text", "n"], [[LONG, 1], ["short", 22]]),
    grid(["unbroken"], [["x" * 300]]),
]


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("width", [12, 40, 80, 200, 1_000_000_000])
@pytest.mark.parametrize("table", TABLES)
def test_tables_look_as_rich_paints_them(table, width, is_terminal, printed, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    assert printed(table, width, is_terminal) == painted_by_rich(table, width, is_terminal)


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("options", [{}, {"highlight": False}, {"soft_wrap": True}], ids=str)
@pytest.mark.parametrize("text", ["", "12 rows, 'x'", f"{LONG}\n\n  indented  ", "漢字 " * 30, "tab\there"])
def test_texts_look_as_rich_prints_them(text, options, is_terminal, printed, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for width in (20, 80):
        expected = painted_by_rich(text, width, is_terminal, **options)
        assert printed(text, width, is_terminal, **options) == expected


@pytest.mark.parametrize(
    ("is_terminal", "expected"), [(False, "Clock (page 1)\n"), (True, "\x1b[1mClock\x1b[0m (page 1)\n")]
)
def test_the_head_of_a_line_is_bold_on_a_terminal(is_terminal, expected, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Stream(is_terminal)
    monkeypatch.setattr("sys.stdout", stream)
    console.console(80).print_headed("Clock", " (page 1)")
    assert stream.written() == expected


@pytest.mark.parametrize(("variable", "value"), [("TERM", "dumb"), ("TTY_COMPATIBLE", "0")])
def test_a_terminal_without_bold_letters_gets_none(variable, value, printed, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    assert "\x1b" not in printed(TABLES[1], 80, is_terminal=True)


def test_colours_that_are_forced_are_there_in_a_pipe(printed, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in printed(TABLES[1], 80)
